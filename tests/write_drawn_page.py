"""Writes the result of `docs/agreement-drawn.md`: `python -m tests.write_drawn_page STORE`.

500 cells take an hour on two cores. Finished runs in the store are not repeated.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from dumbbell.agreement import Drawn, compare_drawn
from dumbbell.agreement.display import markdown

PAGE = Path(__file__).resolve().parents[1] / "docs" / "agreement-drawn.md"


def inserted(text: str, found: Drawn) -> str:
    """The page with its result."""
    tables = markdown(found).replace("\n## ", "\n### ")
    return re.sub(
        r"(<!-- drawn -->\n).*(<!-- end drawn -->)",
        lambda match: f"{match[1]}{tables}{match[2]}",
        text,
        flags=re.DOTALL,
    )


def main() -> None:
    """Runs what the store lacks, and writes the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store", type=Path)
    parser.add_argument("--cells", type=int, default=500)
    given = parser.parse_args()
    found = compare_drawn(given.cells, store=given.store)
    PAGE.write_text(inserted(PAGE.read_text(encoding="utf-8"), found), encoding="utf-8")


if __name__ == "__main__":
    main()
