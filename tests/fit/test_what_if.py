"""Changes of a twin, the page and the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dumbbell.cli.app import app
from dumbbell.errors import DumbbellError
from dumbbell.fit.fitting import Fit, fit
from dumbbell.fit.page import page
from dumbbell.fit.what_if import Change, changed, changes
from tests.fit.cases import draw


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A slow transfer with a long queue: Illinois over 52 Mbit/s, cut to 4 s."""
    case = draw(36)
    case.experiment["duration"] = "4 s"
    path = tmp_path_factory.mktemp("fit") / "slow.pcapng"
    path.write_bytes(case.capture())
    return path


@pytest.fixture(scope="module")
def found(file: Path) -> Fit:
    wanted = ["cc=vegas", "queue=fq_codel", "buffer=40 packets"]
    return fit(file, algorithms=["illinois"], what_if=wanted)


@pytest.mark.slow
def test_another_queue_would_have_had_less_delay(found: Fit) -> None:
    outcomes = {one.change.name: one for one in found.outcomes}
    assert list(outcomes) == ["as it is", "cc=vegas", "queue=fq_codel", "buffer=40 packets"]
    before = outcomes["as it is"]
    for name in ("cc=vegas", "queue=fq_codel", "buffer=40 packets"):
        assert outcomes[name].delay_s[2] < before.delay_s[1]
    # 40 packets of a queue of 1000: at most 40 frames of 1514 bytes at 52 Mbit/s, and a frame.
    assert outcomes["buffer=40 packets"].delay_s[0] < 45 * 1514 * 8 / 52e6
    low, high = before.goodput_bps[1:]
    seen = found.seen.delivered_bytes[-1] * 8 / found.seen.duration_s
    assert 0.97 * low <= seen <= 1.03 * high


@pytest.mark.slow
def test_the_page_has_everything(found: Fit) -> None:
    text = page(found)
    for words in ("What if", "Residual", "Experiment file", "Capture and twin", "queue=fq_codel"):
        assert words in text


def test_a_queue_replaces_a_policer_at_its_rate(file: Path, found: Fit) -> None:
    from dataclasses import replace

    assert found.sketch is not None
    policed = replace(found.sketch, policer=(5e6, 30_000.0))
    forward = changed(policed, "cubic", Change("queue", "cake"))["links"][0]["forward"]
    assert (forward["rate"], forward["queue"]) == ("5000000 bit/s", "cake")
    assert "policer" not in forward and "buffer" not in forward


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cc=bbr4", "did you mean bbr"),
        ("que=cake", "did you mean queue"),
        ("buffer", "should be FIELD=VALUE"),
        ("queue=htb", "unknown"),
    ],
)
def test_an_unknown_change_is_refused(text: str, message: str) -> None:
    with pytest.raises(DumbbellError, match=message):
        changes([text])


def test_lists_are_single_changes() -> None:
    assert [one.name for one in changes(["cc=bbr3, cubic", "cc=cubic"])] == ["cc=bbr3", "cc=cubic"]


@pytest.mark.slow
def test_the_verb(file: Path, tmp_path: Path) -> None:
    twin, told = tmp_path / "twin.yaml", tmp_path / "fit.json"
    words = ["fit", str(file), "--no-rank", "-o", str(twin), "--json", str(told)]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    assert "Limited by: bottleneck" in result.output
    content = json.loads(told.read_text())
    assert content["factor"]["name"] == "bottleneck" and content["algorithms"] is None
    assert "congestion_control: cubic  # assumed" in twin.read_text()


def test_an_unknown_algorithm_and_a_wrong_value_are_refused(file: Path) -> None:
    result = CliRunner().invoke(app, ["fit", str(file), "--algorithm", "cubik"])
    assert result.exit_code == 2
    with pytest.raises(DumbbellError, match=r"^--what-if buffer=5 parsecs: [^<]*; found 5 parsecs"):
        fit(file, algorithms=[], what_if=["buffer=5 parsecs"])
