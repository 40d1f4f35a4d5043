"""Writes the scorecard of `docs/learnt.md`: `python -m tests.write_learnt_page`."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import dumbbell
from dumbbell import METRICS
from dumbbell.engines.linux.build import build
from dumbbell.gym import load_policy
from dumbbell.gym.export import kernel_source
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


def kernel_block() -> str:
    """The policy, its module on the simulator, and its module in a kernel, which is built."""
    with tempfile.TemporaryDirectory() as folder:
        module = Path(folder) / "tcp_learnt.c"
        module.write_text(kernel_source(load_policy(FOLDER / "learnt.onnx")), encoding="utf-8")
        kernel = build(modules=[module])
        columns = {
            "policy, simulator": _with_kernel(FOLDER / "learnt.onnx", "sim"),
            "module, simulator": _with_kernel(module, "sim"),
            "module, kernel": _with_kernel(module, f"linux:{kernel.name}"),
        }
        found = {name: dict(values) for name, values in columns.items()}
    names = list(found)
    lines = [["rate", "rtt", *names], ["---"] * 2 + ["--:"] * len(names)]
    for cell in found[names[0]]:
        rows = (found[name][cell] for name in names)
        lines.append([*cell, *(f"{goodput:.3f}, {lost}" for goodput, lost in rows)])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _with_kernel(file: Path, engine: str) -> Iterator[tuple[tuple[str, str], tuple[float, int]]]:
    """Goodput in Mbit/s and retransmitted packets, by rate and RTT."""
    change = {"plugins.learnt": str(file), "buffer": "1 BDP", "cc": "learnt"}
    results = dumbbell.run(FOLDER / "learnt.yaml", set=change, engine=engine)
    for row in METRICS["goodput_mbps"].measure(results).iter_rows(named=True):
        cell = {"rate": row["rate"], "rtt": row["rtt"]}
        lost = results.flows.filter(**cell)["retransmitted_packets"].item()
        yield (cell["rate"], cell["rtt"]), (row["value"], lost)


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
    PAGE.write_text(page(blocks() | {"kernel": kernel_block()}), encoding="utf-8")
