"""Source of a kernel: a tree of the user's, or Debian's package."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from dumbbell.engines.linux.process import run, said
from dumbbell.errors import EngineError
from dumbbell.files.whole import write_file

PACKAGE = "linux-source-6.1"
"""Debian's package, if no source is installed."""
SYSTEM_SOURCES = Path("/usr/src")
_NEEDED = (
    "Makefile",
    "Kconfig",
    "scripts/kconfig/merge_config.sh",
    "arch/um/Kconfig",
    "arch/um/os-Linux/util.c",
    "drivers/char/random.c",
)
_PRODUCTS = (".o", ".a", ".ko", ".so", ".mod", ".order", ".symvers")
_PRODUCTS_AT_TOP = ("linux", "vmlinux", "System.map", "modules.builtin", "modules.builtin.modinfo")
_GENERATED = re.compile(r"include/(config|generated)|arch/[^/]+/include/generated")


#: Folders whose code User-Mode Linux never compiles: two thirds of the files of an archive. Their
#: Kconfig and Makefiles are read.
_OTHER_PROCESSORS = (
    "alpha", "arc", "arm", "arm64", "csky", "hexagon", "ia64", "loongarch", "m68k", "microblaze",
    "mips", "nios2", "openrisc", "parisc", "powerpc", "riscv", "s390", "sh", "sparc", "xtensa",
)  # fmt: skip
_OTHER_DEVICES = (
    "accel", "ata", "bluetooth", "clk", "comedi", "counter", "cpufreq", "crypto", "devfreq", "dma",
    "edac", "extcon", "firewire", "fpga", "gpio", "gpu", "greybus", "hwmon", "hwtracing",
    "i2c", "iio", "infiniband", "interconnect", "iommu", "irqchip", "isdn", "leds", "media",
    "memory", "message", "mfd", "misc", "mmc", "most", "mtd", "net/can", "net/dsa", "net/ethernet",
    "net/wireless", "net/wwan", "nfc", "ntb", "nvme", "nvmem", "parport", "pci", "pcmcia", "perf",
    "phy", "pinctrl", "platform", "pwm", "rapidio", "regulator", "remoteproc", "s390", "scsi",
    "soc", "soundwire", "spi", "staging", "target", "tee", "thunderbolt", "ufs", "usb", "vfio",
    "w1", "watchdog",
)  # fmt: skip
_LEFT_OUT = (
    *(f"*/arch/{name}/*.{end}" for name in _OTHER_PROCESSORS for end in ("[chS]", "dts*")),
    *(f"*/drivers/{name}/*.[chS]" for name in _OTHER_DEVICES),
    "*/sound/*.[ch]",
    "*/Documentation/*.rst",
    "*/Documentation/*.yaml",
    "*/Documentation/*.txt",
    "*/tools/perf",
    "*/tools/testing",
)


class Source(Protocol):
    """Something that a kernel can be built from."""

    @property
    def label(self) -> str:
        """Name for people."""

    @property
    def identity(self) -> str:
        """Differs whenever the source does."""

    @property
    def partial(self) -> bool:
        """Can be unpacked without what User-Mode Linux does not compile."""

    def unpack(self, folder: Path, log: Path, *, whole: bool) -> None:
        """Puts the source into the new folder `folder`.

        Args:
            folder: Where to.
            log: Where everything is written that programs say.
            whole: Also what User-Mode Linux does not compile.

        Raises:
            EngineError: It cannot be obtained.
        """


class Tree:
    """A folder of the user's. It is read, never written.

    Raises:
        EngineError: It is no kernel tree.
    """

    partial = False

    def __init__(self, path: Path) -> None:
        self._path = path.resolve()
        self.label = str(self._path)
        if not path.is_dir():
            raise EngineError(f"{path}: no such folder")
        missing = [name for name in _NEEDED if not (path / name).is_file()]
        if missing:
            absent = ", no ".join(missing)
            raise EngineError(f"{path}: no source of Linux 5.19 or later: no {absent}")
        self._files = sorted(_files(os.fspath(self._path)))
        hashed = hashlib.sha256()
        for name, size, changed_ns in self._files:
            hashed.update(f"{name}\0{size}\0{changed_ns}\n".encode(errors="surrogateescape"))
        self.identity = f"tree {hashed.hexdigest()}"

    def unpack(self, folder: Path, log: Path, *, whole: bool) -> None:
        """See :class:`Source`; always whole, since somebody may have changed any part of it."""
        del log, whole
        made: set[Path] = set()
        for name, _, _ in self._files:
            target = folder / name
            if target.parent not in made:
                target.parent.mkdir(parents=True, exist_ok=True)
                made.add(target.parent)
            shutil.copy2(self._path / name, target, follow_symlinks=False)
            if not target.is_symlink():
                target.chmod(target.stat().st_mode | 0o200)  # patches change it


def _files(top: str, below: str = "") -> Iterator[tuple[str, int, int]]:
    """Path, size and time of change (ns) of each file that is neither hidden nor built."""
    with os.scandir(os.path.join(top, below)) as entries:  # noqa: PTH118 (80 000 files)
        for entry in entries:
            if entry.name.startswith("."):
                continue
            name = f"{below}/{entry.name}" if below else entry.name
            if entry.is_dir(follow_symlinks=False):
                if not _GENERATED.fullmatch(name):
                    yield from _files(top, name)
            elif not entry.name.endswith(_PRODUCTS) and name not in _PRODUCTS_AT_TOP:
                about = entry.stat(follow_symlinks=False)
                yield name, about.st_size, about.st_mtime_ns


@dataclass(frozen=True, slots=True)
class Archive:
    """The archive inside a package of Debian's.

    Attributes:
        package: Its name, as `linux-source-6.1`.
        version: Of the package.
        size: Of the archive in bytes.
        sha256: Of the archive.
        path: The archive; None if it must be fetched.
    """

    package: str
    version: str
    size: int
    sha256: str
    path: Path | None

    @property
    def partial(self) -> bool:
        """See :class:`Source`."""
        return True

    @property
    def label(self) -> str:
        """See :class:`Source`."""
        return f"{self.package} {self.version}"

    @property
    def identity(self) -> str:
        """See :class:`Source`."""
        return f"debian {self.package} {self.version} {self.size} {self.sha256}"

    def unpack(self, folder: Path, log: Path, *, whole: bool) -> None:
        """See :class:`Source`."""
        path = self.path
        if path is None:
            path = _download(self.package, self.version, folder.parent, log)
            if _sha256(path) != self.sha256:
                raise EngineError(f"{self.label}: the archive is another one than before")
        folder.mkdir()
        left_out = [] if whole else [f"--exclude={pattern}" for pattern in _LEFT_OUT]
        unpacker = "--use-compress-program=xz -T0"  # since xz 5.4 all cores decompress
        command = ["tar", unpacker, "-xf", os.fspath(path), "--strip-components=1", *left_out]
        if run(command, folder, log) != 0:
            raise EngineError(f"{path}: cannot be unpacked; see {log}")


def known_archive(records: Path) -> Archive | None:
    """The installed archive, or the one that would be fetched if it was fetched before.

    Args:
        records: Folder in which :func:`fetched_archive` notes what it fetched.
    """
    installed = sorted(SYSTEM_SOURCES.glob("linux-source-*.tar.xz"), key=_by_version)
    if installed:
        path = installed[-1]
        package = path.name.removesuffix(".tar.xz")
        version = said(["dpkg-query", "--show", "--showformat=${Version}", package])
        return _archive(package, version or "of unknown version", path)
    version = _candidate()
    if version is None:
        return None
    try:
        noted = json.loads(_record(records, version).read_text())
        return Archive(PACKAGE, version, noted["size"], noted["sha256"], None)
    except (OSError, ValueError, KeyError):
        return None


def fetched_archive(records: Path, folder: Path, log: Path) -> Archive:
    """Fetches Debian's package into `folder`, without installing it.

    Raises:
        EngineError: It cannot be had.
    """
    version = _candidate()
    if version is None and os.geteuid() == 0:
        run(["apt-get", "update"], folder, log)
        version = _candidate()
    if version is None:
        raise EngineError(
            f"no source of a kernel: the package {PACKAGE} is unknown to apt (apt-get update, as "
            "root, renews its lists); or give a tree: --source TREE"
        )
    path = _download(PACKAGE, version, folder, log)
    archive = _archive(PACKAGE, version, path)
    records.mkdir(parents=True, exist_ok=True)
    noted = json.dumps({"size": archive.size, "sha256": archive.sha256})
    write_file(_record(records, version), noted.encode(), sync=False)
    return archive


def _archive(package: str, version: str, path: Path) -> Archive:
    return Archive(package, version, path.stat().st_size, _sha256(path), path)


def _download(package: str, version: str, folder: Path, log: Path) -> Path:
    """The archive inside a package, fetched into `folder`."""
    code = run(["apt-get", "download", f"{package}={version}"], folder, log)
    packages = list(folder.glob(f"{package}_*.deb"))
    if code != 0 or not packages:
        raise EngineError(
            f"{package} {version} cannot be fetched (old lists? apt-get update, as root, renews "
            f"them); see {log}; or give a tree: --source TREE"
        )
    inside = folder / "package"
    if run(["dpkg-deb", "-x", packages[0], inside], folder, log) != 0:
        raise EngineError(f"{packages[0].name}: cannot be unpacked; see {log}")
    packages[0].unlink()
    found = list(inside.glob("usr/src/linux-source-*.tar.xz"))
    if not found:
        raise EngineError(f"{package} {version}: no usr/src/linux-source-*.tar.xz in it")
    return found[0]


def _candidate() -> str | None:
    """The version that apt would fetch."""
    shown = said(["apt-cache", "show", "--no-all-versions", PACKAGE]) or ""
    found = re.search(r"^Version: (\S+)$", shown, re.MULTILINE)
    return found[1] if found else None


def _record(records: Path, version: str) -> Path:
    return records / f"{PACKAGE}_{version}.json"


def _by_version(path: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", path.name)]


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
