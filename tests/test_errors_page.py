"""Codes of errors: each has a page, and its example raises it."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dumbbell.cli import app
from dumbbell.codes import Code
from dumbbell.engines import netns
from dumbbell.engines.linux import launch
from dumbbell.engines.sim import SimEngine
from dumbbell.errors import DumbbellError, EngineError
from dumbbell.execution import remote
from dumbbell.help import GROUPS, PAGES, Call, Page, Sections
from dumbbell.help.page import BASE
from dumbbell.help.reference import markdown
from tests.helpers import ROOT

DOCS = ROOT / "docs"
SOURCES = {
    path: path.read_text(encoding="utf-8")
    for path in (ROOT / "dumbbell").rglob("*.py")
    if path.parent.name != "help" and path.name != "codes.py"
}


def called(*arguments: str) -> str:
    """What a failing command prints to standard error."""
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code in (2, 130), (result.output, result.exception)
    assert "Traceback" not in result.output
    return result.stderr.rstrip("\n")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `example.yaml`, and its runs in `store`."""
    folder = tmp_path_factory.mktemp("errors")
    file = folder / "example.yaml"
    file.write_text("\n".join(BASE.values()) + "\n")
    result = CliRunner().invoke(app, ["run", str(file), "--store", str(folder / "store")])
    assert result.exit_code == 0, result.output
    return folder


@pytest.fixture
def here(prepared: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(prepared)
    yield prepared


def pages(kind: type, *, staged: bool = False) -> list[object]:
    return [
        pytest.param(page, id=page.code.name.lower())
        for page in PAGES.values()
        if isinstance(page.example, kind) and getattr(page.example, "staged", False) is staged
    ]


def test_every_code_has_a_page_in_the_group_of_its_digit() -> None:
    assert set(PAGES) == set(Code)
    assert sum(len(group.pages) for group in GROUPS) == len(PAGES)
    for digit, group in enumerate(GROUPS):
        assert {page.code[1] for page in group.pages} == {str(digit)}


def test_every_code_is_raised_somewhere() -> None:
    text = "\n".join(SOURCES.values())
    rust = "\n".join(
        path.read_text(encoding="utf-8")
        for path in (ROOT / "crates/experiment/src").rglob("*.rs")
        if path.name != "code.rs"
    )

    def is_raised(code: Code) -> bool:
        in_rust = f"Code::{code.name.title().replace('_', '')}"
        return f"Code.{code.name}" in text or in_rust in rust

    assert not [code.name for code in Code if not is_raised(code)]


def test_codes_of_experiment_files_have_their_numbers() -> None:
    """`crates/experiment/src/code.rs` has the codes that it raises by name and number."""
    text = (ROOT / "crates/experiment/src/code.rs").read_text(encoding="utf-8")
    found = re.findall(r'Self::(\w+) => "(E\d+)"', text)
    assert len(found) > 40
    named = {code.name.title().replace("_", ""): str(code) for code in Code}
    assert {name: named[name] for name, _ in found} == dict(found)


def test_every_class_of_errors_has_a_code() -> None:
    waiting, seen = [DumbbellError], set[type]()
    while waiting:
        kind = waiting.pop()
        seen.add(kind)
        waiting += [one for one in kind.__subclasses__() if one not in seen]
        assert isinstance(kind.code, Code)


def test_the_page_is_current() -> None:
    text = (DOCS / "errors.md").read_text(encoding="utf-8")
    assert text == markdown(), "python -m tests.write_errors_page"


@pytest.mark.parametrize("page", PAGES.values(), ids=lambda page: page.code)
def test_the_page_that_is_named_exists(page: Page) -> None:
    name, _, anchor = page.see.partition("#")
    heads = re.findall(r"^#+ (.+)$", (DOCS / name).read_text(encoding="utf-8"), re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}
    assert not anchor or anchor in anchors


@pytest.mark.parametrize("page", pages(Sections))
def test_an_example_of_a_file(page: Page, here: Path) -> None:
    assert isinstance(page.example, Sections)
    Path("wrong.yaml").write_text(page.example.file(page.example.wrong))
    assert called("validate", "wrong.yaml").endswith(f" [{page.code}]")
    Path("right.yaml").write_text(page.example.file(page.example.right))
    result = CliRunner().invoke(app, ["validate", "right.yaml"])
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("page", pages(Call))
def test_an_example_of_a_command(page: Page, here: Path) -> None:
    assert isinstance(page.example, Call)
    for name, text in page.example.files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)
    said = called(*shlex.split(page.example.wrong)[1:])
    assert said.endswith(f" [{page.code}]")


Stage = Callable[[pytest.MonkeyPatch, Path], str]


def wrong(code: Code) -> str:
    """Runs the command of a page."""
    example = PAGES[code].example
    assert isinstance(example, Call)
    return called(*shlex.split(example.wrong)[1:])


def raised(act: Callable[[], object]) -> str:
    with pytest.raises(DumbbellError) as caught:
        act()
    return f"{caught.value} [{caught.value.code}]"


def not_installed(patch: pytest.MonkeyPatch, folder: Path) -> str:
    patch.setitem(sys.modules, "duckdb", None)
    return wrong(Code.NOT_INSTALLED)


def stopped(patch: pytest.MonkeyPatch, folder: Path) -> str:
    execute = SimEngine.execute

    def interrupted(self: SimEngine, *arguments: object) -> object:
        os.kill(os.getpid(), signal.SIGINT)
        threading.Event().wait(0.2)
        return execute(self, *arguments)  # type: ignore[arg-type]

    patch.setattr(SimEngine, "execute", interrupted)
    return called("run", "example.yaml", "--store", str(folder / "new"), "--workers", "1")


def engine(patch: pytest.MonkeyPatch, folder: Path) -> str:
    (folder / "file").touch()
    patch.setenv("XDG_CACHE_HOME", str(folder / "file"))
    return wrong(Code.ENGINE)


def no_kernel(patch: pytest.MonkeyPatch, folder: Path) -> str:
    patch.setenv("XDG_CACHE_HOME", str(folder))
    return wrong(Code.NO_KERNEL)


def guest(patch: pytest.MonkeyPatch, folder: Path) -> str:
    return raised(lambda: (_ for _ in ()).throw(launch.GuestDied(["Kernel panic"])))


def rights(patch: pytest.MonkeyPatch, folder: Path) -> str:
    patch.setattr(os, "geteuid", lambda: 1000)
    return wrong(Code.RIGHTS)


def host_kernel(patch: pytest.MonkeyPatch, folder: Path) -> str:
    patch.setattr(os, "geteuid", lambda: 0)
    patch.setattr(netns, "_missing", lambda wanted: ["CONFIG_TCP_CONG_BBR"])
    return wrong(Code.HOST_KERNEL)


def versions(patch: pytest.MonkeyPatch, folder: Path) -> str:
    return raised(lambda: remote.execute_remotely("sim", "0", None, None))  # type: ignore[arg-type]


def run_failed(patch: pytest.MonkeyPatch, folder: Path) -> str:
    def fails(self: SimEngine, *arguments: object) -> object:
        raise EngineError("no memory")

    patch.setattr(SimEngine, "execute", fails)
    said = called("run", "example.yaml", "--store", str(folder / "new"))
    assert f"no memory [{Code.ENGINE}]\n" in said
    return said


def store(patch: pytest.MonkeyPatch, folder: Path) -> str:
    return called("run", "example.yaml", "--store", os.fsdecode(os.fsencode(folder) + b"/\xff"))


def damaged(patch: pytest.MonkeyPatch, folder: Path) -> str:
    shutil.copytree("store", folder / "store")
    patch.chdir(folder)
    (flows,) = Path("store").rglob("flows*")
    flows.write_bytes(flows.read_bytes()[:100])
    return wrong(Code.DAMAGED)


def newer(patch: pytest.MonkeyPatch, folder: Path) -> str:
    from dumbbell.store.place import MARK

    shutil.copytree("store", folder / "store")
    patch.chdir(folder)
    (Path("store") / MARK).write_text('{"format": 1000}')
    return wrong(Code.NEWER)


def workload(patch: pytest.MonkeyPatch, folder: Path) -> str:
    patch.chdir(folder)
    head = b"\xd4\xc3\xb2\xa1\x02\x00\x04\x00" + bytes(8) + b"\xff\xff\x00\x00\x01\x00\x00\x00"
    Path("small.pcap").write_bytes(head)
    return wrong(Code.WORKLOAD)


def not_kept(patch: pytest.MonkeyPatch, folder: Path) -> str:
    return wrong(Code.NOT_KEPT)


def explain(patch: pytest.MonkeyPatch, folder: Path) -> str:
    example = PAGES[Code.EXPLAIN].example
    assert isinstance(example, Call)
    patch.chdir(folder)
    Path("calls.yaml").write_text(example.files["calls.yaml"])
    result = CliRunner().invoke(app, ["run", "calls.yaml", "--store", "calls"])
    assert result.exit_code == 0, result.output
    return wrong(Code.EXPLAIN)


def claims(patch: pytest.MonkeyPatch, folder: Path) -> str:
    from dumbbell.studies import load_study
    from dumbbell.studies.fixed import fix_claims

    mine = folder / "mine"
    shutil.copytree(load_study("l4s").folder, mine)
    study = load_study(mine)
    fix_claims(study, study.parts, folder / "store")
    text = (mine / "study.yaml").read_text(encoding="utf-8")
    changed = re.sub(r"(expect: \{(?:above|below): )", r"\g<1>1", text, count=1)
    assert changed != text
    (mine / "study.yaml").write_text(changed)
    patch.chdir(folder)
    return wrong(Code.CLAIMS)


STAGES: dict[Code, Stage] = {
    Code.NOT_INSTALLED: not_installed,
    Code.STOPPED: stopped,
    Code.ENGINE: engine,
    Code.NO_KERNEL: no_kernel,
    Code.GUEST: guest,
    Code.RIGHTS: rights,
    Code.HOST_KERNEL: host_kernel,
    Code.VERSIONS: versions,
    Code.RUN_FAILED: run_failed,
    Code.STORE: store,
    Code.DAMAGED: damaged,
    Code.NEWER: newer,
    Code.WORKLOAD: workload,
    Code.NOT_KEPT: not_kept,
    Code.EXPLAIN: explain,
    Code.CLAIMS: claims,
}


@pytest.mark.parametrize("page", pages(Call, staged=True))
def test_an_example_that_is_staged(
    page: Page, here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert STAGES[page.code](monkeypatch, tmp_path).endswith(f" [{page.code}]")
