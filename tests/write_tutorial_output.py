"""Writes the output of the commands and programs of tutorial, how-tos and course.

`python -m tests.write_tutorial_output [PAGE…]`
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.docs.blocks import renewed
from tests.helpers import ROOT


def main() -> None:
    """Renews the named pages, or all that run without a kernel."""
    groups = ("tutorial", "how-to", "course")
    found = [page for one in groups for page in sorted((ROOT / "docs" / one).glob("*.md"))]
    for page in [Path(name) for name in sys.argv[1:]] or found:
        with tempfile.TemporaryDirectory() as folder:
            page.write_text(
                renewed(page.read_text(encoding="utf-8"), Path(folder)), encoding="utf-8"
            )


if __name__ == "__main__":
    main()
