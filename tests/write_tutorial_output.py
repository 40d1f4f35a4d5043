"""Writes the output of the commands of tutorial and how-tos: `python -m tests.write_tutorial_output [PAGE…]`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.docs.blocks import renewed
from tests.helpers import ROOT


def main() -> None:
    """Renews the named pages, or all that run without a kernel."""
    docs = ROOT / "docs"
    pages = [Path(name) for name in sys.argv[1:]] or sorted([*docs.glob("tutorial/*.md"), *docs.glob("how-to/*.md")])
    for page in pages:
        with tempfile.TemporaryDirectory() as folder:
            page.write_text(
                renewed(page.read_text(encoding="utf-8"), Path(folder)), encoding="utf-8"
            )


if __name__ == "__main__":
    main()
