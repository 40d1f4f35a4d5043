"""WebAssembly modules that go wrong: one message each, and the other cell has its right digest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import dumbbell
from tests.plugins.test_bad import TEXT, fails, refused
from tests.plugins.wasm import CWND, SND_UNA, module

#: The window, in `cong_avoid`.
_WINDOW = "local.get 2"
#: What a hook does, and the words of the message.
IN_HOOKS = {
    "loop": ("loop br 0 end", "cong_avoid: it did not return within 100000000 instructions"),
    "memory": (
        "loop i32.const 16 memory.grow 0 drop br 0 end",
        r"it asked for \d+ bytes of memory; allowed are 16777216",
    ),
    "trap": ("unreachable", "cong_avoid: it reached an instruction unreachable"),
    "division": ("i32.const 1 i32.const 0 i32.div_s drop", "integer divide by zero"),
    "address": ("i32.const -64 i32.load 0 drop", "an address outside of its memory"),
    "write": ("i32.const -64 i32.const 1 i32.store 0", "an address outside of its memory"),
    "recursion": (
        "local.get 0 local.get 1 local.get 2 local.get 3 call 3 drop",
        "it used more than 524288 bytes of stack",
    ),
    "no function": ("i32.const 99 call_indirect 0 0 drop", "undefined element"),
    "other function": ("i32.const 1 call_indirect 3 0", "indirect call type mismatch"),
    "zero": (f"{_WINDOW} i32.const 0 i32.store {CWND} i32.const 0 return", "cwnd is 0; allowed"),
    "huge": (f"{_WINDOW} i32.const -1 i32.store {CWND} i32.const 0 return", "cwnd is 4294967295"),
    "returns": ("i32.const 5 return", "cong_avoid: it returned 5"),
}


@pytest.mark.parametrize("name", IN_HOOKS)
def test_a_module_that_goes_wrong_fails_its_run_alone(name: str, tmp_path: Path) -> None:
    does, text = IN_HOOKS[name]
    (tmp_path / "bad.wasm").write_bytes(module(does))
    fails(tmp_path / "bad.wasm", tmp_path, text)


#: Modules that cannot be used, and the words of the message.
MODULES: dict[str, tuple[dict[str, Any], str]] = {
    "import": (
        {"imports": ("env", "clock")},
        r"it imports env\.clock; a plug-in may import nothing",
    ),
    "system": (
        {"imports": ("wasi_snapshot_preview1", "random_get")},
        r"it imports wasi_snapshot_preview1\.random_get",
    ),
    "memory": ({"exports": ["__indirect_function_table"]}, "it exports no memory"),
    "table": ({"exports": ["memory"]}, "no __indirect_function_table; link it with --export-table"),
    "function": (
        {"exports": ["memory", "__indirect_function_table"]},
        "it exports no function dumbbell_cc_v1",
    ),
    "pages": ({"pages": 300}, "its memory has 19660800 bytes; allowed are 16777216"),
    "old": ({"abi": 0}, "its table has version 0; this Dumbbell has 1"),
    "new": ({"abi": 99}, "its table has version 99"),
    "size": ({"size": 8}, "its table has 8 bytes; version 1 has 116"),
    "nothing": ({"table_at": 0}, "dumbbell_cc_v1 returns no table"),
    "outside": ({"table_at": 65_532}, "its table is outside of its memory"),
    "far": ({"table_at": -4}, "its table is outside of its memory"),
    "without": ({"cong_avoid": 0}, "its table has no cong_avoid or cong_control"),
    "number": ({"cong_avoid": 1000}, "its cong_avoid is no function"),
    "arguments": ({"cong_avoid": 1}, r"its cong_avoid has other arguments than in dumbbell_cc\.h"),
    "start": ({"start": "unreachable"}, "its start: it reached an instruction unreachable"),
    "endless": ({"start": "loop br 0 end"}, "its start: it did not return within 100000000"),
    "vectors": (
        {"does": "i32.const 0 vector 15 drop"},
        "it is no WebAssembly module that can be run: .*SIMD",
    ),
}


@pytest.mark.parametrize("name", MODULES)
def test_a_module_that_cannot_be_used_is_refused_before_a_run(name: str, tmp_path: Path) -> None:
    options, text = MODULES[name]
    (tmp_path / "bad.wasm").write_bytes(module(**options))
    refused(tmp_path / "bad.wasm", tmp_path, text)


def test_a_file_that_is_no_module_is_refused(tmp_path: Path) -> None:
    good = module()
    for number, data in enumerate([b"", b"hello", good[:4], good[:60], good[:-1], good + b"\xff"]):
        file = tmp_path / f"{number}.wasm"
        file.write_bytes(data)
        refused(file, tmp_path, "it is no WebAssembly module that can be run")


def delivered(tmp_path: Path, does: str, parameters: str = "{}") -> int:
    """Bytes that a module delivers in the cell of its own."""
    (tmp_path / "bad.wasm").write_bytes(module(does))
    path = tmp_path / "good.yaml"
    text = TEXT.replace("FILE", f"{{file: bad.wasm, parameters: {parameters}}}")
    path.write_text(text.replace(", reno]", "]"), encoding="utf-8")
    return int(dumbbell.run(path).flows["delivered_bytes"].sum())


def test_what_is_not_a_number_has_one_form(tmp_path: Path) -> None:
    """0/0 is 0x7ff8000000000000 on every processor; that of x86 has a sign."""
    zeros = "f64.const 0 f64.const 0 f64.div i64.reinterpret_f64"
    does = f"{zeros} i64.const {0x7FF8 << 48} i64.ne if i32.const 7 return end"
    assert delivered(tmp_path, does) == delivered(tmp_path, "") > 0


def test_parameters_and_state_lie_in_added_memory(tmp_path: Path) -> None:
    """Many names need several pages; the window still grows as without them."""
    names = ", ".join(f"{'x' * 30}{number}: {number}" for number in range(60))
    assert delivered(tmp_path, "", f"{{{names}}}") == delivered(tmp_path, "")


def test_flows_share_no_memory(tmp_path: Path) -> None:
    """Each of two flows keeps `snd_una` at one address, and fails if it finds a larger one."""
    una = f"local.get 1 i64.load {SND_UNA}"
    falls = f"{una} i32.const 4096 i64.load 0 i64.lt_u if i32.const 7 return end"
    does = f"{falls} i32.const 4096 {una} i64.store 0"
    late = "flows: [{name: late, from: s1, to: d1, tcp: $cc, start: 1 s}, "
    (tmp_path / "bad.wasm").write_bytes(module(does))
    text = TEXT.replace("FILE", "bad.wasm").replace(", reno]", "]").replace("flows: [", late)
    (tmp_path / "two.yaml").write_text(text, encoding="utf-8")
    assert dumbbell.run(tmp_path / "two.yaml").flows["delivered_bytes"].min() > 0
