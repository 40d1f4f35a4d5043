"""Renews the table of refused fields: python -m tests.write_playground_page."""

from __future__ import annotations

from dumbbell.playground.subset import REFUSED
from tests.helpers import ROOT

PAGE = ROOT / "docs/playground.md"
BEGIN, END = "<!-- refused -->\n", "<!-- end refused -->"
#: What a model of the schema is on the page.
_PLACES = {
    "": "file",
    "FlowSpec": "flows",
    "TraceSpec": "shaper.trace",
    "RateTraceSpec": "rates",
    "JointTraceSpec": "trace",
}


def renewed(text: str) -> str:
    rows = "".join(
        f"| {_PLACES[name]} | {', '.join(f'`{field}`' for field in fields)} |\n"
        for name, fields in REFUSED.items()
    )
    head, _, rest = text.partition(BEGIN)
    return f"{head}{BEGIN}| in | refused |\n| --- | --- |\n{rows}{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
