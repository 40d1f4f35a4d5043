"""`dumbbell check` with a baseline: it catches a planted regression and passes without."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from dumbbell.cli import app
from tests.helpers import ROOT

FOLDER = ROOT / "examples" / "regression"
TEXT = """\
dumbbell: 1
name: small
template: {dumbbell: {rate: 10 Mbit/s, rtt: 20 ms, buffer: $buffer, forward: {loss: 0.2 %}}}
flows: [{name: f, from: s1, to: d1, tcp: cubic, start_jitter: 1 RTT}]
duration: 5 s
factors: {buffer: [20 packets, 60 packets]}
repeats: 8
sampling: none
"""


def checked(file: Path, *arguments: str) -> Any:
    store = str(file.parent / "store")
    baseline = str(file.parent / "baseline.json")
    words = ["check", str(file), "--store", store, "--baseline", baseline, *arguments]
    return CliRunner().invoke(app, words)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(TEXT, encoding="utf-8")
    assert checked(path, "--update").exit_code == 0
    return path


def test_the_same_passes_as_identical(file: Path) -> None:
    done = checked(file)
    assert done.exit_code == 0
    assert "every run is identical to the baseline's" in done.stdout


def test_a_planted_regression_is_caught_and_named(file: Path) -> None:
    # A slower line, as an overhead that nobody meant to add.
    file.write_text(TEXT.replace("rate: 10", "rate: 8"), encoding="utf-8")
    done = checked(file, "--junit", str(file.parent / "out.xml"))
    assert done.exit_code == 1
    worse = [line for line in done.stdout.splitlines() if line.startswith("✗ goodput_mbps")]
    assert len(worse) == 2
    assert "(buffer=60 packets, f): " in worse[1] and ": worse by " in worse[1]
    suite = ElementTree.parse(file.parent / "out.xml").getroot()[0]
    failures = suite.findall("testcase/failure")
    assert suite.attrib["failures"] == str(len(failures)) != "0"
    assert any("worse by" in one.attrib["message"] for one in failures)


def test_noise_alone_passes(file: Path) -> None:
    # A link that carries nothing gets another random stream for its losses: the same experiment.
    other = TEXT.replace("rtt: 20 ms", "rtt: 20.0001 ms")
    file.write_text(other, encoding="utf-8")
    done = checked(file)
    assert done.exit_code == 0, done.stdout
    assert "quantities pass against the baseline" in done.stdout


def test_what_is_better_passes_and_is_told(file: Path) -> None:
    better = TEXT.replace("rate: 10", "rate: 12").replace("loss: 0.2 %", "loss: 0.02 %")
    file.write_text(better, encoding="utf-8")
    done = checked(file)
    assert done.exit_code == 0, done.stdout
    assert any(line.startswith("↑ goodput_mbps") for line in done.stdout.splitlines())


def test_one_repeat_is_judged_by_the_tolerance(tmp_path: Path) -> None:
    path = tmp_path / "one.yaml"
    path.write_text(TEXT.replace("repeats: 8", "repeats: 1"), encoding="utf-8")
    assert checked(path, "--update").exit_code == 0
    path.write_text(path.read_text().replace("loss: 0.2 %", "loss: 2 %"), encoding="utf-8")
    assert checked(path).exit_code == 1
    worse = [line for line in checked(path).stdout.splitlines() if line.startswith("✗ ")]
    wider = [
        line
        for line in checked(path, "--tolerance", "100 %").stdout.splitlines()
        if line.startswith("✗ ")
    ]
    assert len(wider) < len(worse)
    assert not any("goodput" in line for line in wider)


def test_a_few_equal_repeats_are_told_as_they_are(tmp_path: Path) -> None:
    """Three repeats without anything random: nothing is noise, and no p is 0."""
    path = tmp_path / "few.yaml"
    same = TEXT.replace(", start_jitter: 1 RTT", "").replace(", forward: {loss: 0.2 %}", "")
    path.write_text(same.replace("repeats: 8", "repeats: 3"), encoding="utf-8")
    (written,) = re.findall(r"baseline of (\d+) quantities", checked(path, "--update").stdout)
    identical = checked(path).stdout
    assert f"identical to the baseline's ({written} quantities)" in identical
    assert "noise included" not in identical
    path.write_text(path.read_text().replace("rate: 10", "rate: 8"), encoding="utf-8")
    worse = checked(path).stdout
    assert "noise included" in worse and "(p 0)" not in worse
    assert re.search(r"✗ goodput_mbps .* worse by \d+ % \(equally in each repeat\)", worse)


def test_a_quantity_that_is_gone_fails(file: Path) -> None:
    baseline = file.parent / "baseline.json"
    fields = json.loads(baseline.read_text())
    fields["samples"].append({**fields["samples"][0], "levels": {"buffer": "9 packets"}})
    fields["digest"] = "another"
    baseline.write_text(json.dumps(fields))
    done = checked(file)
    assert done.exit_code == 1
    assert "not measured any more" in done.stdout


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "no baseline: No such file or directory; `dumbbell check FILE --baseline"),
        ("{", "not a baseline ("),
        ("[]", "not a baseline ("),
        ("{}", "not a baseline (it has no 'format')"),
        ('{"format": 9}', "not a baseline (its format is unknown to this program)"),
        ('{"format": 1, "samples": [{"metric": "x"}]}', "unknown metric 'x'"),
        ('{"format": 1, "samples": [], "more": 1}', "not a baseline ("),
    ],
)
def test_a_bad_baseline_is_refused_before_the_runs(
    content: str | None, words: str, tmp_path: Path
) -> None:
    path = tmp_path / "small.yaml"
    path.write_text(TEXT, encoding="utf-8")
    if content is not None:
        (tmp_path / "baseline.json").write_text(content)
    done = checked(path)
    assert done.exit_code == 2, done.output
    assert words in done.stderr
    assert not (tmp_path / "store").exists()


def test_a_baseline_of_another_experiment_or_seed_is_refused(file: Path) -> None:
    assert "has the seed 1, this run 7" in checked(file, "--seed", "7").stderr
    file.write_text(TEXT.replace("name: small", "name: other"), encoding="utf-8")
    assert "has the experiment small, this run other" in checked(file).stderr


def test_options_that_miss_something_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "small.yaml"
    path.write_text(TEXT, encoding="utf-8")
    for words, message in (
        (["--update"], "--update writes a baseline: name its file with --baseline"),
        ([], "nothing is expected: write `expect` into the file, or name a --baseline"),
        (["--baseline", "b", "--tolerance", "5"], "--tolerance: "),
    ):
        done = CliRunner().invoke(app, ["check", str(path), *words])
        assert done.exit_code == 2 and message in done.stderr, done.output


@pytest.mark.slow
def test_the_example_s_experiment_holds_and_catches_a_lost_option(tmp_path: Path) -> None:
    file = Path(shutil.copy(FOLDER / "experiment.yaml", tmp_path))
    assert checked(file, "--update").exit_code == 0
    assert checked(file).exit_code == 0
    planted = "hosts: {defaults: {tcp_sack: false}}\n"
    file.write_text(file.read_text() + planted, encoding="utf-8")
    done = checked(file)
    assert done.exit_code == 1, done.stdout
    assert "worse by" in done.stdout


def test_a_pipe_s_expectation_names_the_pipe(tmp_path: Path) -> None:
    path = tmp_path / "pipes.yaml"
    expect = "expect: [{metric: loss_ratio, below: 0.5}]\n"
    path.write_text(TEXT + expect, encoding="utf-8")
    done = checked(path, "--update", "--junit", str(tmp_path / "out.xml"))
    assert "loss_ratio below 0.5 (20 packets, bottleneck/forward): " in done.stdout
    suite = ElementTree.parse(tmp_path / "out.xml").getroot()[0]
    names = [case.attrib["name"] for case in suite.findall("testcase")]
    assert len(set(names)) == len(names) > 2


def test_what_the_file_expects_no_more_is_missing_though_the_runs_are_the_same(
    tmp_path: Path,
) -> None:
    path = tmp_path / "small.yaml"
    path.write_text(TEXT + "expect: [{metric: undos, below: 9}]\n", encoding="utf-8")
    assert checked(path, "--update").exit_code == 0
    path.write_text(TEXT, encoding="utf-8")
    done = checked(path)
    assert done.exit_code == 1
    assert "identical" not in done.stdout and "not measured any more" in done.stdout


def test_a_few_repeats_are_judged_by_the_tolerance(tmp_path: Path) -> None:
    path = tmp_path / "two.yaml"
    path.write_text(TEXT.replace("repeats: 8", "repeats: 2"), encoding="utf-8")
    assert checked(path, "--update").exit_code == 0
    path.write_text(path.read_text().replace("rate: 10", "rate: 9"), encoding="utf-8")
    done = checked(path)
    assert done.exit_code == 1
    assert "✗ goodput_mbps" in done.stdout
    assert "Fewer than 5 repeats: the tolerance of 1 % alone decides" in done.stdout
