"""The shared face: keys are documented, colours are those of figures."""

from __future__ import annotations

import re

from dumbbell.face.colours import colours
from dumbbell.figures.theme import THEMES, algorithm_style
from tests.helpers import ROOT


def test_the_page_about_pages_lists_the_keys() -> None:
    code = (ROOT / "dumbbell/face/scripts/keys.js").read_text(encoding="utf-8")
    found = re.findall(r'^  \w+: \["[^"]+", "([^"]+)", "([^"]+)"\],$', code, re.MULTILINE)
    page = (ROOT / "docs/pages.md").read_text(encoding="utf-8")
    listed = page.split("| --- | --- |\n")[1].split("\n\n")[0]
    assert listed == "\n".join(f"| {key} | {does} |" for key, does in found)


def test_scripts_have_the_colours_of_figures() -> None:
    given = colours()
    style = algorithm_style("bbr")
    assert style is not None
    assert given["series"]["dark"][style.colour] == THEMES["dark"].series[style.colour]
    assert given["algorithms"]["bbr"] == {
        "title": "BBR",
        "colour": style.colour,
        "dash": style.dash,
    }
