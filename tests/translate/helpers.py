"""What tests of translations share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dumbbell.experiment import load_text
from dumbbell.translate.mistakes import TranslateError
from dumbbell.translate.translation import Translation, translate


def of(text: str, file: str = "x.sh", language: str | None = None) -> Translation:
    """A translation."""
    return translate(text, file, language)


def pipes(text: str, link: str = "eth0", file: str = "x.sh") -> dict[str, Any]:
    """Pipe of the scenario from the first end of a link to the second."""
    scenario = json.loads(load_text(of(text, file).text, Path("t.yaml")).cells[0].scenario)
    one = next(one for one in scenario["links"] if one["name"] == link)
    found: dict[str, Any] = one["forward"]
    return found


def lost(text: str, file: str = "x.sh") -> list[str]:
    """Words without a counterpart."""
    return [str(note) for note in of(text, file).lost]


def refusal(text: str, file: str = "x.sh", language: str | None = None) -> str:
    """The message about words that are wrong."""
    with pytest.raises(TranslateError) as raised:
        of(text, file, language)
    return str(raised.value)
