"""Kernels: built once from a source, kept in the user's cache, found again by name.

    kernels/<hash>/linux          the executable
    kernels/<hash>/kernel.json    where it came from
    kernels/<hash>/config         all its options
    kernels/<hash>/build.log
    kernels/<hash>.failed.log     of a build that failed
    kernels/names/<name>          the hash that the name means
    kernels/default               the hash of the last kernel from Debian's source that ran here
    kernels/sources/              archives fetched before: size and hash
    kernels/.lock, .build/        the build that is going on
    kernels/.build-left-*         builds that are over, being removed

The hash is over the identity of the source, the patches and the options asked for.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from dumbbell.codes import Code
from dumbbell.engines.linux import compile as steps
from dumbbell.engines.linux import registers
from dumbbell.engines.linux.compile import Progress
from dumbbell.engines.linux.debian import Package
from dumbbell.engines.linux.source import Source, Tree
from dumbbell.errors import EngineError, nearest_name
from dumbbell.files.cache import cache_folder
from dumbbell.files.shipped import shipped
from dumbbell.files.whole import sync_path, write_file

HASH_LENGTH = 32
_RELEASE = re.compile(r"\d{1,2}\.\d{1,3}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")
#: Beginning of the names of folders of builds that are over.
_LEFT = ".build-left-"
_HOW_TO_BUILD = "build one with: dumbbell kernel build"


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel that was built.

    Attributes:
        name: As the user calls it; empty if its name means another kernel by now.
        version: As its source says, e.g. `6.1.192`.
        hash: Over source, patches and options; 32 hexadecimal digits.
        built_from: The source as a person calls it.
        executable: User-Mode Linux.
        own: True if it may have what Debian's source has not: patches were given, or a tree.
        outdated: True if it was built with other patches or options than this version has.
    """

    name: str
    version: str
    hash: str
    built_from: str
    executable: Path
    own: bool = False
    outdated: bool = False

    @property
    def config(self) -> Path:
        """The file with all its options."""
        return self.executable.parent / "config"


@dataclass(frozen=True, slots=True)
class Carried:
    """Patches and options that are added to a source.

    Attributes:
        patches: The project's, from the folder `kernel/`.
        fragment: Options, from there.
        register_bytes: Size of the area for the host's registers, in bytes.
        given: The user's patches, applied after the project's.
    """

    patches: Sequence[Path]
    fragment: Path
    register_bytes: int = registers.AREA_BYTES
    given: Sequence[Path] = ()

    def hashes(self) -> dict[str, str]:
        """SHA-256 of each file by name, and the options that no file has."""
        files = [*self.patches, self.fragment]
        hashed = {file.name: _sha256(file) for file in files}
        hashed |= {f"given {n} {file.name}": _sha256(file) for n, file in enumerate(self.given, 1)}
        return {**hashed, registers.OPTION: str(self.register_bytes)}


def carried(given: Sequence[Path] = ()) -> Carried:
    """The folder `kernel/`, which ships with the package, and patches given.

    Raises:
        EngineError: There is none, or a patch cannot be read.
    """
    for patch in given:
        if not patch.is_file():
            raise EngineError(f"--patch {patch}: no such file", code=Code.KERNEL_SOURCE)
    folder = shipped("_kernel")
    if not (folder / "config").is_file():
        raise EngineError(
            "this installation has no folder kernel/: no kernel can be built with it",
            code=Code.KERNEL_BUILD,
        )
    patches = sorted((folder / "patches").glob("*.patch"))
    bytes_here = registers.area_bytes(registers.needed_bytes())
    return Carried(patches, folder / "config", bytes_here, [*given])


def kernels_folder() -> Path:
    """Folder of kernels: `$XDG_CACHE_HOME/dumbbell/kernels`, by default below `~/.cache`."""
    return cache_folder("kernels")


def kernels() -> list[Kernel]:
    """All kernels: by name, then those without a name."""
    names = _names()
    unnamed = [hashed for hashed in _hashes() if hashed not in names.values()]
    listed = [*sorted(names.items()), *(("", hashed) for hashed in unnamed)]
    found = (_kept(hashed, name) for name, hashed in listed)
    return [kernel for kernel in found if kernel is not None]


def outdated_note(kernels: Iterable[Kernel]) -> str:
    """Names the kernels to build again, with the reason; empty if there is none."""
    names = [kernel.name for kernel in kernels if kernel.outdated and kernel.name]
    if not names:
        return ""
    return f"built with other patches than this version has, to be built again: {', '.join(names)}"


def kernel_named(name: str) -> Kernel:
    """The kernel of that name; of an empty name, the last that was built from Debian's source.

    Raises:
        EngineError: There is none; names the nearest.
    """
    here = kernels()
    named = {kernel.name: kernel for kernel in here if kernel.name}
    if name in named:
        return named[name]
    default = _default()
    if not name and default is not None:
        return default
    if not named and here:
        raise EngineError(
            f"no kernel in {kernels_folder()} has a name: copy the folder `names` and the file "
            f"`default` from where it was built, too, or {_HOW_TO_BUILD}",
            code=Code.NO_KERNEL,
        )
    if not named:
        raise EngineError(f"no kernel was built yet; {_HOW_TO_BUILD}", code=Code.NO_KERNEL)
    there = f"there are {', '.join(named)}" if len(named) > 1 else f"there is {', '.join(named)}"
    if not name:
        raise EngineError(
            f"no kernel from Debian's source ({there}); {_HOW_TO_BUILD}", code=Code.NO_KERNEL
        )
    near = nearest_name(name, named)
    hint = f"; did you mean {near}?" if near is not None else ""
    how = _HOW_TO_BUILD
    if _RELEASE.fullmatch(name):
        how = f"build it with: dumbbell kernel build --release {name}"
    raise EngineError(f"no kernel {name!r}{hint}; {there}; {how}", code=Code.NO_KERNEL)


def _silent(phase: str, fraction: float) -> None:
    """Shows nothing."""


def build(
    source: Path | Package | None = None,
    name: str | None = None,
    progress: Progress = _silent,
    *,
    jobs: int | None = None,
    patches: Sequence[Path] = (),
) -> Kernel:
    """Builds a kernel, or finds the one that was built from the same source.

    Args:
        source: A kernel tree, never written to, or a package; None for Debian's default.
        name: What to call it; by default the first two numbers of its version.
        progress: Told a phase and the fraction of the build that is behind.
        jobs: Compilers at once; by default one per core.
        patches: Patches to apply besides the project's (`patch -p1`).

    Raises:
        EngineError: What is missing, does not fit or does not compile.
    """
    if name is not None and not _NAME.fullmatch(name):
        raise EngineError(
            f"--name {name}: letters, digits, and . _ + - after the first, up to 64",
            code=Code.KERNEL_BUILD,
        )
    added, root = carried(patches), kernels_folder()
    progress("looking at the source", 0.0)
    source = Package() if source is None else source
    try:
        root.mkdir(parents=True, exist_ok=True)
        found: Source | Package
        found = (source.known(root) or source) if isinstance(source, Package) else Tree(source)
        kernel = None if isinstance(found, Package) else _kept(_hash(found, added))
        if kernel is None:
            steps.check_programs()
            jobs = jobs or len(os.sched_getaffinity(0))
            with _alone(root, progress) as work:
                kernel = _made(found, added, work, jobs, progress)
        name = name or ".".join(re.findall(r"\d+", kernel.version)[:2])
        (root / "names").mkdir(exist_ok=True)
        write_file(root / "names" / name, f"{kernel.hash}\n".encode(), sync=False)
    except OSError as error:
        raise EngineError(f"{error.filename or root}: {error.strerror or error}") from None
    progress("built", 1.0)
    return replace(kernel, name=name)


def make_default(kernel: Kernel) -> None:
    """Makes this kernel the default of the engine linux."""
    write_file(kernels_folder() / "default", f"{kernel.hash}\n".encode(), sync=False)


def _made(
    source: Source | Package, added: Carried, work: Path, jobs: int, progress: Progress
) -> Kernel:
    """Builds in the folder `work` and moves the result to where it is kept."""
    root, log, tree = work.parent, work / "build.log", work / "linux"
    failed = root / "fetch.failed.log"
    try:
        known = source
        if isinstance(known, Package):
            progress("fetching the source", 0.0)
            known = known.fetched(root, work, log)
        hashed = _hash(known, added)
        kernel = _kept(hashed)  # another build may have made it while this one waited
        if kernel is not None:
            return kernel
        failed = root / f"{hashed}.failed.log"
        try:
            _compile(known, added, tree, jobs, log, progress, whole=not known.partial)
        except EngineError:
            if not known.partial:
                raise
            # A release that compiles more than those tried: once more with all its files.
            _remove(tree)
            _compile(known, added, tree, jobs, log, progress, whole=True)
        version = steps.kernel_version(tree, log)
        executable = tree / "linux"
    except EngineError as error:
        if not log.exists():
            raise
        log.replace(failed)
        raise EngineError(
            str(error).replace(str(log), str(failed)), code=Code.KERNEL_BUILD
        ) from None
    result = work / "result"
    result.mkdir()
    executable.replace(result / "linux")
    log.replace(result / "build.log")
    about = {
        "version": version,
        "built_from": known.label,
        "source": known.identity,
        "added": added.hashes(),
        "compiler": steps.compiler(tree),
    }
    (tree / ".config").replace(result / "config")
    text = json.dumps(about, indent=1, ensure_ascii=False) + "\n"
    write_file(result / "kernel.json", text.encode(errors="surrogateescape"), sync=True)
    sync_path(result / "linux")
    _remove(root / hashed)
    result.replace(root / hashed)
    for stale in (failed, root / "fetch.failed.log"):
        stale.unlink(missing_ok=True)
    return Kernel("", version, hashed, known.label, root / hashed / "linux", _is_own(about))


def _compile(
    source: Source,
    added: Carried,
    tree: Path,
    jobs: int,
    log: Path,
    progress: Progress,
    *,
    whole: bool,
) -> None:
    """Makes the executable in the new folder `tree`."""
    progress("unpacking the source", 0.03)
    source.unpack(tree, log, whole=whole)
    progress("configuring", 0.06)
    steps.apply_patches(tree, [*added.patches, *(file.resolve() for file in added.given)], log)
    steps.configure(tree, added.fragment, added.register_bytes, log)
    steps.compile_kernel(tree, jobs, log, progress)


@contextlib.contextmanager
def _alone(root: Path, progress: Progress) -> Iterator[Path]:
    """An empty folder to build in; one build at a time. The folder is removed at the end.

    It has the same name in every build, so that paths inside the executable do not differ.
    """
    root.mkdir(parents=True, exist_ok=True)
    work = root / ".build"
    with (root / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress("waiting for another build", 0.0)
            fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            _remove(work)
            for left in root.glob(f"{_LEFT}*"):
                _remove(left)
            work.mkdir()
            yield work
        finally:
            _remove_later(work)


def _remove_later(folder: Path) -> None:
    """Removes a folder in a process of its own: on a slow disk 80 000 files take minutes.

    If that process is killed, the next build removes what is left.
    """
    with contextlib.suppress(FileNotFoundError):
        left = folder.rename(folder.with_name(f"{_LEFT}{os.getpid()}-{time.time_ns()}"))
        script = 'nice rm -rf "$1" > /dev/null 2>&1 < /dev/null &'
        subprocess.run(["sh", "-c", script, "sh", os.fspath(left)], check=False)


def _remove(folder: Path) -> None:
    """Removes a folder; waits for the compilers of a build that was killed to stop writing."""
    for _ in range(40):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(0.25)
    raise EngineError(f"{folder}: cannot be removed")


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _hash(source: Source, added: Carried) -> str:
    """The address of a kernel: a hash of all that decides what is built."""
    parts = [source.identity, *(part for pair in added.hashes().items() for part in pair)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:HASH_LENGTH]


def _kept(hashed: str, name: str = "") -> Kernel | None:
    """The kernel of that hash, if it is there."""
    folder = kernels_folder() / hashed
    executable = folder / "linux"
    try:
        about: dict[str, Any] = json.loads((folder / "kernel.json").read_text())
        version, built_from = str(about["version"]), str(about["built_from"])
        own, outdated = _is_own(about), _is_outdated(about)
    except (OSError, ValueError, KeyError, AttributeError):
        return None
    kernel = Kernel(name, version, hashed, built_from, executable, own, outdated)
    return kernel if executable.is_file() else None


def _is_own(about: Mapping[str, Any]) -> bool:
    """Returns true if `kernel.json` tells of given patches, or of a tree."""
    given = any(name.startswith("given ") for name in about["added"])
    return given or not str(about["source"]).startswith("debian ")


@cache
def _carried_here() -> dict[str, str]:
    """Patches and options of this version, without those for this processor."""
    try:
        added = carried().hashes()
    except EngineError:
        return {}
    return {name: value for name, value in added.items() if name != registers.OPTION}


def _is_outdated(about: Mapping[str, Any]) -> bool:
    """Returns true if `kernel.json` tells of other patches or options than this version has."""
    here = _carried_here()
    added = {
        name: value
        for name, value in about["added"].items()
        if name != registers.OPTION and not name.startswith("given ")
    }
    return bool(here) and added != here


def _names() -> dict[str, str]:
    """Name → kernel."""
    files = [file for file in kernels_folder().glob("names/*") if _NAME.fullmatch(file.name)]
    return {file.name: file.read_text().strip() for file in files}


def _default() -> Kernel | None:
    """The kernel that is meant if no name is given."""
    try:
        hashed = (kernels_folder() / "default").read_text().strip()
    except OSError:
        return None
    name = next((name for name, meant in sorted(_names().items()) if meant == hashed), "")
    return _kept(hashed, name)


def _hashes() -> list[str]:
    """Hashes of all kernels."""
    return sorted(file.parent.name for file in kernels_folder().glob("*/kernel.json"))
