"""Renews the table of refused fields: python -m tests.write_playground_page."""

from __future__ import annotations

from dumbbell.playground.subset import sections
from tests.helpers import ROOT

PAGE = ROOT / "docs/playground.md"
BEGIN, END = "<!-- refused -->\n", "<!-- end refused -->"


def renewed(text: str) -> str:
    rows = "".join(
        f"| {one['name']} | {', '.join(f'`{name}`' for name in one['refused'])} |\n"
        for one in sections()
        if one["refused"]
    )
    head, _, rest = text.partition(BEGIN)
    return f"{head}{BEGIN}| in | refused |\n| --- | --- |\n{rows}{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
