"""From a source tree to an executable: patches, options, make; what went wrong, in few lines."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from dumbbell.codes import Code
from dumbbell.engines.linux import registers
from dumbbell.engines.linux.process import run
from dumbbell.errors import EngineError

Progress = Callable[[str, float], None]
"""Told what is being done, and which fraction of the whole build is behind."""

PROGRAMS = {
    "bc": "bc",
    "bison": "bison",
    "flex": "flex",
    "gcc": "gcc",
    "ld": "binutils",
    "make": "make",
    "patch": "patch",
    "tar": "tar",
    "xz": "xz-utils",
}
"""What every build runs, and the Debian packages that have it."""
_FURTHER_PROGRAMS = {"cpio": "cpio", "perl": "perl", "python3": "python3", "rsync": "rsync"}
_HEADERS = {
    "gelf.h": "libelf-dev",
    "libelf.h": "libelf-dev",
    "openssl/": "libssl-dev",
    "std": "libc6-dev",
    "sys/": "libc6-dev",
    "errno.h": "libc6-dev",
}
"""Beginnings of names of headers, and the Debian packages that have them."""
_MADE = re.compile(r"  [A-Z]+ +\S")
_ONLY_WHERE = re.compile(r"^(?:# )?Only where: (\S+) has: (.+)$", re.MULTILINE)
"""A line at the head of a patch, or of options up to an empty line, that not every source needs: a
file, and a text in it."""
_LINES_MADE = 1330
"""Lines as `  CC  net/ipv4/tcp.o` of a build with the options in `kernel/config`."""
_COMPILE_FROM = 0.08
_ERRORS_SHOWN = 5


def check_programs() -> None:
    """Are the programs there that a build needs?

    Raises:
        EngineError: Names the missing ones and the packages that have them.
    """
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if missing:
        packages = " ".join(PROGRAMS[name] for name in missing)
        raise EngineError(
            f"a kernel cannot be built without {', '.join(missing)}; on Debian: "
            f"apt-get install {packages}",
            code=Code.NOT_INSTALLED,
        )


def apply_patches(tree: Path, patches: Sequence[Path], log: Path) -> None:
    """Applies the patches that a tree needs.

    Raises:
        EngineError: One does not fit; names it.
    """
    for patch in patches:
        if not _needed(tree, patch.read_text(encoding="utf-8")):
            continue
        heard: list[str] = []
        command = ["patch", "-p1", "--fuzz=3", "--batch", "--forward", "--no-backup-if-mismatch"]
        if run([*command, "-i", str(patch)], tree, log, heard.append) != 0:
            said = [line.strip() for line in heard if "FAILED" in line or "Reversed" in line]
            why = f": {said[0]}" if said else ""
            raise EngineError(
                f"the patch {patch.name} does not fit this source{why}", code=Code.KERNEL_BUILD
            )


def _needed(tree: Path, text: str) -> bool:
    """Returns true if the tree has what the text names; true if it names nothing."""
    condition = _ONLY_WHERE.search(text)
    if condition is None:
        return True
    try:
        return condition[2] in (tree / condition[1]).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False


def configure(tree: Path, fragment: Path, register_bytes: int, log: Path) -> None:
    """Writes `.config`: the defaults of UML and what the fragment asks for.

    Args:
        tree: The source, patched.
        fragment: Options that have to take effect, where the source has them.
        register_bytes: Of the host's registers, for a source that does not ask the host.
        log: Where everything is written that make says.

    Raises:
        EngineError: An option of the fragment did not take effect, or make failed.
    """
    _make(tree, ["defconfig"], log)
    parts = fragment.read_text(encoding="utf-8").split("\n\n")
    asked = "\n\n".join(part for part in parts if _needed(tree, part))
    if _declares_register_area(tree):
        asked += f"{registers.OPTION}={register_bytes}\n"
    fragment = tree / ".dumbbell.config"
    fragment.write_text(asked, encoding="utf-8")
    merge = ["sh", "scripts/kconfig/merge_config.sh", "-m", ".config", str(fragment)]
    heard: list[str] = []
    if run(merge, tree, log, heard.append) != 0:
        raise EngineError(_failure("merging the options", heard, log), code=Code.KERNEL_BUILD)
    _make(tree, ["olddefconfig"], log)
    wanted, got = _options(fragment), _options(tree / ".config")
    ignored = [
        f"{name} is {got.get(name, 'n')} instead of {value}"
        for name, value in wanted.items()
        if got.get(name, "n") != value
    ]
    if ignored:
        raise EngineError(
            f"options without effect in this source: {', '.join(ignored)}", code=Code.KERNEL_BUILD
        )


def _declares_register_area(tree: Path) -> bool:
    name = registers.OPTION.removeprefix("CONFIG_")
    try:
        declared = (tree / registers.OPTION_FILE).read_text(encoding="utf-8")
    except OSError:
        return False
    return f"config {name}\n" in declared


def compile_kernel(tree: Path, jobs: int, log: Path, progress: Progress) -> Path:
    """Makes the executable `linux` with so many compilers at once.

    Raises:
        EngineError: With the first errors of the compiler.
    """
    made = 0

    def heard(line: str) -> None:
        nonlocal made
        if _MADE.match(line):
            made += 1
            done = min(made / _LINES_MADE, 1.0)
            progress("compiling", _COMPILE_FROM + (0.99 - _COMPILE_FROM) * done)

    _make(tree, [f"-j{jobs}", "linux"], log, heard)
    return tree / "linux"


def kernel_version(tree: Path, log: Path) -> str:
    """Version of the tree, as `6.1.192`."""
    said = "".join(_make(tree, ["--no-print-directory", "-s", "kernelversion"], log))
    found = re.search(r"^\d+\.\d+\S*$", said, re.MULTILINE)
    if found is None:
        raise EngineError(f"make kernelversion says no version; see {log}", code=Code.KERNEL_BUILD)
    return found[0]


def compiler(tree: Path) -> str:
    """The compiler that the configured tree is for."""
    return _options(tree / ".config").get("CONFIG_CC_VERSION_TEXT", "unknown").strip('"')


def _make(
    tree: Path, targets: list[str], log: Path, heard: Callable[[str], None] | None = None
) -> list[str]:
    """Runs make; returns what it said."""
    lines: list[str] = []

    def both(line: str) -> None:
        lines.append(line)
        if heard is not None:
            heard(line)

    code = run(["make", "ARCH=um", *targets], tree, log, both)
    if code != 0:
        raise EngineError(_failure(f"make {targets[-1]}", lines, log), code=Code.KERNEL_BUILD)
    return lines


def _failure(step: str, lines: list[str], log: Path) -> str:
    """Reason of a failed step: the first errors, and a package that may be missing."""
    told = [line.strip() for line in lines if "error:" in line or "undefined reference" in line]
    told = told or [line.strip() for line in lines if "not found" in line or "***" in line]
    told = told or [line.strip() for line in lines[-1:]]
    shown = "".join(f"\n  {line}" for line in told[:_ERRORS_SHOWN])
    packages = _packages(lines)
    hint = f"\non Debian: apt-get install {' '.join(packages)}" if packages else ""
    return f"{step} failed:{shown}{hint}\nall of it: {log}"


def _packages(lines: list[str]) -> list[str]:
    """The Debian packages whose absence the lines complain of."""
    programs = PROGRAMS | _FURTHER_PROGRAMS
    packages: dict[str, None] = {}
    for line in lines:
        header = re.search(r"fatal error: (\S+\.h): No such file", line)
        for start, package in _HEADERS.items():
            if header and header[1].startswith(start):
                packages[package] = None
        program = re.search(r"(\w+): (?:command )?not found|(\w+): No such file or directory", line)
        if program and (name := program[1] or program[2]) in programs:
            packages[programs[name]] = None
    return list(packages)


def _options(path: Path) -> dict[str, str]:
    """The options that a configuration sets; those not set are `n`."""
    options: dict[str, str] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if unset := re.fullmatch(r"# (CONFIG_\w+) is not set", line):
            options[unset[1]] = "n"
        elif given := re.fullmatch(r"(CONFIG_\w+)=(.*)", line):
            options[given[1]] = given[2]
    return options
