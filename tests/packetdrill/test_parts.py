"""Parts of `dumbbell packetdrill` without a kernel: code in scripts, files, results, the verb."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from dumbbell.cli import app
from dumbbell.engines.linux import launch
from dumbbell.errors import DumbbellError, EngineError
from dumbbell.packetdrill import display
from dumbbell.packetdrill.code import Evaluator, Failed
from dumbbell.packetdrill.model import Model
from dumbbell.packetdrill.plan import Plan, Played, Seen, Verdict, judged
from dumbbell.packetdrill.playing import play_all
from dumbbell.packetdrill.suite import MOST_BYTES, Script, defined, find_scripts

SCRIPT = Script(Path("/s/a.pkt"), "a.pkt", "0 socket(..., 1, 6) = 3\n")


def ran(text: str, **values: int) -> Evaluator:
    evaluator = Evaluator()
    evaluator.run(text, values)
    return evaluator


def test_code_keeps_names_and_prints() -> None:
    evaluator = ran("first = tcpi_rtt\nfirst += 2 * 3", tcpi_rtt=10)
    evaluator.run(
        "assert first == 16 and tcpi_rtt == 7, tcpi_rtt\nprint(first, 'µs')", {"tcpi_rtt": 7}
    )
    assert evaluator.printed == ["16 µs"]


@pytest.mark.parametrize(
    "text",
    [
        "assert (7 // 2, 7 % 4, 1 << 4, 6 & 3, 6 | 1, 6 ^ 2) == (3, 3, 16, 2, 7, 4)",
        "assert 1 < 2 <= 2 != 3 and not (1 > 2 or False)",
        "assert abs(-3) == max(1, 3) and min(4, 5) == 4 and hex(255) == '0xff'",
        "assert (1 if tcpi_rtt > 5 else 2) == 1, 'message'",
        "assert TCP_ESTABLISHED == 1 and TCP_CA_Loss == 4 and -tcpi_rtt == -10",
        "pass",
        "assert tcpi_rtt == 10 \\",
    ],
)
def test_code_that_holds(text: str) -> None:
    ran(text, tcpi_rtt=10)


def test_an_assertion_tells_the_values() -> None:
    with pytest.raises(Failed, match=r"assert tcpi_rtt == 11 \(10\): tcpi_rtt is 10"):
        ran("assert tcpi_rtt == 11, tcpi_rtt", tcpi_rtt=10)


def test_an_assertion_with_a_function_or_an_unread_name_tells_what_it_knows() -> None:
    with pytest.raises(Failed, match=r"assert abs\(a - 5\) < 2 and nobody: a is 1$"):
        ran("assert abs(a - 5) < 2 and nobody", a=1)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("import os", "not evaluated here: import os"),
        ("from os import system", "not evaluated here"),
        ("a = (1).real", "not evaluated here"),
        ("print((1).__class__)", "not evaluated here"),
        ("open('/etc/passwd')", "not evaluated here"),
        ("eval('1')", "not evaluated here"),
        ("int('1' * 3)", "not multiplied"),
        ("[a for a in (1, 2)]", "not evaluated here"),
        ("(lambda: 1)()", "not evaluated here"),
        ("def f(): pass", "not evaluated here"),
        ("while True: pass", "not evaluated here"),
        ("a = b = 1\na[0] = 2", "not evaluated here"),
        ("2 ** 99", "not evaluated here"),
        ("f'{1:9999999}'", "not evaluated here"),
        ("1 << 257", "a shift by 257 bits"),
        ("1 << 999999999999", "a shift by"),
        ("a = 1 << 200\nb = a * a", "more than 256 bits"),
        ("'%9999999d' % 1", "width above 999"),
        ("1 / 0", "division by zero"),
        ("1 << -1", "negative shift"),
        ("1 + 'a'", "unsupported operand"),
        ("nobody", "nobody is not known"),
        ("assert (", "no Python"),
        ("(" * 500 + ")" * 500, ""),
        ("1" + "+1" * 100_000, ""),
        ("-" * 100_000 + "1", ""),
        ("1 @ 2", "not evaluated here"),
        ("1 in (1, 2)", "not evaluated here"),
        ("\0", "no Python"),
        ("min()", "min expected"),
        ("int('9' + '9')\nround(1.5, ndigits=1)", "not evaluated here"),
        ("int(1e400)", "cannot convert"),
    ],
)
def test_code_that_is_refused(text: str, says: str) -> None:
    with pytest.raises(Failed) as failed:
        ran(text)
    assert says in str(failed.value)
    assert len(str(failed.value)) < 600


def test_scripts_of_files_and_folders(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    for name in ("b.pkt", "a.pkt", "sub/c.pkt", "note.txt"):
        (tmp_path / name).write_text("0 x() = 0\n")
    found = find_scripts([tmp_path / "b.pkt", tmp_path])
    assert [one.name for one in found] == ["b.pkt", "a.pkt", "sub/c.pkt"]


def wrong(*places: Path) -> str:
    with pytest.raises(DumbbellError) as error:
        find_scripts(places)
    assert error.value.code == "E906"
    return str(error.value)


def test_files_that_are_none(tmp_path: Path) -> None:
    assert "no script: no file ends with .pkt" in wrong(tmp_path)
    assert "No such file or directory" in wrong(tmp_path / "no.pkt")
    bad = tmp_path / "bad.pkt"
    bad.write_bytes(b"0 a\n\xff\n")
    assert wrong(bad).endswith("bad.pkt: line 2: not UTF-8")
    bad.write_bytes(b" " * (MOST_BYTES + 1))
    assert f"larger than {MOST_BYTES} bytes" in wrong(bad)


def test_a_script_of_a_folder_that_cannot_be_read_keeps_no_other_from_being_played(
    tmp_path: Path,
) -> None:
    (tmp_path / "bad.pkt").write_bytes(b"0 a\n\xff\n")
    (tmp_path / "good.pkt").write_text("0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n")
    bad, good = play_all(Model(None), find_scripts([tmp_path]), Plan(), workers=1)
    assert (bad.failed, bad.line, bad.message) == (True, 2, "not UTF-8")
    assert good.passed


def test_definitions() -> None:
    assert defined(["A=1", "B_2=x=y", "C="]) == [("A", "1"), ("B_2", "x=y"), ("C", "")]
    for text in ("A", "=1", "1A=2", "A B=1"):
        with pytest.raises(DumbbellError, match="expected NAME=VALUE"):
            defined([text])


def test_what_came_of_a_script_counts_its_code() -> None:
    result = {
        "failure": None,
        "seen": [[2, 1000, 1250], [3, None, 5], [4, 2000, 1000]],
        "code": [
            {"line": 2, "text": "a = x; print(a)", "values": {"x": 1}},
            {"line": 5, "text": "assert a == x", "values": {"x": 2}},
            {"line": 6, "text": "import os", "values": {}},
        ],
    }
    found = judged(SCRIPT, result)
    assert (found.verdict, found.line, found.printed) == (Verdict.FAILED, 5, ("1",))
    assert found.message == "assert a == x: a is 1, x is 2"
    assert found.deviation_us == -1000
    passed = judged(SCRIPT, result | {"code": [], "seen": []})
    assert passed.passed
    assert passed.deviation_us is None
    failure = {"line": 7, "message": "no", "expected": "S", "sent": "nothing"}
    failed = judged(SCRIPT, result | {"code": [], "failure": failure})
    assert (failed.line, failed.expected, failed.sent) == (7, "S", "nothing")


def test_a_plan_has_the_scripts_folder_and_tolerance() -> None:
    plan = json.loads(Plan("ipv6", [("A", "1")], 90).text(SCRIPT))
    assert plan["folder"] == "/s"
    assert plan["options"] == [["tolerance_usecs", "90"]]
    assert (plan["ip_version"], plan["define"]) == ("ipv6", [["A", "1"]])


FOUND = [
    Played(SCRIPT, Verdict.PASSED, seen=(Seen(3, 1000, 1250), Seen(4, None, 7))),
    Played(SCRIPT, Verdict.FAILED, 9, "flags <differ>\nhere", ". 1:1(0)", "F. 1:1(0)"),
    Played(SCRIPT, Verdict.FAILED, message="the guest died"),
]


def test_results_as_tap() -> None:
    assert display.tap(FOUND).splitlines() == [
        "TAP version 13", "1..3", "ok 1 - a.pkt", "not ok 2 - a.pkt",
        "# ✗ a.pkt:9: flags <differ>", "# here", "#     expected  > . 1:1(0)",
        "#     sent      > F. 1:1(0)", "not ok 3 - a.pkt", "# ✗ a.pkt: the guest died",
    ]  # fmt: skip


def test_results_as_junit_and_json() -> None:
    root = ElementTree.fromstring(display.junit(FOUND, "linux"))
    assert len(list(root.iter("testcase"))) == 3
    failures = list(root.iter("failure"))
    assert len(failures) == 2
    assert "flags <differ>" in "".join(failures[0].itertext()) + str(failures[0].attrib)
    scripts = display.to_json(FOUND, "linux")["scripts"]
    assert [one["line"] for one in scripts] == [None, 9, None]
    assert scripts[0]["packets"][0] == {"line": 3, "expected_us": 1000, "at_us": 1250}


def test_lines_of_times_and_the_summary() -> None:
    assert list(display.times(FOUND[0])) == [
        "  line 3: sent at 0.001250 s, +250 µs", "  line 4: sent at 0.000007 s, at any time",
    ]  # fmt: skip
    assert display.summary(FOUND, "linux") == "✗ 1 of 3 scripts passed on linux"
    assert display.summary(FOUND[:1], "linux") == "✓ 1 of 1 script passed on linux"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["no.pkt"], "No such file"),
        (["."], "no file ends with .pkt"),
        (["good.pkt", "--engine", "sim", "--profile", "linux-6.13"], "did you mean linux-6.1"),
        (["good.pkt", "--engine", "nonsense"], "nonsense"),
        (["good.pkt", "-D", "A"], "--define A: expected NAME=VALUE"),
        (["good.pkt", "--tap", "empty"], "empty"),
        (["good.pkt", "--repeats", "0"], "greater than or equal to 1"),
        (["good.pkt", "--ip", "ipv5"], "ipv5"),
        ([], "Missing argument"),
    ],
)
def test_calls_that_are_refused(
    arguments: list[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "good.pkt").write_text(SCRIPT.text)
    monkeypatch.chdir(tmp_path / "empty" if arguments == ["."] else tmp_path)
    result = CliRunner().invoke(app, ["packetdrill", *arguments])
    assert result.exit_code == 2, result.output
    assert says in result.output + result.stderr
    assert "Traceback" not in result.output + result.stderr


@pytest.mark.parametrize(
    "code",
    [
        'a = "%*d" % (900000000, 1)',
        "a = (1, 2)",
        "assert (1, 2) + (3, 4) == (1, 2, 3, 4)",
        'print("%999d" % 1)\n' * 30,
    ],
)
def test_code_takes_no_memory_without_bound(code: str) -> None:
    with pytest.raises(Failed):
        Evaluator().run(code, {})


def test_two_folders_may_have_scripts_of_one_name(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.pkt").write_text(
            "\N{ZERO WIDTH NO-BREAK SPACE}0 close(3) = 0\n", encoding="utf-8"
        )
    found = find_scripts([tmp_path / "a", tmp_path / "b"])
    assert len({one.name for one in found}) == 2
    assert all(one.text.startswith("0 ") for one in found)


def test_a_kept_folder_replaces_only_one_of_a_run(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").touch()
    with pytest.raises(EngineError, match="no folder of a run"):
        launch._keep(tmp_path / "run", tmp_path / "mine")
    assert (tmp_path / "mine" / "thesis.txt").exists()
