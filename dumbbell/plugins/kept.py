"""Copies of plug-ins by their content. A run names content, so a store can be run again later."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

from dumbbell.files.cache import cache_folder
from dumbbell.files.input import read_file
from dumbbell.plugins.module import module_text
from dumbbell.plugins.unusable import UnusableError

#: Largest file of a plug-in, bytes.
MOST_BYTES = 256 << 20
#: Kinds of plug-ins by the end of their file's name.
KINDS = (".so", ".wasm", ".py", ".onnx", ".c")


def keep(path: Path, name: str) -> tuple[str, Path]:
    """Copies a plug-in to the cache. Returns the SHA-256 of its content, and the copy.

    Headers beside a module of Linux are part of its content. A Python file may declare several
    classes: its name decides, and is hashed behind the content.

    Raises:
        UnusableError: The file cannot be a plug-in.
        OSError: It cannot be read, or the copy cannot be written.
    """
    if path.suffix not in KINDS:
        raise UnusableError(f"a file that ends with {', '.join(KINDS)} is needed")
    data = module_text(path) if path.suffix == ".c" else read_file(path, MOST_BYTES)
    chosen = b"\0" + name.encode() if path.suffix == ".py" else b""
    sha256 = hashlib.sha256(data + chosen).hexdigest()
    copy = _place(sha256, path.suffix)
    if not copy.exists():
        copy.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=copy.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(temporary).replace(copy)
    return sha256, copy


def kept(sha256: str) -> Path:
    """Copy of the plug-in with this content. Raises `UnusableError` if there is none."""
    for suffix in KINDS:
        if (copy := _place(sha256, suffix)).exists():
            return copy
    raise UnusableError(
        f"its file (SHA-256 {sha256[:12]}…) is not on this machine; validate the experiment file "
        "here once, with the plug-in beside it"
    )


def _place(sha256: str, suffix: str) -> Path:
    return cache_folder("plugins") / f"{sha256}{suffix}"
