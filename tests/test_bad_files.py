"""Files and calls that are refused: exit code 2, one message with file and line, no traceback."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from typer.testing import CliRunner

from dumbbell.cli import app

FOLDER = Path(__file__).parent / "bad_files"
#: Packet-delivery traces that entries name.
TRACES = {"words.trace": "1\n2\nthree\n", "back.trace": "5\n3\n", "empty.trace": ""}


def entries(name: str) -> list[Any]:
    found: list[dict[str, Any]] = YAML(typ="safe").load(FOLDER / name)
    assert len({entry["name"] for entry in found}) == len(found)
    return [pytest.param(entry, id=entry["name"]) for entry in found]


EXPERIMENTS, CALLS = entries("experiments.yaml"), entries("calls.yaml")


def refused(arguments: list[str]) -> str:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2, (result.output, result.exception)
    assert "Traceback" not in result.output
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert all(line.startswith("dumbbell: ") and len(line) < 1000 for line in lines)
    assert len(lines) == 1 or arguments[0] == "validate"  # which names every error
    return lines[0].removeprefix("dumbbell: ") + "\n"


def test_there_are_many() -> None:
    assert len(EXPERIMENTS) + len(CALLS) >= 250


@pytest.mark.parametrize("entry", EXPERIMENTS)
def test_an_experiment_is_refused(
    entry: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in TRACES.items():
        Path(name).write_text(text)
    Path("bad.yaml").write_text(entry["text"])
    assert refused(["validate", "bad.yaml"]).startswith(
        f"bad.yaml:{entry['line']}: {entry['says']}"
    )


@pytest.mark.parametrize("entry", CALLS)
def test_a_call_is_refused(
    entry: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in entry.get("files", {}).items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)
    assert refused(entry["call"]).startswith(entry["says"])
