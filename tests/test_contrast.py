"""`dumbbell contrast`: what differs between levels, and what is not shown to."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

import dumbbell
from dumbbell.cli import app
from dumbbell.compare.contrast import Contrast, contrasts
from dumbbell.errors import DumbbellError
from dumbbell.metrics.paired import ALPHA, compared

TEXT = """\
dumbbell: 1
name: contrast
template: {dumbbell: {rate: 10 Mbit/s, rtt: $rtt, buffer: 60 packets, forward: {loss: 0.5 %}}}
flows: [{name: f, from: s1, to: d1, tcp: $cc, start_jitter: 1 RTT}]
duration: 5 s
factors: {rtt: [20 ms, 80 ms], cc: [reno, {label: again, value: reno}, bbr]}
repeats: 8
sampling: none
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("contrast")
    (folder / "e.yaml").write_text(TEXT, encoding="utf-8")
    dumbbell.run(folder / "e.yaml", store=folder / "store")
    return folder / "store"


def test_bbr_is_faster_where_loss_is_random_and_the_same_is_the_same(store: Path) -> None:
    results = dumbbell.load_results(store)
    found = {
        (one.place, one.first, one.second): one
        for one in contrasts(results, "cc", metrics=["goodput_mbps"])
    }
    assert len(found) == 2 * 3
    for rtt in ("20 ms", "80 ms"):
        same = found[f"rtt={rtt}, f", "reno", "again"]
        assert (same.shown, same.p, same.paired.effect) == (False, 1.0, 0.0)
        assert same.words.startswith("no difference shown")
        faster = found[f"rtt={rtt}, f", "reno", "bbr"]
        assert faster.shown and faster.size == "large"
        assert faster.words.startswith("higher by ")
        # Adjusted over six contrasts.
        assert faster.paired.p <= faster.p <= min(1, 6 * faster.paired.p)


def test_the_usual_metrics_leave_out_what_is_equal(store: Path) -> None:
    results = dumbbell.load_results(store)
    found = contrasts(results, "cc", levels=["reno", "bbr"])
    assert "jain" not in {one.metric for one in found}  # 1 with a single flow
    assert "goodput_mbps" in {one.metric for one in found}
    with pytest.raises(DumbbellError, match="nothing differs"):
        contrasts(results, "cc", levels=["reno", "again"])


def test_one_repeat_has_differences_without_an_interval(store: Path, tmp_path: Path) -> None:
    file = store.parent / "e.yaml"
    dumbbell.run(file, repeats=1, store=tmp_path)
    done = CliRunner().invoke(app, ["contrast", str(tmp_path), "--factor", "cc"])
    assert done.exit_code == 0, done.output
    assert "one repeat differs by " in done.stdout
    assert "differs by 0\n" not in done.stdout and "differs by 0 " not in done.stdout
    assert "0 of " in done.stdout.splitlines()[-1]
    twice = contrasts(dumbbell.load_results(tmp_path), "cc", levels=["reno", "bbr", "reno"])
    assert {(one.first, one.second) for one in twice} == {("reno", "bbr")}


def test_the_verb_prints_tables_and_json(store: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.json"
    words = ["contrast", str(store), "--factor", "cc", "--level", "reno", "--level", "bbr"]
    done = CliRunner().invoke(app, [*words, "--json", str(output)])
    assert done.exit_code == 0, done.output
    assert "reno → bbr" in done.stdout
    assert "differences are shown at 5 % over all together (Holm)." in done.stdout
    rows = json.loads(output.read_text())
    assert {row["metric"] for row in rows} >= {"goodput_mbps", "retransmissions"}


@pytest.mark.parametrize(
    ("factor", "options", "words"),
    [
        ("c", {}, r"unknown factor c; did you mean cc\?; there are: rtt, cc"),
        ("cc", {"levels": ["reno", "brr"]}, r"unknown level of cc brr; did you mean bbr\?"),
        ("cc", {"metrics": ["goodput"]}, "unknown metric goodput; did you mean goodput_mbps"),
        ("cc", {"levels": ["bbr"]}, "two levels of cc are compared; there is bbr"),
        ("cc", {"levels": ["bbr", "reno"], "metrics": ["voice_mos"]}, "no flow here has it"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    store: Path, factor: str, options: dict[str, list[str]], words: str
) -> None:
    with pytest.raises(DumbbellError, match=words):
        contrasts(dumbbell.load_results(store), factor, **options)


def test_a_metric_without_its_table_names_the_table(tmp_path: Path) -> None:
    text = TEXT.replace("flows: [", "flows: [{name: call, from: s1, to: d1, voice: g711}, ")
    (tmp_path / "e.yaml").write_text(text, encoding="utf-8")
    results = dumbbell.run(tmp_path / "e.yaml", store=tmp_path / "store", repeats=2)
    with pytest.raises(DumbbellError, match="voice_mos: the runs kept no probes; `sampling"):
        contrasts(results, "cc", metrics=["voice_mos"])


def test_a_difference_of_many_comparisons_is_not_shown_by_its_own_interval() -> None:
    """Holm's p is above 5 %, though this interval alone leaves 0 out."""
    alone = compared([1.0, 2.0, 3.0, 2.0], [0.0, 0.2, 0.1, 0.3])
    assert alone.p < ALPHA
    one = Contrast("goodput_mbps", "", "a", "b", (2.0, 0.15), alone, min(1.0, 24 * alone.p))
    assert one.words.startswith("no difference shown among all comparisons; alone (")
    assert replace(one, p=1.0, paired=replace(alone, p=0.5)).words.startswith(
        "no difference shown ("
    )
