"""Verbs of `dumbbell workload`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dumbbell import console
from dumbbell.cli.guard import guarded
from dumbbell.codes import Code
from dumbbell.console import print_text, say
from dumbbell.console.words import many
from dumbbell.errors import DumbbellError
from dumbbell.files.kinds import is_capture
from dumbbell.files.output import PRINTED, write_output

if TYPE_CHECKING:
    from dumbbell.units import Family

workload_app = typer.Typer(
    help="Workloads: experiments made of captures and HAR files.", no_args_is_help=True
)

Output = Annotated[
    Path | None,
    typer.Option("-o", "--output", help="The experiment; - prints it [default: workload.yaml]"),
]
CongestionControl = Annotated[
    str,
    typer.Option(
        "--congestion-control", metavar="NAME", help="Congestion control of all connections."
    ),
]
#: Default path of an experiment, used only if no such file exists.
_DEFAULT = Path("workload.yaml")
_CONNECTIONS_MAX = 20_000


class Size(StrEnum):
    """Size of all connections of a class."""

    MEAN = "mean"
    MEDIAN = "median"


@workload_app.callback()
def _group() -> None:
    """Workloads: experiments made of captures and HAR files."""


@workload_app.command("from-capture")
def from_capture(
    file: Annotated[
        str,
        typer.Argument(help="A capture (pcap, pcapng, also compressed); - reads standard input."),
    ],
    output: Output = None,
    connections: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=_CONNECTIONS_MAX,
            help="Connections of the workload, in all [default: as captured, at most 1000]",
        ),
    ] = None,
    size: Annotated[
        Size | None,
        typer.Option(
            help="Size of each connection of a class [default: its own, of many the mean]"
        ),
    ] = None,
    classes: Annotated[
        list[str] | None,
        typer.Option("--class", help="Class by payload, 'small<10 kB'; the last may be a name."),
    ] = None,
    rate: Annotated[
        str | None,
        typer.Option(
            help="Rate of the bottleneck, '4 Mbit/s' [default: the capture's busiest time]"
        ),
    ] = None,
    rtt: Annotated[
        str | None,
        typer.Option(help="RTT without queues, '50 ms' [default: the median of the handshakes]"),
    ] = None,
    buffer: Annotated[str, typer.Option(help="Queue limit at the bottleneck.")] = "50 packets",
    congestion_control: CongestionControl = "cubic",
) -> None:
    """Make an experiment of a capture. Connections have its numbers and sizes."""
    with guarded():
        from dumbbell.capture import survey
        from dumbbell.capture.classes import DEFAULT_CLASSES, parse_classes
        from dumbbell.experiment.load import load_text
        from dumbbell.units import RATE, TIME
        from dumbbell.workload.derive import derive
        from dumbbell.workload.file import experiment, table

        target = _target(output)
        chosen = parse_classes(classes) if classes else DEFAULT_CLASSES
        rate_bps, rtt_ns = _quantity("--rate", rate, RATE), _quantity("--rtt", rtt, TIME)
        workload = derive(
            survey(file, chosen),
            classes=chosen,
            connections=connections,
            size=None if size is None else size.value,
            rtt_ns=rtt_ns,
            rate_bps=rate_bps,
        )
        origin = "standard input" if file == PRINTED else Path(file).name
        text = experiment(workload, origin, buffer=buffer, congestion_control=congestion_control)
        load_text(text, target)
        is_printed = str(target) == PRINTED
        (console.err if is_printed else console.out).print(table(workload))
        for note in workload.notes:
            say(f"  {note}")
        if is_printed:
            print_text(text)
            return
        write_output(target, text)
        say(f"Written: {target}; run it with: dumbbell run {target}")


class Protocol(StrEnum):
    """Protocol: how requests share connections."""

    HTTP1 = "http/1.1"
    HTTP2 = "http/2"


class Tls(StrEnum):
    """The handshake before the first request."""

    NONE = "none"
    TLS12 = "1.2"
    TLS13 = "1.3"


@workload_app.command("from-har")
def from_har(
    file: Annotated[Path, typer.Argument(help="A HAR file, as a browser saves it.")],
    output: Output = None,
    page: Annotated[
        str | None,
        typer.Option(metavar="N|ID", help="Which page, if there are several [default: the first]"),
    ] = None,
    rate: Annotated[str, typer.Option(help="Rate of the browser's line.")] = "20 Mbit/s",
    rtt: Annotated[str, typer.Option(help="RTT to every server, without queues.")] = "40 ms",
    buffer: Annotated[str, typer.Option(help="Queue limit at the line.")] = "1 BDP",
    protocol: Annotated[Protocol, typer.Option(help="Protocol of all servers.")] = Protocol.HTTP2,
    tls: Annotated[Tls, typer.Option(help="TLS of all servers.")] = Tls.TLS13,
    congestion_control: CongestionControl = "cubic",
) -> None:
    """Make an experiment of a HAR file. The page has its objects and their dependencies."""
    with guarded():
        from dumbbell.experiment.load import load_text
        from dumbbell.units import RATE, TIME
        from dumbbell.workload.har import experiment, read_har

        target = _target(output)
        rate_bps, rtt_ns = _quantity("--rate", rate, RATE), _quantity("--rtt", rtt, TIME)
        found = read_har(file, page)
        text = experiment(
            found,
            file.name,
            rate_bps=rate_bps or 1,
            rtt_ns=rtt_ns or 1,
            buffer=buffer,
            protocol=protocol.value,
            tls=tls.value,
            congestion_control=congestion_control,
        )
        load_text(text, target)
        hosts = len({one.host for one in found.objects})
        total = sum(one.response_bytes for one in found.objects)
        objects = many(len(found.objects), "object")
        say(f"{objects} of {many(hosts, 'server')}, {many(total, 'byte')}")
        for note in found.notes:
            say(f"  {note}")
        if str(target) == PRINTED:
            print_text(text)
            return
        write_output(target, text)
        say(f"Written: {target}; run it with: dumbbell run {target}")


def _quantity(option: str, text: str | None, family: Family) -> int | None:
    """Value of an option in the base unit of its family, above 0."""
    from dumbbell import units

    if text is None:
        return None
    try:
        number = units.whole(text, family)
    except units.QuantityError as error:
        likely = ", ".join(error.allowed)
        raise DumbbellError(
            f"{option} {text}: {error.message}" + (f"; units: {likely}" if likely else ""),
            code=error.code,
        ) from None
    if number <= 0:
        raise DumbbellError(f"{option} {text}: a {family.name} above 0 is needed", code=Code.OPTION)
    return number


def _target(output: Path | None) -> Path:
    """Path of the experiment. An existing file is replaced only if `-o` names it."""
    if output is None:
        if _DEFAULT.exists():
            raise DumbbellError(
                f"{_DEFAULT} exists already: name a file with -o", code=Code.OVERWRITE
            )
        return _DEFAULT
    if is_capture(output):
        raise DumbbellError(f"-o {output}: this would overwrite a capture", code=Code.OVERWRITE)
    return output
