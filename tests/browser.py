"""A real browser for tests, where one is installed: what a page's DOM is, what its console says."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
#: For tests that need it; they are skipped where there is none, or it does not run.
needs_browser = pytest.mark.browser


def opened(page: Path, profile: Path, size: tuple[int, int] = (1200, 900)) -> tuple[str, str]:
    """The page's DOM after its scripts ran, and the browser's log."""
    command = [
        str(CHROMIUM),
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        f"--user-data-dir={profile}",
        "--enable-logging=stderr",
        f"--window-size={size[0]},{size[1]}",
        "--virtual-time-budget=20000",
        "--dump-dom",
        page.as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return done.stdout, done.stderr
