"""The engine `netns`: the host's kernel in real time. What the host lacks, it says."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import dumbbell
from dumbbell.engines.linux import leftovers
from dumbbell.engines.linux.launch import FOLDER_PREFIX
from dumbbell.errors import EngineError, ExperimentError

#: Nothing but a token bucket and routes.
TEXT = """\
dumbbell: 1
name: host
hosts: {a: , b: }
routers: {r: }
links:
  - {between: [a, r]}
  - name: line
    between: [r, b]
    forward: {shaper: {tbf: {rate: 10 Mbit/s, burst: 5 KiB}}, buffer: 60 packets}
flows:
  - {from: a, to: b, tcp: cubic}
taps: [{at: r, link: line}]
sampling: {interval: 10 ms}
duration: 2 s
"""

root = pytest.mark.root


def experiment(tmp_path: Path, text: str = TEXT) -> Path:
    file = tmp_path / "e.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def programs() -> list[int]:
    """Processes that hold the namespaces of a run."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0].endswith(b"dumbbell-guest") and b"netns" in words:
            found.append(int(path.parent.name))
    return found


def interfaces() -> set[str]:
    return {path.name for path in Path("/sys/class/net").iterdir()}


def run(file: Path) -> dumbbell.Results:
    """Skips where the host's kernel lacks even what `TEXT` needs."""
    try:
        return dumbbell.run(file, engine="netns")
    except EngineError as error:
        if "lacks" in str(error):
            pytest.skip(str(error))
        raise


@pytest.mark.slow
@root
def test_a_flow_on_the_hosts_kernel_obeys_the_token_bucket(tmp_path: Path) -> None:
    before = interfaces()
    flow = run(experiment(tmp_path)).flows.row(0, named=True)
    goodput = flow["delivered_bytes"] * 8e-6 / 2
    # The machine may be busy; it cannot be faster than the shaper and its burst.
    assert 5 < goodput <= 10 * 1448 / 1514 + 5120 * 8e-6 / 2
    assert flow["tap_data_packets"] > 500
    assert interfaces() == before
    assert not programs()


@root
def test_what_the_host_lacks_is_named_with_its_option(tmp_path: Path) -> None:
    """Or the host has it all, and runs."""
    text = TEXT.replace("between: [a, r]", "between: [a, r], delay: 1 ms")
    try:
        dumbbell.run(experiment(tmp_path, text), engine="netns")
    except EngineError as error:
        assert "lacks what the experiment needs" in str(error)
        assert "(CONFIG_NET_SCH_NETEM, module sch_netem)" in str(error)


@root
def test_what_would_lie_in_real_time_is_refused(tmp_path: Path) -> None:
    text = TEXT.replace("10 Mbit/s", "10 Gbit/s")
    with pytest.raises(ExperimentError, match="one core cannot do that in real time"):
        dumbbell.run(experiment(tmp_path, text), engine="netns")
    text = TEXT.replace("interval: 10 ms", "interval: 10 us")
    with pytest.raises(ExperimentError, match="sampling interval below 1 ms"):
        dumbbell.run(experiment(tmp_path, text), engine="netns")


@pytest.mark.slow
@root
def test_a_killed_launcher_leaves_nothing_but_a_folder_which_the_next_one_removes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(experiment(tmp_path))  # Skips if the host cannot.
    before = interfaces()
    file = experiment(tmp_path, TEXT.replace("duration: 2 s", "duration: 600 s"))
    folder = tmp_path / "tmp"
    folder.mkdir()
    command = f"import dumbbell; dumbbell.run({str(file)!r}, engine='netns')"
    environment = {**os.environ, "TMPDIR": str(folder)}
    process = subprocess.Popen([sys.executable, "-c", command], env=environment)
    deadline = time.monotonic() + 30

    while not programs() and time.monotonic() < deadline:
        time.sleep(0.05)
    began = bool(programs())
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert began
    while programs() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not programs()
    assert interfaces() == before
    monkeypatch.setattr(leftovers.tempfile, "gettempdir", lambda: str(folder))
    (said,) = leftovers.sweep()
    assert f"{FOLDER_PREFIX}{process.pid}-" in said
    assert not list(folder.glob(f"{FOLDER_PREFIX}*"))
    assert leftovers.sweep() == []


def test_folders_of_living_processes_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leftovers.tempfile, "gettempdir", lambda: str(tmp_path))
    mine = tmp_path / f"{FOLDER_PREFIX}{os.getpid()}-x"
    other = tmp_path / f"{FOLDER_PREFIX}old"
    mine.mkdir()
    other.mkdir()
    assert leftovers.sweep() == []
    assert mine.is_dir()
    assert other.is_dir()


def test_without_root_it_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(EngineError, match="needs the rights of root; the engine linux does not"):
        dumbbell.run(experiment(tmp_path), engine="netns")
