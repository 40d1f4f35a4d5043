"""The packet ladder: arrows between two hosts, what stands beside them, what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import dumbbell
from dumbbell.figures import Figure, plot
from dumbbell.results import Results
from tests import synthetic
from tests.helpers import ROOT


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """The study's own experiment."""
    file = ROOT / "studies/multipath/ladder.yaml"
    return dumbbell.run(file, store=tmp_path_factory.mktemp("ladder") / "store")


def lines(figure: Figure) -> list[dict[str, Any]]:
    """The arrows."""
    return list(figure.spec["layer"][1]["data"]["values"])


def labels(figure: Figure) -> list[str]:
    """What stands beside the hosts, the source's first."""
    texts = [layer for layer in figure.spec["layer"] if layer["mark"]["type"] == "text"]
    return [row["text"] for layer in texts for row in layer["data"]["values"]]


@pytest.mark.slow
def test_unequal_paths_show_the_textbook_case(study: Results) -> None:
    """Figure 2.7: segments 1, 3, 5, 7, 9 arrive first, and three SACK blocks tell the gaps."""
    figure = plot(
        study, "ladder", where={"setup": "delay 10/20 ms"}, start_ms=45, end_ms=58, title="t"
    )
    assert labels(figure)[0] == "ACK, 1–10"
    assert "ACK 2 SACK 9, 7, 5" in labels(figure)
    taken = [line["Y"] - line["y"] for line in lines(figure) if line["end"]]
    assert min(taken) >= 0 and all(0 <= line["x"] <= 1 for line in lines(figure))
    whole = [line for line in lines(figure) if line["end"] == "out" and line["y"] < 1]
    by_path = {path: [w["Y"] - w["y"] for w in whole if w["via"].endswith(path)] for path in "12"}
    assert all(5 < took < 10 for took in by_path["1"]), by_path
    assert all(10 < took < 15 for took in by_path["2"]), by_path
    data = [line["says"] for line in whole if line["says"].startswith("segment")]
    assert len(data) == 10 and sum(map(len, by_path.values())) == 11  # and the handshake's ACK


@pytest.mark.slow
def test_equal_paths_swap_the_segments_of_a_pair(study: Results) -> None:
    figure = plot(study, "ladder", where={"setup": "equal"}, start_ms=36000, end_ms=36012)
    # The pairs in this stretch depend on all packets before it.
    swapped = [f"ACK {n} SACK {n + 1} · ACK {n + 2}" for n in range(9, 20, 2)]
    assert len(set(swapped) & set(labels(figure))) >= 4
    assert all(0 <= line["y"] <= line["Y"] <= 12 for line in lines(figure))
    assert "SACK" in figure.description and "<svg" in figure.svg()


def packet(number: int, left: float | None, arrived: float | None, **more: object) -> list[Any]:
    """Rows of a packet of 100 bytes at both taps; times in ms."""
    row = {
        "run": "r", "repeat": 0, "seed": 1, "flow": "f", "direction": "out",
        "packet_number": number,
        "seq_bytes": 100 * number, "payload_bytes": 100, "frame_bytes": 166, **more,
    }  # fmt: skip
    taps = ("near", left), ("far", arrived)
    return [{**row, "tap": tap, "time_ns": int(at * 1e6)} for tap, at in taps if at is not None]


def made(*rows: list[Any]) -> Results:
    return synthetic.results({}, {"packets": [row for packet in rows for row in packet]})


def test_a_lost_packet_ends_half_way_and_one_under_way_at_the_edge() -> None:
    figure = plot(made(packet(0, 0, 5), packet(1, 1, None), packet(2, 14, 19)), "ladder", end_ms=18)
    first, lost, last = lines(figure)
    assert (first["end"], first["X"], first["Y"]) == ("out", 1, 5)
    assert (lost["end"], lost["X"], lost["Y"]) == ("lost", 0.5, 3.5)
    assert (last["end"], last["X"], last["Y"]) == ("", 0.8, 18)
    assert labels(figure) == ["1", "2", "3"]


@pytest.mark.slow
def test_a_segment_sent_again_is_marked() -> None:
    again = packet(2, 20, 25, seq_bytes=0)
    figure = plot(made(packet(0, 0, 5), packet(1, 10, 15), again), "ladder")
    assert labels(figure) == ["1", "2", "1↺"]
    assert [line["says"].split(",")[0] for line in lines(figure)][-1] == "retransmission"


REFUSED = {
    "nothing kept": (synthetic.results({}, {}), {}, "no packets are kept here: set sampling.pac"),
    "one tap": (made(packet(0, 0, None)), {}, "a ladder needs packets at two taps"),
    "elsewhere": (made(packet(0, 1, 5)), {"start_ms": 9}, "no packet from 9 to 5.0 ms; there are"),
    "backwards": (made(packet(0, 1, 5)), {"start_ms": 4, "end_ms": 2}, "no packet from 4 to 2 ms"),
    "wrong factor": (made(packet(0, 1, 5)), {"where": {"cc": "x"}}, "no factor 'cc'"),
    "wrong flow": (made(packet(0, 1, 5)), {"flow": "g"}, "no flow 'g'"),
    "too many": (made(*(packet(n, n, n + 5) for n in range(161))), {}, "161 packets are too many"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    results, options, message = REFUSED[name]
    with pytest.raises(ValueError, match=message):
        plot(results, "ladder", **options)


@pytest.mark.slow
def test_several_runs_are_refused(study: Results, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="several runs or flows for one ladder: fix setup, stret"):
        plot(study, "ladder")
    plot(study, "ladder", where={"setup": "equal"}, start_ms=36000, end_ms=36005).save(
        tmp_path / "ladder.svg"
    )
