"""Building a kernel, without a compiler: a tree of stubs in place of Linux."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from dumbbell.cli import app
from dumbbell.engines.linux import compile as steps
from dumbbell.engines.linux import debian as sources
from dumbbell.engines.linux import kernel as subject
from dumbbell.engines.linux.build import build
from dumbbell.engines.linux.kernel import (
    kernel_named,
    kernels,
    kernels_folder,
    make_default,
)
from dumbbell.errors import EngineError

MAKEFILE = """\
kernelversion:
	@echo 6.1.7
defconfig:
	@echo 'make ran' >> {witness}
	@echo CONFIG_UML=y > .config
olddefconfig:
	@if test -f drop; then sed -i -f drop .config; fi
linux:
	@sh net/compile.sh
"""
COMPILE = """\
echo '  CC      net/ipv4/tcp.o'
cat drivers/char/random.c > linux
chmod +x linux
"""


@pytest.fixture
def witness(tmp_path: Path) -> Path:
    """A file with a line for each time that make was run."""
    return tmp_path / "witness"


@pytest.fixture
def tree(tmp_path: Path, witness: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the patches change, and stubs; compilers are stubs, the cache is a folder of its own."""
    tree = tmp_path / "tree"
    for patch in subject.carried().patches:
        for name, text in before(patch.read_text()).items():
            others = (tree / name).read_text() if (tree / name).exists() else ""
            write(tree / name, others + text)
    write(tree / "Makefile", MAKEFILE.format(witness=witness))
    write(tree / "Kconfig", "")
    write(tree / "net/compile.sh", COMPILE)
    write(tree / "scripts/kconfig/merge_config.sh", 'cat "$3" >> "$2"\n')
    programs = tmp_path / "programs"
    for name in steps.PROGRAMS.keys() - {"make", "patch", "tar"}:
        write(programs / name, "#!/bin/sh\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(programs), prepend=os.pathsep)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("MAKEFLAGS", "--dry-run")  # as under `make`: must not reach the build
    return tree


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def before(patch: str) -> dict[str, str]:
    """The lines that a patch expects, by file."""
    files: dict[str, str] = {}
    for part in re.split(r"^--- a/", patch, flags=re.MULTILINE)[1:]:
        name, _, rest = part.partition("\n")
        lines = rest.splitlines(keepends=True)
        files[name] = "".join(line[1:] for line in lines if line[0] in " -")
    return files


def listing(folder: Path) -> dict[str, tuple[int, bytes]]:
    files = (file for file in sorted(folder.rglob("*")) if file.is_file())
    return {str(file): (file.stat().st_mtime_ns, file.read_bytes()) for file in files}


def call(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["kernel", *map(str, arguments)])


def test_a_build_is_kept_and_found_again(tree: Path, witness: Path) -> None:
    told: list[tuple[str, float]] = []
    first = build(tree, progress=lambda phase, fraction: told.append((phase, fraction)))
    assert (first.name, first.version, first.built_from) == ("6.1", "6.1.7", str(tree))
    assert "random_get_entropy() 0UL" in first.executable.read_text()
    fractions = [fraction for _, fraction in told]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1
    assert "compiling" in dict(told)
    assert "$ make ARCH=um defconfig" in (first.executable.parent / "build.log").read_text()
    assert witness.read_text().count("make ran") == 1
    second = build(tree, name="mine")
    assert witness.read_text().count("make ran") == 1
    assert second.executable == first.executable
    assert [(kernel.name, kernel.hash) for kernel in kernels()] == [
        ("6.1", first.hash),
        ("mine", first.hash),
    ]
    assert kernel_named("mine") == second
    for _ in range(100):  # a process of its own removes the tree
        left = sorted(file.name for file in kernels_folder().iterdir())
        if not any(name.startswith(".build-left-") for name in left):
            break
        time.sleep(0.05)
    assert left == sorted([".lock", "names", first.hash])


def test_a_changed_source_is_another_kernel(tree: Path, witness: Path) -> None:
    first = build(tree, "mine")
    write(tree / "net/ipv4/tcp_mine.c", "int x;\n")
    second = build(tree, "mine")
    assert second.hash != first.hash
    assert [(kernel.name, kernel.hash) for kernel in kernels()] == [
        ("mine", second.hash),
        ("", first.hash),
    ]
    write(tree / "net/ipv4/tcp_mine.o", "a product")
    write(tree / "include/generated/autoconf.h", "")
    write(tree / ".git/HEAD", "")
    assert build(tree, "mine").hash == second.hash
    assert witness.read_text().count("make ran") == 2


def test_changed_options_are_another_kernel(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = build(tree)
    carried = subject.carried()
    write(tmp_path / "config", carried.fragment.read_text() + "CONFIG_TLS=y\n")
    other = subject.Carried(carried.patches, tmp_path / "config")
    monkeypatch.setattr(subject, "carried", lambda given: other)
    assert build(tree).hash != first.hash


def test_a_tree_is_never_written(tree: Path) -> None:
    random = tree / "drivers/char/random.c"
    random.chmod(0o444)
    found = listing(tree)
    build(tree)
    assert listing(tree) == found


def test_errors_of_the_compiler_are_shown(tree: Path) -> None:
    lines = [f"net/ipv4/tcp.c:{line}:1: error: wrong {line}" for line in range(1, 8)]
    echo = "\n".join(f"echo '{line}'" for line in ["  CC      net/ipv4/tcp.o", *lines])
    write(tree / "net/compile.sh", f"{echo}\nexit 1\n")
    result = call("build", "--source", tree)
    assert result.exit_code == 2
    shown = result.stderr.splitlines()
    assert [line.strip() for line in shown if "error:" in line] == lines[:5]
    log = Path(shown[-1].removeprefix("all of it: ").removesuffix(" [E604]"))
    assert lines[6] in log.read_text()
    assert kernels() == []
    write(tree / "net/compile.sh", COMPILE)
    build(tree)
    assert not (kernels_folder() / ".build").exists()


@pytest.mark.parametrize(
    ("said", "package"),
    [
        ("x.c:1:10: fatal error: gelf.h: No such file or directory", "libelf-dev"),
        ("x.c:1:10: fatal error: openssl/bio.h: No such file or directory", "libssl-dev"),
        ("x.c:1:10: fatal error: stdio.h: No such file or directory", "libc6-dev"),
        ("/bin/sh: 1: cpio: not found", "cpio"),
        ("make[1]: rsync: No such file or directory", "rsync"),
    ],
)
def test_packages_of_missing_headers_are_named(said: str, package: str, tree: Path) -> None:
    write(tree / "net/compile.sh", f"echo '{said}'\nexit 1\n")
    with pytest.raises(EngineError, match=f"apt-get install {package}\n"):
        build(tree)


def test_missing_programs_are_named(
    tree: Path, witness: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "programs"
    for name in ("make", "patch", "tar"):
        (programs / name).symlink_to("/bin/true")
    (programs / "flex").unlink()
    (programs / "ld").unlink()
    monkeypatch.setenv("PATH", str(programs))
    with pytest.raises(EngineError, match=r"without flex, ld; .* apt-get install flex binutils$"):
        build(tree)
    assert not witness.exists()


def test_options_without_effect_are_named(tree: Path) -> None:
    write(tree / "drop", "/CONFIG_NET_SCH_TEQL=/d\ns/CONFIG_HZ=1000/CONFIG_HZ=100/\n")
    with pytest.raises(EngineError) as raised:
        build(tree)
    assert str(raised.value) == (
        "options without effect in this source: CONFIG_HZ is 100 instead of 1000, "
        "CONFIG_NET_SCH_TEQL is n instead of y"
    )


def test_a_patch_that_does_not_fit_is_named(tree: Path) -> None:
    write(tree / "arch/um/os-Linux/util.c", "int nothing;\n")
    with pytest.raises(EngineError, match=r"the patch 0002-\S+ does not fit this source: Hunk"):
        build(tree)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--source", "none"], "none: no such folder"),
        (["--source", "."], ".: no source of Linux 5.19 or later: no Makefile, no Kconfig"),
        (["--name", "../x"], "--name ../x: letters"),
    ],
)
def test_mistakes_end_with_2(
    arguments: list[str], expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    result = call("build", *arguments)
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith(f"dumbbell: {expected}")
    assert result.stderr.count("\n") == 1


@pytest.mark.slow
@pytest.mark.parametrize(("how", "code"), [(signal.SIGKILL, -9), (signal.SIGINT, 130)])
def test_a_killed_build_leaves_no_kernel(how: int, code: int, tree: Path, tmp_path: Path) -> None:
    marker = tmp_path / "compiling"
    endless = f"echo $$ > {marker}; while true; do echo '  CC      a.o'; sleep 0.05; done\n"
    write(tree / "net/compile.sh", endless)
    command = [sys.executable, "-m", "dumbbell", "kernel", "build", "--source", str(tree)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as child:
        wait_for(lambda: marker.is_file() and marker.read_text().endswith("\n"))
        child.send_signal(how)
        assert child.stderr is not None
        assert "Traceback" not in child.stderr.read().decode()
        assert child.wait(20) == code
    wait_for(lambda: not alive(int(marker.read_text())))
    assert kernels() == []
    work = kernels_folder() / ".build"
    assert work.exists() == (how == signal.SIGKILL)
    write(tree / "net/compile.sh", COMPILE)
    built = build(tree)
    assert kernels() == [built]
    assert not work.exists()


def wait_for(condition: object, limit_s: float = 20) -> None:
    assert callable(condition)
    until = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


def alive(process: int) -> bool:
    """Is it running? One that ended may still be listed until it is reaped."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_names(tree: Path) -> None:
    with pytest.raises(EngineError, match="no kernel was built yet; build one with: dumbbell"):
        kernel_named("")
    assert "build one with: dumbbell kernel build" in call("list").stderr
    build(tree, "vegas")
    with pytest.raises(EngineError, match="no kernel 'vega'; did you mean vegas\\?; there is"):
        kernel_named("vega")
    with pytest.raises(EngineError, match="no kernel from Debian's source"):
        kernel_named("")
    shown = call("list").stdout
    assert shown.split()[:5] == ["name", "version", "built", "from", "hash"]
    assert "vegas" in shown
    shutil.rmtree(kernels_folder() / "names")
    with pytest.raises(EngineError, match="has a name: copy the folder `names` and the file"):
        kernel_named("")


def test_an_installed_archive(
    tree: Path, witness: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = tmp_path / "src"
    installed.mkdir()
    monkeypatch.setattr(sources, "SYSTEM_SOURCES", installed)
    for name in ("linux-source-6.1", "linux-source-6.19"):
        (installed / f"{name}.tar.xz").write_bytes(b"")
    pack(tree, installed / f"{sources.PACKAGE}.tar.xz", tmp_path)
    kernel = build()
    assert kernel.built_from == f"{sources.PACKAGE} of unknown version"
    make_default(kernel)
    assert kernel_named("") == kernel == build()
    write(tree / "net/tcp_mine.c", "")
    assert build(tree).name == kernel.name
    assert kernel_named("").hash == kernel.hash
    assert witness.read_text().count("make ran") == 2


def test_the_newest_installed_archive_if_no_list_has_the_default_one(
    tree: Path, witness: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = tmp_path / "src"
    installed.mkdir()
    monkeypatch.setattr(sources, "SYSTEM_SOURCES", installed)
    (installed / "linux-source-6.1.tar.xz").write_bytes(b"")
    pack(tree, installed / "linux-source-6.9.tar.xz", tmp_path)
    stub(tmp_path, "apt-cache", "exit 100")
    assert build().built_from == "linux-source-6.9 of unknown version"
    assert witness.read_text().count("make ran") == 1


@pytest.mark.slow
def test_a_kernel_that_does_not_run_is_not_made_the_default(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = tmp_path / "src"
    installed.mkdir()
    monkeypatch.setattr(sources, "SYSTEM_SOURCES", installed)
    pack(tree, installed / f"{sources.PACKAGE}.tar.xz", tmp_path)
    before = build()
    make_default(before)
    write(tree / "net/compile.sh", "echo 'echo no guest' > linux; chmod +x linux\n")
    pack(tree, installed / f"{sources.PACKAGE}.tar.xz", tmp_path)
    result = call("build", "--name", "broken")
    assert result.exit_code == 2
    (first,) = [line for line in result.stderr.splitlines() if line.startswith("dumbbell: ")]
    assert first.startswith("dumbbell: the guest died")
    assert "The kernel broken was built and is not usable here" in result.stderr
    assert kernel_named("").hash == before.hash != kernel_named("broken").hash


def test_a_fetched_archive(
    tree: Path, witness: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "SYSTEM_SOURCES", tmp_path / "none")
    package = sources.PACKAGE
    pack(tree, tmp_path / "tar", tmp_path)
    stub(tmp_path, "apt-cache", "echo 'Version: 6.1.7-1'")
    fetch = f"echo fetched >> {witness}; touch {package}_6.1.7-1_all.deb"
    stub(tmp_path, "apt-get", f'test "$*" = "download {package}=6.1.7-1" && {fetch}')
    put = f'mkdir -p "$3/usr/src" && cp {tmp_path}/tar "$3/usr/src/{package}.tar.xz"'
    stub(tmp_path, "dpkg-deb", put)
    kernel = build()
    assert kernel.built_from == f"{package} 6.1.7-1"
    assert build() == kernel
    assert witness.read_text().split("\n") == ["fetched", "make ran", ""]
    stub(tmp_path, "apt-get", "echo 'E: 404'; exit 100")
    stub(tmp_path, "apt-cache", "echo 'Version: 6.1.8-1'")
    with pytest.raises(EngineError, match=f"{package} 6.1.8-1 cannot be fetched") as raised:
        build()
    log = re.search(r"see (\S+);", str(raised.value))
    assert log is not None
    assert "E: 404" in Path(log[1]).read_text()


def stub(tmp_path: Path, name: str, script: str) -> None:
    program = tmp_path / "programs" / name
    write(program, f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


def pack(tree: Path, path: Path, tmp_path: Path) -> None:
    """An archive as Debian's, not compressed: the stub of xz copies."""
    stub(tmp_path, "xz", "exec cat")
    subprocess.run(["tar", "-cf", path, "-C", tree.parent, tree.name], check=True)
