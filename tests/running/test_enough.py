"""`repeats: {until: …}`: as many repeats as an interval needs, whoever runs them, however often."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import dumbbell
from dumbbell.errors import ExperimentError
from dumbbell.execution import use_progress
from dumbbell.execution.progress import Progress
from dumbbell.metrics import METRICS, summary

TEXT = """\
dumbbell: 1
name: enough
template: {dumbbell: {rate: 5 Mbit/s, rtt: 20 ms, buffer: 1 BDP, forward: {loss: $loss}}}
flows: [{name: f, from: s1, to: d1, tcp: reno, start_jitter: 1 RTT}]
duration: 2 s
factors: {loss: [0 %, 5 %]}
sampling: none
repeats: {until: {metric: goodput_mbps, relative_half_width: 6 %}, min: 3, max: 40}
"""


class Notes(Progress):
    """Progress that keeps its notes."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def note(self, text: str) -> None:
        self.texts.append(text)


def written(folder: Path, text: str = TEXT) -> Path:
    path = folder / "enough.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def counts(results: dumbbell.Results) -> dict[str, int]:
    found = results.runs.group_by("loss").len()
    return dict(found.iter_rows())


def test_a_cell_stops_at_the_first_round_that_is_narrow_enough(tmp_path: Path) -> None:
    results = dumbbell.run(written(tmp_path))
    found = counts(results)
    assert found["0 %"] == 3 < found["5 %"] < 40
    for row in summary(results, METRICS["goodput_mbps"]).iter_rows(named=True):
        assert (row["high"] - row["low"]) / 2 <= 0.06 * row["mean"]
    # Its repeats are those with the first seeds, as of any other experiment.
    seeds = results.runs.filter(pl.col("loss") == "5 %")["seed"]
    assert seeds.to_list() == list(range(1, found["5 %"] + 1))
    assert results.repeats_words == f"3–{found['5 %']} repeats"


def test_with_fewer_repeats_the_interval_was_too_wide(tmp_path: Path) -> None:
    enough = counts(dumbbell.run(written(tmp_path)))["5 %"]
    # A round at most doubles the repeats of the one before.
    fewer = dumbbell.run(written(tmp_path), repeats=3 if enough <= 6 else enough // 2)
    row = summary(fewer, METRICS["goodput_mbps"]).row(1, named=True)
    assert (row["high"] - row["low"]) / 2 > 0.06 * row["mean"]


def test_workers_and_interruptions_do_not_change_the_number(tmp_path: Path) -> None:
    path, store = written(tmp_path), tmp_path / "store"
    alone = dumbbell.run(path, workers=1)
    # A store that an interrupted sweep left: some runs of the first rounds.
    dumbbell.run(path, repeats=2, store=store)
    resumed = dumbbell.run(path, workers=3, store=store)
    for results in (resumed, dumbbell.run(path, store=store), dumbbell.load_results(store)):
        assert results.runs["digest"].to_list() == alone.runs["digest"].to_list()


def test_a_width_that_is_not_reached_is_told_once(tmp_path: Path) -> None:
    path = written(tmp_path, TEXT.replace("6 %}, min: 3, max: 40", "0.01 %}, min: 2, max: 5"))
    notes = Notes()
    with use_progress(notes):
        results = dumbbell.run(path)
    assert counts(results)["5 %"] == 5
    (note,) = notes.texts
    assert note.startswith("goodput_mbps ± 0.01 % is not reached in ")
    assert "for loss=5 %" in note


def test_a_fixed_number_replaces_the_rule(tmp_path: Path) -> None:
    assert counts(dumbbell.run(written(tmp_path), repeats=4)) == {"0 %": 4, "5 %": 4}


def test_one_flow_can_decide(tmp_path: Path) -> None:
    only = TEXT.replace("relative_half_width: 6 %", "flow: f, half_width: 0.5")
    assert counts(dumbbell.run(written(tmp_path, only))) == {"0 %": 3, "5 %": 6}
    with pytest.raises(ExperimentError, match=r"enough.yaml:8.*no such flow.*did you mean f\?"):
        dumbbell.run(written(tmp_path, only.replace("flow: f", "flow: ff")))


def test_a_metric_that_no_run_has_is_refused(tmp_path: Path) -> None:
    wrong = TEXT.replace("goodput_mbps", "voice_mos")
    with pytest.raises(ExperimentError, match="is not measured for loss=0 %"):
        dumbbell.run(written(tmp_path, wrong))
