"""Numbers are computed in `dumbbell/metrics` and nowhere else."""

from __future__ import annotations

from dumbbell.metrics import METRICS
from dumbbell.summary import cells, flow_lines, links
from scripts.count_arithmetic import counted, places

#: Places that compute with measured columns, by package; fewer are better. What is left: units of
#: a scenario and names of sockets (summary), one instant of one run (explain, show), units of an
#: axis (show, figures, animation).
MOST = {
    "summary": 5, "report": 1, "explain": 18, "explore": 0, "show": 6, "playground": 0,
    "compare": 0, "figures": 3, "animation": 2, "cli": 0, "search": 0, "studies": 0,
    "advise": 0, "cards": 0,
}  # fmt: skip


def test_no_package_computes_more_than_it_did() -> None:
    found = counted()
    assert {name: count for name, count in found.items() if count > MOST[name]} == {}
    # The bound follows what is deleted.
    assert {name: count for name, count in found.items() if count < MOST[name]} == {}


def test_the_count_sees_arithmetic_and_aggregations(tmp_path) -> None:  # type: ignore[no-untyped-def]
    file = tmp_path / "one.py"
    file.write_text(
        'a = row["delivered_bytes"] * 8\n'
        'b = pl.col("retransmitted_packets").sum()\n'
        'c = row["flow"] + "x"\n'
        'd = row["delivered_bytes"]\n',
        encoding="utf-8",
    )
    assert list(places(file, {"delivered_bytes", "retransmitted_packets"})) == [1, 2]


def test_each_field_of_a_line_is_a_metric() -> None:
    names = [*cells._FIELDS.values(), *links._FIELDS.values()]
    assert set(names) <= set(METRICS)
    assert {one.name for one in flow_lines.MEASURED} <= set(METRICS)
