"""The scorecard of the learnt policy is that of its runs."""

from __future__ import annotations

import pytest

from tests.write_learnt_page import PAGE, blocks, kernel_block, page


def test_the_scorecard_is_current() -> None:
    assert page(blocks()) == PAGE.read_text(encoding="utf-8")


@pytest.mark.kernel
def test_the_table_of_the_kernel_is_current() -> None:
    assert page({"kernel": kernel_block()}) == PAGE.read_text(encoding="utf-8")
