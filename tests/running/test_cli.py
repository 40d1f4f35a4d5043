"""The command line: exit codes, one message per mistake, no tracebacks."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import pytest
from typer.testing import CliRunner, Result

from dumbbell.cli import app
from dumbbell.experiment import json_schema
from tests.running.test_execution import SMALL

BAD_STORE = "/proc/none"


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    return path


def call(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_run(small: Path, tmp_path: Path) -> None:
    numbers, store = tmp_path / "out" / "n.json", tmp_path / "store"
    result = call("run", small, "--store", store, "--json", numbers, "--workers", 1)
    assert result.exit_code == 0, result.output
    assert "small (3 repeats" in result.stdout
    found = json.loads(numbers.read_text())
    assert sorted(found) == ["claims", "engine", "experiment", "study", "tables", "versions"]
    rows = found["tables"]["flows"]
    assert [(row["cc"], row["flow"]) for row in rows] == [
        ("reno", "flow1"), ("reno", "flow2"), ("bbr", "flow1"), ("bbr", "flow2")
    ]  # fmt: skip
    for row in rows:
        assert 0 < row["goodput_mbps_low"] <= row["goodput_mbps"] <= row["goodput_mbps_high"] < 9.6
        assert row["rtt_ms"] >= 20
    again = call("run", small, "--store", store)
    assert "6 runs are in the store already" in again.stderr


def test_run_with_options(small: Path, tmp_path: Path) -> None:
    arguments = ["--set", "cc=bic", "--set", "cc=reno", "--repeats", 1, "--seed", 9]
    numbers = tmp_path / "n.json"
    result = call("run", small, "--store", tmp_path / "s", *arguments, "--json", numbers)
    assert result.exit_code == 0, result.output
    rows = json.loads(numbers.read_text())["tables"]["flows"]
    assert [row["cc"] for row in rows] == ["bic", "bic", "reno", "reno"]
    assert all(row["goodput_mbps_low"] is None for row in rows)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["run", "none.yaml"], "dumbbell: none.yaml: cannot be read: No such file or directory"),
        (["validate", "/"], "dumbbell: /: cannot be read: Is a directory"),
        (["run", "FILE", "--set", "cc"], "dumbbell: --set cc: should be FACTOR=LEVEL"),
        (["run", "FILE", "--set", "ccc=bic"], "neither a factor nor a field; did you mean cc?"),
        (["run", "FILE", "--store", BAD_STORE], "/proc/none: the store cannot be opened"),
        (["run", "FILE", "--json", "/proc/none/x"], "/proc/none/x: cannot be written"),
        (["run", "FILE", "--repeats", "0"], "Invalid value for '--repeats'"),
        (["run"], "Missing argument"),
        (["fly"], "No such command"),
        (["report", "none", "-o", "x.html"], "none"),
        (["study", "run", "nonesuch"], "nonesuch"),
        (["study", "run", "multipath", "--part", "nonesuch"], "nonesuch"),
    ],
)
def test_mistakes_end_with_2(
    arguments: list[str], expected: str, small: Path, tmp_path: Path
) -> None:
    given = [str(small) if argument == "FILE" else argument for argument in arguments]
    if "run" in given and "study" not in given and "--store" not in given:
        given += ["--store", str(tmp_path / "s")]
    result = call(*given)
    assert result.exit_code == 2, result.output
    assert expected in result.stderr
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    "data",
    [b"", b"\xff\xfe\x00", b"a: *b", b"[" * 5000, b"dumbbell: 1", b"%YAML 9.9\n---\na: 1", b"\0"],
)
def test_hostile_files_end_with_2(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "e.yaml"
    path.write_bytes(data)
    result = call("validate", path)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"dumbbell: {path}")
    assert result.stderr.count("\n") == 1


def test_validate(small: Path) -> None:
    result = call("validate", small)
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "  cc: reno, bbr",
        "small: 2 cells × 3 repeats = 6 runs, 18 simulated seconds",
    ]


def test_schema() -> None:
    result = call("schema")
    assert result.exit_code == 0
    schema = json.loads(result.stdout)
    assert schema == json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)


def test_study_list_and_doctor() -> None:
    listed = call("study", "list")
    assert listed.exit_code == 0
    assert "multipath" in listed.stdout
    examined = call("doctor")
    assert examined.exit_code == 0, examined.output
    assert "FAIL" not in examined.stdout


def test_ctrl_c_ends_with_130_and_keeps_what_is_finished(small: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "dumbbell.cli", "run", str(small), "--repeats", "5000"]
    store = tmp_path / "s"
    with subprocess.Popen(
        [*command, "--store", str(store)], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL
    ) as child:
        until = time.monotonic() + 30
        while time.monotonic() < until:
            if any(log.stat().st_size for log in store.glob("journal/*.log")):
                break
            time.sleep(0.02)
        os.kill(child.pid, signal.SIGINT)
        assert child.stderr is not None
        said = child.stderr.read().decode()
        assert child.wait(20) == 130
    assert "Traceback" not in said
    assert "of 10000 runs are finished and kept" in said
    import dumbbell

    assert dumbbell.load_results(store).runs.height > 0
