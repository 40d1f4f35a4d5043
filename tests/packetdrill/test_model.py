"""Our scripts on the simulator's TCP: kernels pass all of them, each difference has its cause."""

from __future__ import annotations

import pytest

from dumbbell.packetdrill.engine import player_named
from dumbbell.packetdrill.plan import Plan, Verdict
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
