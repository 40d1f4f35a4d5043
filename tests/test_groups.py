"""Groups of connections: what they come to, and single runs among which a published one lies."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from dumbbell.figures import Extras, plot
from dumbbell.metrics import METRICS, summary
from dumbbell.results import Results
from dumbbell.studies import Verdict
from dumbbell.studies.definition import Expectation, Study, load_study, metrics_in
from dumbbell.studies.quantities import ENOUGH_RUNS, Cells, Drawn
from dumbbell.studies.tables import build_table, outside_single_runs
from dumbbell.studies.verdicts import case_of, judge
from tests import synthetic

SECOND = 1_000_000_000


def page(seconds: list[float], *, unfinished: int = 0, repeat: int = 0) -> Results:
    """Connections of 10 kB in the group `small` that start a second apart, one outside of it."""
    key = {"run": f"r{repeat}", "cc": "reno", "repeat": repeat, "seed": repeat}
    flows, transfers = [], []
    for number, duration in enumerate([*seconds, 50.0]):
        name, group = f"f{number}", "small" if number < len(seconds) else ""
        start, end = number * SECOND, number * SECOND + round(duration * 1e9)
        changes = {"flow": name, "group": group, "start_ns": start, "end_ns": end}
        counted = {"delivered_bytes": 10_000, "tap_data_packets": 8, "tap_retransmissions": number}
        flows.append({**key, **synthetic.flow(**changes, **counted)})
        if number >= unfinished:
            transfers.append({**key, "flow": name, "group": group, "end_ns": end})
    return synthetic.results({"cc": ["reno"]}, {"flows": flows, "transfers": transfers})


def value(name: str, results: Results) -> float:
    (found,) = METRICS[name].measure(results)["value"]
    return float(found)


def test_a_group_adds_up_its_own_connections() -> None:
    found = page([2.0, 4.0, 1.0])
    assert value("group_time_s", found) == pytest.approx(7.0)
    assert value("groups_time_s", found) == pytest.approx(7.0)  # the flow without a group is out
    assert value("group_completion_s", found) == pytest.approx(5.0)  # from 0 to 1 + 4
    assert value("group_rate_kbps", found) == pytest.approx((40 + 20 + 80) / 3)
    assert value("group_retransmitted_percent", found) == pytest.approx(100 * (0 + 1 + 2) / 24)


def test_no_time_is_shorter_than_the_completion_that_it_is_part_of() -> None:
    found = page([2.0, 4.0, 1.0])
    assert value("group_completion_s", found) <= value("group_time_s", found)


def test_an_unfinished_connection_leaves_the_time_of_its_group_unknown() -> None:
    found = page([2.0, 4.0], unfinished=1)
    assert math.isnan(value("group_time_s", found))
    assert math.isnan(value("groups_completion_s", found))
    assert value("group_retransmitted_percent", found) > 0


def many(values: dict[str, list[float]]) -> Results:
    rows: list[dict[str, object]] = []
    for cc, series in values.items():
        for repeat, cwnd in enumerate(series):
            key = {"run": f"{cc}{repeat}", "cc": cc, "repeat": repeat, "seed": repeat}
            rows.append({**key, **synthetic.flow(congestion_control=cc, cwnd_mean_packets=cwnd)})
    return synthetic.results({"cc": list(values)}, {"flows": rows})


def drawn(values: list[float]) -> Drawn:
    cells = Cells(many({"reno": values}))
    found = cells.drawn("cwnd_mean", {"cc": "reno"})
    assert found is not None
    return found


SINGLE = Expectation(single_run=True)


@pytest.mark.parametrize(("published", "verdict"), [(3.0, "not reproduced"), (50.0, "reproduced")])
def test_a_published_run_is_held_against_single_runs(published: float, verdict: str) -> None:
    spread = [float(value) for value in range(5, 105)]
    case = case_of(SINGLE, {}, published, drawn(spread))
    assert case.verdict == verdict
    assert case.runs is not None and case.runs[0] < 10 < 95 < case.runs[1]
    # A mean's interval would refute nearly every run.
    low, high = drawn(spread).interval.widened(0)
    assert not low < 40 < high


def test_many_cases_together_may_be_wrong_as_often_as_one() -> None:
    spread = drawn([float(value) for value in range(200)])
    assert case_of(SINGLE, {}, 2.0, spread).verdict is Verdict.NOT_REPRODUCED
    assert case_of(SINGLE, {}, 2.0, spread, of_cases=12).verdict is Verdict.REPRODUCED


def test_few_runs_have_no_range() -> None:
    few = drawn([1.0] * (ENOUGH_RUNS - 1))
    assert case_of(SINGLE, {}, 1.0, few).verdict is Verdict.WITHIN_NOISE


def test_an_ordering_says_how_often_one_run_alone_would_show_it() -> None:
    results = many({"reno": [1.0] * 30 + [3.0] * 10, "bbr": [2.0] * 40})
    study = study_with(
        {
            "difference": [
                {"metric": "cwnd_mean", "where": {"cc": "bbr"}},
                {"metric": "cwnd_mean", "where": {"cc": "reno"}},
            ]
        }
    )
    found = judge(study, study.claims[0], {"p": Cells(results)})
    assert found is not None
    assert found.verdict is Verdict.REPRODUCED
    assert found.deciding.share_of_runs == pytest.approx(0.75)


def study_with(quantity: dict[str, Any]) -> Study:
    claim = {"id": "X", "text": "x", "part": "p", "quantity": quantity, "expect": {"above": 0}}
    table = {"title": "t", "part": "p", "rows": {"cc": "cc"}, "columns": {"twice": TWICE}}
    data = {"study": "s", "title": "t", "question": "q", "sources": [], "claims": [claim]}
    parts = {"p": {"title": "p", "experiment": "p.yaml"}}
    return Study.model_validate({**data, "parts": parts, "tables": {"t": table}})


TWICE = {"sum": [{"metric": "cwnd_mean"}, {"metric": "cwnd_mean"}]}


def test_a_column_may_be_made_of_several_metrics() -> None:
    results = many({"reno": [10.0] * 40, "bbr": [20.0, 30.0] * 20})
    study = study_with({"metric": "cwnd_mean"})
    rows = build_table(study, "t", results, {"p": Cells(results)})
    assert [row["twice_measured"] for row in rows] == [20.0, 50.0]
    assert (rows[1]["twice_runs_low"], rows[1]["twice_runs_high"]) == (40.0, 60.0)
    assert metrics_in(study.tables["t"].columns["twice"]) == ["cwnd_mean", "cwnd_mean"]
    assert outside_single_runs({**rows[1], "twice": 70.0}, "twice")
    assert not outside_single_runs({**rows[1], "twice": 45.0}, "twice")


def test_levels_that_are_left_out_are_averaged_within_the_repeat() -> None:
    results = many({"reno": [1.0, 2.0, 3.0], "bbr": [3.0, 2.0, 1.0]})
    found = summary(results, METRICS["cwnd_mean"], ["flow"]).row(0, named=True)
    assert (found["mean"], found["count"]) == (2.0, 3)
    assert found["low"] == found["high"] == 2.0  # each repeat's mean is 2


def test_single_runs_are_drawn_with_the_published_one() -> None:
    rng = np.random.Generator(np.random.PCG64(1))
    results = many({"reno": list(rng.uniform(1, 2, 30)), "cubic": list(rng.uniform(5, 90, 30))})
    extras = Extras(published=[{"x": "cubic", "series": "", "value": 7.0}])
    figure = plot(results, "runs", metric="cwnd_mean", by="cc", extras=extras)
    bars, ticks, _, crosses = (layer["data"]["values"] for layer in figure.spec["layer"])
    assert [row["cell"] for row in bars] == ["Reno", "CUBIC"]
    assert sum(tick["runs"] for tick in ticks) == 60
    assert crosses == [{"cell": "CUBIC", "value": 7.0}]
    assert figure.spec["layer"][1]["encoding"]["x"]["scale"]["type"] == "log"
    assert "<svg" in figure.svg()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metric": "cwnd_mean", "where": {"c": "x"}}, "no factor"),
        ({"metric": "cwnd"}, "no metric"),
    ],
)
def test_single_runs_that_cannot_be_drawn_say_why(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        plot(many({"reno": [1.0], "bbr": [2.0]}), "runs", **options)


def test_study_two_compares_its_tables_with_single_runs() -> None:
    study = load_study("web")
    tables = [claim for claim in study.claims if claim.id.startswith("T")]
    assert [len(claim.each) for claim in tables] == [12] * 12
    assert all(claim.expect.single_run for claim in tables)
    for number in (4, 5, 6):
        assert len(study.published(f"table-{number}")) == 12
    # Table 7's times are the sums of the three others; CUBIC with ABC is misprinted by 0.6 s.
    times = {
        number: {(row["algorithm"], row["options"]): float(row["time_s"]) for row in rows}
        for number in (4, 5, 6, 7)
        for rows in [study.published(f"table-{number}")]
    }
    wrong = {
        key: round(total - sum(times[number][key] for number in (4, 5, 6)), 2)
        for key, total in times[7].items()
    }
    assert {key for key, gap in wrong.items() if abs(gap) > 0.02} == {("cubic", "abc")}
    assert wrong["cubic", "abc"] == pytest.approx(0.6)
