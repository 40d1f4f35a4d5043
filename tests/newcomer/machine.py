"""The machine of a newcomer: a virtual environment with the wheel, an empty home, no Rust."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import sysconfig
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.helpers import ROOT

#: With this variable the packages that the wheel needs come from the package index; else those that
#: this Python has are lent.
FROM_INDEX = "DUMBBELL_NEWCOMER_INDEX"
#: Folders of the kernels of whoever runs the tests, and of the newcomer.
_KERNELS = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dumbbell" / "kernels"
#: Extras that the README installs.
_EXTRAS = "query,explore"
_HIDDEN = ("cargo", "rustc", "rustup", "maturin")


@dataclass(frozen=True, slots=True)
class Machine:
    """Attributes:
    venv: Virtual environment with the wheel.
    home: Home folder.
    """

    venv: Path
    home: Path

    @property
    def environment(self) -> dict[str, str]:
        path = (self.home / "hidden", self.venv / "bin", "/usr/local/bin", "/usr/bin", "/bin")
        return {
            "HOME": str(self.home),
            "PATH": os.pathsep.join(map(str, (*path, "/usr/sbin", "/sbin"))),
            "LANG": "C.UTF-8",
            "TMPDIR": tempfile.gettempdir(),
        }

    def run(self, command: str, folder: Path) -> subprocess.CompletedProcess[str]:
        """Types a command into a shell. Standard input is none."""
        return subprocess.run(
            ["bash", "-euc", command],
            cwd=folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=600,
        )

    def python(self, text: str, folder: Path) -> str:
        """What a program in Python prints."""
        program = [str(self.venv / "bin" / "python"), "-c", text]
        done = subprocess.run(
            program, cwd=folder, env=self.environment, capture_output=True, text=True, timeout=600
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


def wheel(folder: Path) -> Path:
    """A wheel of these sources: of `dist/` if it is newer than all of them, else a new one."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "dumbbell", "crates", "kernel", "studies", "examples",
         "Cargo.toml", "Cargo.lock", "pyproject.toml", "README.md"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    sources = [ROOT / name for name in listed.split("\0") if name]
    newest = max(path.stat().st_mtime for path in sources if path.is_file())
    for found in sorted((ROOT / "dist").glob(f"dumbbell_lab-*_{platform.machine()}.whl")):
        if found.stat().st_mtime > newest:
            return found
    build = [str(Path(sys.executable).with_name("maturin")), "build", "--release", "--quiet"]
    python = str(Path(sys.executable).absolute())
    subprocess.run(
        [*build, "--auditwheel", "skip", "--interpreter", python, "--out", str(folder)],
        cwd=ROOT,
        env={**os.environ, "PYO3_PYTHON": python},
        check=True,
    )
    (built,) = folder.glob("*.whl")
    return built


def machine(folder: Path, archive: Path) -> Machine:
    """A fresh machine with a wheel installed."""
    venv, home = folder / "venv", folder / "home"
    from_index = bool(os.environ.get(FROM_INDEX))
    subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    alone = [] if from_index else ["--no-index", "--no-deps"]
    wanted = f"{archive}[{_EXTRAS}]"
    pip = [str(venv / "bin" / "python"), "-m", "pip", "install", "--quiet", *alone, wanted]
    subprocess.run([*pip, "--disable-pip-version-check"], check=True)
    if not from_index:
        (packages,) = venv.glob("lib/python*/site-packages")
        (packages / "lent.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    hidden = home / "hidden"
    hidden.mkdir(parents=True)
    for name in _HIDDEN:
        (hidden / name).write_text(f"#!/bin/sh\necho '{name}: not installed' >&2\nexit 127\n")
        (hidden / name).chmod(0o755)
    if _KERNELS.is_dir():
        cache = home / ".cache" / "dumbbell"
        cache.mkdir(parents=True)
        (cache / "kernels").symlink_to(_KERNELS)
    return Machine(venv, home)
