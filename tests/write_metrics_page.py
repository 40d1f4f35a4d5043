"""Writes `docs/metrics.md` from the definitions: `python -m tests.write_metrics_page`."""

from __future__ import annotations

from pathlib import Path

from dumbbell.metrics.reference import markdown

if __name__ == "__main__":
    page = Path(__file__).resolve().parents[1] / "docs" / "metrics.md"
    page.write_text(markdown(), encoding="utf-8")
