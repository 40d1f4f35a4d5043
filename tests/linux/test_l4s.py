"""Accurate ECN, DualPI2 and Prague of the simulator beside the kernels that have them."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import dumbbell
from dumbbell.engines.linux.kernel import kernels
from dumbbell.errors import ExperimentError
from tests import kernel

pytestmark = pytest.mark.kernel

BUILT = {kernel.name for kernel in kernels()}
of_73 = pytest.mark.skipif("7.3" not in BUILT, reason="dumbbell kernel build --release 7.3")
of_prague = pytest.mark.skipif("prague" not in BUILT, reason="docs/l4s.md has the command")

TEXT = """\
dumbbell: 1
name: l4s
hosts: {{defaults: {{profile: {profile}}}, s1: {{tcp_ecn: {sender}}}, d1: {{tcp_ecn: {receiver}}}}}
template:
  dumbbell:
    rate: 20 Mbit/s
    rtt: 20 ms
    forward: {{queue: {queue}}}
    backward: {{buffer: 1000 packets}}
flows: [{{name: f, from: s1, to: d1, tcp: {cc}}}]
taps: [{{name: t, at: r2, link: bottleneck}}]
sampling: {{packets: {{to: 5 s}}}}
duration: {duration}
"""
#: What is compared of a packet; its time may be off by what the kernel computes.
COLUMNS = ("seq_bytes", "ack_bytes", "payload_bytes", "frame_bytes", "tos", "sack_ranges_bytes")


def packets(folder: Path, engine: str, **options: object) -> pl.DataFrame:
    values = {"sender": 3, "receiver": 3, "queue": "{pfifo: {limit: 60 packets}}", "cc": "cubic"}
    values["profile"] = "linux-7.3"
    file = folder / "e.yaml"
    file.write_text(TEXT.format(**{**values, "duration": "3 s", **options}), encoding="utf-8")
    return dumbbell.run(file, engine=engine).packets.sort("time_ns")


def both(folder: Path, engine: str, direction: str, **options: object) -> list[list[object]]:
    return [
        list(
            packets(folder, one, **options)
            .filter(pl.col("direction") == direction)
            .select(*COLUMNS, "tcp_flags")
            .iter_rows()
        )
        for one in ("sim", engine)
    ]


@of_73
@pytest.mark.parametrize("direction", ["out", "back"])
def test_accurate_ecn_beside_losses_is_that_of_linux(tmp_path: Path, direction: str) -> None:
    """All of three seconds: ACE, the option's length beside SACK blocks, shorter segments."""
    ours, theirs = both(tmp_path, "linux:7.3", direction)
    assert len(ours) > 2000
    assert ours == theirs


@of_73
@pytest.mark.parametrize("cc", ["cubic", "dctcp"])
def test_marks_are_told_as_linux_tells_them(tmp_path: Path, cc: str) -> None:
    """The first marks, and the ACKs that tell them."""
    queue = "{codel: {ecn: true}}" if cc == "cubic" else "{codel: {ce_threshold: 1 ms}}"
    for direction in ("out", "back"):
        ours, theirs = both(tmp_path, "linux:7.3", direction, cc=cc, queue=queue, duration="600 ms")
        assert len(ours) > (300 if direction == "out" else 150)
        assert ours == theirs
    flags = {row[-1] for row in ours if isinstance(row, tuple)}
    assert len(flags) > 2, "marks change the ACE field"


@of_73
def test_marks_are_told_without_the_option_too(tmp_path: Path) -> None:
    """`tcp_ecn_option: 0`: the ACE field alone, and whole segments."""
    queue, profile = "{codel: {ecn: true}}", "linux-7.3, tcp_ecn_option: 0"
    for direction in ("out", "back"):
        options = {"queue": queue, "profile": profile, "duration": "600 ms"}
        ours, theirs = both(tmp_path, "linux:7.3", direction, **options)
        assert len(ours) > 500
        assert ours == theirs
    assert len({row[-1] for row in ours if isinstance(row, tuple)}) > 2, "marks change the field"


#: `tcp_ecn_option` and beacon of both, queue, and how many packets are the kernel's, if not all
#: of them (docs/models/ecn.md).
ON_DEMAND = [
    ("2, tcp_ecn_option_beacon: 3", "1, tcp_ecn_option_beacon: 3", 60, None),
    ("1, tcp_ecn_option_beacon: 0", "2", 60, None),
    ("1, tcp_ecn_option_beacon: 0", "1, tcp_ecn_option_beacon: 1", None, None),
    ("1", "1", None, 380),
]


@of_73
@pytest.mark.parametrize(("client", "server", "limit", "equal"), ON_DEMAND)
def test_the_option_on_demand_is_that_of_linux(
    tmp_path: Path, client: str, server: str, limit: int | None, equal: int | None
) -> None:
    """`tcp_ecn_option: 1`, which makes only some segments shorter: losses, and marks."""
    marks = "{codel: {ecn: true, target: 2 ms, interval: 20 ms}}"
    ours, theirs = (
        packets(
            tmp_path,
            engine,
            sender=f"3, tcp_ecn_option: {client}",
            receiver=f"3, tcp_ecn_option: {server}",
            queue=f"{{pfifo: {{limit: {limit} packets}}}}" if limit else marks,
            duration="700 ms",
        )
        for engine in ("sim", "linux:7.3")
    )
    for direction, least in (("out", 800), ("back", 400)):
        one, other = (
            found.filter(pl.col("direction") == direction).select(*COLUMNS, "tcp_flags").rows()
            for found in (ours, theirs)
        )
        assert len(one) > least
        # An ACK answers two segments.
        part = None if equal is None else equal if direction == "out" else equal // 2
        assert one[:part] == other[:part]


#: `tcp_ecn` of client and server: flags of SYN, SYN-ACK and third segment, ECN field of data.
HANDSHAKES = [
    (3, 3, "syn ece cwr ae", "syn cwr", "cwr", 2),
    (3, 5, "syn ece cwr ae", "syn cwr", "cwr", 2),
    (3, 1, "syn ece cwr ae", "syn ece", "", 2),
    (3, 0, "syn ece cwr ae", "syn", "", 0),
    (4, 3, "syn ece cwr", "syn ece", "", 2),
    (1, 5, "syn ece cwr", "syn ece", "", 2),
    (5, 3, "syn", "syn", "", 0),
    (2, 3, "syn", "syn", "", 0),
]


@pytest.mark.parametrize("engine", ["sim", pytest.param("linux:7.3", marks=of_73)])
@pytest.mark.parametrize(("sender", "receiver", "syn", "answer", "third", "field"), HANDSHAKES)
def test_both_ends_agree_on_what_both_know(
    tmp_path: Path,
    engine: str,
    sender: int,
    receiver: int,
    syn: str,
    answer: str,
    third: str,
    field: int,
) -> None:
    """RFC 9768 §3.1, as the kernel's selftests of negotiation and fallback have it."""
    found = packets(tmp_path, engine, sender=sender, receiver=receiver, duration="200 ms")
    out = found.filter(pl.col("direction") == "out")
    back = found.filter(pl.col("direction") == "back")
    assert out["tcp_flags"][:2].to_list() == [syn, third]
    assert back["tcp_flags"][0] == answer
    assert out["tos"][0] == back["tos"][0] == 0, "neither SYN is ECN-capable"
    data = out.filter(pl.col("payload_bytes") > 0)
    assert set(data["tos"]) == {field}
    accurate = "ae" in syn and answer == "syn cwr"
    assert back["tos"][1] == (2 if accurate else 0), "with Accurate ECN, ACKs are capable too"
    assert data["payload_bytes"].max() == (1436 if accurate else 1448)


LOST = """\
dumbbell: 1
name: lost handshake
hosts: {{defaults: {{profile: linux-7.3, tcp_ecn: 3}}}}
template:
  dumbbell:
    rate: 20 Mbit/s
    rtt: {rtt_s} s
    buffer: 1000 packets
    {direction}: {{changes: [{{at: {start} s, loss: 100 %}}, {{at: {end} s, loss: none}}]}}
flows: [{{name: f, from: s1, to: d1, tcp: {{congestion_control: cubic, bytes: 20 KB}}}}]
taps: [{{name: client, at: s1, link: s1-r1}}, {{name: server, at: d1, link: r2-d1}}]
sampling: {{packets: {{to: 6 s}}}}
duration: 6 s
"""
ASKS, ACCEPTS = "syn ece cwr ae", "syn cwr"
#: Direction and time in which all packets are lost; flags of the client's first packets, and of the
#: server's. The second SYN still asks, the third does not; a SYN-ACK that the server sends again by
#: itself accepts nothing.
LOST_HANDSHAKES = [
    ("forward", 0, 0.5, [ASKS, ASKS, "cwr"], [ACCEPTS, "ece ae"]),
    ("forward", 0, 1.5, [ASKS, ASKS, "syn", ""], ["syn", ""]),
    ("forward", 0, 2.5, [ASKS, ASKS, "syn", "syn", ""], ["syn", ""]),
    ("backward", 0, 0.5, [ASKS, ASKS, "cwr"], [ACCEPTS, ACCEPTS]),
    ("backward", 0, 1.5, [ASKS, ASKS, "syn", ""], [ACCEPTS, ACCEPTS, "syn", "syn"]),
    ("backward", 0, 2.6, [ASKS, ASKS, "syn", "syn", ""], [ACCEPTS, ACCEPTS, *3 * ["syn"]]),
    ("forward", 0.005, 0.1, [ASKS, "cwr", "ece ae"], [ACCEPTS]),
]


def handshake(
    folder: Path, engine: str, direction: str, start: float, end: float, rtt_s: float = 0.02
) -> list[list[tuple[object, ...]]]:
    """Flags, ECN field, length and time (10 ms) of the first packets of client and server."""
    file = folder / "e.yaml"
    text = LOST.format(direction=direction, start=start, end=end, rtt_s=rtt_s)
    file.write_text(text, encoding="utf-8")
    found = dumbbell.run(file, engine=engine).packets.sort("time_ns")
    sides = []
    for tap, side in (("client", "out"), ("server", "back")):
        own = found.filter((pl.col("tap") == tap) & (pl.col("direction") == side))
        rows = own.select("tcp_flags", "tos", "payload_bytes", "time_ns").head(10).iter_rows()
        sides.append([(*first, round(time_ns / 1e7)) for *first, time_ns in rows])
    return sides


@of_73
@pytest.mark.parametrize(("direction", "start", "end", "asked", "answered"), LOST_HANDSHAKES)
def test_a_handshake_with_losses_is_that_of_linux(
    tmp_path: Path,
    direction: str,
    start: float,
    end: float,
    asked: list[str],
    answered: list[str],
) -> None:
    """The kernel's selftests that drop SYN, SYN-ACK or third ACK (table in docs/l4s.md)."""
    ours, theirs = (
        handshake(tmp_path, engine, direction, start, end) for engine in ("sim", "linux:7.3")
    )
    assert ours == theirs
    client, server = ours
    assert [row[0] for row in client[: len(asked)]] == asked
    assert [row[0] for row in server[: len(answered)]] == answered


@of_73
@pytest.mark.parametrize("rtt_s", [1.2, 2.2])
def test_a_late_answer_is_taken_as_linux_takes_it(tmp_path: Path, rtt_s: float) -> None:
    """Both ends have sent their packet again, the client at 2.2 s without asking, when it comes."""
    ours, theirs = (
        handshake(tmp_path, engine, "forward", 5, 5.1, rtt_s) for engine in ("sim", "linux:7.3")
    )
    assert ours == theirs
    assert ours[0][0][0] == ours[0][1][0] == ASKS
    assert ours[1][0][0] == ACCEPTS


@of_prague
def test_prague_sends_the_packets_of_its_kernel(tmp_path: Path) -> None:
    """Until a packet is at the threshold of the step: 900 packets, and their ACKs."""
    ours, theirs = both(
        tmp_path, "linux:prague", "out", cc="prague", queue="dualpi2", duration="900 ms"
    )
    assert len(ours) > 800
    assert ours[:800] == theirs[:800]


@pytest.mark.skipif(kernel.RELEASE == "7.3", reason="the kernel has it all")
def test_an_older_kernel_says_what_it_lacks(tmp_path: Path) -> None:
    for options, message in (
        ({"queue": "dualpi2", "sender": 2, "receiver": 2}, r"no dualpi2; Linux has it since 6\.17"),
        ({}, r"hosts\.s1\.tcp_ecn: Linux .* has no Accurate ECN; Linux has it since 6\.18"),
        ({"cc": "prague", "sender": 2, "receiver": 2}, r"no prague; it exists as a patch"),
    ):
        with pytest.raises(ExperimentError, match=message):
            packets(tmp_path, "linux", **options)


PAGE = """\
dumbbell: 1
name: page
hosts: {defaults: {profile: linux-7.3, tcp_ecn: 3}}
template:
  dumbbell:
    rate: 10 Mbit/s
    rtt: 40 ms
    forward: {queue: {codel: {ecn: true, target: 2 ms, interval: 20 ms}}}
    backward: {buffer: 1000 packets}
pages:
  - name: page
    client: d1
    server: s1
    protocol: http/2
    congestion_control: cubic
    objects:
      - {name: index, size: 400 KiB}
      - {name: image, size: 600 KiB, after: index}
duration: 5 s
"""


@of_73
def test_a_server_learns_of_marks_too(tmp_path: Path) -> None:
    """The side that did not open the connection sends: as many marks, and the page as fast."""
    file = tmp_path / "e.yaml"
    file.write_text(PAGE, encoding="utf-8")
    found = []
    for engine in ("sim", "linux:7.3"):
        results = dumbbell.run(file, engine=engine)
        (marked,) = results.pipes.filter(pl.col("pipe") == "bottleneck/forward")["marked_packets"]
        found.append((marked, results.transfers["end_ns"].max()))
    (ours, our_end), (theirs, their_end) = found
    assert ours > 10 and abs(ours - theirs) <= 5
    assert abs(our_end - their_end) < 0.03 * their_end
    assert their_end > 1_000_000_000, "a page that is due at 0 begins with the run"
