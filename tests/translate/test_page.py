"""Transcripts of docs/translate.md are what the verbs print."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dumbbell.advise.rules import RULES
from dumbbell.cli import app
from dumbbell.cli.translate import LANGUAGES
from dumbbell.translate.languages import EXAMPLES, READERS, TITLES
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


def test_the_page_has_all_languages_and_rules() -> None:
    assert LANGUAGES == tuple(READERS) == tuple(TITLES) == tuple(EXAMPLES)
    assert [name for name in (*READERS, *RULES) if f"\n| `{name}` |" not in PAGE] == []


def test_both_verbs_have_a_transcript() -> None:
    assert {found[2] for found in BLOCK.findall(PAGE)} == {"translate", "advise"}
