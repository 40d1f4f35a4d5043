"""Writes `docs/scorecards`: `python -m tests.write_scorecards [STORE [CARD …]]`.

All cards take half an hour on two cores. Finished runs in the store are not repeated.
"""

from __future__ import annotations

import contextlib
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from dumbbell.cards import display
from dumbbell.cards.running import Scorecard, counts, run_card
from tests.plugins.built import EXAMPLES, library

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "scorecards"
INDEX = FOLDER / "index.md"
#: Card → what has a page.
CARDS = {
    "rfc9743": ("cubic", "reno", "bbr", "bbr3", "prague", "dctcp", "./cubic.so"),
    "rfc7928": ("codel", "fq_codel", "pie", "cake", "dualpi2"),
    "bbr-draft": ("bbr", "./cubic.so"),
    "rfc8867": ("codel", "fq_codel"),
}
#: Cards whose cells of the overview were run in a kernel, too: a quarter of an hour for each.
BESIDE = {("rfc9743", "bbr"): "linux"}
_NOTE = "<!-- Written by `python -m tests.write_scorecards`. -->"


def page_of(card: str, new: str) -> Path:
    """Page of a card."""
    return FOLDER / f"{card}-{'plugin' if new.startswith('.') else new}.md"


def write(card: str, new: str, store: Path) -> Scorecard:
    """Measures a card and writes its page."""
    found = run_card(card, new, store=store / card, beside=BESIDE.get((card, new)), workers=None)
    head, rest = display.markdown(found).split("\n", 1)
    option = found.card.option
    command = f"    dumbbell study run {card} --{option} {new}"
    command += f" --beside {found.engine}" if found.engine else ""
    text = f"{head}\n\n{_NOTE}\n\n{command}\n{rest}".rstrip() + "\n"
    page_of(card, new).write_text(text, encoding="utf-8")
    return found


def row(card: str, new: str, found: Scorecard) -> str:
    """Row of the index."""
    name = "plug-in `cubic.c`" if new.startswith(".") else new
    cells = [f"[{name}]({page_of(card, new).name})", *map(str, counts(found.rows).values())]
    if found.card.matrix:
        beside = [
            one for one in found.harm if list(one.levels.values()) == ["1 BDP"]
        ][1]  # fmt: skip
        cells.append(f"{display.shown(beside.goodput)} Mbit/s")
    return "| " + " | ".join(cells) + " |"


def table(card: str, store: Path) -> str:
    """Table of a card for the index; its pages are written."""
    head = ["", "better", "same", "worse", "not known"]
    head += ["CUBIC beside it, queue of 1 BDP"] if card == "rfc9743" else []
    lines = ["| " + " | ".join(head) + " |", "| " + " | ".join("---" for _ in head) + " |"]
    lines += [row(card, new, write(card, new, store)) for new in CARDS[card]]
    return "\n".join(lines)


def main(store: Path, cards: Sequence[str]) -> None:
    """Writes the pages of cards. Runs in a folder that has the plug-in."""
    text = INDEX.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        library(EXAMPLES / "cubic.c", Path("cubic.so"))
        for card in cards:
            block = re.compile(rf"<!-- {card} -->\n.*?<!-- end {card} -->", re.DOTALL)
            new = f"<!-- {card} -->\n{table(card, store)}\n<!-- end {card} -->"
            text, found = block.subn(lambda _, new=new: new, text)  # type: ignore[misc]
            assert found == 1, card
    INDEX.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "store").absolute(), sys.argv[2:] or [*CARDS])
