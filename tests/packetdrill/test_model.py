"""Our scripts on the simulator's TCP: kernels pass all of them, each difference has its cause."""

from __future__ import annotations

from pathlib import Path

import pytest

from dumbbell.packetdrill.engine import player_named
from dumbbell.packetdrill.plan import Plan, Played, Verdict
from dumbbell.packetdrill.playing import play_all
from dumbbell.packetdrill.suite import find_scripts
from tests.packetdrill.test_scripts import FOLDER

#: Scripts that fail on the simulator, and why.
DIFFERENCES = {
    "7.3/challenge-future-ack.pkt": "7.3 answers an ACK of unsent data, 6.12 and the model do not",
    "challenge-old-ack.pkt": "an ACK below the first sequence number is taken for the first",
    "close-time-wait-answers.pkt": "TIME-WAIT of an end that also receives reports a duplicate",
    "hystart-delay.pkt": "events exactly 1 ms apart, some µs more on a guest (TSO defers)",
    "window-never-shrinks.pkt": "memory of a packet from tun, not from Ethernet",
    "window-zero-probe.pkt": "a probe below the first byte has no number below it",
}


@pytest.mark.parametrize("profile", ["linux-6.12", "linux-7.3"])
def test_scripts_pass_or_their_difference_is_known(profile: str) -> None:
    release = profile.removeprefix("linux-")
    scripts = [
        one
        for one in find_scripts([FOLDER])
        if one.name[:2] not in ("6.", "7.") or one.name.startswith(release)
    ]
    found = play_all(player_named("sim", profile), scripts, Plan(), workers=1)
    failed = {one.script.name: one.message for one in found if one.failed}
    assert {name: text for name, text in failed.items() if name not in DIFFERENCES} == {}
    mended = {one.script.name for one in found if one.passed} & DIFFERENCES.keys()
    assert not mended, "take these out of the list"
    assert sum(one.passed for one in found) >= 95
    assert all(one.message for one in found if one.verdict is Verdict.NOT_MODELLED)


def test_the_same_script_gives_the_same_times() -> None:
    scripts = [one for one in find_scripts([FOLDER]) if one.name.startswith("tlp-")]
    player = player_named("sim")
    first, again = (play_all(player, scripts, Plan(), workers=2) for _ in range(2))
    assert first == again
    assert any(one.seen for one in first)


def played(text: str, folder: Path, profile: str | None = None) -> Played:
    path = folder / "one.pkt"
    path.write_text(text, encoding="utf-8")
    return play_all(player_named("sim", profile), find_scripts([path]), Plan(), workers=1)[0]


OPEN = """\
    0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
   +0 bind(3, ..., ...) = 0
   +0 listen(3, 1) = 0
   +0 < S 0:0(0) win 65535 <mss 1000,sackOK,nop,nop,nop,wscale 7>
   +0 > S. 0:0(0) ack 1 <...>
 +.01 < . 1:1(0) ack 1 win 1000
   +0 accept(3, ..., ...) = 4
"""


@pytest.mark.parametrize(
    ("lines", "verdict", "says"),
    [
        ("+0 getsockopt(4, SOL_SOCKET, SO_ERROR, [0], [4]) = 0", Verdict.PASSED, ""),
        ("+0 getsockopt(4, SOL_SOCKET, SO_ERROR, [111], [4]) = 0", Verdict.NOT_MODELLED, "getsock"),
        ("+0 socket(..., SOCK_DGRAM, IPPROTO_UDP) = 5", Verdict.NOT_MODELLED, "not of TCP"),
        ("+0 socket(..., SOCK_STREAM, IPPROTO_TCP) = -1", Verdict.FAILED, "descriptor"),
        ("+0 bind(77, ..., ...) = 0", Verdict.FAILED, "no descriptor 77"),
        ("+0 acept(3, ..., ...) = 5", Verdict.FAILED, "acept is not known"),
        ("+0 read(4, ..., -1) = 1000", Verdict.NOT_MODELLED, "a buffer of -1 bytes"),
        ("+0 shutdown(4, SHUT_WR) = 0\n+0 write(4, ..., 9) = -1 EPIPE", Verdict.PASSED, ""),
        ("+0 `sysctl -q net.ipv4.tcp_min_tso_segs=0`", Verdict.NOT_MODELLED, "tcp_min_tso_segs=0"),
        ("+0 `sysctl -q net.ipv4.hz=0`", Verdict.NOT_MODELLED, "hz=0"),
        ("+0 `./loop.sh`", Verdict.FAILED, "more than 10000 commands"),
    ],
)  # fmt: skip
def test_what_is_asked_beyond_the_model_is_no_pass(
    lines: str, verdict: Verdict, says: str, tmp_path: Path
) -> None:
    (tmp_path / "loop.sh").write_text("./loop.sh\n" * 12)
    found = played(f"{OPEN}   {lines}\n", tmp_path)
    assert (found.verdict, says in found.message) == (verdict, True), found.message


def test_a_huge_send_buffer_is_the_largest_one(tmp_path: Path) -> None:
    lines = "+0 setsockopt(4, SOL_SOCKET, SO_SNDBUF, [4000000000000000000], 4) = 0\n"
    found = played(f"{OPEN}{lines}+0 write(4, ..., 100000000) = 100000000\n", tmp_path)
    assert found.verdict is Verdict.NOT_MODELLED
    assert "send buffer" in found.message


@pytest.mark.parametrize("mss", [0, 1, 47, 65535])
def test_any_mss_of_a_syn_is_taken(mss: int, tmp_path: Path) -> None:
    text = OPEN.replace("mss 1000", f"mss {mss}")
    assert played(f"{text}+0 write(4, ..., 3) = 3\n+0 > P. 1:4(3) ack 1\n", tmp_path).passed
