"""Benchmarks: their pages hold what the file of results says; peers simulate our scenarios."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from benchmarks import growth, instructions, pages, table
from benchmarks.cases import (
    ACCESS_BPS,
    CASES,
    LIMITS,
    RESULTS,
    Case,
    FatTree,
    Network,
    verdict,
)
from benchmarks.measure import Failed, measure
from benchmarks.results import Results, Run, as_row, fastest, load, ratio, write
from benchmarks.simulators import PEERS, Peer, arguments, simulate
from dumbbell.experiment import load as load_experiment

FRAME_BYTES = 1500


def a_run(**fields: object) -> Run:
    values = {
        "case": "A",
        "engine": "dumbbell",
        "access": False,
        "cpu_s": 0.5,
        "process_s": 1.0,
        "packets": 1_000_000,
        "goodput_bps": 19e6,
        "simulated_s": 100.0,
        "peak_bytes": 90_000_000,
    }
    return Run(**(values | fields))  # type: ignore[arg-type]


def test_pages_hold_what_the_file_of_results_says() -> None:
    assert pages.stale(load(RESULTS), write=False) == []


def test_a_changed_result_makes_pages_stale() -> None:
    results = load(RESULTS)
    runs = [row | {"cpu_s": row["cpu_s"] * 3} for row in results.sections["runs"]]
    found = pages.stale(Results({**results.sections, "runs": runs}), write=False)
    assert {"performance.md: limits", "performance.md: runs", "performance.md: speed"} <= set(found)


DUMBBELLS = [case for case in CASES if isinstance(case.network, Network)]
FAT_TREE = next(case for case in CASES if isinstance(case.network, FatTree))


@pytest.mark.parametrize("case", DUMBBELLS, ids=lambda case: case.name)
def test_peers_simulate_the_network_of_the_file(case: Case) -> None:
    assert isinstance(case.network, Network)
    scenario = json.loads(load_experiment(case.file).cells[0].scenario)
    links = {link["name"]: link["forward"] for link in scenario["links"]}
    bottleneck = links.pop("bottleneck")
    rtts = [
        bottleneck["delay_ns"] * 2 + pipe["delay_ns"] * 2
        for name, pipe in links.items()
        if name.startswith("r2-")
    ]
    limit = bottleneck["queue"]["drop_tail"]
    queue_bytes = limit["limit_bytes"] or limit["limit_packets"] * FRAME_BYTES
    assert case.network.flows == len(scenario["flows"])
    assert case.network.rate_bps == bottleneck["shaper"]["serial"]["rate_bps"]
    assert (case.network.shortest_rtt_ns, case.network.longest_rtt_ns) == (min(rtts), max(rtts))
    assert case.network.queue_bytes == queue_bytes
    assert case.network.duration_s == scenario["duration_ns"] / 1e9


def test_peers_simulate_the_fat_tree_of_the_file() -> None:
    tree = FAT_TREE.network
    assert isinstance(tree, FatTree)
    scenario = json.loads(load_experiment(FAT_TREE.file).cells[0].scenario)
    for link in scenario["links"]:
        for pipe in (link["forward"], link["backward"]):
            assert pipe["shaper"] == {"serial": {"rate_bps": tree.rate_bps}}
            assert pipe["delay_ns"] == tree.delay_ns
            limit = pipe["queue"]["drop_tail"]["limit_packets"]
            assert limit * FRAME_BYTES == tree.queue_bytes
    hosts = tree.ports**3 // 4
    assert len(scenario["links"]) == 3 * hosts
    ends = [(int(flow["from"][1:]), int(flow["to"][1:])) for flow in scenario["flows"]]
    assert ends == [(i + 1, (i + hosts // 2) % hosts + 1) for i in range(hosts)]
    assert tree.duration_s == scenario["duration_ns"] / 1e9
    assert arguments(tree, False, 0.5, 60) == ["8", "10000000000", "1000", "150000", "0.05", "60"]


@pytest.mark.peers("ns")
@pytest.mark.parametrize("access", [False, True])
def test_ns2_fills_the_line_and_stops_at_its_limit(access: bool) -> None:
    ns2 = Peer("ns-2", "", ("ns", str(PEERS / "ns2" / "scenario.tcl")), clock_s=0.01)
    case = CASES[0]
    assert isinstance(case.network, Network)
    whole = simulate(ns2, case, access=access, scale=0.05, limit_s=60)
    assert whole.finished
    assert table.warning(whole, case.network.rate_bps) is None
    assert whole.packets * FRAME_BYTES * 8 / whole.simulated_s == pytest.approx(20e6, rel=0.03)
    stopped = simulate(ns2, case, access=access, scale=1, limit_s=0)
    assert not stopped.finished
    # Of 100 s; ns-2 looks at the clock of the processor, which has steps of 10 ms.
    assert stopped.simulated_s < 50


def test_arguments_of_peers_name_access_links_and_the_limit() -> None:
    network = CASES[0].network
    assert network is not None
    assert arguments(network, False, 0.5, 60)[-3:] == ["50", "0", "60"]
    assert arguments(network, True, 1, 60)[-3:] == ["100", str(ACCESS_BPS), "60"]


def test_ratios_are_of_processor_time_per_bit_and_bounds_where_a_peer_was_stopped() -> None:
    ours = a_run(cpu_s=0.5)
    assert ratio(a_run(cpu_s=0.2), ours) == "0.40 ×"
    assert ratio(a_run(cpu_s=60), ours) == "120 ×"
    assert ratio(a_run(cpu_s=60, finished=False), ours) == "> 120 ×"
    assert ratio(a_run(cpu_s=1, goodput_bps=38e6), ours) == "1.00 ×"  # twice the work


def test_the_fastest_run_counts() -> None:
    assert fastest([a_run(cpu_s=3), a_run(cpu_s=1), a_run(cpu_s=2)]).cpu_s == 1


def test_verdicts_know_must_and_aim() -> None:
    limit = next(limit for limit in LIMITS if limit.case == "B")
    assert verdict(limit.must * 1.01, limit) == "MUST MISSED"
    assert verdict(limit.must, limit) == "must met"
    assert limit.aim is not None
    assert verdict(limit.aim, limit) == "aim met"


def test_every_limit_finds_its_value() -> None:
    runs = [
        as_row(a_run(case=case.name, reading_s=0.1, setup_s=0.2, above_bytes=5)) for case in CASES
    ]
    runs.append(as_row(a_run(case="G", engine="htsim", cpu_s=1.25)))
    names = {limit.quantity for limit in LIMITS}
    results = Results({"runs": runs, "others": dict.fromkeys(names, 1), "memory": {}})
    assert [limit for limit, _ in results.judged()] == LIMITS
    found = {(limit.case, limit.quantity): value for limit, value in results.judged()}
    assert found["E", "run_s"] == pytest.approx(0.3)  # without set-up
    assert found["D/A", "growth"] == 1
    assert found["G", "fabric"] == pytest.approx(0.4)
    assert found["A", "above_bytes"] == pytest.approx(5e-6)
    assert found["H", "call_s"] == 1000  # in ms


def test_what_was_not_measured_is_not_judged() -> None:
    assert Results({"runs": [as_row(a_run())]}).value(LIMITS[0]) == 0.5
    assert Results({}).judged() == []
    # A start measures a `run_s`, too.
    assert Results({"others": {"run_s": 1.0}}).judged() == []


def test_sections_are_replaced_one_by_one(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    write(file, runs=[as_row(a_run())], others={"call_s": 1})
    write(file, others={"call_s": 2})
    assert load(file).runs == [a_run()]
    assert load(file).sections["others"] == {"call_s": 2}


@pytest.mark.parametrize(
    ("goodput", "finished", "warned"),
    [(19e6, True, False), (10e6, True, True), (21e6, True, True), (10e6, False, False)],
)
def test_idle_lines_are_noticed(goodput: float, finished: bool, warned: bool) -> None:
    said = table.warning(a_run(goodput_bps=goodput, finished=finished), 20e6)
    assert (said is not None) == warned


def test_the_last_json_line_of_a_process_is_its_answer() -> None:
    text = 'print(\'{"a": 1}\\nwords\\n{"a": 2}\\nmore\')'
    found = measure([sys.executable, "-c", text])
    assert found.answer == {"a": 2}
    assert found.cpu_s > 0
    assert found.peak_bytes > 1_000_000


@pytest.mark.parametrize("text", ["raise SystemExit('no reason')", "print('no JSON')"])
def test_a_failed_process_says_why(text: str) -> None:
    with pytest.raises(Failed, match=r"no reason|exit code 0"):
        measure([sys.executable, "-c", text])


def test_cachegrind_is_read() -> None:
    text = """\
==1== I   refs:      1,200
==1== I1  misses:      30
==1== LLi misses:      4
==1== D1  misses:      50  ( 20 rd   + 30 wr)
==1== LL refs:         80
==1== LL misses:       6  ( 1 rd   + 5 wr)
"""
    short = instructions.counted(text) | {"packets": 10}
    assert short == {
        "instructions": 1200,
        "i1_misses": 30,
        "d1_misses": 50,
        "l2_misses": 6,
        "packets": 10,
    }
    long = {name: value * 3 for name, value in short.items()}
    assert instructions.per_packet(short, long)["instructions"] == 120


def test_memory_of_a_flow_is_a_difference() -> None:
    points = [
        {"flows": flows, "peak_bytes": 1_000_000 + 5_000 * flows} for flows in (1, 10, 1000, 10_000)
    ]
    found = growth.with_differences(points)
    assert [point.get("flow_bytes") for point in found] == [None, None, 5000, 5000]
