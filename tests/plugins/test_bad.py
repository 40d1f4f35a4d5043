"""Plug-ins that go wrong: one message each, and the other cell finishes with its right digest."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

import dumbbell
from dumbbell.cli import app
from dumbbell.errors import ExperimentError
from dumbbell.store.digest import digests
from tests.plugins.built import BAD, library

TEXT = """\
dumbbell: 1
name: bad
template: {dumbbell: {rate: 20 Mbit/s, rtt: 20 ms, buffer: 1 BDP}}
plugins: {bad: FILE}
flows: [{name: first, from: s1, to: d1, tcp: $cc}]
duration: 3 s
factors: {cc: [bad, reno]}
"""

#: What a hook does, and the words of the message.
IN_HOOKS = {
    "segfault": ("*(volatile int *)8 = 1", "ended by SIGSEGV"),
    "abort": ("abort()", "ended by SIGABRT"),
    "exit": ("exit(3)", "ended with exit code 3"),
    "loop": ("for (;;) w->cwnd++", "did not return within"),
    "sleep": ("for (;;) pause()", "did not return within"),
    "stack": ("char big[1 << 26]; memset(big, 1, sizeof big)", "ended by SIGSEGV"),
    "zero": ("w->cwnd = 0; return 0", r"cong_avoid: cwnd is 0; allowed are 1 to \d+ packets"),
    "huge": ("w->cwnd = 0xffffffffu; return 0", "cong_avoid: cwnd is 4294967295; allowed are"),
    "clamp": ("w->cwnd_clamp = 0; return 0", "cwnd_clamp is 0"),
    "rate": ("w->pacing_rate = 0; return 0", "pacing_rate is 0"),
    "returns": ("return 5", "cong_avoid: it returned 5"),
    "leak": (
        "for (;;) { char *p = malloc(1 << 24); if (!p) abort(); memset(p, 1, 1 << 24); }",
        "(ended by SIGABRT|did not return within)",
    ),
}
IN_PYTHON = {
    "raises": ("raise ValueError('so it is')", r"cong_avoid: ValueError: so it is \(line \d+\)"),
    "below": ("__import__('json').loads('x')", r"JSONDecodeError: .*\(char 0\) \(line 16\)"),
    "silent": ("assert False", r"cong_avoid: AssertionError \(line 16\)"),
    "loop": ("while True: pass", "did not return within"),
    "negative": ("window.cwnd = -1", "OverflowError"),
    "float": ("window.cwnd = float('nan')", "TypeError"),
    "exit": ("sys.exit(1)", "SystemExit"),
    "killed": ("os._exit(4)", "ended with exit code 4"),
    "zero": ("window.cwnd = 0; return", "cwnd is 0"),
}


def fails(file: Path, tmp_path: Path, words: str) -> None:
    """Asserts that a plug-in fails with these words, and the other cell is as without it."""
    path, store = tmp_path / "bad.yaml", tmp_path / "store"
    path.write_text(TEXT.replace("FILE", str(file)), encoding="utf-8")
    done = CliRunner().invoke(app, ["run", str(path), "--store", str(store)])
    assert done.exit_code == 2, done.output
    output = re.sub(r"\s+", " ", done.output)
    assert re.search(rf"plug-in bad, flow first, at 0\.\d+ s: .*{words}.*E507", output), output
    assert "1 run finished and kept" in output
    path.write_text(TEXT.replace("plugins: {bad: FILE}\n", "").replace("[bad, reno]", "[reno]"))
    alone = tmp_path / "alone"
    dumbbell.run(path, store=alone)
    (reno,) = (one.digest for one in digests(alone))
    assert reno in {one.digest for one in digests(store)}


@pytest.mark.parametrize("name", IN_HOOKS)
def test_a_library_that_goes_wrong_fails_its_run_alone(name: str, tmp_path: Path) -> None:
    does, words = IN_HOOKS[name]
    file = library(BAD / "hook.c", tmp_path / "bad.so", f"-DDOES={does}", "-Wno-error", "-O0")
    fails(file, tmp_path, words)


def test_a_library_tells_why_it_fails(tmp_path: Path) -> None:
    file = library(BAD / "hook.c", tmp_path / "bad.so", "-DDOES=return 1", "-DWITH_ERROR")
    fails(file, tmp_path, "cong_avoid: the link is purple")


@pytest.mark.parametrize("name", IN_PYTHON)
def test_a_class_that_goes_wrong_fails_its_run_alone(name: str, tmp_path: Path) -> None:
    does, words = IN_PYTHON[name]
    file = tmp_path / "bad.py"
    file.write_text((BAD / "hook.txt").read_text().replace("DOES", does), encoding="utf-8")
    fails(file, tmp_path, words)


FORKS = {
    "c": "static int once; if (!once++) (void)!fork()",
    "py": "Bad.copies = vars(Bad).get('copies') or [os.fork()]",
}


@pytest.mark.parametrize("form", FORKS)
def test_a_plugin_that_forks_answers_once(form: str, tmp_path: Path) -> None:
    """The copy would answer too, and the next run would take its tables for its own."""
    found = []
    for does in (FORKS[form], ""):
        folder = tmp_path / ("forks" if does else "alone")
        folder.mkdir()
        if form == "c":
            file = library(BAD / "hook.c", folder / "bad.so", f"-DDOES={does}", "-Wno-error")
        else:
            file = folder / "bad.py"
            file.write_text((BAD / "hook.txt").read_text().replace("DOES", does or "pass"))
        path = folder / "bad.yaml"
        text = TEXT.replace("FILE", str(file)).replace("cc: [bad, reno]", "cc: [bad]")
        path.write_text(text.replace("duration: 3 s", "duration: 1 s") + "repeats: 4\n")
        found.append(dumbbell.run(path, store=folder / "store", workers=1).flows)
    columns = ["repeat", "delivered_bytes", "retransmitted_packets"]
    assert found[0].select(columns).equals(found[1].select(columns))


def test_a_module_with_an_endless_loop_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "bad.py"
    text = (BAD / "hook.txt").read_text().replace("DOES", "pass")
    file.write_text(text + "\nwhile True:\n    pass\n", encoding="utf-8")
    refused(file, tmp_path, "while it was loaded, it did not answer within 5 s of processor time")


#: Options of a library that cannot be used, and the words of the message.
TABLES = {
    "old": ("-DABI=0", "its table has version 0; this Dumbbell has 1"),
    "new": ("-DABI=99", "its table has version 99"),
    "size": ("-DSIZE=8", "its table has 8 bytes"),
    "state": ("-DSTATE=2000000000", "its state has 2000000000 bytes"),
    "align": ("-DALIGN=3", "aligned to 3"),
    "unnamed": ('-DNAME=""', "its name has 0 bytes"),
    "without": ("-DWITHOUT_SSTHRESH", "its table has no ssthresh"),
    "nothing": ("-DNOTHING", "dumbbell_cc_v1 returns no table"),
    "crash": ("-DCONSTRUCTOR=abort()", "while it was loaded, .* ended by SIGABRT"),
    "loop": ("-DCONSTRUCTOR=for (;;) pause()", "while it was loaded, it did not answer"),
}


def refused(file: Path, tmp_path: Path, words: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(TEXT.replace("FILE", str(file)), encoding="utf-8")
    with pytest.raises(ExperimentError, match=words) as raised:
        dumbbell.run(path)
    assert raised.value.line == 4 and raised.value.code == "E507"


@pytest.mark.parametrize("name", TABLES)
def test_a_table_that_cannot_be_used_is_refused_before_a_run(name: str, tmp_path: Path) -> None:
    option, words = TABLES[name]
    refused(library(BAD / "hook.c", tmp_path / "bad.so", option), tmp_path, words)


def test_a_file_that_is_no_plugin_is_refused(tmp_path: Path) -> None:
    good = library(BAD / "hook.c", tmp_path / "good.so").read_bytes()
    other = bytearray(good)
    other[18:20] = (8).to_bytes(2, "little")  # the machine: MIPS
    for name, data, words in [
        ("truncated.so", good[:3000], "no library for this machine|ended by SIGBUS"),
        ("text.so", b"hello", "it is no library for this machine"),
        ("other.so", bytes(other), "it is no library for this machine"),
        ("libc.a", b"!<arch>", r"a file that ends with \.so, \.wasm, \.py, \.onnx, \.c is needed"),
        ("syntax.py", b"def (", r"SyntaxError: .*\(line 1\)"),
        ("import.py", b"import nothing_like_this", r"ModuleNotFoundError: .*\(line 1\)"),
        ("empty.py", b"", "no class has the decorator"),
        ("exit.py", b"import sys; sys.exit(2)", "SystemExit"),
    ]:
        file = tmp_path / name
        file.write_bytes(data)
        refused(file, tmp_path, words)
    refused(tmp_path / "qqqqqqqq.so", tmp_path, "No such file or directory; found")
    refused(tmp_path / "goode.so", tmp_path, r"No such file or directory; did you mean good\.so\?")
    two = (BAD / "hook.txt").read_text().replace("DOES", "pass")
    two = two.replace('"bad"', '"one"') + two.replace('"bad"', '"two"').replace("Bad", "Other")
    (tmp_path / "two.py").write_text(two)
    refused(tmp_path / "two.py", tmp_path, "it declares one, two; name one of them")


def test_a_plugin_cannot_have_the_name_of_a_built_in(tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    text = TEXT.replace("bad: FILE", "cubic: ./x.so").replace("[bad, reno]", "[reno]")
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ExperimentError, match="cubic is a congestion control of the program"):
        dumbbell.run(path)


WITH_PARAMETERS = """\
import dumbbell


@dumbbell.congestion_control("bad")
class Bad:
    def __init__(self, beta: float = 0.5) -> None:
        self.beta = beta

    def ssthresh(self, conn, window):
        return max(int(window.cwnd * self.beta), 2)

    def cong_avoid(self, conn, window, acked):
        window.cwnd += 1
"""


def test_a_parameter_that_no_constructor_takes_is_refused_without_a_run(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(WITH_PARAMETERS, encoding="utf-8")
    path = tmp_path / "bad.yaml"

    def validated(parameters: str) -> tuple[int, str]:
        file = f"{{file: ./bad.py, parameters: {parameters}}}"
        path.write_text(TEXT.replace("FILE", file), encoding="utf-8")
        done = CliRunner().invoke(app, ["validate", str(path)])
        return done.exit_code, re.sub(r"\s+", " ", done.output)

    code, output = validated("{betta: 0.7}")
    assert code == 2
    assert "bad.yaml:4: plugins.bad.parameters.betta: its constructor takes no such" in output
    assert "beta" in output.replace("betta", "") and "E507" in output
    assert validated("{beta: 0.7}")[0] == 0
    free = WITH_PARAMETERS.replace("beta: float = 0.5)", "beta: float = 0.5, **others: float)")
    (tmp_path / "bad.py").write_text(free, encoding="utf-8")
    assert validated("{betta: 0.7}")[0] == 0
