"""Writes the output that tutorial, how-tos, course, README and `docs/explain.md` show.

`python -m tests.write_tutorial_output [PAGE…]`
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.docs.blocks import renewed
from tests.helpers import ROOT
from tests.shown import (
    EXPLAIN,
    README,
    explain_parts,
    explanation,
    readme_parts,
    readme_table,
)


def main() -> None:
    """Renews the named pages, or all that run without a kernel."""
    groups = ("tutorial", "how-to", "course")
    found = [page for one in groups for page in sorted((ROOT / "docs" / one).glob("*.md"))]
    pages = [Path(name).resolve() for name in sys.argv[1:]]
    for page in pages or [*found, README, EXPLAIN]:
        with tempfile.TemporaryDirectory() as folder:
            page.write_text(
                shown(page, page.read_text(encoding="utf-8"), Path(folder)), encoding="utf-8"
            )


def shown(page: Path, text: str, folder: Path) -> str:
    """Text of the page with the output of today's program."""
    if page == README:
        experiment, printed = readme_parts(text)
        command = printed.partition("\n")[0]
        return text.replace(printed, f"{command}\n{readme_table(experiment, folder)}\n")
    if page == EXPLAIN:
        experiment, output = explain_parts(text)
        return text.replace(output, f"\n{explanation(experiment, folder)}\n")
    return renewed(text, folder)


if __name__ == "__main__":
    main()
