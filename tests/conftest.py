"""Property-based tests try the same cases everywhere; with HYPOTHESIS_PROFILE=search, new ones."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest
from hypothesis import settings

from tests.browser import CHROMIUM, opened

settings.register_profile("same", derandomize=True)
settings.register_profile("search", max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))

# Started in the background of a shell, a process ignores Ctrl-C, and so would what tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Where a browser is missing, or cannot run (no shared memory, say), nothing is tested."""
    if CHROMIUM is None:
        pytest.skip("no chromium is installed")
    empty = tmp_path_factory.mktemp("empty")
    (empty / "page.html").write_text("<!doctype html><p>here</p>", encoding="utf-8")
    try:
        dom, _ = opened(empty / "page.html", empty)
    except (subprocess.SubprocessError, OSError) as error:
        pytest.skip(f"chromium does not run here: {error}")
    assert "here" in dom
