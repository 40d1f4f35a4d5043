"""Kernels: built once from a source, kept in the user's cache, found again by name.

    kernels/<hash>/linux          the executable
    kernels/<hash>/kernel.json    where it came from
    kernels/<hash>/config         all its options
    kernels/<hash>/build.log
    kernels/<hash>.failed.log     of a build that failed
    kernels/names/<name>          the hash that the name means
    kernels/default               the hash of the last kernel from Debian's source that ran here
    kernels/sources/              archives fetched before: size and hash
    kernels/trees/<hash>/         compiled trees by the hash of their kernel without modules
    kernels/.lock, .build/        the build that is going on
    kernels/.build-left-*         builds that are over, being removed

The hash is over the identity of the source, the patches, the options asked for and the modules.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from dumbbell.codes import Code
from dumbbell.engines.linux import registers
from dumbbell.engines.linux.modules import Module
from dumbbell.engines.linux.source import Source
from dumbbell.errors import EngineError, did_you_mean, nearest_name
from dumbbell.files.cache import cache_folder
from dumbbell.files.shipped import shipped
from dumbbell.files.whole import write_file

HASH_LENGTH = 32
_RELEASE = re.compile(r"\d{1,2}\.\d{1,3}")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")
#: Beginnings of entries of `kernel.json` that tell of what the user gave.
_GIVEN, _MODULE = "given ", "module "
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
        modules: Congestion controls that were compiled in: name → SHA-256 of the source.
    """

    name: str
    version: str
    hash: str
    built_from: str
    executable: Path
    own: bool = False
    outdated: bool = False
    modules: Mapping[str, str] = field(default_factory=dict)

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
        modules: The user's congestion controls.
    """

    patches: Sequence[Path]
    fragment: Path
    register_bytes: int = registers.AREA_BYTES
    given: Sequence[Path] = ()
    modules: Sequence[Module] = ()

    def hashes(self) -> dict[str, str]:
        """SHA-256 of each file by name, and the options that no file has."""
        files = [*self.patches, self.fragment]
        hashed = {file.name: _sha256(file) for file in files}
        hashed |= {
            f"{_GIVEN}{n} {file.name}": _sha256(file) for n, file in enumerate(self.given, 1)
        }
        hashed |= {f"{_MODULE}{module.name}": module.sha256 for module in self.modules}
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
    found = (kept_kernel(hashed, name) for name, hashed in listed)
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
    hint = did_you_mean(near)
    how = _HOW_TO_BUILD
    if _RELEASE.fullmatch(name):
        how = f"build it with: dumbbell kernel build --release {name}"
    raise EngineError(f"no kernel {name!r}{hint}; {there}; {how}", code=Code.NO_KERNEL)


def make_default(kernel: Kernel) -> None:
    """Makes this kernel the default of the engine linux."""
    write_file(kernels_folder() / "default", f"{kernel.hash}\n".encode(), sync=False)


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def address(source: Source, added: Carried) -> str:
    """The address of a kernel: a hash of all that decides what is built."""
    parts = [source.identity, *(part for pair in added.hashes().items() for part in pair)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:HASH_LENGTH]


def kept_kernel(hashed: str, name: str = "") -> Kernel | None:
    """The kernel of that hash, if it is there."""
    folder = kernels_folder() / hashed
    executable = folder / "linux"
    try:
        about: dict[str, Any] = json.loads((folder / "kernel.json").read_text())
        version, built_from = str(about["version"]), str(about["built_from"])
        own, outdated = _is_own(about), _is_outdated(about)
    except (OSError, ValueError, KeyError, AttributeError):
        return None
    modules = {
        entry.removeprefix(_MODULE): sha256
        for entry, sha256 in about["added"].items()
        if entry.startswith(_MODULE)
    }
    kernel = Kernel(name, version, hashed, built_from, executable, own, outdated, modules)
    return kernel if executable.is_file() else None


def _is_own(about: Mapping[str, Any]) -> bool:
    """Returns true if `kernel.json` tells of given patches, or of a tree."""
    given = any(name.startswith(_GIVEN) for name in about["added"])
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
        if name != registers.OPTION and not name.startswith((_GIVEN, _MODULE))
    }
    return bool(here) and added != here


def _names() -> dict[str, str]:
    """Name → kernel."""
    files = [file for file in kernels_folder().glob("names/*") if NAME.fullmatch(file.name)]
    return {file.name: file.read_text().strip() for file in files}


def _default() -> Kernel | None:
    """The kernel that is meant if no name is given."""
    try:
        hashed = (kernels_folder() / "default").read_text().strip()
    except OSError:
        return None
    name = next((name for name, meant in sorted(_names().items()) if meant == hashed), "")
    return kept_kernel(hashed, name)


def _hashes() -> list[str]:
    """Hashes of all kernels."""
    return sorted(file.parent.name for file in kernels_folder().glob("*/kernel.json"))
