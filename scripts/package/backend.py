"""Build backend (PEP 517): maturin's, after the guest's program and the links to data are there.

An archive of the sources holds no links: they are made here.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import maturin
from maturin import (
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

_ROOT = Path(__file__).resolve().parents[2]
#: Link in the package → folder of the checkout.
_FOLDERS = {
    "_docs": "docs",
    "_examples": "examples",
    "_kernel": "kernel",
    "_plugin": "crates/plugin",
    "_studies": "studies",
}


def _prepare() -> None:
    """Makes what the package holds beside its modules."""
    for name, folder in _FOLDERS.items():
        link = _ROOT / "dumbbell" / name
        if not link.is_dir():
            link.symlink_to(Path("..") / folder)
    subprocess.run(["bash", "scripts/build-guest.sh"], cwd=_ROOT, check=True)


def build_wheel(
    wheel_directory: str,
    config_settings: Mapping[str, Any] | None = None,
    metadata_directory: str | None = None,
) -> str:
    """Builds a wheel; PEP 517."""
    _prepare()
    return str(maturin.build_wheel(wheel_directory, config_settings, metadata_directory))


def build_editable(
    wheel_directory: str,
    config_settings: Mapping[str, Any] | None = None,
    metadata_directory: str | None = None,
) -> str:
    """Builds a wheel that refers to this folder; PEP 660."""
    _prepare()
    return str(maturin.build_editable(wheel_directory, config_settings, metadata_directory))
