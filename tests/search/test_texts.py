"""Texts made from an experiment file: the same experiment, whatever the file looks like."""

from __future__ import annotations

from pathlib import Path

import pytest

from dumbbell.experiment import load_text
from dumbbell.experiment.load import Opened
from dumbbell.experiment.space import read_space
from dumbbell.search.points import edges
from dumbbell.search.texts import text_of

PATH = Path("e.yaml")
MIDDLE = """\
dumbbell: 1   # the format
name: n
# About the search.
search:
  attack: starvation
  space:
    cc: {levels: [cubic, reno], path: "flows[*].tcp"}
    loss:
      - none
      - {label: bursts, value: {gilbert_elliott: {good_to_bad: 0.1 %, bad_to_good: 10 %}}}
    flows: {from: 1, to: 4, start: 2}
  evaluations: 5

# About the network.
template: {dumbbell: {pairs: 4, rate: 10 Mbit/s, rtt: 20 ms, forward: {loss: "${loss}"}}}
flows:
  - {name: "f{i}", from: "s{i}", to: "d{i}", count: $flows, tcp: bic}
duration: 1 s
expect:
  - {metric: goodput_mbps, above: 1}
"""
ONE_LINE = (
    "{dumbbell: 1, name: n, template: {dumbbell: {rate: 10 Mbit/s, rtt: $rtt}}, duration: 1 s, "
    "flows: [{from: s1, to: d1, tcp: cubic}], search: {attack: utilisation, evaluations: 1, "
    "space: {rtt: [10 ms, 20 ms]}}}\n"
)
ANCHORS = """\
dumbbell: 1
name: n
template: {dumbbell: {pairs: 2, rate: 10 Mbit/s, rtt: 20 ms}}
flows:
  - &one {from: s1, to: d1, tcp: $cc}
  - {<<: *one, from: s2, to: d2}
duration: 1 s
search: {attack: starvation, evaluations: 1, space: {cc: [cubic, bbr]}}
"""
PARTS = """\
dumbbell: 1
name: n
template: {dumbbell: {rate: 10 Mbit/s, rtt: "${ms} ms", buffer: "${size} packets"}}
flows:
  - {from: s1, to: d1, tcp: {congestion_control: cubic, source: {periodic: {chunk: 10 KiB,
     interval: "${ms} ms"}}}}
duration: 1 s
search: {attack: utilisation, evaluations: 1, space: {ms: [10, 20], size: {from: 10, to: 90}}}
"""


@pytest.mark.parametrize("text", [MIDDLE, ONE_LINE, ANCHORS, PARTS])
def test_fixed_and_tied_points_have_the_scenarios_of_set(text: str) -> None:
    opened = Opened(text, PATH)
    made = text_of(opened)
    points = list(edges(read_space(opened.reading.root, opened.file)))
    assert len(points) > 1
    tied = load_text(made.of_points("n", points, 1, 1), PATH)
    assert len(tied.cells) == len(points)
    for point, cell in zip(points, tied.cells, strict=True):
        labels = {name: level.label for name, level in point.items()}
        assert cell.levels == labels
        direct = load_text(text, PATH, set=labels)
        fixed = load_text(made.fixed("n", point, 1, 1), PATH)
        assert cell.scenario == direct.cells[0].scenario == fixed.cells[0].scenario
        assert fixed.info.factors == {}


def test_a_section_goes_with_its_comment_and_others_stay() -> None:
    opened = Opened(MIDDLE, PATH)
    start = next(edges(read_space(opened.reading.root, opened.file)))
    fixed = text_of(opened).fixed("n", start, 3, 7, [{"metric": "jain", "below": 0.5}])
    assert "About the search" not in fixed and "goodput" not in fixed
    assert "# About the network.\ntemplate:" in fixed
    assert "dumbbell: 1   # the format" in fixed
    assert fixed.endswith("repeats: 3\nseed: 7\nexpect:\n  - {metric: jain, below: 0.5}\n")


def test_overrides_are_written_into_the_text() -> None:
    text = PARTS.replace("duration: 1 s", "duration: 1 s\nfactors: {cc: [cubic, reno]}").replace(
        "congestion_control: cubic", "congestion_control: $cc"
    )
    chosen = {"duration": "3 s", "cc": "reno", "search.evaluations": 9}
    opened = Opened(text, PATH, set=chosen)
    assert opened.search is not None and opened.search.evaluations == 9
    start = next(edges(read_space(opened.reading.root, opened.file)))
    found = load_text(text_of(opened).fixed("n", start, 1, 1), PATH)
    assert found.cells[0].duration_ns == 3 * 10**9
    assert found.info.factors == {"cc": ["reno"]}
