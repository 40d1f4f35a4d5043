"""Reason of a guest's death: the line of its console before the stack trace."""

from __future__ import annotations

import re
from collections.abc import Sequence

_PANIC = re.compile(r"Kernel panic - not syncing: (?P<why>.+)")
_OF_REGISTERS = re.compile(
    r"ptrace set fp regs failed|(?:put|get)_fp_registers (?:returned|failed)"
)
_WITHOUT_MEMORY = re.compile(
    r"(?:Out of memory|No space left on device|Bus error).*", re.IGNORECASE
)
_FULL_MEMORY = re.compile(r"deadlocked on memory|Out of memory", re.IGNORECASE)
_OF_PROGRAM = re.compile(r"dumbbell: (?P<why>.+)")
_CLOCK = re.compile(r"^\[ *\d+\.\d+\] ")
_SHOWN = 200


def is_of_registers(console: Sequence[str]) -> bool:
    """Could the kernel not write the processor's floating-point registers?"""
    return any(_OF_REGISTERS.search(line) for line in console)


def is_of_memory(console: Sequence[str]) -> bool:
    """Returns true if the guest's memory was full."""
    return any(_FULL_MEMORY.search(line) for line in console)


def cause(console: Sequence[str]) -> str | None:
    """The first line that says why a guest died; None if none does.

    A panic comes last and names what happened; what User-Mode Linux says of ptrace comes before it
    and names why.
    """
    for pattern in (_OF_REGISTERS, _PANIC, _WITHOUT_MEMORY, _OF_PROGRAM):
        for line in console:
            found = pattern.search(line)
            if found is not None:
                said = _CLOCK.sub("", line) if pattern is _OF_REGISTERS else found[0]
                return said.strip()[:_SHOWN]
    return None
