"""Generated pages of the reference are current: `python -m tests.write_reference_pages`."""

from __future__ import annotations

import pytest

from tests.write_reference_pages import CLI, PYTHON, cli_page, python_page


@pytest.mark.slow
def test_the_page_of_verbs_is_current() -> None:
    page = cli_page()
    assert "## `dumbbell store export`" in page and "--dry-run" in page
    assert CLI.read_text(encoding="utf-8") == page


def test_the_page_of_python_is_current() -> None:
    page = python_page()
    assert "## `run`" in page and "*Raises*" in page
    assert PYTHON.read_text(encoding="utf-8") == page
