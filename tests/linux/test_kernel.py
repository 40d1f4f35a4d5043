"""The one test that fails where no kernel is usable; tests marked `kernel` are skipped then."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from dumbbell.engines.linux import death, registers, trial
from dumbbell.engines.linux import kernel as built
from dumbbell.engines.linux.kernel import Kernel
from dumbbell.engines.linux.launch import GuestDied, memory_folder
from dumbbell.errors import EngineError
from tests import kernel

#: XSAVE bytes of processors in standard format (CPUID leaf 0xD, sub-leaf 0, EBX).
PROCESSORS = {
    "without XSAVE": 0,
    "AVX2": 832,
    "AVX2 and protection keys (AMD, keys at 2432)": 2440,
    "AVX-512 and protection keys": 2696,
    "AMX": 11008,
}
#: The console of a guest of Linux 6.1 on a processor that needs more than the kernel holds.
OF_REGISTERS = """\
userspace - ptrace set fp regs failed, errno = 14
Kernel panic - not syncing: Attempted to kill init! exitcode=0x0000000b
CPU: 0 PID: 1 Comm: init Not tainted 6.1.192 #1
Stack:
 fatal_sigsegv+0x20/0x30
 userspace+0x1a0/0x5d0""".splitlines()


@pytest.mark.kernel(says_why=True)
def test_a_guest_boots_and_carries_a_flow() -> None:
    assert kernel.problem() is None, f"no usable kernel: {kernel.problem()}"


@pytest.mark.parametrize("needed", PROCESSORS.values(), ids=PROCESSORS)
def test_a_kernel_built_here_holds_the_registers(needed: int) -> None:
    area = registers.area_bytes(needed)
    assert needed <= area < max(needed, registers.AREA_BYTES) + 4096
    assert area % 4096 == 0
    options = f"CONFIG_HZ=1000\n{registers.OPTION}={area}\n"
    assert registers.misfit("6.1.192", options, needed) is None


def test_one_kernel_serves_all_known_processors() -> None:
    assert {registers.area_bytes(needed) for needed in PROCESSORS.values()} == {12288}
    assert registers.area_bytes(12289) == 16384


@pytest.mark.parametrize(
    ("version", "options", "held"),
    [
        ("6.1.192", "", 2696),
        ("6.12.117", "", 2696),
        ("6.13", "", None),
        ("7.3.4", "", None),
        ("6.1.192", "CONFIG_HOST_FP_BYTES=12288\n", 12288),
    ],
)
def test_what_a_kernel_holds(version: str, options: str, held: int | None) -> None:
    assert registers.held_bytes(version, options) == held
    fits = {name: registers.misfit(version, options, n) is None for name, n in PROCESSORS.items()}
    assert fits == {name: held is None or n <= held for name, n in PROCESSORS.items()}


def test_a_kernel_of_another_machine_is_refused_with_both_sizes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config").write_text("CONFIG_HZ=1000\n")
    (tmp_path / "linux").write_text("#!/bin/false\n")
    monkeypatch.setattr(registers, "needed_bytes", lambda: PROCESSORS["AMX"])
    other = Kernel("old", "6.1.192", "0" * 32, "elsewhere", tmp_path / "linux")
    with pytest.raises(EngineError) as raised:
        trial.carry_a_flow(other)
    assert str(raised.value) == (
        "Linux 6.1.192 cannot run on this processor: its registers (XSAVE) take 11008 bytes, and "
        "the kernel holds 2696; build one that fits with: dumbbell kernel build"
    )


def test_a_kernel_with_other_patches_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    root = built.kernels_folder()
    (root / "names").mkdir(parents=True)
    added = built.carried().hashes()
    for name, digit, changed in (
        ("now", "a", {}),
        ("machine", "b", {registers.OPTION: "4096"}),
        ("mine", "c", {"given 1 my.patch": "0"}),
        ("then", "d", {"config": "0"}),
    ):
        folder = root / (digit * 32)
        folder.mkdir()
        (folder / "linux").touch()
        about = {
            "version": "6.12",
            "built_from": "x",
            "source": "debian x",
            "added": added | changed,
        }
        (folder / "kernel.json").write_text(json.dumps({**about, "added": added | changed}))
        (root / "names" / name).write_text(digit * 32)
    found = built.kernels()
    assert [kernel.name for kernel in found if kernel.outdated] == ["then"]
    assert built.outdated_note(found).endswith("to be built again: then")
    assert built.outdated_note(found[:1]) == ""


@pytest.mark.parametrize(
    ("console", "first"),
    [
        (OF_REGISTERS, "the guest died: userspace - ptrace set fp regs failed, errno = 14"),
        (OF_REGISTERS[1:], "the guest died: Kernel panic - not syncing: Attempted to kill init!"),
        (["[    1.25] Kernel panic - not syncing: x"], "the guest died: Kernel panic - not sync"),
        (["something"], "the guest died before it had finished; its console ended with:"),
    ],
)
def test_the_first_line_says_why_a_guest_died(console: list[str], first: str) -> None:
    died = GuestDied(console)
    assert str(died).startswith(first)
    assert died.of_registers == death.is_of_registers(console) == (console is OF_REGISTERS)


@pytest.mark.parametrize(
    ("flags", "megabytes", "used"),
    [(0, 12_000, True), (os.ST_NOEXEC, 12_000, False), (0, 64, False)],
    ids=["a computer's", "a container's: noexec", "a container's: 64 MB"],
)
def test_memory_of_a_guest_lies_where_it_may_execute_and_has_space(
    flags: int, megabytes: int, used: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = SimpleNamespace(f_flag=flags, f_bavail=megabytes << 8, f_frsize=4096)
    monkeypatch.setattr(os, "statvfs", lambda _: system)
    assert memory_folder(tmp_path) == str(tmp_path if used else tempfile.gettempdir())


def test_memory_of_a_guest_without_a_shared_folder(tmp_path: Path) -> None:
    assert memory_folder(tmp_path / "shm") == tempfile.gettempdir()
