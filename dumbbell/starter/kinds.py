"""First experiments by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dumbbell.codes import Code
from dumbbell.errors import ExperimentError, nearest_name, shortened
from dumbbell.starter import layout, networks, situations
from dumbbell.starter.answers import Answers
from dumbbell.starter.layout import Contents


@dataclass(frozen=True, slots=True)
class Starter:
    """Kind of a first experiment.

    Attributes:
        name: Name of the template or situation.
        words: What it is, for people who choose.
        defaults: Default answers.
        contents: Function that makes the experiment of some answers.
    """

    name: str
    words: str
    defaults: Answers
    contents: Callable[[Answers], Contents]

    def text(self, answers: Answers) -> str:
        """Text of the experiment file."""
        return layout.text(self.contents(answers), answers)


_DATA_CENTRE = Answers(rate="1 Gbit/s", rtt="48 us", controls=("cubic",), duration="100 ms")
_AT_HOME = Answers(rtt="30 ms", controls=("cubic",), repeats=2)

STARTERS: dict[str, Starter] = {
    one.name: one
    for one in (
        Starter("dumbbell", "flows share one bottleneck", Answers(), networks.dumbbell),
        Starter(
            "parallel-paths",
            "packets sprayed over two paths",
            Answers(controls=("cubic",)),
            networks.parallel_paths,
        ),
        Starter(
            "parking-lot",
            "three bottlenecks in a row",
            Answers(controls=("cubic",)),
            networks.parking_lot,
        ),
        Starter("fat-tree", "data centre, three tiers of routers", _DATA_CENTRE, networks.fat_tree),
        Starter("leaf-spine", "data centre, two tiers", _DATA_CENTRE, networks.leaf_spine),
        Starter(
            "bufferbloat",
            "a slow line with a large buffer, and a ping",
            _AT_HOME,
            situations.bufferbloat,
        ),
        Starter("cellular", "a line of changing rate", Answers(rtt="60 ms"), situations.cellular),
        Starter("rrul", "flows, probes and speech on a line at home", _AT_HOME, situations.rrul),
    )
}


def starter_named(name: str) -> Starter:
    """Kind of a first experiment. Raises `ExperimentError` for an unknown name."""
    if name in STARTERS:
        return STARTERS[name]
    raise ExperimentError(
        "unknown template",
        found=shortened(name),
        allowed=tuple(STARTERS),
        nearest=nearest_name(name, STARTERS),
        code=Code.UNKNOWN_NAME,
    )
