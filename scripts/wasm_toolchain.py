"""Finds, or fetches, a Rust compiler for wasm32-unknown-unknown, and prints its path.

First the compiler of the system, if it has the target (`rustup target add`). Else Debian's:
packages of trixie, fetched by apt with lists of its own and unpacked into the cache. Nothing is
installed and root is not needed. They run on an older Debian with the C library of their own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from dumbbell.engines.linux.apt import Apt, apt_of_suite
from dumbbell.errors import EngineError

TARGET = "wasm32-unknown-unknown"
SUITE = "trixie"
PACKAGES = ("rustc", "libstd-rust-dev", "libstd-rust-dev-wasm32", "lld-19")
#: Programs that the system has anyway, or that this build does not call.
LEFT_OUT = {"gcc", "libc-dev", "binutils", "debconf", "libcrypt1", "gcc-14-base"}


def said(*command: str) -> str:
    """Standard output of a command; empty if it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""


def of_the_system() -> str | None:
    """The system's compiler, if it has the target's standard library."""
    folder = said("rustc", "--print", "target-libdir", "--target", TARGET).strip()
    if folder and any(Path(folder).glob("libstd-*.rlib")):
        return shutil.which("rustc")
    return None


def closure(apt: Apt) -> list[str]:
    """Names of the packages and of all that they need."""
    found: dict[str, None] = {}
    todo = list(PACKAGES)
    while todo:
        name = todo.pop(0)
        if name in found or name in LEFT_OUT:
            continue
        found[name] = None
        shown = said("apt-cache", *apt.options, "show", "--no-all-versions", name)
        for line in shown.splitlines():
            if line.startswith(("Depends:", "Pre-Depends:")):
                wanted = line.split(":", 1)[1].split(",")
                todo += [one.split("|")[0].split("(")[0].split(":")[0].strip() for one in wanted]
    return list(found)


def wrapper(root: Path, name: str, program: Path) -> Path:
    """Script that runs an unpacked program with the unpacked libraries."""
    folders = [path.parent for path in root.rglob("libc.so.6")]
    folders += [path.parent for path in root.rglob("libLLVM*.so*")]
    folders += [path.parent for path in root.rglob("librustc_driver-*.so")]
    folders += [path.parent for path in root.rglob("libstdc++.so.6")]
    loader = next(iter(sorted(root.rglob("ld-linux-*.so.*"))))
    libraries = ":".join(dict.fromkeys(map(str, folders)))
    script = root / name
    script.write_text(
        f'#!/bin/sh\nexec "{loader}" --library-path "{libraries}" "{program}" "$@"\n',
        encoding="utf-8",
    )
    script.chmod(0o755)
    return script


def fetched(cache: Path) -> Path:
    """Debian's compiler in the cache, fetched if it is not there. Raises `EngineError`."""
    root = cache / f"{SUITE}-rustc"
    compiler = root / "rustc"
    if compiler.is_file():
        return compiler
    for program in ("apt-get", "dpkg-deb"):
        if shutil.which(program) is None:
            raise EngineError(f"no {program} that could fetch one")
    cache.mkdir(parents=True, exist_ok=True)
    apt = apt_of_suite(SUITE, cache / "apt", cache / "apt.log")
    part = cache / f"{SUITE}-rustc.{os.getpid()}"
    try:
        unpack(apt, part)
        # The scripts name the folder: they are written once it has its last name.
        shutil.rmtree(root, ignore_errors=True)
        part.rename(root)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    # rustc says which flavour of lld it wants.
    wrapper(root, "lld", next(root.glob("usr/lib/llvm-*/bin/lld")))
    return wrapper(root, "rustc", root / "usr/bin/rustc")


def unpack(apt: Apt, part: Path) -> None:
    """Fetches all packages and unpacks them. Raises `EngineError`."""
    part.mkdir()
    names = closure(apt)
    done = subprocess.run(
        ["apt-get", *apt.options, "-qq", "download", *names],
        cwd=part,
        capture_output=True,
        text=True,
    )
    files = sorted(part.glob("*.deb"))
    if done.returncode != 0 or len(files) < len(names):
        raise EngineError(f"apt fetched {len(files)} of {len(names)} packages of {SUITE}")
    for file in files:
        subprocess.run(["dpkg-deb", "-x", str(file), str(part)], check=True)
        file.unlink()


def main() -> int:
    """Prints `compiler` or `compiler linker`; on standard error why there is none."""
    if compiler := of_the_system():
        print(compiler)
        return 0
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    try:
        found = fetched(Path(base) / "dumbbell" / "wasm")
    except (EngineError, OSError, subprocess.CalledProcessError) as error:
        print(f"no Rust compiler for {TARGET}: {error}", file=sys.stderr)
        return 1
    print(found, found.parent / "lld")
    return 0


if __name__ == "__main__":
    sys.exit(main())
