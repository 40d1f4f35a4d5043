"""Writes the scorecard of `docs/learnt.md`: `python -m tests.write_learnt_page`."""

from __future__ import annotations

import re
from pathlib import Path

import dumbbell
from dumbbell import METRICS
from dumbbell.results import Results

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "learnt.md"
FOLDER = ROOT / "examples" / "plugins"
CELL = ("rate", "rtt", "buffer")
#: Levels of the factor `cc`, with their titles.
CONTROLS = {"learnt": "learnt", "reno": "Reno", "cubic": "CUBIC", "bbr3": "BBR v3"}
BOTTLENECK = "bottleneck/forward"

Values = dict[tuple[str, ...], dict[str, float]]


def measured(results: Results, metric: str, **only: str) -> Values:
    """Values of a metric by cell and congestion control."""
    frame = METRICS[metric].measure(results).filter(**only)
    found: Values = {}
    for row in frame.iter_rows(named=True):
        cell = tuple(row[name] for name in CELL)
        assert row["cc"] not in found.setdefault(cell, {}), (metric, cell)
        found[cell][row["cc"]] = row["value"]
    return found


def _table(values: Values, digits: int) -> str:
    """A row per cell, a column per congestion control."""
    head = [*CELL, *CONTROLS.values()]
    lines = [head, ["---"] * len(CELL) + ["--:"] * len(CONTROLS)]
    for cell, by in values.items():
        lines.append([*cell, *(f"{by[name]:.{digits}f}" for name in CONTROLS)])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _scaled(values: Values, by: float) -> Values:
    return {cell: {name: one * by for name, one in row.items()} for cell, row in values.items()}


def _mean(values: Values, name: str) -> float:
    return sum(row[name] for row in values.values()) / len(values)


def _summary(parts: dict[str, Values]) -> str:
    """Means over all cells."""
    lines = [["mean over all cells", *CONTROLS.values()], ["---"] + ["--:"] * len(CONTROLS)]
    for title, values in parts.items():
        lines.append([title, *(f"{_mean(values, name):.3g}" for name in CONTROLS)])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def blocks() -> dict[str, str]:
    """Generated tables by the name of their block."""
    alone = dumbbell.run(FOLDER / "learnt.yaml")
    beside = dumbbell.run(FOLDER / "learnt-share.yaml")
    goodput = measured(alone, "goodput_mbps", flow="flow1")
    delay = measured(alone, "queue_delay_p50_ms", pipe=BOTTLENECK)
    high = measured(alone, "queue_delay_p95_ms", pipe=BOTTLENECK)
    loss = _scaled(measured(alone, "loss_ratio", pipe=BOTTLENECK), 100)
    share = measured(beside, "share", flow="flow1")
    use = {
        cell: {name: 100 * one / float(cell[0].split()[0]) for name, one in row.items()}
        for cell, row in goodput.items()
    }
    return {
        "summary": _summary(
            {
                "goodput, % of the rate": use,
                "queueing delay, median, ms": delay,
                "queueing delay, 95th percentile, ms": high,
                "drops, %": loss,
                "share beside CUBIC, %": _scaled(share, 100),
            }
        ),
        "goodput": _table(goodput, 2),
        "delay": _table(delay, 1),
        "drops": _table(loss, 2),
        "share": _table(_scaled(share, 100), 0),
    }


def page(tables: dict[str, str]) -> str:
    """The page with its tables renewed."""
    text = PAGE.read_text(encoding="utf-8")
    for name, table in tables.items():
        block = re.compile(rf"<!-- {name} -->\n.*?<!-- end {name} -->", re.DOTALL)
        new = f"<!-- {name} -->\n{table}\n<!-- end {name} -->"
        text, found = block.subn(lambda _, new=new: new, text)
        assert found == 1, name
    return text


if __name__ == "__main__":
    PAGE.write_text(page(blocks()), encoding="utf-8")
