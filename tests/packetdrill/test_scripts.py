"""Our scripts on kernels: one per mechanism of TCP, each with the RFC's rule that it shows.

Scripts in a folder with a release's name are for that release.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dumbbell.engines.linux.kernel import kernels
from dumbbell.packetdrill.engine import player_named
from dumbbell.packetdrill.plan import Plan, Played
from dumbbell.packetdrill.playing import play_all
from dumbbell.packetdrill.suite import Script, find_scripts

pytestmark = pytest.mark.kernel

FOLDER = Path(__file__).parent / "scripts"
RELEASES = ("6.12", "7.3")
BUILT = {kernel.name for kernel in kernels()}


def scripts(release: str) -> list[Script]:
    """Scripts for a release: those at the top, and those of its folder."""
    found = find_scripts([FOLDER])
    return [
        one
        for one in found
        if Path(one.name).parts[0] not in RELEASES or one.name.startswith(release)
    ]


def named(*names: str) -> list[Script]:
    found = {one.name: one for one in find_scripts([FOLDER])}
    return [found[f"{name}.pkt"] for name in names]


def played(engine: str, given: list[Script], repeats: int = 1) -> list[Played]:
    return play_all(player_named(engine), given, Plan(), workers=2, repeats=repeats)


def failures(found: list[Played]) -> list[str]:
    return [f"{one.script.name}:{one.line}: {one.message}" for one in found if not one.passed]


def test_there_are_many_and_each_names_its_rule() -> None:
    found = find_scripts([FOLDER])
    assert len(found) >= 140
    assert all(one.text.startswith("// ") for one in found)
    assert len({one.text.splitlines()[0] for one in found}) >= len(found) - 1


@pytest.mark.slow
@pytest.mark.parametrize("release", RELEASES)
def test_every_script_passes(release: str) -> None:
    if release not in BUILT:
        pytest.skip(f"dumbbell kernel build --release {release}")
    found = played(f"linux:{release}", scripts(release))
    assert failures(found) == []
    # Times of all packets but those of ranges are the script's, to its tolerance.
    assert sum(len(one.seen) for one in found) > 500


@pytest.mark.slow
def test_repeats_are_identical() -> None:
    given = named("tlp-last-segment", "pacing-fq", "hystart-delay", "handshake-syn-retransmission")
    found = played("linux", given, repeats=2)
    assert failures(found) == []
    again = played("linux", given)
    assert [one.seen for one in found] == [one.seen for one in again]


CHANGES = {
    "handshake-synack-retransmission": ("+2 > S.", "+3 > S.", "this packet is expected at"),
    "sack-receiver-order": (
        "6001 1001:2001>\n+.01 < . 3001",
        "6001>\n+.01 < . 3001",
        "options: expected",
    ),
    "cwnd-slow-start": (
        "10001:14001(4000)",
        "10001:13001(3000)",
        "payload: expected 3000, sent 4000",
    ),
    "rtt-smoothed": ("55000", "56000", "assert"),
    "window-zero-probe": ("> . 0:0(0)", "> . 1:1(0)", "sequence number: expected 1, sent 0"),
    "send-buffer-notsent-lowat": ("notsent_bytes == 5000", "notsent_bytes == 4000", "is 5000"),
    "close-unread-data": ("R. 1:1(0) ack 301", "F. 1:1(0) ack 301", "flags: expected F., sent R."),
    "mss-of-path": ("mtu 1200", "mtu 1300", "assert"),
}


@pytest.mark.slow
def test_a_changed_number_fails_at_its_line() -> None:
    given = []
    for script in named(*CHANGES):
        before, after, _ = CHANGES[script.name.removesuffix(".pkt")]
        assert before in script.text
        given.append(replace(script, text=script.text.replace(before, after, 1)))
    for one in played("linux", given):
        before, _, says = CHANGES[one.script.name.removesuffix(".pkt")]
        original = next(s.text for s in named(one.script.name.removesuffix(".pkt")))
        first = original[: original.index(before)].count("\n") + 1
        assert not one.passed
        assert says in one.message, one.message
        # A wrong number shows at its line, or at the next assertion.
        assert first <= one.line <= first + 3, (one.script.name, one.line, first)
