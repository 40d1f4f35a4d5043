"""One colour per algorithm, in every figure and theme."""

from __future__ import annotations

import math
import operator
from typing import Any

import pytest

from dumbbell.catalogue import congestion_controls, traffic_kinds
from dumbbell.figures import plot
from dumbbell.figures.series import algorithms_of, series_of
from dumbbell.figures.theme import THEMES, ThemeName, algorithm_style
from dumbbell.results import Results
from tests import synthetic


def test_no_two_algorithms_look_alike() -> None:
    """Neither their lines nor their points, which stand without lines where levels are words."""
    names = [*congestion_controls(), *(kind for kind in traffic_kinds() if kind != "tcp")]
    looks = [look for look in map(algorithm_style, names) if look]
    assert len(looks) == len(names)
    assert len({(look.colour, tuple(look.dash)) for look in looks}) == len(names)
    assert len({(look.colour, look.shape) for look in looks}) == len(names)


def test_an_algorithm_looks_alike_in_any_company() -> None:
    alone = series_of(["bbr"]).styles[0]
    for levels in (["reno", "bbr"], ["bbr", "cubic", "drop-tail"], ["drop-tail", "BBR"]):
        place = [level.lower() for level in levels].index("bbr")
        assert series_of(levels).styles[place] == alone


def test_other_series_take_colours_that_no_algorithm_here_has() -> None:
    found = series_of(["drop-tail", "reno", "codel"]).styles
    assert len({style.colour for style in found}) == 3
    plain = series_of([f"level{i}" for i in range(18)]).styles
    assert [style.colour for style in plain[:6]] == list(range(6))
    assert len({(style.colour, tuple(style.dash)) for style in plain}) == 18


def test_flows_of_one_algorithm_share_its_colour_and_differ_in_dashes() -> None:
    found = series_of(["a", "b", "c"], {"a": "cubic", "b": "cubic", "c": "udp"}).styles
    cubic = algorithm_style("cubic")
    assert cubic is not None
    assert found[0] == cubic
    assert found[1].colour == cubic.colour
    assert found[1].dash != cubic.dash
    assert found[2] == algorithm_style("udp")


def test_a_flow_with_several_algorithms_has_none(delay: Results) -> None:
    assert algorithms_of(delay.flows) == {}
    bbr = delay.flows.filter(delay.flows["cc"] == "bbr")
    assert algorithms_of(bbr) == {"flow1": "bbr"}


@pytest.fixture(scope="module")
def delay() -> Results:
    return synthetic.multipath("delay", repeats=2)


FIGURES: list[tuple[str, dict[str, Any]]] = [
    ("goodput", {"by": "cc"}),
    ("goodput", {"by": "flow", "where": {"cc": "bbr"}}),
    ("window", {"by": "cc", "where": {"delay": "10 ms"}}),
    ("window", {"by": "flow", "where": {"delay": "10 ms", "cc": "bbr"}}),
    ("runs", {"metric": "goodput_mbps", "by": ["delay", "cc"]}),
]


@pytest.mark.parametrize("theme", list(THEMES))
@pytest.mark.parametrize(("kind", "options"), FIGURES)
def test_every_kind_draws_it_so(
    kind: str, options: dict[str, Any], theme: ThemeName, delay: Results
) -> None:
    colours = THEMES[theme].series
    svg = plot(delay, kind, **options).svg(theme)
    bbr = algorithm_style("bbr")
    assert bbr is not None
    assert colours[bbr.colour] in svg
    if "where" in options and "cc" in options["where"]:
        assert colours[0] not in svg  # the first series has no colour of its own


#: Linear RGB of a colour → as seen by people without one kind of cone (Machado et al., 2009).
SEEN = (
    ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    ((0.152, 1.053, -0.205), (0.115, 0.786, 0.099), (-0.004, -0.048, 1.052)),
    ((0.367, 0.861, -0.228), (0.280, 0.673, 0.047), (-0.012, 0.043, 0.969)),
    ((1.256, -0.077, -0.179), (-0.078, 0.931, 0.148), (0.005, 0.691, 0.304)),
)  # fmt: skip


def linear(colour: str) -> list[float]:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    return [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts]


def oklab(rgb: list[float]) -> tuple[float, float, float]:
    red, green, blue = (min(1.0, max(0.0, part)) for part in rgb)
    long = (0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue) ** (1 / 3)
    middle = (0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue) ** (1 / 3)
    short = (0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue) ** (1 / 3)
    return (
        0.2104542553 * long + 0.7936177850 * middle - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * middle + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * middle - 0.8086757660 * short,
    )


def apart(one: str, other: str) -> float:
    """Smallest distance of two colours in OKLab, over all kinds of colour vision."""
    found = []
    for rows in SEEN:
        seen = [
            oklab([sum(map(operator.mul, row, linear(colour))) for row in rows])
            for colour in (one, other)
        ]
        found.append(math.dist(*seen))
    return min(found)


@pytest.mark.parametrize("theme", list(THEMES))
def test_cubic_and_vegas_differ_in_colour_for_everybody(theme: ThemeName) -> None:
    colours = THEMES[theme].colours
    vegas, cubic = algorithm_style("vegas"), algorithm_style("cubic")
    assert vegas is not None
    assert cubic is not None
    assert apart(colours[vegas.colour], colours[cubic.colour]) > 0.15
    others = [*colours[: vegas.colour], THEMES[theme].alarm]
    assert min(apart(colours[vegas.colour], other) for other in others) > 0.09
    named = [algorithm_style(name) for name in congestion_controls() if name != "vegas"]
    assert vegas.colour not in {style.colour for style in named if style}
