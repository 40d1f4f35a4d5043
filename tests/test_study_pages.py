"""Tables of pages: written between markers from runs, or only compared."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dumbbell.cli import app
from dumbbell.studies import StudyError
from dumbbell.studies.pages import markdown, renewed, tables_folder
from tests.helpers import ROOT

STUDY = """\
study: tiny
title: One flow
question: How fast is it?
sources: [none]
parts:
  one: {title: One flow, experiment: one.yaml}
tables:
  goodput:
    title: Goodput
    part: one
    rows: {cc: cc}
    columns: {goodput_mbps: {metric: goodput_mbps}}
"""
EXPERIMENT = """\
dumbbell: 1
name: tiny
template: {dumbbell: {rate: 10 Mbit/s, rtt: 20 ms, buffer: 1 BDP}}
flows: [{from: s1, to: d1, tcp: $cc}]
factors: {cc: [reno, cubic]}
duration: 2 s
"""
TABLES = """\
from dumbbell.studies.pages import as_json, markdown

def tables(runs):
    rows = as_json(runs.study())["tables"]["goodput"]
    yield "README.md", "goodput", markdown(
        ["cc", "Mbit/s"], [[row["cc"], f"{row['goodput_mbps_measured']:.0f}"] for row in rows]
    )
    if runs.allows("linux"):
        raise AssertionError
"""
PAGE = "before\n<!-- goodput -->\nold\n<!-- end goodput -->\nafter\n"


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "studies" / "tiny"
    folder.mkdir(parents=True)
    for name, text in {
        "study.yaml": STUDY,
        "one.yaml": EXPERIMENT,
        "tables.py": TABLES,
        "README.md": PAGE,
    }.items():
        (folder / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return folder


def call(*words: str) -> int:
    result = CliRunner().invoke(app, ["study", "tables", "tiny", "--engine", "sim", *words])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code


@pytest.mark.slow
def test_tables_are_compared_and_renewed(study: Path) -> None:
    page = study / "README.md"
    assert call("--check") == 1
    assert page.read_text(encoding="utf-8") == PAGE
    assert call() == 0
    text = page.read_text(encoding="utf-8")
    assert text.startswith("before\n<!-- goodput -->\n| cc | Mbit/s |\n")
    assert "| reno | 9 |\n| cubic | 9 |\n<!-- end goodput -->\nafter\n" in text
    assert call("--check") == 0
    shutil.rmtree(study.parents[1] / "store")
    page.write_text(text.replace("| 9 |", "| 8 |"), encoding="utf-8")
    assert call("--check") == 1


def test_a_marker_stands_on_its_page_once() -> None:
    assert renewed(PAGE, "goodput", ["new"], "page") == PAGE.replace("old", "new")
    for page in (PAGE.replace("end ", ""), PAGE + PAGE, ""):
        with pytest.raises(StudyError, match="should stand there once"):
            renewed(page, "goodput", [], "page")


def test_a_study_without_tables_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(
        StudyError,
        match="access-links, adsl-codel, bbr3, captures, congestion-controls, data-centre, "
        "disciplines, l4s, models, mptcp, multipath, quic, releases",
    ):
        tables_folder("nonesuch")


def test_the_markers_of_every_study_stand_on_its_pages() -> None:
    """Without runs: the names that `tables.py` has, as far as they are written out."""
    for path in sorted((ROOT / "studies").glob("*/tables.py")):
        source = path.read_text(encoding="utf-8")
        pages = [*path.parent.glob("*.md"), *(ROOT / "docs").glob("*.md")]
        text = "".join(page.read_text(encoding="utf-8") for page in pages if page.is_file())
        named = [
            line.split('yield PAGE, "')[1].split('"')[0]
            for line in source.splitlines()
            if 'yield PAGE, "' in line
        ]
        if 'f"{name}.yaml"' in source:  # a table per experiment
            named += [one.stem for one in path.parent.glob("*.yaml")]
        assert named, path
        for name in named:
            assert f"<!-- {name} -->\n" in text, (path, name)


def test_markdown() -> None:
    assert markdown(["a", "b"], [["1", "2"]]) == ["| a | b |", "| --- | --- |", "| 1 | 2 |"]
