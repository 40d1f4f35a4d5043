"""What TCP connections of a capture have in common, and figures of captures."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import altair as alt
import pytest
from typer.testing import CliRunner

from dumbbell.capture import figures, survey
from dumbbell.cli import app
from dumbbell.figures import Figure
from tests.segments import ACK, frame, pcap, transfer


def exchange(port: int, requests: int, segments: tuple[int, ...], at: float = 0.0) -> Any:
    """Requests of 100 bytes, each answered by 1000-byte segments, with an ACK after so many."""
    found = transfer(port, 0, at=at)
    up = down = 1
    for number in range(requests):
        now = at + 0.1 * (number + 1)
        found.append((now, frame(port, 80, ACK, up, down, 100)))
        up += 100
        for place, covered in enumerate(segments):
            for _ in range(covered):
                found.append((now + 0.02 + place / 1e3, frame(80, port, ACK, down, up, 1000)))
                down += 1000
            found.append((now + 0.02 + place / 1e3, frame(port, 80, ACK, up, down)))
    return found


def test_requests_round_trips_and_acknowledgements(tmp_path: Path) -> None:
    frames = [
        *exchange(1000, 1, (1,) * 6),
        *exchange(1001, 3, (1, 1, 2, 2), at=1),
        *exchange(1002, 1, (2,) * 5, at=2),
        *transfer(1003, 0, at=3, rtt=0.05),
    ]
    told = survey(pcap(frames, tmp_path / "c.pcap"))["together"]
    assert told["connections"] == 3
    counts = {row["requests"]: row["connections"] for row in told["requests"]}
    assert (counts, told["persistent_connections"]) == ({1: 2, 3: 1}, 1)
    spread = {"connections": 4, "min": 20_000_000, "median": 20_000_000, "max": 50_000_000}
    assert told["syn_rtt_ns"] == spread
    client, server = told["acknowledges"]
    # 6 + 3 × 2 ACKs of one segment, 3 × 2 + 5 of two; from the beginning 6, 2 and none one by one.
    acks = [client[f"acks_of_{n}"] for n in ("one_segment", "two_segments", "more_segments")]
    assert (client["by"], acks, client["segments_one_by_one"]) == ("client", [12, 11, 0], 8)
    assert client["streams"] == {"every segment": 1, "mixed": 1, "every 2nd segment": 1}
    # Each request is acknowledged by the response.
    assert (server["by"], server["acks_of_one_segment"]) == ("server", 5)


def test_it_is_shown(tmp_path: Path) -> None:
    path = pcap(exchange(1000, 2, (1,) * 6), tmp_path / "c.pcap")
    done = CliRunner().invoke(app, ["capture", str(path)])
    assert done.exit_code == 0
    words = " ".join(done.output.split())
    assert "SYN to SYN/ACK 1 connection: 20 ms to 20 ms, median 20 ms" in words
    assert "requests 2 in 1 connection more than one 1 of 1 connection" in words
    assert "client's ACKs 12: 100.0% of one segment, 0.0% of two, 0.0% of more" in words


def test_without_connections_nothing_is_said(tmp_path: Path) -> None:
    path = pcap([], tmp_path / "c.pcap")
    told = survey(path)["together"]
    assert (told["connections"], told["requests"]) == (0, [])
    assert told["syn_rtt_ns"] == {"connections": 0, "min": None, "median": None, "max": None}
    done = CliRunner().invoke(app, ["capture", str(path)])
    assert done.exit_code == 0
    assert "together" not in done.output


@pytest.mark.slow
@pytest.mark.parametrize("draw", ["rate", "lengths", "classes", "requests"])
@pytest.mark.parametrize("frames", [exchange(1000, 2, (1, 2, 2)), []], ids=["some", "empty"])
def test_figures_are_charts(draw: str, frames: Any, tmp_path: Path) -> None:
    found = survey(pcap(frames, tmp_path / "c.pcap"))
    figure: Figure = {
        "rate": lambda: figures.rate(found),
        "lengths": lambda: figures.lengths({"a": found["lengths"], "b": found["lengths"]}),
        "classes": lambda: figures.classes({"a": found["classes"]}),
        "requests": lambda: figures.requests(found),
    }[draw]()
    alt.LayerChart.from_dict(figure.specification())
    assert figure.svg().startswith("<svg")


def test_the_rate_over_time_holds_every_byte(tmp_path: Path) -> None:
    found = survey(pcap(exchange(1000, 8, (2, 2, 2)), tmp_path / "c.pcap"))
    spec = figures.rate(found).spec
    data = spec.get("data") or spec["layer"][0]["data"]
    # Steps: each lasts until the next begins; the last row only ends the last step.
    bits = sum(
        row["mbps"] * 1e6 * (after["s"] - row["s"])
        for row, after in itertools.pairwise(data["values"])
    )
    assert bits == pytest.approx(8 * found["file"]["bytes"], rel=1e-3)
