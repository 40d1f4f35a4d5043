"""Tables of README.md: `dumbbell study tables bbr3`.

All parts and the cases of the draft on the simulator (a minute) and on kernels with two repeats:
one with the patch of version 3, and 6.12 without it for version 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cases import CASES, Lab, Seen

from dumbbell.engines.linux.kernel import kernels
from dumbbell.studies.pages import Made, Runs, as_json, markdown, number, verdict_lines
from dumbbell.studies.result import StudyResult, evaluate_study

PAGE = "README.md"
#: Kernel with version 3, and the one with version 1.
V3, V1 = "bbr3", "6.12"
V1_SUFFIX = "-v1"
KERNEL_REPEATS = 2
#: Share of version 1 by Ware et al. 2019 (equation 9, with the time in ProbeRTT), by buffer.
MODEL = {"2 BDP": 0.738, "4 BDP": 0.606, "10 BDP": 0.517}
NAMES = {"bbr": "BBR v1", "bbr3": "BBR v3", "cubic": "CUBIC"}
Row = dict[str, Any]


def measured(row: Row | None, column: str) -> str:
    """Measured value of a column."""
    return "–" if row is None else number(row[f"{column}_measured"])


def by_buffer(tables: Mapping[str, list[Row]], name: str) -> dict[str, Row]:
    """Rows of a table that has one per buffer."""
    return {row["buffer"]: row for row in tables.get(name, [])}


def shares(ours: Mapping[str, list[Row]], theirs: Mapping[str, list[Row]]) -> list[str]:
    """Shares of both versions beside CUBIC on both engines, with the model for version 1."""
    heads = [
        "buffer", "v1, simulator", "v1, kernel", "v1, model", "v3, simulator", "v3, kernel",
        "retransmissions of v1", "of v3",
    ]  # fmt: skip
    named = [
        by_buffer(tables, name) for name in ("beside-v1", "beside") for tables in (ours, theirs)
    ]
    rows = []
    for buffer in named[0]:
        v1, v1_kernel, v3, v3_kernel = (one.get(buffer) for one in named)
        rows.append([
            buffer, measured(v1, "share"), measured(v1_kernel, "share"),
            number(MODEL.get(buffer)), measured(v3, "share"), measured(v3_kernel, "share"),
            measured(v1, "retransmissions"), measured(v3, "retransmissions"),
        ])  # fmt: skip
    return markdown(heads, rows)


def one_flow(
    ours: Mapping[str, list[Row]], theirs: Mapping[str, list[Row]], part: str, factor: str
) -> list[str]:
    """Goodput, RTT and retransmissions by algorithm, simulator and kernel."""
    heads = [factor, "algorithm"]
    heads += ["goodput (Mbit/s)", "kernel", "mean RTT (ms)", "kernel", "retransmissions", "kernel"]
    names = (part, part + V1_SUFFIX)
    kernel = {(row["cc"], row[factor]): row for name in names for row in theirs.get(name, [])}
    rows = []
    for row in sorted(
        (row for name in names for row in ours[name]),
        key=lambda row: (_place(ours[part], factor, row[factor]), list(NAMES).index(row["cc"])),
    ):
        other = kernel.get((row["cc"], row[factor]))
        cells = [row[factor], NAMES[row["cc"]]]
        for column in ("goodput_mbps", "srtt_ms", "retransmissions"):
            cells += [measured(row, column), measured(other, column)]
        rows.append(cells)
    return markdown(heads, rows)


def _place(rows: list[Row], factor: str, level: str) -> int:
    """Place of a level in the order of the experiment."""
    return list(dict.fromkeys(row[factor] for row in rows)).index(level)


def cases(ours: Sequence[Seen], theirs: Sequence[Seen]) -> list[str]:
    """The cases of the draft with what is seen."""
    heads = ["case", "what", "provoked by", "simulator", "seen", "kernel", "seen"]
    rows = []
    for (place, case), here, there in zip(CASES.items(), ours, theirs, strict=True):
        rows.append([
            str(place), case.title, case.provoked, here.verdict, here.text, there.verdict,
            there.text,
        ])  # fmt: skip
    return markdown(heads, rows)


def on_kernels(runs: Runs) -> StudyResult:
    """The study with the parts of version 1 from one kernel and all others from another."""
    (v1, v3) = (
        runs.study(
            engine=f"linux:{kernel}",
            parts=[part for part in PARTS if part.endswith(V1_SUFFIX) == (kernel == V1)],
            repeats=KERNEL_REPEATS,
        )
        for kernel in (V1, V3)
    )
    return evaluate_study(v3.study, {**v3.parts, **v1.parts})


PARTS = (
    "beside", "four", "alone", "loss", "uplink", "jitter", "deep", "staggered", "beside-v1",
    "four-v1", "alone-v1", "loss-v1", "uplink-v1",
)  # fmt: skip


def tables(runs: Runs) -> Iterator[Made]:
    """The tables of the page. All have columns of the kernels, so both are needed."""
    ours = as_json(runs.study())
    if not runs.allows("linux") or not {V1, V3} <= {kernel.name for kernel in kernels()}:
        return
    theirs = as_json(on_kernels(runs))
    yield (
        PAGE,
        "verdicts",
        verdict_lines(ours["claims"], theirs["claims"], number, few=KERNEL_REPEATS),
    )
    yield PAGE, "shares", shares(ours["tables"], theirs["tables"])
    for part, factor in (("alone", "buffer"), ("loss", "loss"), ("uplink", "buffer")):
        yield PAGE, part, one_flow(ours["tables"], theirs["tables"], part, factor)
    seen = [
        [case.see(lab) for case in CASES.values()]
        for lab in (Lab("sim", runs.store), Lab(f"linux:{V3}", runs.store))
    ]
    yield PAGE, "cases", cases(*seen)
