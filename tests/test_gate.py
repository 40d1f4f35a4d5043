"""`dumbbell gate`: a planted regression is found, honest senders pass, chance fails no gate."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import dumbbell
from dumbbell.cli import app
from dumbbell.compare.samples import Sample
from dumbbell.errors import DumbbellError
from dumbbell.gate.gate import LOOKS, seconds_of
from dumbbell.gate.sides import read_side
from dumbbell.gate.suite import is_one_of, names, read_suite, subjects
from dumbbell.gate.verdict import Quantity, Verdict, judge
from dumbbell.metrics import METRICS
from tests.browser import needs_browser
from tests.driven import driven, faults
from tests.plugins.built import EXAMPLES, library

#: A small suite, with chance in it.
SUITE = """\
dumbbell: 1
name: small
template: {dumbbell: {pairs: 2, rate: 10 Mbit/s, rtt: 20 ms, buffer: $buffer}}
flows:
  - {name: subject, from: s1, to: d1, tcp: subject, start_jitter: 1 RTT}
duration: 5 s
factors: {buffer: [1 BDP, 4 BDP]}
"""


def call(*words: object) -> Result:
    return CliRunner().invoke(app, ["gate", *(str(word) for word in words)])


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(SUITE, encoding="utf-8")
    return path


def test_the_same_sender_passes(suite: Path, tmp_path: Path) -> None:
    copy = library(EXAMPLES / "cubic.c", tmp_path / "copy.so")
    done = call("cubic", copy, "--suite", suite)
    assert done.exit_code == 0, done.output
    assert "the same in every run" in done.output


def test_a_planted_regression_is_found(suite: Path, tmp_path: Path) -> None:
    text = (EXAMPLES / "cubic.c").read_text(encoding="utf-8")
    planted = text.replace("BETA = 717", "BETA = 300")
    assert planted != text
    (tmp_path / "planted.c").write_text(planted, encoding="utf-8")
    bad = library(tmp_path / "planted.c", tmp_path / "planted.so")
    junit, rows, page = (tmp_path / f"gate.{kind}" for kind in ("xml", "json", "html"))
    files = ("--junit", junit, "--json", rows, "-o", page)
    words = ("--suite", suite, "--store", tmp_path / "runs", *files)
    done = call("cubic", bad, *words)
    assert done.exit_code == 1, done.output
    assert "the first difference" in done.output
    found = json.loads(rows.read_text(encoding="utf-8"))
    worse = [row for row in found["quantities"] if row["verdict"] == "worse"]
    # A window reduced to 0.3 leaves a queue of one BDP empty for a while.
    (goodput,) = (
        row for row in worse
        if row["metric"] == "goodput_mbps" and row["levels"] == {"buffer": "1 BDP"}
    )  # fmt: skip
    assert goodput["high"] < 0 and goodput["now"] < 0.98 * goodput["before"]
    cases = ElementTree.parse(junit).getroot().findall(".//testcase")
    failed = [case for case in cases if case.find("failure") is not None]
    assert len(cases) == len(found["quantities"])
    assert len(failed) == sum(
        row["verdict"] in ("worse", "changed", "lost") for row in found["quantities"]
    )
    text = page.read_text(encoding="utf-8")
    assert "fails" in text and "the first difference" in text
    for row in found["quantities"]:
        assert METRICS[row["metric"]].axis.replace("'", "&#39;") in text, row


@needs_browser
def test_the_page_in_a_browser(browser: None, suite: Path, tmp_path: Path) -> None:
    del browser
    pages = tmp_path / "worse.html", tmp_path / "same.html"
    for new, page in zip(("reno", "cubic"), pages, strict=True):
        call("cubic", new, "--suite", suite, "--repeats", "3", "-o", page)
    with driven() as chromium:
        assert [faults(chromium, page) for page in pages] == [[], []]


def test_stacks_profiles_and_transfers(suite: Path) -> None:
    done = call("quinn:cubic", "s2n:cubic", "--suite", suite, "--repeats", "2")
    assert "quinn:cubic → s2n:cubic" in done.output
    finite = SUITE.replace("tcp: subject,", "tcp: {congestion_control: subject, bytes: 200 kB},")
    suite.write_text(finite, encoding="utf-8")
    done = call("linux-6.12", "linux-6.12", "--suite", suite, "--repeats", "2", "--control", "reno")
    assert done.exit_code == 0 and "the same in every run" in done.output
    words = ("--suite", suite, "--repeats", "6", "--beside", "linux")
    done = call("cubic", "smoltcp:cubic", *words)
    assert "srtt_mean_ms is not known of smoltcp:cubic: not compared" in done.output
    # It is slower, and a kernel that cannot judge loses nothing of what was found.
    assert done.exit_code == 1 and "✗" in done.output
    assert "Not judged on linux" in done.output


@pytest.mark.kernel
def test_an_engine_is_a_side(suite: Path) -> None:
    done = call("sim", "linux", "--suite", suite, "--repeats", "3", "--tolerance", "5 %")
    assert done.exit_code == 0, done.output


@pytest.mark.kernel
def test_another_engine_is_asked_about_what_fails(suite: Path) -> None:
    words = ("--suite", suite, "--repeats", "6", "--beside", "linux")
    done = call("vegas", "cubic", *words)
    assert done.exit_code == 1, done.output
    (head,) = (line for line in done.output.splitlines() if "quantity" in line and "now" in line)
    assert head.split()[-1] == "linux"
    delays = [line for line in done.output.splitlines() if "srtt_mean_ms" in line]
    # CUBIC fills a queue that Vegas leaves empty, on both engines.
    assert len(delays) == 2
    for line in delays:
        assert line.count("✗") == 2
        ours, theirs = re.findall(r"[×+] ([0-9.]+)|[+]([0-9]+) %", line)
        assert ours == theirs


def test_names_of_senders() -> None:
    names = subjects(
        {"flows": [{"name": "s", "tcp": "subject"}, {"name": "x{i}", "tcp": "subject"}]}
    )
    assert [is_one_of(one, names) for one in ("s", "server", "x1", "x12", "y")] == [
        True, False, True, True, False,
    ]  # fmt: skip


def test_a_stack_leaves_arrivals_out(tmp_path: Path) -> None:
    arrivals = SUITE.split("flows:")[0] + (
        "arrivals: [{name: a, from: s1, to: d1, per_second: 5, size: 10 kB, tcp: subject}]\n"
        "duration: 2 s\nfactors: {buffer: [1 BDP]}\n"
    )
    for name, text in (("bulk", SUITE), ("arrivals", arrivals)):
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
    done = call("quinn:cubic", "quinn:cubic", "--suite", tmp_path, "--repeats", "2")
    assert done.exit_code == 0, done.output
    assert "arrivals is left out" in done.output


def test_every_suite_has_the_sender_under_test() -> None:
    for name in names():
        for contents in read_suite(name).values():
            for text in ("cubic", "quinn:bbr", "smoltcp:reno", "linux-6.1"):
                made = json.dumps(read_side(text, "sim").fitted(contents))
                assert '"tcp": "subject"' not in made
                assert '"congestion_control": "subject"' not in made


def test_the_card_of_rfc_9743_has_its_items_in_order() -> None:
    card = read_suite("rfc9743")
    assert list(card)[:2] == ["5.1.1-congestion-collapse", "5.1.2-bufferbloat"]
    assert list(card)[-2:] == ["7.10-two-paths", "7.11-data-centre"]
    done = call("reno", "reno", "--suite", "rfc9743", "--repeats", "2")
    assert done.exit_code == 0, done.output
    assert "the same in every run" in done.output
    assert all(name in done.output for name in card)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("cubic", "rennno"), "rennno is no side of a gate; did you mean reno?"),
        (("cubic", "./none.so"), "./none.so: no such file"),
        (("cubic", "quinn:vegas"), "there are quinn:cubic, quinn:bbr, quinn:new_reno"),
        (("cubic", "s2n:"), "there are s2n:cubic, s2n:bbr"),
        (("sim", "linux", "--control", "renno"), "--control renno: no congestion control"),
        (("cubic", "lia"), "lia is no side of a gate"),
        (("cubic", "reno", "--suite", "quik"), "no suite quik; did you mean quick?"),
        (("cubic", "reno", "--at-most", "soon"), "--at-most"),
        (("cubic", "reno", "--tolerance", "200 %"), "--tolerance"),
    ],
)
def test_what_is_wrong_is_said(words: tuple[str, ...], said: str) -> None:
    done = call(*words)
    assert done.exit_code == 2
    assert said in done.output


def test_a_suite_without_the_sender_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "none.yaml"
    path.write_text(SUITE.replace("tcp: subject", "tcp: cubic"), encoding="utf-8")
    with pytest.raises(DumbbellError, match=r"none: no flow has `tcp: subject`"):
        read_suite(str(path))
    path.write_text("- 1\n", encoding="utf-8")
    with pytest.raises(DumbbellError, match=r"none.yaml:1"):
        read_suite(str(path))
    path.write_text(SUITE.replace("rate: 10 Mbit/s", "rate: ten"), encoding="utf-8")
    with pytest.raises(DumbbellError, match=r"none.yaml:3.*rate"):
        read_suite(str(path))
    (tmp_path / "rate.trace").write_text("1\n2\n3\n", encoding="utf-8")
    shaper = "forward: {shaper: {trace: {file: rate.trace}}}, backward: {rate: 10 Mbit/s}"
    traced = SUITE.replace("rate: 10 Mbit/s", shaper)
    path.write_text(traced.replace("1 BDP, 4 BDP", "9 packets, 99 packets"), encoding="utf-8")
    forward = read_suite(str(path))["none"]["template"]["dumbbell"]["forward"]
    assert forward["shaper"]["trace"]["file"] == str(tmp_path / "rate.trace")
    assert seconds_of("2 min") == 120


def judged(chance: np.random.Generator, repeats: int, shift: float) -> list[Quantity]:
    """Verdicts on 100 goodputs of 10 Mbit/s that vary by 3 %; the first one is lower by `shift`."""
    rows = []
    for number in range(100):
        of = {"flow": f"f{number}"}
        before, now = chance.normal(10, 0.3, (2, repeats))
        now = now - shift * (number == 0)
        pair = [
            Sample("goodput_mbps", {}, of, tuple(range(repeats)), tuple(map(float, values)))
            for values in (before, now)
        ]
        rows.append(("part", pair[0], pair[1]))
    return judge(rows, 0.02, len(LOOKS))


def test_chance_fails_one_gate_in_twenty_at_most_and_hides_no_regression() -> None:
    chance = np.random.default_rng(7)
    gates = 120
    failed = sum(
        any(not one.verdict.passes for looks in LOOKS for one in judged(chance, looks, 0.0))
        for _ in range(gates)
    )
    # With a rate of 5 %, 12 and more of 120 have a chance of 2 %.
    assert failed < 12
    # 10 % at a spread of 3 % are found nearly always after 24 repeats.
    found = sum(judged(chance, LOOKS[-1], 1.0)[0].verdict is Verdict.WORSE for _ in range(gates))
    assert found > 0.95 * gates


def test_small_changes_pass_and_missing_values_fail() -> None:
    def verdict(before: list[float], now: list[float], metric: str = "goodput_mbps") -> Verdict:
        repeats = tuple(range(len(before)))
        old = Sample(metric, {}, {}, repeats, tuple(before))
        return judge([("p", old, Sample(metric, {}, {}, repeats, tuple(now)))], 0.02, 1)[0].verdict

    ten = [10.0, 10.1, 9.9, 10.0, 10.05, 9.95]
    assert verdict(ten, ten) is Verdict.SAME
    assert verdict(ten, [0.99 * one for one in ten]) is Verdict.WITHIN
    assert verdict(ten, [0.9 * one for one in ten]) is Verdict.WORSE
    assert verdict(ten, [1.1 * one for one in ten]) is Verdict.BETTER
    assert verdict(ten, [1.1 * one for one in ten], "srtt_mean_ms") is Verdict.WORSE
    assert verdict([0.5] * 6, [0.6] * 6, "joint_share") is Verdict.CHANGED
    # A tenth of a millisecond never counts.
    assert verdict([1.5] * 6, [1.59] * 6, "srtt_mean_ms") is Verdict.WITHIN
    assert verdict([1.5] * 6, [1.7] * 6, "srtt_mean_ms") is Verdict.WORSE
    assert verdict(ten, [10.4, 9.0, 10.9, 9.6, 10.2, 9.4]) is Verdict.OPEN
    # A transfer that ends in some repeats alone is no transfer that got faster.
    some = judge(
        [
            (
                "p",
                Sample("transfer_s", {}, {}, (0, 1), (2.0, 2.0)),
                Sample("transfer_s", {}, {}, (1,), (1.0,)),
            )
        ],
        0.02,
        1,
    )[0]
    assert some.verdict is Verdict.LOST and some.now == 1.0
    unknown = judge([("p", Sample("srtt_mean_ms", {}, {}, (0, 1), (1.0, 2.0)), None)], 0.02, 1)[0]
    assert unknown.verdict is Verdict.OPEN
    # Values in different repeats say nothing of each other.
    one, other = (Sample("srtt_mean_ms", {}, {}, (repeat,), (1.0,)) for repeat in (0, 1))
    assert judge([("p", one, other)], 0.02, 1)[0].verdict is Verdict.OPEN
    lost = judge([("p", Sample("transfer_s", {}, {}, (0, 1), (1.0, 1.0)), None)], 0.02, 1)[0]
    assert lost.verdict is Verdict.LOST and not lost.verdict.passes


def _kept(text: str, store: Path, **options: Any) -> Path:
    """A store with the runs of an experiment."""
    file = store.with_suffix(".yaml")
    file.write_text(text, encoding="utf-8")
    dumbbell.run(file, store=store, **options)
    return store


def test_stores_are_sides(tmp_path: Path) -> None:
    stored = SUITE.replace("tcp: subject", "tcp: CONTROL")
    one = _kept(stored.replace("CONTROL", "cubic"), tmp_path / "one", repeats=6)
    same = _kept(stored.replace("CONTROL", "cubic"), tmp_path / "same", repeats=6)
    other = _kept(stored.replace("CONTROL", "vegas"), tmp_path / "other", repeats=6)
    done = call(one, same)
    assert done.exit_code == 0, done.output
    assert "the same in every run" in done.output
    page = tmp_path / "gate.html"
    done = call(one, other, "-o", page)
    assert done.exit_code == 0, done.output
    assert "small: the files differ, first in line 5" in " ".join(done.output.split())
    assert "srtt_mean_ms" in done.output and "better" in done.output
    # Vegas keeps a queue of a few packets; CUBIC fills it, so the other way is worse.
    done = call(other, one)
    assert done.exit_code == 1, done.output
    assert "✗ small: buffer=4 BDP" in " ".join(done.output.split())
    assert "vegas" in page.read_text(encoding="utf-8")


def test_stores_that_cannot_be_compared(tmp_path: Path) -> None:
    stored = SUITE.replace("tcp: subject", "tcp: cubic")
    one = _kept(stored, tmp_path / "one", repeats=2)
    seeds = _kept(stored, tmp_path / "seeds", repeats=2, seed=7)
    factors = stored.replace("buffer: [", "limit: [").replace("$buffer", "$limit")
    differ = _kept(factors, tmp_path / "factors", repeats=2)
    named = _kept(stored.replace("name: small", "name: large"), tmp_path / "named", repeats=2)
    for words, said in (
        ((one, "cubic"), "one is a store, and the other side is none"),
        ((one, seeds), "small: the first seeds differ: 1 and 7"),
        ((one, differ), "small: the factors differ: buffer and limit"),
        ((one, named), "no experiment is in both stores"),
        ((one, one, "--beside", "linux"), "--beside is not for stores: nothing is run"),
        ((one, one, "--repeats", "6"), "--repeats is not for stores"),
    ):
        done = call(*words)
        assert done.exit_code == 2, done.output
        assert said in " ".join(done.output.split())


def test_a_refused_run_names_its_experiment(suite: Path, tmp_path: Path) -> None:
    text = suite.read_text(encoding="utf-8").replace("duration: 5 s", "duration: 9000000 s")
    suite.write_text(text, encoding="utf-8")
    done = call("cubic", "reno", "--suite", suite, "--store", tmp_path / "s")
    assert done.exit_code == 2
    assert done.output.startswith("dumbbell: small: "), done.output
    assert "above the limit of" in done.output
