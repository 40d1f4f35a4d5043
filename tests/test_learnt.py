"""The scorecard of the learnt policy is that of its runs."""

from __future__ import annotations

from tests.write_learnt_page import PAGE, blocks, page


def test_the_scorecard_is_current() -> None:
    assert page(blocks()) == PAGE.read_text(encoding="utf-8")
