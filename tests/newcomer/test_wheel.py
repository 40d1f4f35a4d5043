"""What an installed wheel does without the sources, without Rust, in an empty folder."""

from __future__ import annotations

import json
import re
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
from typer.testing import CliRunner

import dumbbell
from dumbbell import _core
from dumbbell.cli import app
from dumbbell.engines.linux.guest import guest_version
from dumbbell.errors import DumbbellError
from dumbbell.playground.page import simulator
from tests import kernel
from tests.helpers import ROOT
from tests.newcomer.machine import Machine

README = (ROOT / "README.md").read_text(encoding="utf-8")
VERSION = _core.version
CAPTURED = """\
dumbbell: 1
name: captured
template: {dumbbell: {rate: 10 Mbit/s, rtt: 20 ms}}
flows: [{from: s1, to: d1, tcp: cubic}]
taps: [{at: s1, link: s1-r1}]
sampling: {capture: true}
duration: 2 s
"""
pytestmark = pytest.mark.slow


def example() -> str:
    """The README's experiment."""
    found = re.search(r"```yaml\n(.*?)```", README, re.DOTALL)
    assert found is not None
    return found[1]


def test_the_wheel_holds_what_it_needs(archive: Path) -> None:
    with zipfile.ZipFile(archive) as opened:
        names = set(opened.namelist())
        metadata = Parser().parsestr(
            opened.read(f"dumbbell_lab-{VERSION}.dist-info/METADATA").decode()
        )
    assert metadata["Name"] == "dumbbell-lab"
    assert metadata["Version"] == VERSION == dumbbell.__version__
    assert "-abi3-" in archive.name
    assert {
        "dumbbell/_guest/dumbbell-guest",
        "dumbbell/_kernel/config",
        "dumbbell/_kernel/LICENSE",
        "dumbbell/_studies/multipath/study.yaml",
        "dumbbell/_examples/two-flows.yaml",
        "dumbbell/py.typed",
    } <= names
    for folder in ("kernel", "studies", "examples"):
        here = {
            f"dumbbell/_{folder}/{path.relative_to(ROOT / folder)}"
            for path in (ROOT / folder).rglob("*")
            if path.is_file() and "__pycache__" not in path.parts
        }
        assert here <= names, folder
    pages = {
        f"dumbbell/_docs/{path.relative_to(ROOT / 'docs')}"
        for pattern in ("**/*.md", "course/notebooks/*.ipynb", "course/images/*.svg")
        for path in (ROOT / "docs").glob(pattern)
    }
    assert {name for name in names if name.startswith("dumbbell/_docs/")} == pages
    assert not [name for name in names if "__pycache__" in name or name.startswith("tests")]


def test_the_wheel_holds_all_files_of_the_package(archive: Path) -> None:
    """With those that `make build` makes beside the sources."""
    with zipfile.ZipFile(archive) as opened:
        names = set(opened.namelist())
    here = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "dumbbell").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".so"
    }
    assert here - names == set()


def test_it_has_the_verbs_of_the_checkout(newcomer: Machine, tmp_path: Path) -> None:
    done = newcomer.run("dumbbell --help", tmp_path)
    assert done.returncode == 0 and done.stdout == CliRunner().invoke(app, ["--help"]).stdout
    done = newcomer.run("dumbbell playground -o play.html", tmp_path)
    try:
        expected = len(simulator())
    except DumbbellError as error:
        assert done.returncode != 0 and str(error) in " ".join(done.stderr.split())
    else:
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "play.html").stat().st_size > expected / 4


def test_a_run_has_the_digest_of_the_checkout(newcomer: Machine, tmp_path: Path) -> None:
    file = tmp_path / "two-flows.yaml"
    file.write_text(example(), encoding="utf-8")
    program = (
        "import dumbbell, json\n"
        "from dumbbell import _core\n"
        "from dumbbell.engines.linux.guest import guest_version\n"
        "assert 'site-packages' in dumbbell.__file__\n"
        f"found = dumbbell.run({str(file)!r}, repeats=1)\n"
        "print(json.dumps([*found.runs['digest'], _core.engine_version, guest_version()]))"
    )
    here = dumbbell.run(file, repeats=1)
    expected = [*here.runs["digest"], _core.engine_version, guest_version()]
    assert json.loads(newcomer.python(program, tmp_path)) == expected


def test_a_session_in_an_empty_folder(newcomer: Machine, tmp_path: Path) -> None:
    (tmp_path / "captured.yaml").write_text(CAPTURED, encoding="utf-8")
    lines = {
        "dumbbell --version": f"dumbbell {VERSION}",
        "dumbbell doctor": "package dumbbell-lab",
        "dumbbell init first.yaml --template dumbbell": "",
        "dumbbell init cellular.yaml --example cellular": "",
        "dumbbell validate cellular.yaml": "cellular",
        "dumbbell run first.yaml --store store --repeats 1": "Mbit/s",
        "dumbbell report store -o report.html && test -s report.html": "",
        "dumbbell run captured.yaml --captures captures --store store": "Mbit/s",
        "dumbbell capture captures/*.pcapng": "connection",
        "dumbbell study list": "multipath",
        "dumbbell study run mptcp --part failure --repeats 1 --store study": "failure",
        "dumbbell schema": "json-schema.org",
        "dumbbell kernel list": "",
    }
    for line, part in lines.items():
        done = newcomer.run(line, tmp_path)
        assert done.returncode == 0, f"$ {line}\n{done.stdout}{done.stderr}"
        assert part in done.stdout, line
    assert {path.name for path in tmp_path.iterdir()} == {
        "captured.yaml", "captures", "cellular.trace", "cellular.yaml", "first.yaml",
        "report.html", "store", "study",
    }  # fmt: skip


@pytest.mark.parametrize("form", ["python", "kernel"])
def test_an_algorithm_of_ones_own_from_template_to_figure(
    form: str, newcomer: Machine, tmp_path: Path
) -> None:
    """As docs/plugins.md has it; the form in Python needs no compiler."""
    lines = {
        f"dumbbell new congestion-control mine --in {form}": "make test",
        "cd mine && make test": "mine sends the packets of Reno",
        "cd mine && dumbbell run sweep.yaml --repeats 1 --store store": "mine",
        "cd mine && dumbbell figure goodput_mbps store --flow own -o goodput.svg": "",
    }
    for line, part in lines.items():
        done = newcomer.run(line, tmp_path)
        assert done.returncode == 0, f"$ {line}\n{done.stdout}{done.stderr}"
        assert part in done.stdout + done.stderr, line
    assert "mine" in (tmp_path / "mine" / "goodput.svg").read_text(encoding="utf-8")


def test_cargo_is_not_there(newcomer: Machine, tmp_path: Path) -> None:
    for program in ("cargo", "rustc"):
        assert newcomer.run(f"{program} --version", tmp_path).returncode == 127


def test_a_kernel_can_be_built_from_the_wheel(newcomer: Machine, tmp_path: Path) -> None:
    """The files of the build are the checkout's: a kernel built with one serves the other."""
    program = (
        "import json\n"
        "from dumbbell.engines.linux.kernel import carried\n"
        "print(json.dumps(carried().hashes()))"
    )
    from dumbbell.engines.linux.kernel import carried

    assert json.loads(newcomer.python(program, tmp_path)) == carried().hashes()


@pytest.mark.kernel
def test_a_kernel_that_was_built_is_found(newcomer: Machine, tmp_path: Path) -> None:
    if kernel.problem() is not None:
        pytest.skip("no usable kernel")
    (tmp_path / "one.yaml").write_text(
        "dumbbell: 1\nname: one\ntemplate: {dumbbell: {rate: 10 Mbit/s, rtt: 20 ms}}\n"
        "flows: [{from: s1, to: d1, tcp: cubic}]\nduration: 2 s\n"
    )
    done = newcomer.run("dumbbell run one.yaml --engine linux --store kernel-store", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Mbit/s" in done.stdout
