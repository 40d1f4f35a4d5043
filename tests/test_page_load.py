"""The page of study 2's first part: its objects, its capture, and the numbers told of it."""

from __future__ import annotations

import csv
import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from dumbbell.capture import survey

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "studies" / "web" / "page"
#: Programs that a page load needs.
PROGRAMS = ("nginx", "chromium", "tcpdump", "curl", "ip", "tc", "setpriv", "unshare")


def module(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"page_load_{name}", FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = found
    spec.loader.exec_module(found)
    return found


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_page_has_the_classes_of_table_1(tmp_path: Path) -> None:
    page = module("page")
    things = page.things()
    for row in rows(ROOT / "studies/web/table-1.csv"):
        mine = [thing.size for thing in things if thing.class_ == row["class"]]
        assert len(mine) == int(row["connections"])
        assert min(mine) >= max(100, 1000 * int(row["from_kb"]))
        assert max(mine) < 1000 * (int(row["to_kb"]) + 1)
    assert sum(thing.size for thing in things) == pytest.approx(page.TOTAL_BYTES, rel=1e-3)
    assert things == page.things()
    page.write(tmp_path, things)
    text = (tmp_path / "index.html").read_text(encoding="utf-8")
    for thing in things:
        assert (tmp_path / thing.path[1:]).stat().st_size == thing.size
        assert f"http://{thing.host.name}{thing.path}" in text


@pytest.mark.parametrize("name", ["page", "curl"])
def test_requests_and_bytes_are_those_that_nginx_logged(name: str) -> None:
    found = survey(FOLDER / f"{name}.pcap.gz")
    connections = found["connections"]
    asked = {
        (row["to_address"], row["from_port"]): row["turns"]
        for row in connections
        if row["opened_it"] and row["turns"]
    }
    sent = {
        (row["from_address"], row["to_port"]): row["unique_bytes"]
        for row in connections
        if not row["opened_it"] and row["turns"]
    }
    logged = rows(FOLDER / f"{name}.csv")
    ends = [(row["server_address"], int(row["client_port"])) for row in logged]
    requests, responses = (
        {end: int(row[column]) for end, row in zip(ends, logged, strict=True)}
        for column in ("requests", "response_bytes")
    )
    assert (asked, sent) == (requests, responses)
    told = found["together"]
    several = sum(int(row["requests"]) > 1 for row in logged)
    assert told["persistent_connections"] == several
    if name == "curl":
        assert told["requests"] == [{"requests": 12, "connections": 1}]


def test_the_page_of_numbers_is_of_this_capture() -> None:
    describe = module("describe")
    found, curl = (survey(describe.capture(FOLDER, name)) for name in ("page", "curl"))
    text = (ROOT / "docs" / "page-load.md").read_text(encoding="utf-8")
    told = text.partition(describe.BEGIN)[2].partition(describe.END)[0]
    assert told.splitlines()[1:] == describe.tables(FOLDER, found, curl)
    for name in describe.drawings(found):
        assert (FOLDER / "figures" / f"{name}.png").stat().st_size < 100_000


def load(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(FOLDER / "load.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    done = load("-o", str(tmp_path), "--nginx", str(tmp_path / "nginx"))
    assert done.returncode == 2
    assert ("the rights of root" if os.geteuid() else "nginx") in done.stderr
    assert done.stderr.startswith("load.py: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.root
@pytest.mark.peers(*PROGRAMS)
def test_a_page_is_loaded_and_captured(tmp_path: Path) -> None:
    if not Path("/dev/net/tun").exists():
        pytest.skip("no TAP devices here")
    done = load("-o", str(tmp_path), "--rate", "20mbit")
    assert done.returncode == 0, done.stderr
    told = survey(tmp_path / "page.pcap")["together"]
    logged = rows(tmp_path / "page.csv")
    asked = sum(row["requests"] * row["connections"] for row in told["requests"])
    assert asked == sum(int(row["requests"]) for row in logged) == 178
    assert told["syn_rtt_ns"]["min"] >= 6_000_000
