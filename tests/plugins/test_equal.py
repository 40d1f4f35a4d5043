"""CUBIC as a plug-in sends the packets of the built-in, in every language."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

import dumbbell
from tests.plugins.built import EXAMPLES, ROOT, library, same_tables, wasm_of_c, wasm_of_rust

#: Scenarios: benchmark A's path, random loss, marks, time-outs and idle times, two flows.
SCENARIOS = {
    "bulk": "{rate: 20 Mbit/s, rtt: 40 ms, buffer: 1 BDP}",
    "loss": "{rate: 20 Mbit/s, rtt: 40 ms, buffer: 1 BDP, forward: {loss: 1 %}}",
    "ecn": "{rate: 20 Mbit/s, rtt: 40 ms, queue: {codel: {ecn: true}}}",
    "outage": "{rate: 5 Mbit/s, rtt: 200 ms, buffer: 20 packets, forward: {loss: "
    "{gilbert_elliott: {good_to_bad: 0.5 %, bad_to_good: 5 %}}}}",
}
TEXT = """\
dumbbell: 1
name: equal
template: {dumbbell: PATH}
hosts: {defaults: {tcp_ecn: 1}}
plugins: {mine: FILE}
flows:
  - {from: s1, to: d1, tcp: $cc}
  - from: s1
    to: d1
    tcp:
      congestion_control: $cc
      source: {on_off: {chunk: 100 KiB, interval: 50 ms, on: 1 s, off: 2 s}}
duration: 20 s
sampling: 100 ms
factors: {cc: [mine, cubic]}
"""


BOTH = """\
dumbbell: 1
name: both
template: {{dumbbell: {{pairs: 2, rate: 20 Mbit/s, rtt: 40 ms, buffer: 0.5 BDP}}}}
plugins: {{mine: both.py, gentle: both.py}}
flows: [{{from: s1, to: d1, tcp: {one}}}, {{from: s2, to: d2, tcp: {other}, start: 50 ms}}]
duration: 20 s
"""


@cache
def rust_library() -> Path:
    """The built-in CUBIC as a shared library."""
    command = ["cargo", "build", "--quiet", "--package", "dumbbell-plugin-cubic"]
    subprocess.run([*command, "--profile", "guest"], cwd=ROOT, check=True)
    return ROOT / "target" / "guest" / "libdumbbell_plugin_cubic.so"


@cache
def rust_module() -> Path:
    """The built-in CUBIC as a WebAssembly module."""
    return wasm_of_rust("dumbbell-plugin-cubic")


#: Language and form → file of the plug-in, built in a folder.
FORMS: dict[str, Callable[[Path], Path]] = {
    "c": lambda folder: library(EXAMPLES / "cubic.c", folder / "libcubic.so"),
    "c in wasm": lambda folder: wasm_of_c(EXAMPLES / "cubic.c", folder / "cubic.wasm"),
    "python": lambda _: EXAMPLES / "cubic.py",
    "rust": lambda _: rust_library(),
    "rust in wasm": lambda _: rust_module(),
}


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("form", FORMS)
def test_cubic_as_a_plugin_is_cubic(form: str, scenario: str, tmp_path: Path) -> None:
    file = FORMS[form](tmp_path)
    path = tmp_path / "equal.yaml"
    text = TEXT.replace("PATH", SCENARIOS[scenario]).replace("FILE", str(file))
    path.write_text(text, encoding="utf-8")
    same_tables(dumbbell.run(path), "mine", "cubic")


def test_two_classes_of_a_file_run_beside_each_other(tmp_path: Path) -> None:
    reno = (ROOT / "crates/plugin/templates/python/mine.py").read_text("utf-8")
    gentle = reno.replace('"mine"', '"gentle"').replace("Mine", "Gentle").replace("0.5", "0.9")
    (tmp_path / "both.py").write_text(reno + gentle, encoding="utf-8")
    path, found = tmp_path / "both.yaml", {}
    for one, other in [("mine", "gentle"), ("gentle", "mine"), ("reno", "gentle")]:
        path.write_text(BOTH.format(one=one, other=other), encoding="utf-8")
        found[one, other] = dumbbell.run(path).flows["delivered_bytes"].to_list()
    assert found["mine", "gentle"] == found["reno", "gentle"]
    assert found["mine", "gentle"] != found["gentle", "mine"]
