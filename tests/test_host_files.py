"""Programs of this machine as part of a run's address: what changes it, and what does not."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from dumbbell.engines import host_files as under_test
from dumbbell.engines.elf import Linked, library, linked
from dumbbell.engines.host_files import host_files
from dumbbell.execution.plan import plan
from dumbbell.execution.remote import VersionError, execute_remotely
from dumbbell.experiment.load import load_text
from tests.helpers import FakeEngine

FILE = """\
dumbbell: 1
name: programs
template: {dumbbell: {rate: 20 Mbit/s, rtt: 20 ms, buffer: 1 BDP}}
TRAFFIC
duration: 1 s
"""
FLOWS = "flows: [{from: s1, to: d1, tcp: cubic}]"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that programs can see, although it lies below `/tmp`."""
    monkeypatch.setattr(under_test, "is_hidden", lambda path: path.startswith("/proc/"))
    return tmp_path


def addresses(traffic: str, engine: FakeEngine | None = None) -> list[str]:
    experiment = load_text(FILE.replace("TRAFFIC", traffic), Path("e.yaml"))
    return [task.run.id for task in plan(experiment, engine or FakeEngine())]


def script(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


def run_of(*words: str | Path, more: str = "") -> str:
    listed = ", ".join(f'"{word}"' for word in words)
    return f"programs: [{{name: p, on: s1, run: [{listed}]{more}}}]"


def test_another_content_of_the_program_is_another_run(home: Path) -> None:
    tool = script(home / "tool", "#!/bin/sh\necho 1\n")
    first = addresses(run_of(tool))
    assert addresses(run_of(tool)) == first
    script(tool, "#!/bin/sh\necho 2\n")
    assert addresses(run_of(tool)) != first
    script(tool, "#!/bin/sh\necho 1\n")  # Another time of change, the old content.
    assert addresses(run_of(tool)) == first


def test_the_path_counts_and_a_link_is_followed(home: Path) -> None:
    tool = script(home / "tool", "#!/bin/sh\necho 1\n")
    copy = script(home / "copy", tool.read_text())
    assert addresses(run_of(tool)) != addresses(run_of(copy))
    link = home / "link"
    link.symlink_to(tool)
    before = addresses(run_of(link))
    link.unlink()
    link.symlink_to(script(home / "newer", "#!/bin/sh\necho 2\n"))
    assert addresses(run_of(link)) != before


def test_an_interpreter_counts(home: Path) -> None:
    interpreter = script(home / "interpreter", '#!/bin/sh\nexec cat "$1"\n')
    tool = script(home / "tool", f"#!{interpreter} -x\n")
    before = addresses(run_of(tool))
    script(interpreter, '#!/bin/sh\nexec wc "$1"\n')
    assert addresses(run_of(tool)) != before


@pytest.mark.parametrize(
    ("words", "more"),
    [
        (("python3", "HOME/inner"), ""),
        (("python3", "--script=HOME/inner"), ""),
        (("sh", "-c", "sleep 1; HOME/inner | cat"), ""),
        (("sh", "-c", "sleep 1; inner | cat"), ", environment: {PATH: 'HOME:/usr/bin:/bin'}"),
        (("sh",), ", input: 'HOME/inner'"),
        (("true",), ", environment: {LD_PRELOAD: HOME/inner}"),
    ],
)
def test_files_that_words_name_count(words: tuple[str, ...], more: str, home: Path) -> None:
    inner = script(home / "inner", "one")
    text = run_of(*words, more=more).replace("HOME", str(home))
    before = addresses(text)
    script(inner, "two")
    assert addresses(text) != before


def test_a_library_counts_with_those_that_it_needs(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program needs liba, which needs libb; libb alone changes."""
    files = {name: home / name for name in ("tool", "liba.so", "libb.so")}
    for path in files.values():
        script(path, path.name)
    needs = {b"tool": Linked("", ("liba.so",), ("$ORIGIN",)), b"liba.so": Linked("", ("libb.so",))}
    monkeypatch.setattr(under_test, "linked", lambda data: needs.get(data, Linked()))
    text = run_of(files["tool"], more=f", environment: {{LD_LIBRARY_PATH: '{home}'}}")
    before = addresses(text)
    files["libb.so"].write_text("another")
    assert addresses(text) != before


def test_runs_without_programs_keep_their_address(home: Path) -> None:
    plain = addresses(FLOWS)
    both = f"{FLOWS}\n{run_of('true')}"
    assert addresses(both) != plain
    scenario = load_text(FILE.replace("TRAFFIC", FLOWS), Path("e.yaml")).cells[0].scenario
    assert host_files(scenario) == ""


def test_missing_special_and_hidden_files_are_left_out(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(home / "pipe")
    words = ("true", home / "nothing", home / "pipe", home, "/dev/zero", "x" * 5000)
    assert addresses(run_of(*words))
    monkeypatch.undo()
    hidden = script(home / "hidden", "1")  # Below /tmp: programs see an empty folder there.
    before = addresses(run_of("true", hidden))
    hidden.write_text("2")
    assert (addresses(run_of("true", hidden)) == before) == str(home).startswith("/tmp/")


def test_large_files_count_by_size_and_time(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(under_test, "_WHOLE_BYTES", 10)
    large = script(home / "large", "x" * 100)
    before = addresses(run_of(large))
    status = large.stat()
    large.write_text("y" * 100)
    os.utime(large, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert addresses(run_of(large)) == before
    os.utime(large, ns=(0, 0))
    assert addresses(run_of(large)) != before


def test_a_file_is_read_once_per_process(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = script(home / "tool", "only read once")
    addresses(run_of(tool))
    read = Path.read_bytes
    reads: list[Path] = []
    monkeypatch.setattr(Path, "read_bytes", lambda self: (reads.append(self), read(self))[1])
    addresses(run_of(tool))
    assert tool not in reads


def test_a_worker_with_other_programs_is_refused(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = script(home / "tool", "one")
    experiment = load_text(FILE.replace("TRAFFIC", run_of(tool)), Path("e.yaml"))
    engine = FakeEngine()
    monkeypatch.setattr("dumbbell.execution.remote._engine", lambda name: engine)
    (task,) = plan(experiment, engine)
    script(tool, "two")
    with pytest.raises(VersionError, match="other programs"):
        execute_remotely("fake", engine.version, task.run, None)


@pytest.mark.parametrize("name", ["sh", "python3", "curl", "iperf3", "node"])
def test_libraries_are_those_that_the_loader_finds(name: str) -> None:
    """All that `ldd` lists is found by reading the files alone."""
    program = shutil.which(name, path="/usr/bin:/bin")
    if program is None or shutil.which("ldd") is None:
        pytest.skip(f"{name} or ldd is not installed")
    done = subprocess.run(["ldd", program], capture_output=True, text=True, check=True)
    words = [line.split("=>")[-1].split()[0] for line in done.stdout.splitlines()]
    expected = {os.path.realpath(word) for word in words if word.startswith("/")}
    found: dict[Path, str] = {}
    under_test._add(Path(program), {}, found)
    assert expected <= {os.path.realpath(path) for path in found}


def test_damaged_programs_are_no_error() -> None:
    data = Path("/bin/sh").resolve().read_bytes()
    assert linked(data).names
    draw = random.Random(1)
    for _ in range(2000):
        damaged = bytearray(data[: draw.choice([draw.randrange(400), len(data)])])
        for _ in range(min(len(damaged), 8)):
            damaged[draw.randrange(min(len(damaged), 2000))] = draw.randrange(256)
        linked(bytes(damaged))
    assert linked(b"") == linked(b"\x7fELF\x02\x01") == Linked()


def test_a_library_is_looked_up_beside_its_user_first(tmp_path: Path) -> None:
    own = tmp_path / "lib" / "libc.so.6"
    own.parent.mkdir()
    own.touch()
    assert library("libc.so.6", ["$ORIGIN/../lib"], tmp_path / "bin") is not None
    assert library("libc.so.6", [str(own.parent)], tmp_path) == own
    assert library("libc.so.6", [], tmp_path) != own
    assert library("libnothing-like-this.so", [], tmp_path) is None
