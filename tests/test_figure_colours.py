"""One colour per algorithm, in every figure and theme."""

from __future__ import annotations

from typing import Any

import pytest

from dumbbell.catalogue import congestion_controls
from dumbbell.figures import plot
from dumbbell.figures.series import algorithms_of, series_of
from dumbbell.figures.theme import THEMES, ThemeName, algorithm_style
from dumbbell.results import Results
from tests import synthetic


def test_no_two_algorithms_look_alike() -> None:
    names = [*congestion_controls(), "udp", "ping", "video"]
    looks = [algorithm_style(name) for name in names]
    assert None not in looks
    assert len({(look.colour, tuple(look.dash)) for look in looks if look}) == len(names)


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
