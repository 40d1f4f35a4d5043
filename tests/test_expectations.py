"""Expectations of an experiment: which cells they mean, when they hold, the exit code."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

import dumbbell
from dumbbell.cli import app
from dumbbell.compare.checking import Checking
from dumbbell.compare.expectations import check
from dumbbell.errors import ExperimentError
from dumbbell.experiment.contents import ExpectSpec
from tests.helpers import BASE, message

TEXT = """\
dumbbell: 1
name: expected
template: {dumbbell: {rate: 10 Mbit/s, rtt: 20 ms, buffer: 60 packets}}
flows: [{from: s1, to: d1, tcp: $cc}]
duration: 10 s
factors: {cc: [reno, cubic]}
expect:
  - {metric: goodput_mbps, above: 9, below: 9.6}
"""


def test_every_cell_that_is_meant_is_checked(tmp_path: Path) -> None:
    file = tmp_path / "e.yaml"
    file.write_text(TEXT, encoding="utf-8")
    results = dumbbell.run(file)
    everywhere = check(results, [ExpectSpec(metric="goodput_mbps", above=9, below=9.6)])
    assert [one.holds for one in everywhere] == [True, True]
    assert everywhere[0].words.startswith("goodput_mbps above 9 and below 9.6 (reno, flow1): 9.5")
    cubic = check(results, [ExpectSpec(metric="goodput_mbps", where={"cc": "cubic"}, below=9)])
    assert [one.holds for one in cubic] == [False]
    nowhere = ExpectSpec(metric="goodput_mbps", where={"cc": "bbr"}, below=9)
    words = (
        r"expect\[0\]: nothing is measured for goodput_mbps with this cc; found bbr; allowed: reno"
    )
    with pytest.raises(ExperimentError, match=words):
        check(results, [nowhere])
    silent = ExpectSpec(metric="voice_mos", above=3)
    with pytest.raises(ExperimentError, match="nothing measured for voice_mos: no flow here has"):
        check(results, [silent])
    with pytest.raises(ExperimentError, match="no factor 'rtt'; there are: cc"):
        check(results, [ExpectSpec(metric="goodput_mbps", where={"rtt": "1 s"}, below=9)])
    with pytest.raises(ExperimentError, match="nothing is expected"):
        check(results, [])


def test_the_exit_code_tells(tmp_path: Path) -> None:
    file = tmp_path / "e.yaml"
    for bound, code in (("above: 9,", 0), ("above: 20,", 1), ("over: 9,", 2)):
        file.write_text(TEXT.replace("above: 9,", bound), encoding="utf-8")
        arguments = ["check", str(file), "--store", str(tmp_path / "s")]
        if code == 1:
            file.write_text(TEXT.replace("below: 9.6", "below: 9.2"), encoding="utf-8")
        done = CliRunner().invoke(app, arguments)
        assert done.exit_code == code, done.output


def test_what_only_a_run_shows_names_the_file(tmp_path: Path) -> None:
    file = tmp_path / "e.yaml"
    bound = "{metric: queue_delay_p95_ms, where: {pipe: bottlneck/forward}, below: 9}"
    text = TEXT.replace("{metric: goodput_mbps, above: 9, below: 9.6}", bound)
    file.write_text(text.replace("duration: 10 s", "duration: 1 s"), encoding="utf-8")
    with pytest.raises(ExperimentError) as raised:
        Checking(file, {}, None, 0.01, update=False).judge(dumbbell.run(file))
    words = str(raised.value)
    assert words.startswith(f"{file}: expect[0]: nothing is measured for queue_delay_p95_ms with")
    assert "did you mean bottleneck/forward?" in words


def test_messages() -> None:
    assert message(BASE + "expect: [{metric: goodput_mbps, above: 15 Mbit/s}]\n") == (
        "e.yaml:8: expect[0].above: should be a number without the metric's unit; of a share also"
        " a percentage; found 15 Mbit/s; allowed: 15, 0.95, 95 %"
    )
    assert message(BASE + "expect: [{metric: goodput_mbps}]\n") == (
        "e.yaml:8: expect[0]: a bound is missing; allowed: above, below"
    )
    unknown = message(BASE + "expect: [{metric: goodput_mpbs, above: 1}]\n")
    assert unknown.startswith(
        "e.yaml:8: expect[0].metric: unknown metric; found goodput_mpbs; did you mean goodput_mbps?"
    )


EXPECTING = """\
dumbbell: 1
name: e
template: {dumbbell: {pairs: 1, rate: 10 Mbit/s, rtt: 20 ms, buffer: 1 BDP}}
flows: [{name: f, from: s1, to: d1, tcp: $cc}]
duration: 1 s
factors: {cc: [reno, cubic]}
expect:
  - {metric: goodput_mbps, above: 1}
  - EXPECT
"""


@pytest.mark.parametrize(
    ("expect", "words"),
    [
        ("{metric: goodput_mbs, above: 1}", "expect[1].metric: unknown metric"),
        ("{metric: goodput_mbps, above: 2, below: 1}", "nothing is above 2 and below 1"),
        ("{metric: rtt_mean_ms, below: 0}", "lies between 0 and inf: nothing is below 0"),
        ("{metric: goodput_mbps, above: 1, flow: g}", "no such flow; found g; allowed: f"),
        ("{metric: goodput_mbps, above: 1, where: {flow: g}}", "no such flow; found g"),
        ("{metric: goodput_mbps, above: 1, where: {cc: bbr}}", "no such level of cc; found bbr"),
        ("{metric: goodput_mbps, above: 1, where: {rtt: 1 s}}", "is not measured by rtt"),
        ("{metric: goodput_mbps, above: 1, where: {ccc: bic}}", "did you mean cc?"),
    ],
)
@pytest.mark.parametrize("verb", ["check", "validate"])
def test_what_cannot_be_is_refused_before_the_runs(
    verb: str, expect: str, words: str, tmp_path: Path
) -> None:
    path = tmp_path / "e.yaml"
    path.write_text(EXPECTING.replace("EXPECT", expect))
    store = ["--store", str(tmp_path / "s")] if verb == "check" else []
    result = CliRunner().invoke(app, [verb, str(path), *store])
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith(f"dumbbell: {path}:9: expect[1]")
    assert words in result.stderr
    assert not (tmp_path / "s").exists()
