"""apt: packages of the suites that the system is configured with, and of other suites of Debian.

Another suite has a list, an index and a cache of its own below the cache of kernels, so that the
system's configuration stays as it is and no root is needed (apt.conf(5), `Dir::Etc::sourcelist`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from dumbbell.codes import Code
from dumbbell.engines.linux.process import run, said
from dumbbell.errors import EngineError

_SUITE = re.compile(r"[a-z][a-z0-9.-]{0,63}")
_KEYS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_NO_MIRROR = "apt has no list of Debian's main archive, so no other suite of it is known"


@dataclass(frozen=True, slots=True)
class Apt:
    """apt with some options.

    Attributes:
        suite: Suite whose packages it knows; empty: those that the system is configured with.
        options: Options before each command.
    """

    suite: str = ""
    options: tuple[str, ...] = ()

    def candidate(self, package: str) -> str | None:
        """Version of the package that apt would fetch; None if it knows none."""
        command = ["apt-cache", *self.options, "show", "--no-all-versions", package]
        found = re.search(r"^Version: (\S+)$", said(command) or "", re.MULTILINE)
        return found[1] if found else None

    def update(self, folder: Path, log: Path) -> bool:
        """Renews the lists of packages; returns true if that succeeded."""
        return run(["apt-get", *self.options, "update"], folder, log) == 0

    def download(self, package: str, version: str, folder: Path, log: Path) -> Path | None:
        """Fetches a package into `folder`; returns its file, or None if that failed."""
        command = ["apt-get", *self.options, "download", f"{package}={version}"]
        code = run(command, folder, log)
        files = list(folder.glob(f"{package}_*.deb"))
        return files[0] if code == 0 and files else None


def apt_of_suite(suite: str, root: Path, log: Path) -> Apt:
    """apt that knows one suite of Debian, from the mirror that the system is configured with.

    Args:
        suite: Name, as `trixie-backports`.
        root: Folder in which the lists are kept.
        log: File to which the output of programs is appended.

    Raises:
        EngineError: The name is no suite of that mirror, or the mirror cannot be reached.
    """
    if not _SUITE.fullmatch(suite):
        raise EngineError(
            f"--suite {suite}: a suite of Debian, as trixie-backports or sid",
            code=Code.KERNEL_SOURCE,
        )
    folder = root / suite
    for made in ("lists/partial", "cache/archives/partial"):
        (folder / made).mkdir(parents=True, exist_ok=True)
    keys = f" [signed-by={_KEYS}]" if _KEYS.is_file() else ""
    listed = f"deb{keys} {_mirror()} {suite} main\n"
    (folder / "sources.list").write_text(listed, encoding="utf-8")
    settings = {
        "Dir::Etc::sourcelist": folder / "sources.list",
        "Dir::Etc::sourceparts": "/nonexistent",
        "Dir::State::lists": folder / "lists",
        "Dir::Cache": folder / "cache",
        "APT::Update::Error-Mode": "any",
    }
    apt = Apt(
        suite, tuple(part for item in settings.items() for part in ("-o", "=".join(map(str, item))))
    )
    if not apt.update(folder, log):
        raise EngineError(
            f"--suite {suite}: apt cannot read its list of packages; see {log}",
            code=Code.KERNEL_SOURCE,
        )
    return apt


def _mirror() -> str:
    """Address of Debian's main archive in the system's configuration."""
    command = ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"]
    addresses = (said(command) or "").split()
    for address in addresses:
        if re.search(r"/debian/?$", address):
            return address
    raise EngineError(f"{_NO_MIRROR}; give a tree: --source TREE", code=Code.KERNEL_SOURCE)


SYSTEM = Apt()
"""apt as the system is configured."""
