"""`dumbbell explain`: for each planted cause the chain names it."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from dumbbell.cli.app import app
from dumbbell.engines import engine_named
from dumbbell.errors import DumbbellError
from dumbbell.execution import execute
from dumbbell.explain import Explanation, Link, Step, What, explain
from dumbbell.explain.display import lines
from dumbbell.explain.incident import episodes
from dumbbell.explain.made_again import TABLES, explanation_of
from dumbbell.explain.notice import sacked_bytes
from dumbbell.explain.observed import Observed, observe
from dumbbell.explain.watched import watched as watching
from dumbbell.results import Results
from dumbbell.scenario import Scenario, read_scenario
from dumbbell.store import MemoryStore
from dumbbell.units import TIME, whole
from tests.helpers import ROOT, loaded
from tests.shown import EXPLAIN, explain_parts, explanation

PLANTED: dict[str, Any] = yaml.safe_load(
    (ROOT / "tests" / "explain" / "planted.yaml").read_text(encoding="utf-8")
)
HEAD = "dumbbell: 1\nname: planted\n"


@cache
def watched(name: str) -> tuple[Results, Scenario]:
    """Results of a planted experiment with what an explanation needs, and its scenario."""
    experiment = loaded(HEAD + PLANTED[name]["experiment"])
    cell = experiment.cells[0]
    scenario = read_scenario(cell.scenario)
    stretch = (0, scenario["duration_ns"])
    text = watching(scenario, stretch, 100_000, ["s1"])
    kept = MemoryStore()
    cells = [replace(cell, scenario=text, unsampled=None)]
    key = execute(replace(experiment, cells=cells), engine_named("sim"), kept, workers=1)
    return kept.results(key), scenario


@cache
def chain(name: str, at: str | None = None, flow: str = "flow1") -> Explanation:
    results, scenario = watched(name)
    at = at or PLANTED[name]["at"]
    stretch = (0, scenario["duration_ns"])
    return explanation_of(results, scenario, flow, whole(at, TIME), stretch, at)


def observed(name: str) -> Observed:
    results, scenario = watched(name)
    tables = {one: getattr(results, one) for one in TABLES}
    return observe(scenario, "flow1", tables, (0, scenario["duration_ns"]))


def link(explanation: Explanation, what: What) -> Link:
    return next(one for one in explanation.links if one.what is what)


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANTED)
def test_the_chain_names_the_planted_cause(name: str) -> None:
    wanted = PLANTED[name]
    found = chain(name)
    kinds = [what.name for what in found.kinds()]
    rest = iter(kinds)
    assert all(kind in rest for kind in wanted["kinds"]), kinds
    text = " ".join(one.sentence for one in found.links)
    assert [words for words in wanted["words"] if words not in text] == []
    assert not set(wanted.get("not", [])) & set(kinds)
    assert [words for words in wanted.get("absent", []) if words in text] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANTED)
def test_a_sender_learns_of_a_loss_before_its_window_shows_it(name: str) -> None:
    found = chain(name).links
    acks = [one.time_ns for one in found if one.what is What.DUPLICATE_ACKS]
    entered = [one.time_ns for one in found if one.state.endswith("Disorder → Recovery")]
    # A sample every 100 µs.
    assert not acks or not entered or acks[0] <= entered[0] + 100_000


@pytest.mark.slow
def test_reordering_without_effect_is_told_near_the_time_that_is_asked_about() -> None:
    """Every second packet is late for seconds, with losses between: what is told is one RTT."""
    found = chain("even_paths").links
    seen = observed("even_paths")
    (start,) = [one.time_ns for one in found if one.what is What.REORDERING]
    (calm,) = [one.time_ns for one in found if one.what is What.UNCHANGED]
    assert abs(start - 3_000_000_000) <= seen.rtt_ns
    assert calm == start
    assert not [one for one in seen.data if one.cause and 0 <= one.sent_ns - start <= seen.rtt_ns]


def test_there_are_twenty_planted_causes() -> None:
    assert len(PLANTED) >= 20


@pytest.mark.parametrize("name", PLANTED)
def test_steps_come_in_causal_order(name: str) -> None:
    order = list(Step)
    places = [order.index(one.step) for one in chain(name).links]
    assert places == sorted(places)
    assert places[0] == 0


def test_the_packet_and_the_numbers_of_a_drop_are_those_of_the_run() -> None:
    found = chain("one_segment")
    drop = link(found, What.DROP)
    # The 60th segment of 1448 bytes begins at byte 59 · 1448.
    assert drop.packet is not None
    assert (drop.packet.seq, drop.packet.payload) == (59 * 1448, 1448)
    notice = link(found, What.DUPLICATE_ACKS)
    assert notice.numbers["duplicate_acks"] == 3
    state = link(found, What.STATE)
    # CUBIC keeps 717/1024 of its window (RFC 9438 §4.6).
    assert state.numbers["cwnd_before_packets"] == 31
    assert state.numbers["ssthresh_after_packets"] == 31 * 717 // 1024
    repaired = link(found, What.RESUMED)
    # A round trip with queue to the notice, another one to the ACK of the retransmission.
    assert 40e6 < float(repaired.numbers["repair_ns"]) < 110e6


def test_a_full_queue_holds_what_its_limit_says() -> None:
    full = link(chain("full_queue"), What.FULL_QUEUE)
    assert full.numbers["queued_packets"] == 20
    assert full.numbers["queued_bytes"] == 20 * 1514


def test_a_lost_retransmission_is_a_second_drop_of_the_same_bytes() -> None:
    found = chain("retransmission")
    lost = link(found, What.LOST_RETRANSMISSION).packet
    first = link(found, What.DROP).packet
    assert lost is not None
    assert first is not None
    assert (lost.seq, lost.cause, first.cause) == (first.seq, "fast", "")
    assert link(found, What.RETRANSMITTED).numbers["lost_retransmissions"] == 1


def test_an_undone_time_out_restores_the_window() -> None:
    found = chain("delay_spike")
    before = link(found, What.STATE).numbers["cwnd_before_packets"]
    assert float(link(found, What.UNDONE).numbers["cwnd_packets"]) >= 0.9 * float(before)
    assert link(found, What.RTO).numbers["rto_ns"] > 200_000_000


@pytest.mark.slow
def test_the_time_chooses_the_recovery_that_it_lies_in() -> None:
    first, second = chain("pie", "0.8 s"), chain("pie", "1.2 s")
    assert link(first, What.DROP).time_ns < 1_000_000_000 < link(second, What.DROP).time_ns


def test_every_drop_belongs_to_one_incident() -> None:
    seen = observed("pie")
    drops = [one for one in seen.data if one.dropped]
    told = [one for incident in episodes(seen) for one in incident.drops]
    assert sorted(one.number for one in told) == sorted(one.number for one in drops)


def test_nothing_near_names_the_nearest_incident() -> None:
    with pytest.raises(DumbbellError, match=r"nothing happened to flow1 within .*nearest.*0\.1245"):
        chain("one_segment", "0.5 s")
    assert explain(observed("one_segment"), 500_000_000) is None


def test_watching_leaves_the_run_as_it_is() -> None:
    experiment = loaded(HEAD + PLANTED["second_flow"]["experiment"])
    kept = MemoryStore()
    plain = kept.results(execute(experiment, engine_named("sim"), kept, workers=1))
    counted = ["flow", "end_ns", "delivered_bytes", "sent_packets", "retransmitted_packets"]
    assert watched("second_flow")[0].flows.select(counted).equals(plain.flows.select(counted))


def test_sack_blocks_are_added() -> None:
    assert sacked_bytes(["10-20 30-50"]) == 30
    assert sacked_bytes(["10-20", "30-50 10-25", "50-60"]) == 45
    assert sacked_bytes([""]) == 0


@pytest.mark.parametrize("width", [40, 60, 100])
def test_lines_fit_the_terminal(width: int) -> None:
    for name in ("one_segment", "spraying", "ecn_mark"):
        found = list(lines(chain(name), width))
        assert max(len(line) for line, _ in found) <= width


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Store of an experiment with two queues and a flow of UDP."""
    folder = tmp_path_factory.mktemp("explain")
    text = """\
dumbbell: 1
name: two queues
template: {dumbbell: {rate: 10 Mbit/s, rtt: 20 ms, queue: $queue}}
flows:
  - {name: up, from: s1, to: d1, tcp: cubic, stop: 2 s}
  - {name: load, from: s1, to: d1, udp: 1 Mbit/s}
sampling: none
factors: {queue: [codel, pie]}
repeats: 2
duration: 3 s
"""
    file = folder / "e.yaml"
    file.write_text(text, encoding="utf-8")
    command = ["run", str(file), "--store", str(folder / "store"), "--workers", "1"]
    outcome = CliRunner().invoke(app, command)
    assert outcome.exit_code == 0, outcome.output
    return folder / "store"


def verb(store: Path, *options: str) -> Any:
    return CliRunner().invoke(app, ["explain", str(store), *options])


@pytest.mark.slow
def test_the_verb_prints_the_chain(store: Path) -> None:
    outcome = verb(store, "--flow", "up", "--at", "0.75 s", "--cell", "queue=pie")
    assert outcome.exit_code == 0, outcome.output
    assert "PIE at bottleneck/forward dropped the packet" in " ".join(outcome.output.split())


def test_json_has_every_link(store: Path) -> None:
    outcome = verb(store, "--flow", "up", "--at", "0.75 s", "--cell", "queue=pie", "--json")
    found = json.loads(outcome.stdout)
    assert (found["flow"], found["levels"], found["repeat"]) == ("up", {"queue": "pie"}, 0)
    assert found["links"][0]["step"] == "incident"
    cause = next(one for one in found["links"] if one["what"] == "aqm_drop")
    assert cause["place"] == "bottleneck/forward"
    assert cause["packet"]["dropped"] == "aqm"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--flow", "upp", "--at", "1 s"), "no such flow; did you mean up?"),
        (("--flow", "load", "--at", "1 s"), "it is udp, and only TCP is explained"),
        (("--flow", "up", "--at", "9 s"), "the run lies between 0 s and 3 s"),
        (("--flow", "up", "--at", "2.9 s"), "up lived from 0 s to 2"),
        (("--flow", "up", "--at", "soon"), "--at soon: "),
        (("--flow", "up", "--at", "1 s", "--repeat", "7"), "the last one is 1"),
        (("--flow", "up", "--at", "1 s", "--cell", "queue=red"), "no such level"),
    ],
)
def test_a_mistake_is_told(store: Path, options: tuple[str, ...], said: str) -> None:
    outcome = verb(store, *options)
    assert outcome.exit_code == 2
    assert said in " ".join(outcome.output.split())


@pytest.mark.slow
def test_the_page_shows_what_is_printed(tmp_path: Path) -> None:
    experiment, output = explain_parts(EXPLAIN.read_text(encoding="utf-8"))
    assert explanation(experiment, tmp_path) == output.strip()
