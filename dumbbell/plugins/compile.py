"""From a module of Linux to a library: `dumbbell_kernel.h` stands in for the headers of Linux."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from dumbbell.files.cache import cache_folder
from dumbbell.files.shipped import shipped
from dumbbell.plugins.unusable import UnusableError

#: As Linux is compiled: integers wrap, `char` has no sign. A name that is not there is an error.
_OPTIONS = (
    *("-std=gnu11", "-O2", "-fwrapv", "-fno-strict-aliasing", "-funsigned-char"),
    *("-fno-delete-null-pointer-checks", "-shared", "-fPIC", "-Wl,-z,defs"),
    *("-Werror=implicit-function-declaration", "-Werror=incompatible-pointer-types"),
    *("-Werror=int-conversion", "-include", "dumbbell_kernel.h"),
)
#: The form of `cong_control` changed in Linux 6.10. A source of before is compiled for that.
_BEFORE = "-DLINUX_VERSION_CODE=KERNEL_VERSION(6,9,0)"
_HEADERS = ("dumbbell_cc.h", "dumbbell_kernel.h")
_OF_LINUX = re.compile(rb"^[ \t]*#[ \t]*include[ \t]*<([a-z0-9_][A-Za-z0-9_./-]*)>", re.MULTILINE)
#: What a run draws: numbers, and the first time of the peer's clock.
_RANDOM = re.compile(rb"\b(?:(?:get_random|prandom)_|rcv_tsval\b)")
#: Bounds of the compiler: 2 GiB of memory, time in s.
_LIMIT = ("sh", "-c", 'ulimit -v 2097152; exec "$@"', "sh")
_MOST_S = 60
_ERRORS_SHOWN = 3
#: Name of a module's file while it is compiled, so that its name is no part of a library.
COMPILED = "module.c"
#: What a module says if nothing is registered.
NO_TABLE = "returns no table"
REGISTERS_NOTHING = (
    "its module_init registers no congestion control that has ssthresh, undo_cwnd, and cong_avoid "
    "or cong_control"
)


def library_of(source: Path) -> Path:
    """The library of a module for the simulator, kept in the cache.

    Args:
        source: Text of the module with its headers; see `dumbbell.plugins.module`.

    Raises:
        UnusableError: It does not compile, with the first errors; or there is no compiler.
    """
    include, text = shipped("_plugin") / "include", source.read_bytes()
    hashed = hashlib.sha256()
    for part in (text, *((include / name).read_bytes() for name in _HEADERS), _compiler()):
        hashed.update(hashlib.sha256(part).digest())
    library = cache_folder("plugins") / "modules" / f"{hashed.hexdigest()}.so"
    if not library.exists():
        library.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=library.parent) as work:
            made = _compiled(text, include, Path(work))
            made.replace(library)
    return library


@cache
def _compiler() -> bytes:
    """What the compiler says of itself."""
    if shutil.which("cc") is None:
        raise UnusableError(
            "a module of Linux is compiled for the simulator, and there is no cc; on Debian: "
            "apt-get install gcc libc6-dev"
        )
    done = subprocess.run(["cc", "--version"], capture_output=True, check=False)
    return done.stdout + " ".join(_OPTIONS).encode()


def _compiled(text: bytes, include: Path, work: Path) -> Path:
    """Compiles a text in an empty folder."""
    for found in _OF_LINUX.finditer(text):
        name = found[1].decode()
        if "/" in name and ".." not in name:
            (work / name).parent.mkdir(parents=True, exist_ok=True)
            (work / name).touch()
    source, library = work / COMPILED, work / "module.so"
    source.write_bytes(text)
    draws = ["-DDUMBBELL_MODULE_DRAWS"] if _RANDOM.search(text) else []
    where = [f"-I{work}", f"-I{include}", "-o", str(library), str(source)]
    said = _compile([*draws, *where])
    if said is not None and ("cong_control" not in said or _compile([_BEFORE, *draws, *where])):
        raise UnusableError(_reason(said.replace(f"{work}/", "")))
    return library


def _compile(options: list[str]) -> str | None:
    """Runs the compiler; returns what it says if it fails."""
    command = [*_LIMIT, "cc", *_OPTIONS, *options]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
            timeout=_MOST_S, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise UnusableError(f"it does not compile within {_MOST_S} s") from None
    return done.stderr if done.returncode != 0 else None


def _reason(said: str) -> str:
    """The first errors of a compiler; a linker's are those of names that are not there."""
    lines = said.splitlines()
    errors = [line for line in lines if re.search(r":\d+: (fatal )?error: ", line)]
    missing = dict.fromkeys(re.findall(r"undefined reference to `(\w+)'", said))
    if not errors and "dumbbell_module_init" in missing:
        return "it has no module_init"
    if not errors and missing:
        errors = [f"not in the simulator: {', '.join(missing)}"]
    shown = "; ".join((errors or lines[-1:])[:_ERRORS_SHOWN])
    return f"it does not compile for the simulator (dumbbell_kernel.h has what it may use): {shown}"
