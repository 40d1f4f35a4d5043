"""Columns that pages name are columns that files have."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import polars as pl
import pytest

import dumbbell
from dumbbell.capture import survey
from dumbbell.capture.packet_table import packet_table
from dumbbell.capture.tables import frames as tables
from dumbbell.metrics import METRICS
from dumbbell.runs import column_names

ROOT = Path(__file__).parent.parent.parent
PAGES = sorted((ROOT / "docs").rglob("*.md"))
#: A name with a unit, in code.
NAMED = re.compile(r"`([a-z][a-z0-9_]*_(?:ns|us|ms|s|bytes|packets|bps|mbps|share|samples))`")
#: Names of the kernel, and of records of the tests.
OTHERS = {"mdev_us", "packet_time_ns", "calibration_s"}
RUN = """\
dumbbell: 1
name: cap
template: {dumbbell: {pairs: 1, rate: 10 Mbit/s, rtt: 20 ms, buffer: 1 BDP}}
flows: [{from: s1, to: d1, tcp: cubic}]
taps: [{at: r1, link: s1-r1}]
duration: 200 ms
sampling: {capture: true}
"""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Table of a capture → its columns."""
    folder = tmp_path_factory.mktemp("captures")
    (folder / "x.yaml").write_text(RUN)
    dumbbell.run(folder / "x.yaml", captures=folder)
    (file,) = folder.glob("*.pcapng")
    found = survey(file)
    made: dict[str, pl.DataFrame] = {**tables(found), "packets": packet_table(found, ())}
    return {name: frame.columns for name, frame in made.items()}


def section(page: str, title: str) -> str:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return text.partition(f"### {title}\n")[2].partition("\n#")[0]


def first_cells(text: str) -> list[str]:
    """Names in code of the first cells of a table's rows."""
    rows = [line.split(" | ")[0] for line in text.splitlines() if line.startswith("| `")]
    return [name for row in rows for name in re.findall(r"`([^`]+)`", row)]


def test_columns_of_packets_are_those_of_the_file(written: dict[str, list[str]]) -> None:
    named = first_cells(section("captures.md", "Columns of a packet"))
    assert sorted(named) == sorted(written["packets"])


def test_columns_of_connections_are_those_of_the_file(written: dict[str, list[str]]) -> None:
    named = first_cells(section("captures.md", "Columns of a connection"))
    assert len(named) > 20
    for name in named:
        pattern = re.escape(name).replace("…", ".*")
        assert any(re.fullmatch(pattern, one) for one in written["connections"]), name


@cache
def words() -> frozenset[str]:
    """Words of the sources: fields of scenarios, options and names of columns in CSV files."""
    files = [*(ROOT / "dumbbell").rglob("*.py"), *(ROOT / "crates").rglob("*.rs")]
    texts = (one.read_text(encoding="utf-8") for one in files)
    return frozenset(word for text in texts for word in re.findall(r"\w+", text))


@pytest.mark.parametrize("page", PAGES, ids=lambda one: str(one.relative_to(ROOT / "docs")))
def test_a_name_with_a_unit_is_known(page: Path) -> None:
    named = set(NAMED.findall(page.read_text(encoding="utf-8"))) - OTHERS
    assert named - column_names() - set(METRICS) <= words()
