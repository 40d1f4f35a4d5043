"""Hostile input: an error for users, or a file that is accepted; never another exception."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from dumbbell.cli import app
from dumbbell.experiment import load_text
from dumbbell.translate import disciplines, htb, netem, tbf
from dumbbell.translate.languages import READERS
from dumbbell.translate.mistakes import TranslateError
from dumbbell.translate.translation import translate


def split(text: str) -> list[str]:
    return text.split()


OTHERS = split("""
tc qdisc class filter add replace change del dev eth0 eth1 root parent handle 1: 1:1 1:10 classid
ffff: ingress police sudo && ; # ' " $X X=1 ${X} ip link set mtu type veth peer netem tbf htb prio
1mbit 100ms 1% 0 -1 1e99 99999999999 32kbit normal gemodel state flowid mirred redirect \x1b[31m
pumba default 10""")
NAMES = [*disciplines.WORDS, *netem.WORDS, *tbf.WORDS, *htb.CLASS_WORDS]
WORDS = [*OTHERS, *NAMES, "\\\n", "\n", "\ud7ff"]


def attempt(text: str, name: str | None = None) -> None:
    try:
        made = translate(text, "x", name)
    except TranslateError as error:
        assert str(error)
        return
    load_text(made.text, Path("t.yaml"))


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=40).map(" ".join))
def test_words_in_any_order(text: str) -> None:
    attempt(f"tc qdisc add dev eth0 root {text}", "tc")
    attempt(text, "tc")


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(sorted({"netem", "tbf", *disciplines.WORDS})),
    st.lists(st.sampled_from(WORDS) | st.integers(0, 2**33).map(str), max_size=12),
)
def test_words_of_a_qdisc(kind: str, words: list[str]) -> None:
    attempt(f"tc qdisc add dev eth0 root {kind} {' '.join(words)}", "tc")


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=300), st.sampled_from(sorted(READERS)))
def test_any_text(text: str, name: str) -> None:
    attempt(text, name)


KEYS = [
    "type", "attributes", "latency", "jitter", "rate", "bandwidth", "stream", "toxicity", "eth0",
    "outgoing", "incoming", "delay", "loss", "protocol=ip", "ingressRate", "ingressBurst",
    "egressRate", "egressBurst", "toxics", "services", "command", "app", "delay-distro",
]  # fmt: skip
VALUES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from([*KEYS, "1Mbps", "1%", "10ms", ""])
)
TREES = st.recursive(
    VALUES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None)
@given(TREES, st.sampled_from(["cni", "toxiproxy", "tcconfig", "compose"]))
def test_any_json(tree: object, name: str) -> None:
    attempt(json.dumps(tree), name)


PIECES = split("""
addLink addHost h1 'h1' 's1' ( ) [ ] , = bw delay '5ms' 10 for i in range : % * ** 10**10
'%99999999d'%1 dict if def lambda { } . self f'{i}' '{:>99999999}'.format(1) - / 0""")
PYTHON = st.sampled_from([*PIECES, "\n", "    ", " "])


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(PYTHON, max_size=40).map("".join))
def test_any_python(text: str) -> None:
    attempt(text, "mininet")
    attempt("addLink('h1', 'h2', bw=1)\n" + text, "mininet")


@pytest.mark.parametrize(
    "text",
    [
        "addLink('h1','h2',bw=" + "(" * 5000 + "1" + ")" * 5000 + ")",
        "x = " + "[" * 90 + "]" * 90 + "\naddLink('h1','h2',bw=1)",
        "for a in range(999):\n for b in range(999):\n  addLink('h%d' % a, 'g%d' % b, bw=1)\n",
        "a='x'*10**10\naddLink('h1','h2',bw='%999999999d' % 1)",
        "[" * 100_000,
        '{"type": "latency", "attributes": {"latency": 1' + "0" * 6000 + "}}",
        "tc qdisc add dev eth0 root netem delay 1ms\n" * 20_000,
        "tc " + "a" * 900_000,
        "'" * 300_000 + "tc qdisc",
        "X=1\n" * 100_000 + "tc qdisc add dev $X root netem loss 1%",
    ],
    ids=range(10),
)
@pytest.mark.slow
def test_large_input_ends_soon(text: str) -> None:
    for name in READERS:
        attempt(text, name)


def test_bytes_and_places(tmp_path: Path) -> None:
    def said(name: str, content: bytes) -> str:
        (tmp_path / name).write_bytes(content)
        result = CliRunner().invoke(app, ["translate", str(tmp_path / name)])
        assert result.exit_code == 2 and "Traceback" not in result.output, result.output
        return result.stderr

    assert "not a text" in said("nul", b"tc\0")
    assert "larger than" in said("large", b"x" * (1 << 21))
    assert "no words" in said("binary", bytes(range(1, 256)))
    result = CliRunner().invoke(app, ["translate", str(tmp_path / "none")])
    assert result.exit_code == 2 and "No such file" in result.stderr


def test_the_verb(tmp_path: Path) -> None:
    text = "tc qdisc add dev eth0 root netem delay 10ms 1ms 25% rate 1mbit\n"
    result = CliRunner().invoke(app, ["translate", "-"], input=text)
    assert result.exit_code == 0 and "delay: 9 ms" in result.stdout
    assert "standard input:1: delay … 25 % (correlation)" in result.stderr
    output = tmp_path / "e.yaml"
    result = CliRunner().invoke(app, ["translate", "-", "-o", str(output)], input=text)
    assert result.exit_code == 0 and output.read_text().startswith("# Translated")
    result = CliRunner().invoke(app, ["run", str(output), "--store", str(tmp_path / "store")])
    assert result.exit_code == 0, result.output
