"""How-tos of CONTRIBUTING.md, followed as written with something that is thrown away."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

import dumbbell
from dumbbell import figures
from dumbbell.cli import app
from dumbbell.figures.figure import Figure
from dumbbell.figures.panels import panels
from dumbbell.metrics import SUBJECTS, Metric, Tables
from dumbbell.metrics.definition import known, per_flow, ratio
from dumbbell.metrics.reference import markdown
from tests import synthetic
from tests.helpers import ROOT

STUDY = """\
study: tiny
title: One flow
question: Does CUBIC fill a line by itself?
sources: [a line of arithmetic]
parts:
  one: {title: One flow, question: How fast is it?, experiment: one.yaml}
tables:
  goodput:
    title: Goodput
    part: one
    rows: {cc: cc}
    columns: {goodput_mbps: {metric: goodput_mbps}}
figures:
  "1": {title: Goodput, part: one, kind: goodput, options: {x: cc}}
claims:
  - id: T1
    text: CUBIC takes more than nine tenths of the line
    part: one
    quantity: {metric: goodput_mbps, where: {cc: cubic}}
    unit: Mbit/s
    published: 9.5
    expect: {above: 9}
"""
EXPERIMENT = """\
dumbbell: 1
name: tiny
template: {dumbbell: {rate: 10 Mbit/s, rtt: 20 ms, buffer: 1 BDP}}
flows: [{from: s1, to: d1, tcp: $cc, start_jitter: 10 ms}]
factors: {cc: [reno, cubic]}
repeats: 3
duration: 5 s
"""
TABLES = """\
from dumbbell.studies.pages import as_json, markdown

def tables(runs):
    rows = as_json(runs.study())["tables"]["goodput"]
    values = ([row["cc"], f"{row['goodput_mbps_measured']:.1f}"] for row in rows)
    yield "README.md", "goodput", markdown(["cc", "Mbit/s"], values)
"""


def words(*command: str) -> str:
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    return result.output


def test_a_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "studies" / "tiny"
    folder.mkdir(parents=True)
    (folder / "one.yaml").write_text(EXPERIMENT, encoding="utf-8")
    (folder / "study.yaml").write_text(STUDY, encoding="utf-8")
    assert "tiny" in words("study", "list")
    assert "reproduced" in words("study", "run", "tiny", "--store", "store")
    words("report", "store", "-o", "report.html")
    assert "CUBIC takes more than nine tenths" in Path("report.html").read_text(encoding="utf-8")
    page = folder / "README.md"
    page.write_text("<!-- goodput -->\n<!-- end goodput -->\n", encoding="utf-8")
    (folder / "tables.py").write_text(TABLES, encoding="utf-8")
    assert "renewed" in words("study", "tables", "tiny")
    assert "| cubic | 9." in page.read_text(encoding="utf-8")
    assert "unchanged" in words("study", "tables", "tiny", "--check")
    assert "figures/1.png" in words("study", "figures", "tiny", "1")
    assert (folder / "figures" / "1.png").read_bytes().startswith(b"\x89PNG")


def delivered(results: Tables, *, title: str | None = None) -> Figure:
    """Payload of each flow of the first run, in MB."""
    rows = results.flows.select("flow", "delivered_bytes").head(3).rows()
    points = [("Delivered (MB)", flow, float(at), mb / 1e6) for at, (flow, mb) in enumerate(rows)]
    return panels(title or "Delivered", "Payload of each flow.", points, dots=True)


def test_a_figure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(figures.KINDS, "delivered", delivered)
    drawn = figures.plot(synthetic.multipath("delay", repeats=1), "delivered", title="Mine")
    drawn.save(tmp_path / "mine.html")
    assert "Mine" in (tmp_path / "mine.html").read_text(encoding="utf-8")
    with pytest.raises(TypeError, match="pipe"):
        figures.plot(synthetic.multipath("delay", repeats=1), "delivered", pipe="p")


def test_a_metric(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    share = Metric(
        name="delivered_share",
        label="Share of sent bytes delivered",
        unit="",
        formula="received_bytes / sent_bytes",
        place="the flow's ends",
        window="the whole run",
        source="arithmetic",
        computed=per_flow(ratio(known("received_bytes"), known("sent_bytes"))),
        bounds=(0.0, 1.0),
    )
    monkeypatch.setitem(SUBJECTS, "Goodput", (*SUBJECTS["Goodput"], share))
    assert "`delivered_share`" in markdown()
    file = tmp_path / "one.yaml"
    file.write_text(EXPERIMENT, encoding="utf-8")
    results = dumbbell.run(file)
    values = share.measure(results)["value"].to_list()  # A warning is an error here.
    assert len(values) == 6 and all(0.9 < value <= 1 for value in values)
    bounded = replace(share, bounds=(0.0, 0.5))
    assert len(list(bounded.breaches(bounded.computed(results), results))) == 6


def test_contributing_names_what_is_there() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for path in (
        "dumbbell/figures/rrul.py",
        "dumbbell/figures/options.py",
        "tests/test_how_to.py",
        "docs/studies.md",
        "crates/experiment/src/stream.rs",
    ):
        assert f"`{path}`" in text, path
        assert (ROOT / path).is_file(), path


def test_the_page_of_stacks_shows_what_is_tested() -> None:
    """`docs/how-to/own-stack.md` has the code of `crates/lab/tests/own.rs`, which cargo runs."""
    page = (ROOT / "docs" / "how-to" / "own-stack.md").read_text(encoding="utf-8")
    code = (ROOT / "crates" / "lab" / "tests" / "own.rs").read_text(encoding="utf-8")
    (shown,) = re.findall(r"```rust\n(.*?)```", page, re.S)
    assert shown.rstrip() in code
    assert "fn my_stack_shares_with_cubic" in shown
