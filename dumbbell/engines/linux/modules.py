"""Modules of Linux given by the user: congestion controls that are compiled into a kernel."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from dumbbell.catalogue import congestion_controls
from dumbbell.codes import Code
from dumbbell.errors import EngineError
from dumbbell.plugins.module import module_name, module_text
from dumbbell.plugins.unusable import UnusableError

_FOLDER = Path("net/ipv4")
#: Beginning of the names of files in the tree: no file of Linux has it. A parameter of a module is
#: `cc_NAME.PARAMETER` on the kernel's command line.
PREFIX = "cc_"
_MARK = "# modules of dumbbell kernel build"
_REGISTERS = re.compile(rb"\btcp_register_congestion_control(?=\s*\()")


@dataclass(frozen=True, slots=True)
class Module:
    """A congestion control as Linux's own source.

    Attributes:
        name: As flows name it.
        text: Its source with its headers.
    """

    name: str
    text: bytes

    @property
    def sha256(self) -> str:
        """SHA-256 of the text: also the identity of the plug-in in an experiment."""
        return hashlib.sha256(self.text).hexdigest()


def read_modules(paths: Iterable[Path]) -> list[Module]:
    """Reads modules, sorted by name.

    Raises:
        EngineError: One cannot be read, or its name is taken.
    """
    found: dict[str, Module] = {}
    for path in paths:
        try:
            name, text = module_name(path), module_text(path)
        except UnusableError as error:
            raise _refused(path, str(error)) from None
        except OSError as error:
            raise _refused(path, (error.strerror or str(error)).lower()) from None
        if name in congestion_controls():
            raise _refused(path, f"Linux or Dumbbell has a {name}; name the file otherwise")
        if name in found:
            raise _refused(path, f"a module {name} is given twice")
        found[name] = Module(name, text)
    return [found[name] for name in sorted(found)]


def _refused(path: Path, message: str) -> EngineError:
    return EngineError(f"--module {path}: {message}", code=Code.KERNEL_SOURCE)


def put_modules(tree: Path, modules: Sequence[Module]) -> None:
    """Puts modules into a patched tree, in place of those that were put into it before."""
    for module in modules:
        _write(tree / _FOLDER / f"{PREFIX}{module.name}.c", _registered_by(module))
    makefile = tree / _FOLDER / "Makefile"
    own = makefile.read_bytes() if makefile.exists() else b""
    own = own.partition(f"\n{_MARK}\n".encode())[0]
    if modules:
        objects = " ".join(f"{PREFIX}{module.name}.o" for module in modules)
        own += f"\n{_MARK}\nobj-y += {objects}\n".encode()
    _write(makefile, own)


def _write(file: Path, content: bytes) -> None:
    """Writes a file if that changes it: `make` compiles what is newer."""
    if not file.exists() or file.read_bytes() != content:
        file.write_bytes(content)


def _registered_by(module: Module) -> bytes:
    """Source that registers under the module's name, whatever `.name` it has. Lines stay."""
    first = (
        "#define dumbbell_register(ops) "
        f'(strscpy((ops)->name, "{module.name}", sizeof((ops)->name)), '
        "tcp_register_congestion_control(ops))\n"
        f'#line 1 "tcp_{module.name}.c"\n'
    )
    return first.encode() + _REGISTERS.sub(b"dumbbell_register", module.text)
