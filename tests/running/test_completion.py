"""Completion in shells: verbs, options and names; for files the shell's own completion."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from dumbbell.cli import app
from dumbbell.cli.init import NAMES
from tests.helpers import ROOT
from tests.test_imports import LARGE, PROGRAM, loaded

#: The console script, which scripts for shells call by its name.
SCRIPT = Path(sys.executable).parent / "dumbbell"


def program(*arguments: str, **environment: str) -> Result:
    """The program under its own name, with these variables of a shell."""
    return CliRunner().invoke(app, arguments, env=environment, prog_name="dumbbell")


def completed(line: str) -> list[str]:
    """What bash is given for the last word of a line."""
    last = str(line.count(" "))
    done = program(COMP_WORDS=line, COMP_CWORD=last, _DUMBBELL_COMPLETE="complete_bash")
    assert (done.exit_code, done.stderr) == (0, "")
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("dumbbell sho", ["show"]),
        ("dumbbell store ver", ["verify"]),
        ("dumbbell show --", ["--experiment", "--cell", "--repeat", "--at", "--help"]),
        ("dumbbell run x.yaml --st", ["--store"]),
        ("dumbbell trace x.tr --j", ["--json"]),
        ("dumbbell init --template ", list(NAMES)),
        ("dumbbell run --engine n", ["netns"]),
        ("dumbbell run ex", []),
        ("dumbbell run x.yaml --store ", []),
    ],
)
def test_what_bash_is_given(line: str, expected: list[str]) -> None:
    assert completed(line) == expected


def test_zsh_and_fish() -> None:
    """Where nothing is completed, both go on to names of files."""
    zsh = {"_DUMBBELL_COMPLETE": "complete_zsh"}
    assert program(_TYPER_COMPLETE_ARGS="dumbbell sho", **zsh).stdout.startswith(
        '_arguments \'*: :(("show":'
    )
    assert program(_TYPER_COMPLETE_ARGS="dumbbell run ex", **zsh).stdout == "_files\n"
    fish = {"_DUMBBELL_COMPLETE": "complete_fish", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    shown = program(_TYPER_COMPLETE_ARGS="dumbbell sho", **fish).stdout
    assert shown.split("\t")[0] == "show"
    fish["_TYPER_COMPLETE_FISH_ACTION"] = "is-args"
    assert program(_TYPER_COMPLETE_ARGS="dumbbell sho", **fish).exit_code == 0
    assert program(_TYPER_COMPLETE_ARGS="dumbbell run ex", **fish).exit_code == 1


def under(shell: str, *arguments: str, **environment: str) -> str:
    """What the program prints as a child of a shell, which it finds out by its parents."""
    command = [sys.executable, "-m", "dumbbell", *arguments]
    done = subprocess.run(
        [shell, "-c", f"{shlex.join(command)}; true"],
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout


@pytest.mark.skipif(not SCRIPT.exists(), reason="the program is not installed")
def test_a_bash_completes() -> None:
    script = under("bash", "--show-completion")
    assert "_DUMBBELL_COMPLETE=complete_bash $1" in script
    script += (
        f"COMP_WORDS=({SCRIPT} store re) COMP_CWORD=2\n"
        f'_dumbbell_completion {SCRIPT}\necho "${{COMPREPLY[@]}}"\ncomplete -p dumbbell\n'
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", script],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == [
        "repair",
        "complete -o default -F _dumbbell_completion dumbbell",
    ]


def test_completion_is_installed(tmp_path: Path) -> None:
    assert "bash completion installed" in under("bash", "--install-completion", HOME=str(tmp_path))
    script = tmp_path / ".bash_completions" / "dumbbell.sh"
    assert f"source '{script}'" in (tmp_path / ".bashrc").read_text().splitlines()
    assert "_DUMBBELL_COMPLETE=complete_bash" in script.read_text()


def test_completion_imports_nothing_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMP_WORDS", "dumbbell init --template ")
    monkeypatch.setenv("COMP_CWORD", "3")
    monkeypatch.setenv("_DUMBBELL_COMPLETE", "complete_bash")
    lines, modules = loaded(PROGRAM)
    assert lines[0] == NAMES[0]
    assert not modules & (LARGE - {"pydantic"})  # typer checks arguments with it
