"""Transcripts of docs/translate.md are what the verbs print."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dumbbell.cli import app
from tests.helpers import ROOT

PAGE = (ROOT / "docs" / "translate.md").read_text(encoding="utf-8")
#: A command with what it prints, below the file that it reads.
BLOCK = re.compile(r"\$ cat (\S+\.sh)\n(.*?)\$ dumbbell (\w+) \1\n(.*?)(?=\$ |```)", re.DOTALL)


@pytest.mark.parametrize("found", BLOCK.findall(PAGE), ids=lambda found: found[2])
def test_transcripts(
    found: tuple[str, str, str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, text, verb, shown = found
    monkeypatch.chdir(tmp_path)
    Path(name).write_text(text, encoding="utf-8")
    result = CliRunner().invoke(app, [verb, name])
    assert sorted(shown.splitlines()) == sorted(result.output.splitlines())


def test_both_verbs_have_a_transcript() -> None:
    assert {found[2] for found in BLOCK.findall(PAGE)} == {"translate", "advise"}
