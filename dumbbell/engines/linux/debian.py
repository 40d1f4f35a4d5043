"""Archives of Debian's packages `linux-source-*`: installed, or fetched by apt."""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path

from dumbbell.codes import Code
from dumbbell.engines.linux.apt import SYSTEM, Apt, apt_of_suite
from dumbbell.engines.linux.process import run, said
from dumbbell.errors import EngineError
from dumbbell.files.whole import write_file

PACKAGE = "linux-source-6.12"
"""Package of the default kernel, whose TCP is that of the default profile."""
SYSTEM_SOURCES = Path("/usr/src")
FURTHER_SUITES = ("trixie", "trixie-backports", "sid")
"""Suites that are asked for a release that the system's own lists do not have."""
_PACKAGE = re.compile(r"linux-source-[0-9][0-9A-Za-z.+-]{0,31}")

#: Folders whose code User-Mode Linux never compiles: two thirds of the files of an archive. Their
#: Kconfig and Makefiles are read.
_OTHER_PROCESSORS = (
    "alpha", "arc", "arm", "arm64", "csky", "hexagon", "ia64", "loongarch", "m68k", "microblaze",
    "mips", "nios2", "openrisc", "parisc", "powerpc", "riscv", "s390", "sh", "sparc", "xtensa",
)  # fmt: skip
_OTHER_DEVICES = (
    "accel", "ata", "bluetooth", "clk", "comedi", "counter", "cpufreq", "crypto", "devfreq", "dma",
    "edac", "extcon", "firewire", "fpga", "gpio", "gpu", "greybus", "hwmon", "hwtracing",
    "i2c", "iio", "infiniband", "interconnect", "irqchip", "isdn", "leds", "media",
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


@dataclass(frozen=True, slots=True)
class Archive:
    """The archive inside a package of Debian's.

    Attributes:
        package: Its name, as `linux-source-6.12`.
        version: Version of the package.
        size: Size of the archive in bytes.
        sha256: SHA-256 of the archive.
        path: The archive; None if it must be fetched.
        apt: Where it is fetched from.
    """

    package: str
    version: str
    size: int
    sha256: str
    path: Path | None
    apt: Apt = SYSTEM

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
            path = _download(self.package, self.version, self.apt, folder.parent, log)
            if _sha256(path) != self.sha256:
                raise EngineError(
                    f"{self.label}: the archive is another one than before", code=Code.KERNEL_SOURCE
                )
        folder.mkdir()
        left_out = [] if whole else [f"--exclude={pattern}" for pattern in _LEFT_OUT]
        unpacker = "--use-compress-program=xz -T0"  # since xz 5.4 all cores decompress
        command = ["tar", unpacker, "-xf", os.fspath(path), "--strip-components=1", *left_out]
        if run(command, folder, log) != 0:
            raise EngineError(f"{path}: cannot be unpacked; see {log}", code=Code.KERNEL_SOURCE)


@dataclass(frozen=True, slots=True)
class Package:
    """Package of Debian's that a kernel is to be built from.

    Attributes:
        name: As `linux-source-6.12`; None: :data:`PACKAGE`, or the newest that is installed if
            no list has it.
        suite: Suite to take it from; None: the system's, then :data:`FURTHER_SUITES`.

    Raises:
        EngineError: The name is no package of kernel sources.
    """

    name: str | None = None
    suite: str | None = None

    def __post_init__(self) -> None:
        if self.name is not None and not _PACKAGE.fullmatch(self.name):
            raise EngineError(
                f"{self.name}: no package of kernel sources, as linux-source-6.12",
                code=Code.KERNEL_SOURCE,
            )

    def known(self, root: Path) -> Archive | None:
        """The installed archive, or the one that would be fetched if it was fetched before.

        Args:
            root: Folder of kernels.
        """
        name = self.name or PACKAGE
        installed = SYSTEM_SOURCES / f"{name}.tar.xz"
        if self.suite is None and installed.exists():
            return _installed(installed)
        apt, version = self._candidate(root, root / "apt.log")
        if version is None:
            return _newest_installed() if self.name is None else None
        try:
            noted = json.loads(_record(root, name, version).read_text())
            return Archive(name, version, noted["size"], noted["sha256"], None, apt)
        except (OSError, ValueError, KeyError):
            return None

    def fetched(self, root: Path, folder: Path, log: Path) -> Archive:
        """Fetches the package into `folder`, without installing it.

        Args:
            root: Folder of kernels, in which is noted what was fetched.
            folder: Where to.
            log: File to which the output of programs is appended.

        Raises:
            EngineError: It cannot be fetched.
        """
        name = self.name or PACKAGE
        apt, version = self._candidate(root, log)
        if version is None and not apt.suite and os.geteuid() == 0:
            apt.update(folder, log)
            version = apt.candidate(name)
        if version is None:
            raise EngineError(self._unknown(name), code=Code.KERNEL_SOURCE)
        path = _download(name, version, apt, folder, log)
        archive = _archive(name, version, path, apt)
        record = _record(root, name, version)
        record.parent.mkdir(parents=True, exist_ok=True)
        noted = json.dumps({"size": archive.size, "sha256": archive.sha256})
        write_file(record, noted.encode(), sync=False)
        return archive

    def _candidate(self, root: Path, log: Path) -> tuple[Apt, str | None]:
        """The apt that knows the package, and the version that it would fetch."""
        name = self.name or PACKAGE
        if self.suite is not None:
            apt = apt_of_suite(self.suite, root / "apt", log)
            return apt, apt.candidate(name)
        version = SYSTEM.candidate(name)
        if version is not None or (self.name is None and _newest_installed() is not None):
            return SYSTEM, version
        for suite in FURTHER_SUITES:
            try:
                apt = apt_of_suite(suite, root / "apt", log)
            except EngineError:
                continue  # a machine without this mirror: the message of the caller says so
            version = apt.candidate(name)
            if version is not None:
                return apt, version
        return SYSTEM, None

    def _unknown(self, name: str) -> str:
        """Message for a package that no list has."""
        if self.suite is not None:
            return f"{name}: not in the suite {self.suite}; or give a tree: --source TREE"
        return (
            f"no source of a kernel: the package {name} is unknown to apt and to the suites "
            f"{', '.join(FURTHER_SUITES)} (apt-get update, as root, renews its lists); or give a "
            "tree: --source TREE"
        )


def _newest_installed() -> Archive | None:
    found = sorted(SYSTEM_SOURCES.glob("linux-source-*.tar.xz"), key=_by_version)
    return _installed(found[-1]) if found else None


def _installed(path: Path) -> Archive:
    package = path.name.removesuffix(".tar.xz")
    version = said(["dpkg-query", "--show", "--showformat=${Version}", package])
    return _archive(package, version or "of unknown version", path)


def _archive(package: str, version: str, path: Path, apt: Apt = SYSTEM) -> Archive:
    return Archive(package, version, path.stat().st_size, _sha256(path), path, apt)


def _download(package: str, version: str, apt: Apt, folder: Path, log: Path) -> Path:
    """The archive inside a package, fetched into `folder`."""
    file = apt.download(package, version, folder, log)
    if file is None:
        raise EngineError(
            f"{package} {version} cannot be fetched (old lists? apt-get update, as root, renews "
            f"them); see {log}; or give a tree: --source TREE",
            code=Code.KERNEL_SOURCE,
        )
    inside = folder / "package"
    if run(["dpkg-deb", "-x", file, inside], folder, log) != 0:
        raise EngineError(f"{file.name}: cannot be unpacked; see {log}", code=Code.KERNEL_SOURCE)
    file.unlink()
    found = list(inside.glob("usr/src/linux-source-*.tar.xz"))
    if not found:
        raise EngineError(
            f"{package} {version}: no usr/src/linux-source-*.tar.xz in it", code=Code.KERNEL_SOURCE
        )
    return found[0]


def _record(root: Path, package: str, version: str) -> Path:
    return root / "sources" / f"{package}_{version}.json"


def _by_version(path: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", path.name)]


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
