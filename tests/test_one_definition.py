"""Numbers are computed in `dumbbell/metrics` and nowhere else."""

from __future__ import annotations

from pathlib import Path

from dumbbell.metrics import METRICS
from dumbbell.summary import cells, flow_lines, links
from scripts.count_arithmetic import counted, places


def test_no_package_that_shows_numbers_computes_any() -> None:
    assert {name: count for name, count in counted().items() if count} == {}


#: Arithmetic that the count must see: a line each.
PLANTED = """\
a = row["delivered_bytes"] * 8
b = pl.col("retransmitted_packets").sum()
c = row["delivered_bytes"] / row["life"]
d = max(row["cwnd_packets"], 0)
e = rows["cwnd_packets"].mean()
f = 3 * row["cwnd_packets"] / 1e3
g = (row["delivered_bytes"] - 1) * 1e-6
total += row["delivered_bytes"]
def h(rows):
    windows = rows["cwnd_packets"].to_list()
    return sum(windows) / len(windows)
def i(rows):
    for at, window in rows.select("time_ns", "cwnd_packets").iter_rows():
        yield at / 1e9, window - 1
def j(rows):
    columns = ("time_ns", "cwnd_packets")
    return [window // 2 for _, window in rows.select(columns).iter_rows()]
k = sorted(rows, key=lambda row: -row["cwnd_packets"] % 7)
"""
#: What is none: names, a column as it is, units, words.
NONE = """\
a = row["flow"] + "x"
b = row["delivered_bytes"]
c = row["cwnd_packets"] / 1e6
d = 100 * row["delivered_bytes"]
words += f"{row['cwnd_packets']} packets"
words += [row["cwnd_packets"]]
e = row["cwnd_packets"] > 0
f = other["rate"] * 8
def g(rows):
    windows = rows["cwnd_packets"]
    return windows.filter(windows > 0)
def h(rows):
    return windows * 2
"""


def _seen(folder: Path, text: str) -> list[int]:
    file = folder / "one.py"
    file.write_text(text, encoding="utf-8")
    known = {"delivered_bytes", "retransmitted_packets", "cwnd_packets"}
    return list(places(file, known))


def test_the_count_sees_arithmetic_and_aggregations(tmp_path: Path) -> None:
    assert _seen(tmp_path, PLANTED) == [1, 2, 3, 4, 5, 6, 7, 8, 11, 14, 17, 18]


def test_the_count_leaves_out_units_and_words(tmp_path: Path) -> None:
    assert _seen(tmp_path, NONE) == []


def test_each_field_of_a_line_is_a_metric() -> None:
    names = [*cells.FIELDS.values(), *links._FIELDS.values()]
    assert set(names) <= set(METRICS)
    assert {one.name for one in flow_lines.MEASURED} <= set(METRICS)
