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
from tests.helpers import ROOT, size
from tests.running.test_execution import SMALL

BAD_STORE = "/proc/none"
CAPTURED_TRACE = ROOT / "tests" / "traces" / "simple-rtg.tr.gz"


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    return path


def call(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.mark.slow
def test_run(small: Path, tmp_path: Path) -> None:
    numbers, store = tmp_path / "out" / "n.json", tmp_path / "store"
    result = call("run", small, "--store", store, "--json", numbers, "--workers", 1)
    assert result.exit_code == 0, result.output
    assert "small (3 repeats" in result.stdout
    found = json.loads(numbers.read_text())
    assert sorted(found) == [
        "claims", "effects", "engine", "experiment", "findings", "study", "tables", "versions"
    ]  # fmt: skip
    rows = found["tables"]["flows"]
    assert [(row["cc"], row["flow"]) for row in rows] == [
        ("reno", "flow1"), ("reno", "flow2"), ("bbr", "flow1"), ("bbr", "flow2")
    ]  # fmt: skip
    for row in rows:
        assert 0 < row["goodput_mbps_low"] <= row["goodput_mbps"] <= row["goodput_mbps_high"] < 9.6
        assert row["rtt_ms"] >= 20
    again = call("run", small, "--store", store)
    assert "6 runs are in the store already" in again.stderr


def test_a_comparison_without_a_kernel_runs_nothing(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    result = call("compare", small, "--store", tmp_path / "store")
    assert result.exit_code == 2
    assert "no kernel was built yet" in result.stderr
    assert not (tmp_path / "store").exists()


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


@pytest.mark.slow
@pytest.mark.parametrize(
    "data",
    [b"", b"\xff\xfe\x00", b"a: *b", b"[" * 5000, b"dumbbell: 1", b"%YAML 9.9\n---\na: 1", b"\0"],
)
def test_hostile_files_end_with_2(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "e.yaml"
    path.write_bytes(data)
    result = call("validate", path)
    assert result.exit_code == 2
    lines = result.stderr.splitlines()
    assert 1 <= len(lines) <= 2
    assert all(line.startswith(f"dumbbell: {path}") for line in lines)


def test_validate(small: Path) -> None:
    result = call("validate", small)
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "  cc: reno, bbr",
        "small: 2 cells × 3 repeats = 6 runs, 18 simulated seconds",
    ]


@pytest.mark.slow
def test_schema() -> None:
    result = call("schema")
    assert result.exit_code == 0
    schema = json.loads(result.stdout)
    assert schema == json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)


@pytest.mark.slow
def test_study_list_and_doctor() -> None:
    listed = call("study", "list")
    assert listed.exit_code == 0
    assert "multipath" in listed.stdout
    examined = call("doctor")
    assert examined.exit_code == 0, examined.output
    assert "FAIL" not in examined.stdout


@pytest.mark.slow
def test_ctrl_c_ends_with_130_and_keeps_what_is_finished(small: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "dumbbell", "run", str(small), "--repeats", "5000"]
    store = tmp_path / "s"
    with subprocess.Popen(
        [*command, "--store", str(store)], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL
    ) as child:
        until = time.monotonic() + 30
        while time.monotonic() < until:
            if any(size(log) for log in store.glob("journal/*.log")):
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


LINE = """\
dumbbell: 1
name: n
hosts: {a: , b: }
routers: {r: {}}
links:
  - {between: [a, r], delay: 1 ms}
  - {between: [r, b], shaper: {trace: {file: PLACE}}, buffer: 10 packets, delay: 5 ms}
flows: [{from: a, to: b, tcp: cubic}]
duration: 1 s
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("fifo", "a named pipe, not a file"),
        (".", "Is a directory"),
        ("/dev/zero", "a device, not a file"),
        ("none", "No such file or directory"),
    ],
)
def test_what_is_no_file_is_refused_at_once(place: str, words: str, tmp_path: Path) -> None:
    """As experiment, as trace of one, as HAR file; read by a child, which might hang."""
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "line.yaml").write_text(LINE.replace("PLACE", place))
    for arguments, where in (
        (["validate", place], f"{place}: cannot be read"),
        (["validate", "line.yaml"], "line.yaml:7: links[1]: the trace cannot be read"),
        (["workload", "from-har", place], f"{place}: cannot be read"),
        (["animate", "line.yaml", "--positions", place], f"{place}: cannot be read"),
        (["trace", str(CAPTURED_TRACE), "--names", place], f"{place}: cannot be read"),
    ):
        done = subprocess.run(
            [sys.executable, "-m", "dumbbell", *arguments],
            capture_output=True, text=True, timeout=30, check=False, cwd=tmp_path,
        )  # fmt: skip
        assert done.returncode == 2, done.stderr
        assert done.stderr.startswith(f"dumbbell: {where}: {words}")


@pytest.mark.timeout(120)
def test_marks_without_end_are_refused(tmp_path: Path) -> None:
    """Time squared in their number would take hours."""
    path = tmp_path / "e.yaml"
    path.write_text("dumbbell: 1\nname: " + "!" * 1_000_000)
    result = call("validate", path)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"dumbbell: {path}:2: tags are not used here; found !!!!")


@pytest.mark.slow
def test_validate_tells_how_far_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dumbbell.console.FIRST_LINE_S", 0.0)
    monkeypatch.setattr("dumbbell.experiment.check.PART", 300)
    numbers = ", ".join(f"{number} ms" for number in range(600))
    path = tmp_path / "e.yaml"
    path.write_text(
        SMALL.replace("cc: [reno, bbr]", f"cc: [reno], start: [{numbers}]").replace(
            "tcp: $cc,", "tcp: $cc, start: $start,"
        )
    )
    result = call("validate", path)
    assert result.exit_code == 0, result.output
    assert result.stderr.splitlines()[0] == "e.yaml: 300 of 600 cells checked"


@pytest.mark.slow
def test_cells_are_checked_one_by_one(tmp_path: Path) -> None:
    """A thousand scenarios together are 20 MB: of them, `validate` holds one."""
    import tracemalloc

    from dumbbell.experiment.load import open_file

    path = tmp_path / "e.yaml"
    starts = ", ".join(f"{number} ms" for number in range(1000))
    text = SMALL.replace("pairs: 2", "pairs: 20").replace("tcp: $cc,", "tcp: $cc, start: $start,")
    path.write_text(text.replace("cc: [reno, bbr]", f"cc: [reno], start: [{starts}]"))
    size = 0
    tracemalloc.start()
    for cell in open_file(path).cells():
        size += len(cell.scenario)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size > 20_000_000
    assert peak < 10_000_000


HEAVY = {"polars", "pyarrow", "altair", "pydantic", "numpy", "ruamel", "vl_convert"}


@pytest.mark.parametrize(
    "code",
    [
        "import dumbbell",
        "import dumbbell; dumbbell.run, dumbbell.ExperimentError, dumbbell.__version__",
        "import sys; sys.argv[1:] = ['--help']\nfrom dumbbell.__main__ import main\n"
        "try: main()\nexcept SystemExit: pass",
        "import sys; sys.argv[1:] = ['--version']\nfrom dumbbell.__main__ import main\n"
        "try: main()\nexcept SystemExit: pass",
    ],
)
def test_nothing_heavy_is_imported_before_it_is_needed(code: str) -> None:
    tell = "\nimport sys; print('\\n' + ' '.join({name.split('.')[0] for name in sys.modules}))"
    done = subprocess.run(
        [sys.executable, "-c", code + tell], capture_output=True, text=True, check=True
    )
    assert not HEAVY & set(done.stdout.splitlines()[-1].split())


def test_results_are_imported_when_asked_for() -> None:
    import dumbbell
    from dumbbell import results

    assert dumbbell.Results is results.Results
    assert dumbbell.ExperimentInfo is results.ExperimentInfo
    with pytest.raises(AttributeError, match="nonesuch"):
        _ = dumbbell.nonesuch  # type: ignore[attr-defined]


def test_version() -> None:
    import dumbbell

    result = call("--version")
    assert result.exit_code == 0
    assert result.stdout == f"dumbbell {dumbbell.__version__}\n"
