"""Writes docs/errors.md, the pages of `dumbbell help`: `python -m tests.write_errors_page`."""

from __future__ import annotations

from pathlib import Path

from dumbbell.help.reference import markdown

if __name__ == "__main__":
    page = Path(__file__).resolve().parents[1] / "docs" / "errors.md"
    page.write_text(markdown(), encoding="utf-8")
