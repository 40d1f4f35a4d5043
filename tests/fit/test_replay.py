"""Losses of a capture, and twins that lose the same packets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dumbbell.fit.algorithm import Runs
from dumbbell.fit.base_rtt import base_rtt
from dumbbell.fit.features import Scale, features
from dumbbell.fit.observe import Observed
from dumbbell.fit.path import Path as FittedPath
from dumbbell.fit.path import estimate
from dumbbell.fit.replay import replaying
from dumbbell.fit.running import run_twin
from dumbbell.fit.twin import sketch
from tests.fit.cases import Case, draw
from tests.fit.judge import read

#: Seed, algorithm and queue of a short case.
RENO = (5_000_012, "reno", "fq_codel")


def seen_of(case: Case, folder: Path, duration: str = "4 s") -> Observed:
    case.experiment["duration"] = duration
    file = folder / "c.pcapng"
    file.write_bytes(case.capture())
    return read(str(file))


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Observed:
    case = draw(RENO[0])
    assert (case.truth.algorithm, case.truth.path) == RENO[1:]
    return seen_of(case, tmp_path_factory.mktemp("reno"))


@pytest.fixture(scope="module")
def path(seen: Observed) -> FittedPath:
    return estimate(seen)


def test_the_twin_loses_the_packets_of_the_capture(seen: Observed, path: FittedPath) -> None:
    twin = run_twin(replaying(sketch(seen, path), seen), "reno", 1, seen)
    count = min(len(seen.lost_nth), len(twin.lost_nth))
    assert count > 20
    assert list(twin.lost_nth[:count]) == list(seen.lost_nth[:count])


def test_with_the_same_losses_reno_is_like_the_capture(seen: Observed, path: FittedPath) -> None:
    one = sketch(seen, path)
    shares = np.linspace(0.05, 0.95, 19)
    natural, again = (run_twin(way, "reno", 1, seen) for way in (one, replaying(one, seen)))

    def far(twin: Observed) -> float:
        ours, theirs = (np.quantile(each.flight_bytes, shares) for each in (seen, twin))
        return float(np.abs(theirs / ours - 1).mean())

    assert far(again) < min(0.05, far(natural))


def test_a_capture_without_losses_has_nothing_to_replay(tmp_path: Path) -> None:
    case = draw(5_000_018)
    quiet = seen_of(case, tmp_path, "3 s")
    one = sketch(quiet, estimate(quiet))
    assert not len(quiet.lost_nth)
    assert replaying(one, quiet) is one


def test_a_tap_behind_the_losses_numbers_them_as_the_sender_does(tmp_path: Path) -> None:
    """The same transfer, captured before and behind the queue."""
    numbers = []
    for at, link in (("s", "near"), ("d", "far")):
        case = draw(5_000_046)
        case.experiment["taps"] = [{"name": "tap", "at": at, "link": link}]
        numbers.append(seen_of(case, tmp_path, "3 s").lost_nth)
    before, behind = numbers
    assert len(before) > 10
    # Behind the queue a loss is known to lie between two packets that passed.
    assert list(behind[:10]) == list(before[:10])


def test_algorithms_that_make_the_same_transfer_are_a_group(
    seen: Observed, path: FittedPath
) -> None:
    one = sketch(seen, path)
    scale = Scale(one.rtt_s, 50_000.0, 4.0)
    made = {
        name: [features(run_twin(replaying(one, seen), name, 1, seen), scale)]
        for name in ("reno", "lp", "cubic")
    }
    runs = Runs(features(seen, scale), made)
    groups = runs.groups(runs.shares())
    assert set(groups[0]) == {"reno", "lp"}
    assert groups[1] == ("cubic",)


@pytest.mark.parametrize("algorithm", ["reno", "dctcp", "prague"])
def test_the_ecn_field_tells_dctcp_and_prague(algorithm: str, tmp_path: Path) -> None:
    """Without ECN at the queue they react to losses as Reno, but send other ECN fields."""
    case = draw(7, algorithms=(algorithm,), paths={"drop-tail": 1})
    if algorithm == "reno":
        ecn = {"tcp_ecn": 1}
        case.experiment["flows"][0]["tcp"] |= {"sender": ecn, "receiver": ecn}
    found = seen_of(case, tmp_path, "3 s").ect
    data, again, other, first = found
    assert data == 1.0
    assert first == (1.0 if algorithm == "prague" else 0.0)
    assert (again, other) == ((0.0, 0.0) if algorithm == "reno" else (1.0, 1.0))


@pytest.mark.parametrize("seed", [5_000_026, 5_000_043])
def test_behind_slots_the_interval_of_the_base_rtt_holds_it(seed: int, tmp_path: Path) -> None:
    """DOCSIS and Wi-Fi: the least RTT waits for a slot on its way back."""
    case = draw(seed)
    found = base_rtt(seen_of(case, tmp_path, "2 s"), case.truth.rates[0][1]).path
    assert found.value is not None and found.low is not None and found.high is not None
    assert found.value > 1.05 * case.truth.rtt_s
    assert found.low <= case.truth.rtt_s <= found.high
    assert "slots" in found.evidence
