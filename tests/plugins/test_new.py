"""`dumbbell new congestion-control`: each project builds, and its own test passes as written."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dumbbell.cli import app
from dumbbell.files.shipped import shipped
from dumbbell.starter import project
from tests.plugins.built import wasm_environment


@pytest.mark.parametrize(
    ("form", "target"),
    [
        ("python", "test"),
        ("c", "test"),
        ("c", "wasm"),
        ("kernel", "test"),
        ("rust", "test"),
        ("rust", "wasm"),
    ],
)
def test_a_new_project_is_reno(form: str, target: str, tmp_path: Path) -> None:
    variables = {**os.environ}
    if target == "wasm":
        clang = shutil.which("clang") and shutil.which("wasm-ld")
        if form == "c" and not clang:
            pytest.skip("no clang and wasm-ld")
        variables |= wasm_environment() if form == "rust" else {}
    folder = tmp_path / "own"
    words = ["new", "congestion-control", "own_one", "--in", form, "--to", str(folder)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    made = subprocess.run(
        ["make", target], cwd=folder, env={**variables, "PATH": path},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stdout + made.stderr
    assert "own_one sends the packets of Reno" in made.stdout


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Own", "small letters"),
        ("9x", "a letter first"),
        ("cubic", "of the program"),
        ("x" * 41, "small letters"),
        *((word, "a word of C or Python, or a module") for word in ("class", "int", "polars")),
    ],
)
def test_a_name_that_cannot_be_one(name: str, words: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["new", "congestion-control", name, "--to", str(tmp_path / "n")])
    assert done.exit_code == 2 and words in " ".join(done.output.split())
    assert not (tmp_path / "n").exists()


def test_a_name_for_a_kernel_has_fifteen_characters(tmp_path: Path) -> None:
    words = ["new", "congestion-control", "x" * 16, "--in", "kernel", "--to", str(tmp_path / "n")]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 2 and "at most 15 small letters" in " ".join(done.output.split())


def test_compiled_templates_are_no_part_of_a_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pip compiles the Python files of a wheel."""
    kit = tmp_path / "kit"
    shutil.copytree(shipped("_plugin"), kit)
    compiled = kit / "templates" / "python" / "__pycache__" / "mine.cpython-311.pyc"
    compiled.parent.mkdir()
    compiled.write_bytes(b"\xa7\r\r\n")
    monkeypatch.setattr(project, "shipped", lambda name: kit)
    files = project.write_project("own", "python", tmp_path / "own")
    assert Path("own.py") in files and not any("__pycache__" in one.parts for one in files)


def test_a_folder_with_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("precious", encoding="utf-8")
    done = CliRunner().invoke(app, ["new", "congestion-control", "own", "--to", str(tmp_path)])
    assert done.exit_code == 2 and "not empty" in done.output
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
