"""Text of a first experiment: lines of YAML with a comment beside each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap

from dumbbell.catalogue import single_path
from dumbbell.starter.answers import Answers

#: A line of YAML and its comment; either may be empty.
Row = tuple[str, str]
#: Columns between which the comments of a section begin.
_NEAREST, _FARTHEST = 26, 48


@dataclass(frozen=True, slots=True)
class Contents:
    """What is particular to an experiment.

    Attributes:
        about: What the experiment shows, one sentence.
        name: Its name in tables and in the store.
        network: Lines of the network.
        traffic: Lines of the traffic.
        factors: Lines of `factors`; none: nothing is varied.
        vary: Field that could be varied, and levels, for a comment.
    """

    about: str
    name: str
    network: Sequence[Row]
    traffic: Sequence[Row]
    factors: Sequence[Row] = ()
    vary: tuple[str, str] = ("rtt", "[10 ms, 40 ms, 80 ms]")


def text(contents: Contents, answers: Answers) -> str:
    """Text of the experiment file."""
    name, levels = contents.vary
    factors = contents.factors or [
        ("", f"To vary {name}, write `{name}: ${name}` above, and this line without its #:"),
        ("", f"factors: {{{name}: {levels}}}"),
    ]
    repeats = "runs with different seeds" + (", of each level" if contents.factors else "")
    sections = [
        [("", contents.about)],
        [
            ("", "Every field, with its units: dumbbell help --page experiment-file"),
            ("", "`dumbbell run FILE` runs it, `dumbbell show store` draws windows and queues."),
            ("dumbbell: 1", "format of the file"),
            (f"name: {contents.name}", "title of tables and figures"),
        ],
        contents.network,
        contents.traffic,
        [
            (f"duration: {answers.duration}", "simulated time of a run"),
            (f"repeats: {answers.repeats}", repeats),
        ],
        factors,
    ]
    return "\n\n".join("\n".join(_aligned(section)) for section in sections) + "\n"


def _aligned(rows: Sequence[Row]) -> list[str]:
    """Lines of a section; comments beside YAML begin in one column where they can."""
    lengths = [len(line) for line, comment in rows if line and comment]
    column = max(_NEAREST, *(one + 2 for one in lengths if one + 2 <= _FARTHEST), 0)
    return [
        f"{line:<{column - 2}}  # {comment}" if line and comment else line or f"# {comment}"
        for line, comment in rows
    ]


def flow(name: str, ends: tuple[str, str], control: str, count: int = 1) -> Row:
    """Line of a bulk flow, or of `count` flows whose number `{i}` stands in name and ends."""
    from_, to = ends
    if count == 1:
        fields = f"name: {name}, from: {from_}, to: {to}"
    else:
        fields = f'name: "{name}", from: "{from_}", to: "{to}", count: {count}'
    return f"  - {{{fields}, tcp: {control}, start_jitter: 1 RTT}}", ""


SENDERS: Row = ("", "Each flow sends as much as it can, from the start to the end.")
#: Longest comment of a line of its own, characters.
_COMMENT = 96
#: Comments on the fields of flows.
FIELDS: tuple[Row, ...] = (
    *(
        ("", line)
        for line in wrap(f"tcp: congestion control, one of {', '.join(single_path())}.", _COMMENT)
    ),
    ("", "start_jitter: each flow starts at random within one RTT, so that repeats differ."),
)


def pairs(answers: Answers) -> list[Row]:
    """Lines of a flow from s1 to d1, s2 to d2 …, one of each control, or two of a single one."""
    controls = answers.controls
    if len(controls) == 1:
        return [flow(f"{controls[0]}{{i}}", ("s{i}", "d{i}"), controls[0], 2)]
    return [flow(name, (f"s{i}", f"d{i}"), name) for i, name in enumerate(controls, 1)]


def pair_count(answers: Answers) -> int:
    """Number of flows of :func:`pairs`."""
    return max(2, len(answers.controls))


def of_each(name: str, ends: tuple[str, str], answers: Answers, count: int = 1) -> list[Row]:
    """Lines of a flow for each control between the same ends."""
    controls = answers.controls
    if len(controls) == 1:
        return [flow(name, ends, controls[0], count)]
    return [flow(f"{name}-{control}", ends, control, count) for control in controls]
