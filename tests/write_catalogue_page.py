"""Writes `docs/catalogue.md` from the catalogue: `python -m tests.write_catalogue_page`."""

from __future__ import annotations

from pathlib import Path

from dumbbell.catalogue import congestion_controls

PAGE = Path(__file__).resolve().parents[1] / "docs" / "catalogue.md"
_HEAD = """\
# Catalogue

What an experiment can name, and where each comes from. `dumbbell validate` knows these names,
`dumbbell kernel test` tries each that a kernel has.

<!-- Written by `python -m tests.write_catalogue_page` from crates/model/src/catalogue. -->

## Congestion controls

The last ones couple the subflows of a Multipath TCP connection; `tcp` does not take them.

| name | | engines | kernel option, first release | source |
| --- | --- | --- | --- | --- |
"""


def markdown() -> str:
    """The page."""
    rows = []
    for one in congestion_controls().values():
        engines, kernel = "sim", "–"
        if one.linux is not None:
            engines = "sim, linux, netns"
            option = f"`CONFIG_{one.linux.option}`" if one.linux.option else "always"
            kernel = f"{option}, {one.linux.since}"
        about = f"{one.title}. {one.about}"
        rows.append(f"| `{one.name}` | {about} | {engines} | {kernel} | {one.source} |\n")
    return _HEAD + "".join(rows)


if __name__ == "__main__":
    PAGE.write_text(markdown(), encoding="utf-8")
