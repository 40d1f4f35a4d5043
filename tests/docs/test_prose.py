"""Words and sentences of the pages that a reader sees first."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.helpers import ROOT

#: Words that are not used → the field's word.
WORDS = {
    r"sent again": "retransmitted",
    r"segments again": "retransmissions",
    r"overtaken|overtake[sn]?\b": "reordered",
    r"(in vain|needless(ly)?) re": "spurious",
    r"how-manieth": "number",
    r"round trip time": "round-trip time, or RTT",
    r"before all else": "precedes",
    r"\bunits? of GSO|GSO units?": "GSO segment",
    r"told by": "reported by",
    r"\butili[sz]e[sd]?\b": "use",
    r"\bin order to\b": "to",
    r"\bsimply\b|\bobviously\b|\bof course\b": "(nothing)",
    r"\bthat which\b|\bthe same as far\b": "a noun",
}
#: Words in a sentence of the pages `SHORT`, at most.
LONGEST = 34
READ_FIRST = [ROOT / "README.md", *sorted((ROOT / "docs" / "tutorial").glob("*.md"))]
#: Pages whose sentences are short.
SHORT = [
    *READ_FIRST,
    *(
        page
        for folder in ("experiment-file", "how-to", "models", "course", "questions")
        for page in sorted((ROOT / "docs" / folder).glob("*.md"))
    ),
]
PAGES = [
    *READ_FIRST,
    ROOT / "ARCHITECTURE.md",
    ROOT / "CONTRIBUTING.md",
    *(
        page
        for folder in ("docs", "docs/*", "studies/*")
        for page in sorted(ROOT.glob(f"{folder}/*.md"))
    ),
]


def prose(page: str) -> str:
    """Text of a page without code, comments, pictures, addresses and tables."""
    page = re.sub(r"^(```|:::).*?^\1\n?", "\n", page, flags=re.DOTALL | re.MULTILINE)
    page = re.sub(r"<!--.*?-->|</?[a-z]+>", "", page, flags=re.DOTALL)
    page = re.sub(r"`[^`]*`", "code", page)
    page = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", page)
    return re.sub(r"^\|.*\n", "\n", page, flags=re.MULTILINE)


def sentences(page: str) -> list[str]:
    """Sentences of a page."""
    found = []
    for part in re.split(r"\n\s*\n|\n(?=- |#)", prose(page)):
        found += re.split(r"(?<=[.:;?!])\s+", " ".join(part.split()))
    return [one for one in found if one]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_field_s_words(page: Path) -> None:
    text = prose(page.read_text(encoding="utf-8"))
    found = [
        f"{one[0]!r}: write {word!r}"
        for pattern, word in WORDS.items()
        for one in re.finditer(pattern, text, re.IGNORECASE)
    ]
    assert found == []


@pytest.mark.parametrize("page", SHORT, ids=lambda page: str(page.relative_to(ROOT)))
def test_sentences_are_short(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert [one for one in sentences(text) if len(one.split()) > LONGEST] == []


def test_long_sentences_and_words_are_found() -> None:
    assert len(sentences("One two three. Four five.\n\n- six\n- seven\n")) == 4
    assert sentences("A `code of many words` here.\n\n```sh\nnot this\n```\n") == ["A code here."]
