"""Writes the pictures of the course's solutions: `python -m tests.write_course_pictures [PAGE…]`.

Each is drawn from the experiment of its page.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import dumbbell
from dumbbell.figures.paper import COLUMN_MM
from tests.docs.blocks import File, blocks
from tests.write_course import COURSE, pages
from tests.write_figure_pictures import written

PICTURES = COURSE / "images"
#: Page → kind of figure and its options.
DRAWN: dict[str, tuple[str, dict[str, Any]]] = {
    "01-window-and-buffer": ("window", {"by": "buffer"}),
    "02-slow-start": ("window", {"by": "rtt"}),
    "03-aimd-and-cubic": ("window", {"by": "cc"}),
    "04-rtt-unfairness": ("goodput", {"by": "flow", "x": "cc"}),
    "05-bufferbloat": ("cdf", {"by": "queue"}),
    "06-loss-and-throughput": ("goodput", {"x": "loss"}),
    "07-bbr-and-cubic": ("goodput", {"by": "flow", "x": "buffer", "where": {"bbr": "bbr"}}),
    "08-ecn-and-l4s": ("window", {"by": "flow", "where": {"queue": "dualpi2"}}),
    "09-reordering": ("window", {"by": "delay"}),
    "10-reading-a-capture": ("window", {"by": "flow"}),
}
#: Added to experiments that do not keep what their figure shows.
_KEPT = "sampling: {interval: 50 ms, keep: [samples, probes]}\n"


def drawn(page: Path) -> str:
    """Picture of a page's solution, as SVG."""
    kind, options = DRAWN[page.stem]
    found = blocks(page.read_text(encoding="utf-8"))
    text = next(block.text for block in found if isinstance(block, File))
    if "keep:" not in text:
        text = text.replace("sampling: {capture: true}\n", "") + _KEPT
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "e.yaml"
        file.write_text(text, encoding="utf-8")
        return dumbbell.run(file).plot(kind, **options).printed(COLUMN_MM)


def main() -> None:
    """Draws the pictures of the named pages, or of all."""
    PICTURES.mkdir(exist_ok=True)
    for page in pages():
        if not sys.argv[1:] or page.stem in sys.argv[1:]:
            written(PICTURES / f"{page.stem}.svg", drawn(page))


if __name__ == "__main__":
    main()
