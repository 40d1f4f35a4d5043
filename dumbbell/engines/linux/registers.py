"""The area in which a guest keeps the host's floating-point registers.

User-Mode Linux reads and writes the registers of its programs with ptrace (NT_X86_XSTATE). The
host refuses to write less than its whole XSAVE state. The processor decides its size: 832 bytes
with AVX2, 2696 with AVX-512 and protection keys, 11008 with AMX. A kernel with a smaller area
cannot start a program.
"""

from __future__ import annotations

import re
import subprocess
from functools import lru_cache
from pathlib import Path

from dumbbell.codes import Code
from dumbbell.engines.linux.guest import guest_program
from dumbbell.errors import EngineError

#: The least that a kernel is built with. It holds AMX, so that one kernel serves most processors.
AREA_BYTES = 12288
#: The option that `kernel/patches/0004-host-register-area.patch` adds.
OPTION = "CONFIG_HOST_FP_BYTES"
#: Where Linux declares the option once it is patched.
OPTION_FILE = "arch/x86/um/Kconfig"
_STEP_BYTES = 4096
_UNPATCHED_BYTES = 2696
_SIZED_BY_HOST_SINCE = (6, 13)


@lru_cache(maxsize=1)
def needed_bytes() -> int:
    """Bytes of this processor's XSAVE state with all that the host has enabled; 0: it has none.

    CPUID leaf 0xD, sub-leaf 0, EBX (Intel SDM vol. 1, 13.2). Raises `EngineError` if the guest's
    program is missing.
    """
    command = [str(guest_program()), "register-bytes"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(done.stdout)


def area_bytes(needed: int) -> int:
    """Bytes of the area to build a kernel with, for a processor that needs so many."""
    return max(AREA_BYTES, -(-needed // _STEP_BYTES) * _STEP_BYTES)


def held_bytes(version: str, options: str) -> int | None:
    """Bytes that a kernel holds; None: as many as its host has.

    Args:
        version: Of the kernel, as `6.1.192`.
        options: The text of its configuration.
    """
    given = re.search(rf"^{OPTION}=(\d+)$", options, re.MULTILINE)
    if given is not None:
        return int(given[1])
    numbers = tuple(int(number) for number in re.findall(r"\d+", version)[:2])
    return None if numbers >= _SIZED_BY_HOST_SINCE else _UNPATCHED_BYTES


def misfit(version: str, options: str, needed: int) -> str | None:
    """Reason why a kernel cannot run on a processor that needs so many bytes; None if it can."""
    held = held_bytes(version, options)
    if held is None or held >= needed:
        return None
    return (
        f"Linux {version} cannot run on this processor: its registers (XSAVE) take {needed} bytes, "
        f"and the kernel holds {held}; build one that fits with: dumbbell kernel build"
    )


def check_fit(version: str, config: Path) -> None:
    """Checks that a kernel holds the registers of this processor.

    Args:
        version: Of the kernel.
        config: The file with its options; one that is missing counts as empty.

    Raises:
        EngineError: It does not; with both sizes.
    """
    why = misfit(version, _options(config), needed_bytes())
    if why is not None:
        raise EngineError(why, code=Code.GUEST)


def sizes(version: str, config: Path) -> str:
    """Sentence about the registers of this processor and of a kernel."""
    held = held_bytes(version, _options(config))
    holds = "as many as it is told" if held is None else f"{held}"
    return (
        f"Linux {version} cannot write this processor's registers: XSAVE takes {needed_bytes()} "
        f"bytes, the kernel holds {holds}; try: dumbbell kernel build"
    )


def _options(config: Path) -> str:
    try:
        return config.read_text(encoding="utf-8")
    except OSError:
        return ""
