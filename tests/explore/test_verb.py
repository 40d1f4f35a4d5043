"""The verb `explore`: address, end by Ctrl-C, what is missing."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from dumbbell.errors import DumbbellError
from dumbbell.explore import needs
from dumbbell.explore.serving import opened
from tests.explore.stores import small_store


@pytest.mark.slow
def test_the_verb_prints_an_address_and_ends_by_an_interrupt(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "dumbbell", "explore", str(small_store(tmp_path)), "--no-open"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        address = running.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(address) as answer:
            assert answer.status == 200
        running.send_signal(signal.SIGINT)
        out, told = running.communicate(timeout=30)
    assert running.returncode == 0 and out == ""
    assert "secret" in told and "Traceback" not in told


def test_a_port_in_use_is_said(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        message = f"--port {port}: cannot be used"
        with pytest.raises(DumbbellError, match=message), opened(tmp_path, port):
            pass


def test_it_listens_on_the_loopback_address_alone(tmp_path: Path) -> None:
    with opened(small_store(tmp_path), 0) as (_, listening, _):
        assert listening.getsockname()[0] == "127.0.0.1"


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    needs.check_installed()
    monkeypatch.setattr(needs, "find_spec", lambda name: None)
    with pytest.raises(DumbbellError, match=r"pip install 'dumbbell-lab\[explore\]'"):
        needs.check_installed()
