"""`docs/figures.md` has every kind, with its options and a picture."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

from dumbbell.figures import KINDS, function_of, options_of
from dumbbell.figures.theme import NAMES, algorithm_style
from tests.helpers import ROOT
from tests.write_figure_pictures import DRAWN, picture

PAGE = (ROOT / "docs" / "figures.md").read_text(encoding="utf-8")


def test_every_kind_has_its_row() -> None:
    rows = dict(re.findall(r"^\| \[`([a-z-]+)`\].* \| `([a-z_ ]+)` \|$", PAGE, re.MULTILINE))
    found = {
        kind: set(options_of(function_of(kind))) - {"extras"} for kind in (*KINDS, "goodput_mbps")
    }
    (any_metric,) = re.findall(r"^\| any metric .* \| `([a-z_ ]+)` \|$", PAGE, re.MULTILINE)
    rows["goodput_mbps"] = any_metric
    assert {kind: set(options.split()) for kind, options in rows.items()} == found


@pytest.mark.parametrize("kind", list(KINDS))
def test_every_kind_has_a_small_picture(kind: str) -> None:
    assert kind in DRAWN
    file = picture(kind)
    assert f"(images/{file.name})" in PAGE
    svg = file.read_text(encoding="utf-8")
    assert len(svg) < 100_000
    assert ET.fromstring(svg).attrib["width"].endswith("mm")


#: Words about a dash pattern.
DASHES = {
    "dash-dotted": [8, 3, 2, 3],
    "dashed with two dots": [10, 3, 2, 3, 2, 3],
    "long-dashed": [12, 3],
    "dashed": [6, 3],
    "dotted": [2, 2],
    "": [1, 0],
}


def test_the_table_of_colours_is_that_of_the_figures() -> None:
    rows = re.findall(
        r"^\| (?:blue|orange|green|purple|violet|grey|black).*? \| (.*) \|$", PAGE, re.M
    )
    titles = {title.lower(): name for name, title in NAMES.items()}
    for colour, row in enumerate(rows):
        for words in re.split("[;,] ", row):
            dash = next((one for one in DASHES if one and words.endswith(f" {one}")), "")
            name = words.removesuffix(f" {dash}" if dash else "").lower()
            style = algorithm_style(titles.get(name, name))
            assert style is not None, name
            assert style.colour == colour
            assert style.dash == DASHES[dash], words
    listed = ", ".join(rows).lower()
    for title in (t for t, name in titles.items() if algorithm_style(name)):
        assert title in listed
