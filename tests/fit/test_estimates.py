"""Estimates of drawn cases beside their truth (`tests/write_fit_page.py` judges many)."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import dumbbell
from dumbbell.fit.path import estimate
from dumbbell.fit.residual import residual, unexplained
from dumbbell.fit.running import run_twin
from dumbbell.fit.twin import drawn, sketch
from dumbbell.fit.written import text
from tests.fit.cases import Case, draw
from tests.fit.judge import judged, read
from tests.helpers import loaded


def captured(case: Case, folder: Path) -> str:
    file = folder / "case.pcapng"
    file.write_bytes(case.capture())
    return str(file)


def policed(algorithm: str, folder: Path) -> tuple[Case, str]:
    case = draw(3, algorithms=(algorithm,), paths={"policer": 1})
    return case, captured(case, folder)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2, 10, 15, 20, 33, 36])
def test_base_rtt_rate_and_limit_of_a_drop_tail_queue(seed: int, tmp_path: Path) -> None:
    case = draw(seed)
    assert case.truth.path == "drop-tail"
    seen = read(captured(case, tmp_path))
    found = judged(case.truth, seen, estimate(seen))
    assert found.rtt_error is not None and abs(found.rtt_error) < 0.03
    assert found.rate_error is not None and abs(found.rate_error) < 0.01
    assert found.limit_error is not None and abs(found.limit_error) < 0.2
    assert (found.queue, found.factor) == ("drop-tail", "bottleneck")


@pytest.mark.slow
@pytest.mark.parametrize("path", ["receive window", "send buffer", "application"])
def test_limits_of_the_ends(path: str, tmp_path: Path) -> None:
    made = (draw(seed, algorithms=("cubic",), paths={path: 1}) for seed in range(20))
    case = next(one for one in made if one.truth.factor == path)
    assert estimate(read(captured(case, tmp_path))).factor.name == path


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["cubic", "bbr"])
def test_a_policer_and_its_bucket(algorithm: str, tmp_path: Path) -> None:
    case, file = policed(algorithm, tmp_path)
    found = estimate(read(file))
    policer = case.experiment["links"][1]["forward"]["policer"]
    assert found.shaper.kind == found.factor.name == "policer"
    assert found.shaper.rate_bps.value == pytest.approx(case.truth.rates[0][1], rel=0.05)
    assert found.shaper.burst_bytes.value == pytest.approx(
        float(policer["burst"].split()[0]), rel=0.25
    )


#: Bursts leave the host in an instant: their packets have one time.
BURSTS = """\
dumbbell: 1
name: bursts
template:
  dumbbell: {rate: 20 Mbit/s, rtt: 40 ms, forward: {policer: {rate: 8 Mbit/s, burst: 30 KB}}}
flows: [{name: f, from: s1, to: d1, tcp: cubic}]
taps: [{at: s1, link: s1-r1}]
sampling: {capture: true}
duration: 8 s
"""


def test_a_policer_behind_bursts_of_one_instant(tmp_path: Path) -> None:
    file = tmp_path / "bursts.yaml"
    file.write_text(BURSTS, encoding="utf-8")
    dumbbell.run(file, captures=tmp_path / "captures")
    (capture,) = (tmp_path / "captures").iterdir()
    found = estimate(read(str(capture)))
    assert found.shaper.kind == found.factor.name == "policer"
    assert found.shaper.rate_bps.value == pytest.approx(8e6, rel=0.03)
    assert found.shaper.burst_bytes.value == pytest.approx(30_000, rel=0.15)


#: Losses that keep Reno below half of the rate: no queue grows.
FAR = """\
dumbbell: 1
name: far
template: {dumbbell: {rate: RATE, rtt: 40 ms, buffer: 1 BDP, forward: {loss: 0.1 %}}}
flows: [{name: f, from: s1, to: d1, tcp: reno}]
taps: [{at: s1, link: s1-r1}]
sampling: {capture: true}
duration: 10 s
"""


@pytest.mark.parametrize(
    ("rate", "name", "why"),
    [
        ("100 Mbit/s", "loss", r"\d+ rounds of loss far below the path's rate"),
        # At 70 % of the rate losses are not said to be the limit, nor to be missing.
        (
            "20 Mbit/s",
            "congestion control",
            "the window moved without a queue or a limit of the ends",
        ),
    ],
)
def test_losses_far_below_the_rate_are_the_limit(
    rate: str, name: str, why: str, tmp_path: Path
) -> None:
    file = tmp_path / "far.yaml"
    file.write_text(FAR.replace("RATE", rate))
    dumbbell.run(file, captures=tmp_path, workers=1)
    (capture,) = tmp_path.glob("*.pcapng")
    found = estimate(read(str(capture))).factor
    assert found.name == name and re.fullmatch(why, found.why), found


def test_an_application_that_writes_at_times_is_the_limit(tmp_path: Path) -> None:
    """50 KB each 100 ms: between the chunks nothing is in flight."""
    text = BURSTS.replace("rate: 20 Mbit/s", "rate: 100 Mbit/s").replace(
        "forward: {policer: {rate: 8 Mbit/s, burst: 30 KB}}", "buffer: 200 packets"
    )
    source = "{congestion_control: cubic, source: {periodic: {chunk: 50 KB, interval: 100 ms}}}"
    file = tmp_path / "chunks.yaml"
    file.write_text(text.replace("tcp: cubic", f"tcp: {source}"), encoding="utf-8")
    dumbbell.run(file, captures=tmp_path / "captures")
    (capture,) = (tmp_path / "captures").iterdir()
    found = estimate(read(str(capture)))
    assert found.factor.name == "application"


@pytest.mark.slow
def test_a_policer_called_a_queue_is_caught(tmp_path: Path) -> None:
    """The same rate as a link with a queue: the twin has delays that the capture has not."""
    from dataclasses import replace

    case, file = policed("cubic", tmp_path)
    seen = read(file)
    right = sketch(seen, estimate(seen))
    assert right.policer is not None
    wrong = replace(right, policer=None, steps=((0.0, right.policer[0]),))

    def left(one: object) -> list[str]:
        twins = [run_twin(one, case.truth.algorithm, seed, seen) for seed in (1, 2)]  # type: ignore[arg-type]
        return unexplained(residual(seen, twins))

    assert left(right) == []
    assert any("RTT" in one for one in left(wrong))


@pytest.mark.slow
def test_the_twin_with_the_right_algorithm_is_like_the_capture(tmp_path: Path) -> None:
    case = draw(15)
    seen = read(captured(case, tmp_path))
    twin = run_twin(sketch(seen, estimate(seen)), case.truth.algorithm, 1, seen)
    shares = np.linspace(0.1, 0.9, 9)
    ours, theirs = (np.quantile(one.flight_bytes, shares) for one in (seen, twin))
    assert theirs == pytest.approx(ours, rel=0.1)
    assert np.nanmedian(twin.rtt_s) == pytest.approx(np.nanmedian(seen.rtt_s), rel=0.05)


def test_the_twins_file_is_an_experiment_with_evidence(tmp_path: Path) -> None:
    case = draw(15)
    seen = read(captured(case, tmp_path))
    found = estimate(seen)
    written = text(sketch(seen, found), found, "cubic", "told", ("a twin",))
    scenario = loaded(written).cells[0].scenario
    assert '"congestion_control":"cubic"' in scenario
    commented = [line for line in written.splitlines() if "  # " in line]
    assert len(commented) >= 5
    assert any("buffer:" in line and "rounds of loss" in line for line in commented)


def test_draws_stay_near_the_estimates(tmp_path: Path) -> None:
    from random import Random

    case = draw(15)
    seen = read(captured(case, tmp_path))
    one = sketch(seen, estimate(seen))
    rates = [drawn(one, Random(seed)).steps[0][1] for seed in range(50)]
    assert len(set(rates)) == 50
    assert np.mean(rates) == pytest.approx(one.steps[0][1], rel=0.02)


def test_a_policer_whose_losses_follow_the_delay_of_a_frame(tmp_path: Path) -> None:
    """Delays of a frame are no full queue, whatever the longest one is."""
    case = draw(17_000_002)
    assert (case.truth.path, case.truth.algorithm) == ("policer", "prague")
    assert estimate(read(captured(case, tmp_path))).factor.name == "policer"
