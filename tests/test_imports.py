"""Large packages are imported when they are needed, by what is loaded, not by time."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import dumbbell
from tests.helpers import BASE, ROOT

LARGE = {
    "altair", "fsspec", "jsonschema", "numpy", "optuna", "orjson", "polars", "pyarrow", "pydantic",
    "rich", "ruamel", "scipy",
}  # fmt: skip
#: Prints what is loaded at the end of the program.
LOADED = """
import atexit, sys
atexit.register(lambda: print("\\n" + " ".join(sys.modules)))
sys.argv = ['dumbbell', *{arguments!r}]
{program}
"""
PROGRAM = "from dumbbell.__main__ import main\nmain()"


def loaded(program: str, arguments: Sequence[str] = ()) -> tuple[list[str], set[str]]:
    """Lines that a program prints, and the modules it imports."""
    code = LOADED.format(program=program, arguments=list(arguments))
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
    *lines, modules = done.stdout.splitlines()
    return lines, set(modules.split())


def test_the_package_alone_imports_nothing_large() -> None:
    _, modules = loaded("import dumbbell; dumbbell.run; dumbbell.ExperimentError")
    assert "dumbbell._core" in modules
    assert not modules & (LARGE | {"typer", "dataclasses", "inspect", "json"})


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("--version", f"dumbbell {dumbbell.__version__}"),
        ("--help", "A laboratory for transport protocols."),
        ("run --help", "Run an experiment. Finished runs in the store are not repeated."),
        ("study run --help", "Run a study, print its tables, evaluate its claims."),
    ],
)
def test_help_and_version_import_nothing_large(arguments: str, expected: str) -> None:
    lines, modules = loaded(PROGRAM, arguments.split())
    assert expected in [line.strip() for line in lines]
    assert "typer" in modules
    # typer checks the arguments of a verb with pydantic.
    own = LARGE if arguments.startswith("--") else LARGE - {"pydantic"}
    assert not modules & own


def test_a_run_imports_no_metrics_and_no_kernel(tmp_path: Path) -> None:
    file = tmp_path / "e.yaml"
    file.write_text(BASE.replace("100 s", "6 s"))
    program = "import sys, dumbbell; print(dumbbell.run(sys.argv[1]).flows.height)"
    lines, modules = loaded(program, [str(file)])
    assert lines[0] == "2"
    assert {"polars", "ruamel.yaml"} <= modules
    assert not modules & LARGE - {"polars", "ruamel", "orjson"}
    assert "typer" not in modules
    assert not modules & {"dumbbell.metrics", "dumbbell.engines.linux", "dumbbell.engines.netns"}


def test_a_check_imports_no_tables(tmp_path: Path) -> None:
    file = tmp_path / "e.yaml"
    file.write_text(BASE)
    lines, modules = loaded(PROGRAM, ["validate", str(file)])
    assert "1 cell × 1 repeat = 1 run" in lines[-2]
    assert not modules & {"polars", "numpy", "pyarrow", "altair", "dumbbell.metrics"}


def test_every_public_name_is_there() -> None:
    found = {name: getattr(dumbbell, name) for name in dumbbell.__all__}
    assert set(found) <= set(dir(dumbbell))
    assert found["Results"].__name__ == "Results"
    assert found["ExperimentInfo"].__name__ == "ExperimentInfo"
    with pytest.raises(AttributeError, match="module 'dumbbell' has no attribute 'result'"):
        getattr(dumbbell, "result")  # noqa: B009


def named(results: dumbbell.Results, info: dumbbell.ExperimentInfo) -> dumbbell.ExperimentInfo:
    """Type checkers see the names that are imported late."""
    return results.experiment or info


def test_the_report_of_an_experiment_imports_no_reader_of_files(tmp_path: Path) -> None:
    """Neither experiments nor studies are read: their validators take a fifth of a second."""
    file = tmp_path / "e.yaml"
    file.write_text(BASE.replace("100 s", "6 s"))
    dumbbell.run(file, store=tmp_path / "store")
    arguments = ["report", str(tmp_path / "store"), "-o", str(tmp_path / "r.html")]
    _, modules = loaded(PROGRAM, arguments)
    assert {"altair", "polars", "dumbbell.report"} <= modules
    assert not modules & {"ruamel.yaml", "pyarrow"}
    assert not modules & {"dumbbell.experiment", "dumbbell.engines", "dumbbell.studies.running"}
