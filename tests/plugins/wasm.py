"""A small assembler for WebAssembly modules that are congestion controls."""

from __future__ import annotations

import struct
from collections.abc import Iterable

#: Instructions, and the number of their immediate operands.
OPCODES = {
    "unreachable": (0x00, 0), "loop": (0x03, 0), "if": (0x04, 0), "end": (0x0B, 0), "br": (0x0C, 1),
    "return": (0x0F, 0), "call": (0x10, 1), "call_indirect": (0x11, 2), "drop": (0x1A, 0),
    "local.get": (0x20, 1), "i32.load": (0x28, 1), "i64.load": (0x29, 1), "i32.store": (0x36, 1),
    "i64.store": (0x37, 1), "memory.grow": (0x40, 1), "i32.const": (0x41, 1),
    "i64.const": (0x42, 1), "f64.const": (0x44, 1), "i64.ne": (0x52, 0), "i64.lt_u": (0x54, 0),
    "i64.ge_u": (0x5A, 0), "i32.add": (0x6A, 0), "i32.div_s": (0x6D, 0), "i32.shr_u": (0x76, 0),
    "f64.div": (0xA3, 0), "i64.reinterpret_f64": (0xBD, 0), "vector": (0xFD, 1),
}  # fmt: skip
BLOCKS = {"loop", "if"}
#: Offsets in `struct dumbbell_conn` and `struct dumbbell_window`.
NOW_MS, SND_UNA, CWND = 8, 24, 16
#: Address of the table, and of its name behind it.
TABLE, NAME = 1024, 1280
#: Functions of the table in front of `cong_avoid`: the others of `dumbbell_cc.h` are 0.
CREATE, SSTHRESH, CONG_AVOID, HOOKS = 0, 6, 7, 22
_I32, _FUNCTION = 0x7F, 0x60


def number(value: int) -> bytes:
    """A number in LEB128, signed; whole numbers from 0 to 63 are the same without a sign."""
    data = bytearray()
    while True:
        byte, value = value & 0x7F, value >> 7
        if value == (-1 if byte & 0x40 else 0):
            return bytes([*data, byte])
        data.append(byte | 0x80)


def count(value: int) -> bytes:
    """A number in LEB128, not signed."""
    data = bytearray()
    while value > 0x7F:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*data, value])


def several(parts: Iterable[bytes]) -> bytes:
    """A vector: the number of its parts, and these."""
    found = list(parts)
    return count(len(found)) + b"".join(found)


def sized(data: bytes) -> bytes:
    """Bytes behind their number."""
    return count(len(data)) + data


def code(text: str) -> bytes:
    """Instructions from text. Loads and stores have an offset; `loop` and `if` have no result."""
    words, data = iter(text.split()), bytearray()
    for word in words:
        opcode, operands = OPCODES[word]
        data.append(opcode)
        if word in BLOCKS:
            data.append(0x40)
        if ".load" in word or ".store" in word:
            data.append(2)
        for operand in (next(words) for _ in range(operands)):
            if word == "f64.const":
                data += struct.pack("<d", float(operand))
            else:
                data += number(int(operand)) if ".const" in word else count(int(operand))
    return bytes(data)


def module(
    does: str = "",
    *,
    abi: int = 1,
    size: int = 116,
    table_at: int = TABLE,
    imports: tuple[str, str] | None = None,
    exports: Iterable[str] = ("memory", "__indirect_function_table", "dumbbell_cc_v1"),
    pages: int = 1,
    start: str | None = None,
    cong_avoid: int = 3,
) -> bytes:
    """A module whose window grows by one packet per ACK.

    Functions: 0 `dumbbell_cc_v1`, 1 `create`, 2 `ssthresh`, 3 `cong_avoid`, 4 the start function.
    An import shifts these numbers: such a module is refused before they are used.

    Args:
        does: Instructions of `cong_avoid` from 100 ms on.
        abi: Version of the table.
        size: Size that the table states, bytes.
        table_at: Address that `dumbbell_cc_v1` returns.
        imports: Module and name of an imported function.
        exports: Names that are exported.
        pages: Pages of memory.
        start: Instructions that are executed at first.
        cong_avoid: Index of the function that the table names as `cong_avoid`.
    """
    types = [(0, 1), (2, 1), (4, 1), (0, 0)]
    bodies = [
        (0, f"i32.const {table_at}"),
        (1, "i32.const 0"),
        (2, f"local.get 3 local.get 2 i32.load {CWND} i32.const 1 i32.shr_u i32.const 2 i32.add "
            "i32.store 0 i32.const 0"),
        (2, f"local.get 1 i64.load {NOW_MS} i64.const 100 i64.ge_u if {does} end local.get 2 "
            f"local.get 2 i32.load {CWND} i32.const 1 i32.add i32.store {CWND} i32.const 0"),
        (3, start or ""),
    ]  # fmt: skip
    hooks = [0] * HOOKS
    hooks[CREATE], hooks[SSTHRESH], hooks[CONG_AVOID] = 1, 2, cong_avoid
    words = [abi, size, NAME, 0, 8, 8, 0, *hooks]
    data = struct.pack(f"<{len(words)}I", *words).ljust(NAME - TABLE, b"\0") + b"bad\0"
    kinds = {"memory": b"\2\0", "__indirect_function_table": b"\1\0", "dumbbell_cc_v1": b"\0\0"}
    name = [sized(one.encode()) for one in imports or ()]
    sections = {
        1: several(
            bytes([_FUNCTION])
            + several([bytes([_I32])] * inputs)
            + several([bytes([_I32])] * outputs)
            for inputs, outputs in types
        ),
        2: several([b"".join(name) + b"\0\0"] if imports else []),
        3: several(count(kind) for kind, _ in bodies),
        4: several([b"\x70\0" + count(len(bodies))]),
        5: several([b"\0" + count(pages)]),
        7: several(sized(one.encode()) + kinds[one] for one in exports),
        8: count(4) if start else b"",
        9: several([b"\0" + code("i32.const 0 end") + several(map(count, range(len(bodies))))]),
        10: several(sized(b"\0" + code(f"{body} end")) for _, body in bodies),
        11: several([b"\0" + code(f"i32.const {TABLE} end") + sized(data)]),
    }
    parts = (bytes([at]) + sized(part) for at, part in sections.items() if part)
    return b"\0asm\1\0\0\0" + b"".join(parts)
