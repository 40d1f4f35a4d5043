"""Modules of Linux compiled into a kernel: the same file, the same packets on both engines."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from typer.testing import CliRunner

import dumbbell
from dumbbell import _core
from dumbbell.cli import app
from dumbbell.engines.linux.build import build
from dumbbell.engines.linux.kernel import Kernel
from dumbbell.engines.netns import NetnsEngine
from dumbbell.errors import EngineError, ExperimentError
from dumbbell.experiment.load import load
from dumbbell.gym import load_policy
from dumbbell.gym.export import kernel_source
from dumbbell.starter.project import write_project
from tests.helpers import ROOT
from tests.plugins.built import same_tables
from tests.plugins.test_module import own_source

pytestmark = pytest.mark.kernel

NAME = "tested-modules"
TEXT = """\
dumbbell: 1
name: module
template: {dumbbell: {pairs: 1, rate: 20 Mbit/s, rtt: 20 ms, buffer: 40 packets}}
plugins: {mine: {file: ./tcp_mine.c, parameters: {PARAMETERS}}, kcubic: ./tcp_kcubic.c}
flows: [{name: f, from: s1, to: d1, tcp: CC}]
taps: [{name: t, at: s1, link: s1-r1}]
sampling: {interval: 10 ms, packets: {to: 1500 ms}}
duration: 1510 ms
"""
COLUMNS = ("direction", "seq_bytes", "payload_bytes", "ack_bytes", "sack_ranges_bytes")


@cache
def sources(folder: Path) -> list[Path]:
    """The template's module, Linux's own CUBIC under another name, and a learnt policy."""
    write_project("mine", "kernel", folder / "project")
    cubic = folder / "project" / "tcp_kcubic.c"
    cubic.write_bytes(own_source("cubic"))
    learnt = folder / "project" / "tcp_learnt.c"
    policy = load_policy(ROOT / "examples" / "plugins" / "learnt.onnx")
    learnt.write_text(kernel_source(policy), encoding="utf-8")
    return [folder / "project" / "tcp_mine.c", cubic, learnt]


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return sources(tmp_path_factory.mktemp("modules"))


@pytest.fixture(scope="session")
def kernel(files: list[Path]) -> Kernel:
    """A kernel with all three. Its tree is kept, so only they are compiled."""
    return build(name=NAME, modules=files)


def write(files: list[Path], cc: str, parameters: str = "") -> Path:
    path = files[0].with_name("e.yaml")
    path.write_text(TEXT.replace("CC", cc).replace("PARAMETERS", parameters), encoding="utf-8")
    return path


def packets(path: Path, engine: str) -> list[tuple[object, ...]]:
    rows = dumbbell.run(path, engine=engine).packets
    return list(rows.sort("time_ns", maintain_order=True).select(COLUMNS).iter_rows())


@pytest.mark.parametrize(
    ("cc", "parameters"), [("mine", ""), ("mine", "beta: 900"), ("kcubic", "")]
)
def test_one_file_sends_the_same_packets_on_both_engines(
    cc: str, parameters: str, kernel: Kernel, files: list[Path]
) -> None:
    path = write(files, cc, parameters)
    ours, theirs = packets(path, "sim"), packets(path, f"linux:{kernel.name}")
    assert len(ours) > 3000
    assert ours == theirs


def test_a_parameter_reaches_the_kernel(kernel: Kernel, files: list[Path]) -> None:
    engine = f"linux:{kernel.name}"
    assert packets(write(files, "mine"), engine) != packets(
        write(files, "mine", "beta: 900"), engine
    )


def test_the_kernels_own_source_is_the_kernels_own(kernel: Kernel, files: list[Path]) -> None:
    path = write(files, "$cc")
    text = path.read_text(encoding="utf-8") + "factors: {cc: [kcubic, cubic]}\n"
    text = text.replace("{interval: 10 ms,", "{interval: 10 ms, keep: [samples, queues],")
    path.write_text(text.replace("1510 ms", "10 s"), encoding="utf-8")
    same_tables(dumbbell.run(path, engine=f"linux:{kernel.name}"), "kcubic", "cubic")


def test_a_learnt_policy_runs_on_the_kernel(kernel: Kernel, files: list[Path]) -> None:
    """The window moves as the policy's; times of ACKs, and so its steps, are the same."""
    path = write(files, "learnt")
    text = path.read_text(encoding="utf-8").replace("kcubic: ./tcp_kcubic", "learnt: ./tcp_learnt")
    path.write_text(text, encoding="utf-8")
    ours, theirs = packets(path, "sim"), packets(path, f"linux:{kernel.name}")
    assert len(ours) > 1000
    assert ours[:1000] == theirs[:1000]


def test_the_list_of_kernels_has_its_modules(kernel: Kernel) -> None:
    shown = " ".join(CliRunner().invoke(app, ["kernel", "list"]).stdout.split())
    assert NAME in shown and "with kcubic, learnt, mine" in shown


def test_another_text_is_refused_before_a_run(kernel: Kernel, files: list[Path]) -> None:
    module = files[0]
    before = module.read_text(encoding="utf-8")
    try:
        module.write_text(before.replace("= 512", "= 600"), encoding="utf-8")
        path = write(files, "mine")
        with pytest.raises(ExperimentError, match="its mine was built from another text") as told:
            dumbbell.run(path, engine=f"linux:{kernel.name}")
        assert told.value.line == 5 and "--module tcp_mine.c" in str(told.value)
    finally:
        module.write_text(before, encoding="utf-8")


def test_a_kernel_without_it_is_refused(files: list[Path]) -> None:
    path = write(files, "mine")
    with pytest.raises(ExperimentError, match="does not have the plug-in mine; it has the modules"):
        dumbbell.run(path, engine="linux")


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ("gamma: 1", "the module mine has no parameter gamma; it has beta"),
        ("beta: 0.5", "parameter beta is 0.5; a module of Linux takes whole numbers"),
    ],
)
def test_a_parameter_that_cannot_be_is_refused(
    parameters: str, words: str, kernel: Kernel, files: list[Path]
) -> None:
    with pytest.raises(ExperimentError, match=words):
        dumbbell.run(write(files, "mine", parameters), engine=f"linux:{kernel.name}")


def test_the_errors_of_a_module_are_those_of_the_compiler(
    files: list[Path], tmp_path: Path
) -> None:
    bad = tmp_path / "tcp_bad.c"
    text = files[0].read_text(encoding="utf-8").replace("ca->losses++;", "ca->losses++")
    bad.write_text(text, encoding="utf-8")
    with pytest.raises(EngineError, match=r"tcp_bad\.c:\d+:\d+: error: expected"):
        build(name="tested-bad", modules=[bad])
    assert own_source("cubic"), "the tree is kept"


@pytest.mark.root
def test_the_hosts_kernel_has_none(files: list[Path]) -> None:
    (cell,) = load(write(files, "mine")).cells
    with pytest.raises(_core.ScenarioError, match="the host's own kernel does not have"):
        NetnsEngine().check(cell.scenario)
