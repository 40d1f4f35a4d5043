"""Verbs of the program.

Exit codes: 0 success; 1 a defect of the program, or a failed check; 2 an error that the user can
correct; 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Iterator
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from dumbbell.cli.advise import advise
from dumbbell.cli.capture import capture
from dumbbell.cli.capture_words import CaptureCommand
from dumbbell.cli.check import check, schema, validate
from dumbbell.cli.compare import compare
from dumbbell.cli.contrast import contrast
from dumbbell.cli.doctor import doctor
from dumbbell.cli.explain import explain
from dumbbell.cli.explore import explore
from dumbbell.cli.figure import figure
from dumbbell.cli.fit import fit
from dumbbell.cli.gate import gate
from dumbbell.cli.help import HelpCommand, help
from dumbbell.cli.import_ import import_
from dumbbell.cli.init import InitCommand, init
from dumbbell.cli.kernel import kernel_app
from dumbbell.cli.new import new_app
from dumbbell.cli.packetdrill import packetdrill
from dumbbell.cli.playground import playground
from dumbbell.cli.qlog import qlog
from dumbbell.cli.query import query
from dumbbell.cli.report import report
from dumbbell.cli.run import run
from dumbbell.cli.search import search
from dumbbell.cli.show import show
from dumbbell.cli.store import store_app
from dumbbell.cli.study import study_app
from dumbbell.cli.trace import TraceCommand, animate, trace
from dumbbell.cli.translate import translate
from dumbbell.cli.workload import workload_app
from dumbbell.codes import Code
from dumbbell.console import print_text, say, use_terminal

_NAME = "dumbbell"
#: Verb → words behind it, for the message that one of them is missing.
EXAMPLES = {
    "run": "two-flows.yaml",
    "translate": "netem.sh",
    "advise": "netem.sh",
    "validate": "two-flows.yaml",
    "compare": "two-flows.yaml",
    "check": "two-flows.yaml",
    "search": "search.yaml",
    "trace": "out.tr",
    "import": "iperf3.json",
    "explain": 'store --flow cubic --at "10 s"',
    "contrast": "store --factor rtt",
    "gate": "cubic ./mine.so",
    "packetdrill": "tcp/slow_start",
    "report": "store -o report.html",
    "figure": "goodput store -o goodput.svg",
    "query": 'store "select * from flows"',
    "capture": "trace.pcap",
    "fit": "trace.pcap -o twin.yaml",
    "animate": "two-flows.yaml -o packets.html",
    "playground": "-o playground.html",
}


class Verbs(TyperGroup):
    """The verbs. An error of usage has a code, as all errors."""

    def make_context(self, *given: Any, **more: Any) -> Any:
        """Reads the options before the verb."""
        with _coded():
            return super().make_context(*given, **more)

    def invoke(self, ctx: Any) -> Any:
        """Runs a verb."""
        with _coded():
            return super().invoke(ctx)


@contextlib.contextmanager
def _coded() -> Iterator[None]:
    """Context that adds a code to errors of usage."""
    try:
        yield
    except _USAGE as error:
        if type(error).__name__ != "NoArgsIsHelpError":  # which is the help text, not an error
            text = f"{error.format_message()}{_example(error)} [{Code.USAGE}]"
            error.format_message = lambda: text
        raise


def _example(error: Any) -> str:
    """Returns a command that has what is missing; empty if nothing is missing."""
    verb = None if error.ctx is None else error.ctx.command_path.partition(" ")[2]
    if type(error).__name__ != "MissingParameter" or verb not in EXAMPLES:
        return ""
    return f" For example: {_NAME} {verb} {EXAMPLES[verb]}"


app = typer.Typer(
    name=_NAME,
    cls=Verbs,
    help="A laboratory for transport protocols.",
    epilog="The tutorial: dumbbell help --page tutorial",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command(cls=InitCommand)(init)
app.command()(translate)
app.command()(advise)
app.command()(run)
app.command()(search)
app.command()(show)
app.command()(qlog)
app.command()(explain)
app.command()(explore)
app.command()(compare)
app.command()(contrast)
app.command()(gate)
app.command()(packetdrill)
app.command(cls=CaptureCommand)(capture)
app.command()(fit)
app.command(cls=TraceCommand)(trace)
app.command()(animate)
app.command()(check)
app.command()(validate)
app.command()(schema)
app.command("import")(import_)
app.command()(report)
app.command()(playground)
app.command()(figure)
app.command()(query)
app.command()(doctor)
app.command(cls=HelpCommand)(help)
app.add_typer(new_app, name="new")
app.add_typer(study_app, name="study")
app.add_typer(kernel_app, name="kernel")
app.add_typer(workload_app, name="workload")
app.add_typer(store_app, name="store")

#: Errors of usage: unknown verbs and options, missing words. Typer does not export their base.
_USAGE: Any = typer.BadParameter.__base__
#: Errors of a closed stream.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def _version(wanted: bool) -> None:
    if wanted:
        from dumbbell import __version__

        print_text(f"dumbbell {__version__}\n")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", is_eager=True, callback=_version),
    ] = False,
) -> None:
    """A laboratory for transport protocols."""


def main() -> None:
    """Runs the verb of the command line."""
    use_terminal()
    try:
        app(prog_name=_NAME)  # also under `python -m dumbbell`: scripts for shells contain the name
    except BrokenPipeError:  # `dumbbell schema | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(1) from None
    except OSError as error:  # of the help text, which is printed outside `guarded`
        if error.errno not in _FULL or error.filename is not None:
            raise
        say(f"dumbbell: standard output: {error.strerror} [{Code.UNWRITABLE}]")
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(2) from None
