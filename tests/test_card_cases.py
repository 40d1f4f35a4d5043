"""Scorecards of test cases: those of BBR's draft and of RFC 8867."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from dumbbell.cards.card import names, read_card
from dumbbell.cli import app
from tests import bbr3_cases


def numbers(folder: Path, *words: str) -> list[dict[str, Any]]:
    """Numbers of a card, with six repeats."""
    path = folder / "card.json"
    given = ["study", "run", *words, "--repeats", "6", "--store", str(folder / "s")]
    done = CliRunner().invoke(app, [*given, "--json", str(path)])
    assert done.exit_code == 0, done.output
    found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["numbers"]
    return found


def test_the_cards_of_test_cases_have_them_in_order() -> None:
    assert names() == ["bbr-draft", "rfc7928", "rfc8867", "rfc9743"]
    cases = [(one.item, one.title) for one in read_card("bbr-draft").items]
    assert cases == [(str(number), case.title) for number, case in bbr3_cases.load().CASES.items()]
    assert len(cases) == 22
    items = [one.item for one in read_card("rfc8867").items]
    assert items == [*(f"5.{number}" for number in range(1, 9)), "6.1", "6.2", "6.3"]
    for name in ("bbr-draft", "rfc8867"):
        for one in read_card(name).items:
            assert one.measured
            assert all(part.startswith(f"{one.item}-") for part in one.measured)


def test_a_case_of_the_draft_is_decided_by_queue_and_policer(tmp_path: Path) -> None:
    found = numbers(tmp_path, "bbr-draft", "--cc", "reno", "--part", "14", "--part", "17")
    rows = {(one["item"], one["metric"]): one for one in found}
    # A queue of 20 packets at 500 kbit/s: Reno fills it, BBR does not.
    full_ms = 20 * 1514 * 8 / 500
    assert 0.9 * full_ms < rows["14", "queue_delay_p95_ms"]["now"][0] <= full_ms
    # Reno halves its window, which is nearly all in the queue.
    delay = rows["14", "queue_delay_p50_ms"]
    assert delay["before"][0] < full_ms / 2 < delay["now"][0]
    assert delay["comparison"] == "worse"
    # Payload at the rate of the policer, and the bucket once in 20 s.
    most = (10 + 0.1 * 8 / 20) * 1448 / 1514
    for side in ("before", "now"):
        assert 0.9 * most < rows["17", "goodput_mbps"][side][0] <= most


def test_media_that_keeps_its_rate_loses_what_the_line_does_not_carry(tmp_path: Path) -> None:
    found = numbers(tmp_path, "rfc8867", "--aqm", "codel", "--part", "5.1")
    rows = {one["metric"]: one for one in found}
    # Datagrams of 1250 bytes in frames of 1292. For 20 of 100 s the line has 0.6 Mbit/s.
    rate, queue = 0.8 * 1292 / 1250, 29 * 1292 * 8e-6
    lost = (20 * (rate - 0.6) - queue) / (100 * rate)
    # What is under way at the end counts as lost: at most 0.1 s.
    assert lost <= rows["datagram_loss_ratio"]["before"][0] < lost + 0.002
    # A full queue there, the delay of the path, jitter of 30 ms; CoDel keeps it shorter.
    full_ms = 1000 * queue / 0.6
    delay = rows["one_way_delay_p95_ms"]
    assert 0.95 * full_ms + 50 < delay["before"][0] < full_ms + 50 + 30
    assert delay["comparison"] == "better" and delay["now"][0] < 0.3 * full_ms + 50
