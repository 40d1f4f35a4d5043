"""Values of a range: on a grid of round numbers, inside its ends, readable as written."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.experiment import load_text
from dumbbell.experiment.load import Opened
from dumbbell.experiment.source import Node
from dumbbell.experiment.space import Level, Range, Space, read_space
from dumbbell.search.texts import text_of
from tests.search.helpers import SHARES


def space_in(opened: Opened) -> Space:
    return read_space(opened.reading.root, opened.file)


def space_of(spec: str, use: str = "duration: $x") -> Range:
    text = (
        "dumbbell: 1\nname: n\ntemplate: {dumbbell: {rate: 10 Mbit/s, rtt: 10 ms}}\n"
        f"flows: [{{from: s1, to: d1, tcp: cubic}}]\n{use}\n"
        f"search: {{attack: utilisation, evaluations: 1, space: {{x: {spec}}}}}\n"
    )
    found = space_in(Opened(text, Path("e.yaml")))["x"]
    assert isinstance(found, Range)
    return found


@pytest.mark.parametrize(
    ("spec", "value", "label"),
    [
        ("{from: 5 ms, to: 2 s, scale: log}", 71.34e6, "71 ms"),
        ("{from: 5 ms, to: 2 s, scale: log}", 1.234e9, "1.2 s"),
        ("{from: 5 ms, to: 2 s, scale: log}", 5.01e6, "5 ms"),
        ("{from: 100 us, to: 20 ms, scale: log}", 123456.0, "120 us"),
        ("{from: 1000 ms, to: 1100 ms}", 1.0472e9, "1.047 s"),
        ("{from: 999 ms, to: 1 min}", 60e9, "60 s"),
    ],
)
def test_values_have_two_digits_or_more_in_a_narrow_range(
    spec: str, value: float, label: str
) -> None:
    found = space_of(spec)
    assert found.level(found.rounded(value)).label == label


def test_the_start_is_given_or_a_round_number_in_the_middle() -> None:
    assert space_of("{from: 5 ms, to: 2 s, scale: log}").start_level().label == "100 ms"
    assert space_of("{from: 5 ms, to: 2 s}").start_level().label == "1 s"
    assert space_of("{from: 5 ms, to: 2 s, start: 33 ms}").start_level().label == "33 ms"


@given(st.floats(0, 1), st.booleans(), st.sampled_from(["5 ms, to: 2 s", "17 us, to: 3 min"]))
def test_values_stay_inside_and_are_read_as_they_are_written(
    share: float, log: bool, ends: str
) -> None:
    found = space_of(f"{{from: {ends}, scale: {'log' if log else 'linear'}}}")
    value = found.rounded(float(found.low) + share * float(found.high - found.low))
    assert found.low <= value <= found.high
    assert found.exact(found.level(value)) == value
    assert found.rounded(value) == value


def test_numbers_sizes_and_shares() -> None:
    pairs = "template.dumbbell.pairs"
    counted = space_of(f"{{from: 1, to: 8, path: {pairs}}}", "duration: 1 s")
    assert [counted.level(counted.rounded(x)).node.value for x in (1.4, 7.6)] == [1, 8]
    size = space_of(
        "{from: 2 KiB, to: 2 MiB, scale: log, path: template.dumbbell.buffer}", "duration: 1 s"
    )
    assert size.level(Fraction(64 * 1024)).label == "64 KiB"
    assert size.level(Fraction(3789)).label == "3789 bytes"
    loss = space_of("{from: 0 %, to: 2 %, path: template.dumbbell.loss}", "duration: 1 s")
    assert loss.level(loss.rounded(0.01234)).label == "1.2 %"
    assert loss.level(loss.rounded(0)).label == "0 %"


def test_a_text_with_points_has_their_scenarios() -> None:
    opened = Opened(SHARES, Path("e.yaml"))
    text = text_of(opened)
    chosen = {"rtt": "20 ms", "buffer": "37 packets", "mine": "1.5 Mbit/s", "other": "9 Mbit/s"}
    direct = load_text(SHARES, Path("e.yaml"), set=chosen)
    point = {name: Level(label, Node(label, label, 0)) for name, label in chosen.items()}
    start = {name: one.start_level() for name, one in space_in(opened).items()}
    tied = load_text(text.of_points("n", [start, point], 1, 1), Path("e.yaml"))
    fixed = load_text(text.fixed("n", point, 1, 1), Path("e.yaml"))
    wanted = direct.cells[0].scenario.replace('"name":"datagrams"', '"name":"n"')
    assert tied.cells[1].scenario == wanted
    assert fixed.cells[0].scenario == wanted
    assert tied.cells[0].scenario != wanted


def test_a_text_keeps_the_factors_of_its_file() -> None:
    cc = "cc: [reno, cubic]"
    points = "{points: [{cc: reno}, {cc: cubic}]}"
    for factors in (f"{{{cc}}}", f"{{zip: {{{cc}}}}}", f"{{grid: {{{cc}}}}}", points):
        text = SHARES.replace("duration: 2 s", f"duration: 2 s\nfactors: {factors}").replace(
            "\nduration", "\n  - {name: tcp, from: s1, to: d1, tcp: $cc}\nduration"
        )
        opened = Opened(text, Path("e.yaml"))
        start = {name: one.start_level() for name, one in space_in(opened).items()}
        other = {**start, "rtt": space_in(opened)["rtt"].levels[1]}  # type: ignore[union-attr]
        found = load_text(text_of(opened).of_points("n", [start, other], 1, 1), Path("e.yaml"))
        seen = [(cell.levels["cc"], cell.levels["rtt"]) for cell in found.cells]
        assert sorted(seen) == [(cc, rtt) for cc in ("cubic", "reno") for rtt in ("10 ms", "20 ms")]
