"""Advice: planted mistakes are found by the rule that is meant, sound set-ups have none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from dumbbell.advise.judge import judge
from dumbbell.advise.rules import RULES
from dumbbell.cli import app
from dumbbell.errors import ExperimentError

ROOT = "tc qdisc add dev eth0 root "
HTB = (
    "tc qdisc add dev eth0 root handle 1: htb default 1\n"
    "tc class add dev eth0 parent 1: classid 1:1 htb "
)
ARRIVING = (
    "tc qdisc add dev eth0 handle ffff: ingress\n"
    "tc filter add dev eth0 parent ffff: matchall police "
)
VETH = "ip link add veth0 type veth peer name veth1\nip link set veth0 mtu 9000\n"
MISTAKES = [
    ("limit", ROOT + "netem delay 100ms"),
    ("limit", ROOT + "netem delay 200ms limit 1000"),
    ("limit", ROOT + "netem rate 500mbit delay 80ms"),
    ("limit", ROOT + "netem delay 40ms limit 500 rate 200mbit"),
    ("jitter", ROOT + "netem delay 60ms 30ms limit 20000"),
    ("jitter", ROOT + "netem delay 20ms 10ms"),
    ("jitter", ROOT + "netem delay 50ms 5ms distribution normal limit 20000"),
    ("burst", ROOT + "tbf rate 10mbit burst 256mb latency 25ms"),
    ("burst", HTB + "rate 500kbit ceil 500kbit burst 62500 cburst 62500"),
    ("burst", "kubernetes.io/egress-bandwidth: 10M"),
    ("burst", '{"eth0": {"outgoing": {"protocol=ip": {"rate": "2Mbps"}}}}'),
    ("policer", ARRIVING + "rate 10mbit burst 10k drop"),
    ("policer", "tc filter add dev eth0 parent 1: matchall police rate 50mbit burst 20k drop"),
    ("small burst", ROOT + "tbf rate 10mbit burst 1000 latency 50ms"),
    ("small burst", "ip link set eth0 mtu 9000\n" + ROOT + "tbf rate 90mbit burst 5k latency 50ms"),
    ("loss", ROOT + "netem delay 50ms loss 40% rate 10mbit"),
    ("loss", ROOT + "netem loss gemodel 20% 20% delay 25ms rate 20mbit"),
    ("buffer", ROOT + "netem rate 1mbit delay 20ms"),
    ("buffer", ROOT + "tbf rate 2mbit burst 10k latency 3s"),
    ("buffer", ROOT + "netem rate 10mbit"),
    ("buffer", ROOT + "netem rate 8mbit delay 10ms limit 2000"),
    ("buffer", "bw=1, delay='10ms'"),
    ("buffer", HTB + "rate 5mbit burst 15k"),
    ("shallow", ROOT + "pfifo limit 1"),
    ("shallow", ROOT + "tbf rate 10mbit burst 1540 latency 2ms"),
    ("rate", ROOT + "netem rate 800mbit delay 150ms limit 40000"),
    ("mtu", VETH + "ip link set veth1 mtu 1500\ntc qdisc add dev veth0 root netem rate 50mbit"),
    ("default", HTB.replace("default 1", "") + "rate 20mbit burst 15k"),
    ("default", HTB.replace("default 1", "default 30") + "rate 20mbit burst 15k"),
]
TEMPLATE = (
    "dumbbell: 1\nname: x\ntemplate: {dumbbell: {rate: 10 Mbit/s, rtt: 20 ms, buffer: 1 BDP}}\n"
)
OFFERED = TEMPLATE + "flows: [{name: u, from: s1, to: d1, udp: {rate: 30 Mbit/s}}]\nduration: 5 s\n"
BULK = TEMPLATE + "flows: [{from: s1, to: d1, tcp: cubic}]\nduration: 10 s\n"
SOUND = [
    ROOT + "netem delay 10ms",
    ROOT + "netem delay 50ms limit 20000",
    ROOT + "netem rate 10mbit delay 20ms limit 100",
    ROOT + "netem rate 20mbit delay 20ms 5ms limit 200",
    ROOT + "netem loss 0.1% delay 10ms",
    ROOT + "tbf rate 20mbit burst 32kbit latency 50ms",
    ROOT + "cake bandwidth 20mbit rtt 100ms",
    HTB + "rate 20mbit ceil 20mbit burst 15k\ntc qdisc add dev eth0 parent 1:1 fq_codel",
    ROOT + "fq_codel",
    ARRIVING + "rate 50mbit burst 1mb drop",
    "bw=10, delay='5ms', max_queue_size=50",
    ROOT + "netem delay 20ms 0.1ms limit 20000",  # RACK's window covers it
    ROOT + "netem delay 50ms 5ms loss 1%",  # the loss bounds CUBIC, not the order
    BULK,
]


def found(text: str) -> list[str]:
    return [one.rule for one in judge(text, "x.sh").advice]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rule", "text"), MISTAKES, ids=[f"{n}-{m[0]}" for n, m in enumerate(MISTAKES)]
)
def test_planted_mistakes_are_found(rule: str, text: str) -> None:
    assert rule in found(text)


@pytest.mark.slow
@pytest.mark.parametrize("text", SOUND, ids=range(len(SOUND)))
def test_sound_set_ups_have_no_advice(text: str) -> None:
    assert found(text) == []


def test_every_rule_has_a_mistake_of_its_own() -> None:
    assert set(RULES) == {rule for rule, _ in MISTAKES}


def test_an_experiment_is_judged() -> None:
    (advice,) = judge(OFFERED, "x.yaml").advice
    assert (advice.rule, advice.pipe) == ("rate", "bottleneck/forward")
    assert "30 Mbit/s" in advice.cause and "datagrams" in advice.evidence


BUCKET = ROOT + "tbf rate 10mbit latency 50ms burst "
FACTORS = """\
dumbbell: 1
name: levels
hosts: {a: , b: }
links: [{name: wan, between: [a, b], delay: 1 ms, forward: $wan}]
flows: [{from: a, to: b, tcp: $cc}]
duration: 10 s
factors:
  wan:
    - {label: short, value: {rate: 10 Mbit/s, buffer: 50 packets}}
    - {label: long, value: {rate: 10 Mbit/s, buffer: 2 s}}
  cc: [cubic, reno]
"""


def test_a_cell_of_an_experiment_is_judged() -> None:
    assert judge(FACTORS, "x.yaml").advice == ()
    (advice,) = judge(FACTORS, "x.yaml", levels={"wan": ["long"], "cc": ["reno"]}).advice
    assert (advice.rule, advice.pipe) == ("buffer", "wan/forward")


def test_what_cannot_be_judged_is_said(tmp_path: Path) -> None:
    def message(text: str, **levels: list[str]) -> str:
        with pytest.raises(ExperimentError) as raised:
            judge(text, str(tmp_path / "x.yaml"), levels=levels or None)
        return str(raised.value)

    assert "neither a factor" in message(FACTORS, size=["1"])
    assert "names no factor" in message(FACTORS, duration=["5 s"])
    assert "--set needs an experiment" in message(ROOT + "netem delay 1ms", size=["1"])
    assert "x.yaml:5: duration" in message(BULK.replace("10 s", "soon"))
    search = BULK + "search: {minimise: goodput_mbps, space: {a: [1 ms, 2 ms]}}\n"
    assert "search" in message(search)
    # A file beside the experiment is found.
    (tmp_path / "x.trace").write_text("1\n2\n")
    traced = BULK.replace("rate: 10 Mbit/s", "shaper: {trace: {file: x.trace}}")
    assert judge(traced, str(tmp_path / "x.yaml")).advice == ()


def test_without_any_rate_the_limit_is_still_judged() -> None:
    text = "dumbbell: 1\nname: x\nhosts: {a: , b: }\nflows: [{from: a, to: b, tcp: cubic}]\n"
    link = "links: [{between: [a, b], forward: {netem: {delay: 200 ms, limit: LIMIT packets}}}]\n"
    text += link + "duration: 30 s\n"
    assert found(text.replace("LIMIT", "1000")) == ["limit"]
    assert found(text.replace("LIMIT", "20000")) == []


@pytest.mark.parametrize(
    ("rule", "text", "mend"),
    [
        (
            "buffer",
            ROOT + "tbf rate 2mbit burst 10k latency 3s",
            "limit 22740 (bytes), or latency 5",
        ),
        ("buffer", ROOT + "netem rate 1mbit", "limit 10, or fq_codel"),
        ("buffer", HTB + "rate 5mbit burst 15k", "pfifo limit 21 below the class, or fq_codel"),
        ("buffer", "bw=1, delay='10ms'", "max_queue_size=10"),
        ("buffer", "bw=1, use_tbf=True, latency_ms=3000", "latency_ms=50"),
        ("burst", '{"egressRate": 1000000, "egressBurst": 8000000}', '"egressBurst": 24224'),
        ("burst", "kubernetes.io/egress-bandwidth: 10M", "(no annotation says it)"),
        ("burst", '{"eth0": {"outgoing": {"a": {"rate": "2Mbps"}}}}', "(no key of tcconfig"),
    ],
)
def test_a_mend_has_the_words_of_its_format(rule: str, text: str, mend: str) -> None:
    (said,) = [one.mend for one in judge(text, "x.sh").advice if one.rule == rule]
    assert mend in said


def test_the_mend_of_an_experiment_has_its_fields() -> None:
    levels = {"wan": ["long"], "cc": ["reno"]}
    (advice,) = judge(FACTORS, "x.yaml", levels=levels).advice
    assert advice.mend.startswith("buffer: ") and "limit" not in advice.mend


#: Goodputs in a text.
_MBPS = re.compile(r"([0-9.]+) Mbit/s")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (ROOT + "netem delay 100ms", ROOT + "netem delay 100ms limit {}"),
        (BUCKET + "1000", BUCKET + "{}"),
    ],
    ids=["limit", "burst"],
)  # fmt: skip
def test_the_mend_silences_the_rule(before: str, after: str) -> None:
    (advice,) = judge(before, "x.sh").advice
    value = advice.mend.split()[1]
    assert advice.rule not in found(after.format(value))
    was, mended = map(float, _MBPS.findall(advice.evidence)[:2])
    assert mended > 1.1 * was


def test_the_verb(tmp_path: Path) -> None:
    file = tmp_path / "wan.sh"
    file.write_text("# a long path\n" + ROOT + "netem delay 100ms\n")
    result = CliRunner().invoke(app, ["advise", str(file)])
    assert result.exit_code == 1, result.output
    assert f"{file}:2 eth0: limit: netem's limit of 1000 packets" in result.stdout
    assert "mend: limit 11000" in result.stdout
    result = CliRunner().invoke(app, ["advise", "-"], input=ROOT + "netem delay 10ms")
    assert result.exit_code == 0 and "Nothing found" in result.stdout
    result = CliRunner().invoke(app, ["advise", "-"], input=ROOT + "netem dellay 10ms")
    assert result.exit_code == 2 and "did you mean delay?" in result.stderr


@settings(max_examples=25, deadline=None)
@given(
    st.text(max_size=200)
    | st.just("dumbbell: 1\n").flatmap(lambda t: st.text(max_size=60).map(t.__add__))
)
def test_hostile_text_is_an_error_for_users(text: str) -> None:
    try:
        judge(text, "x")
    except ExperimentError as error:
        assert str(error)


def test_a_set_up_that_is_too_large_is_refused_by_the_name_of_its_file(tmp_path: Path) -> None:
    file = tmp_path / "big.sh"
    file.write_text(ROOT + "tbf rate 9000tbit burst 1gb latency 1s")
    result = CliRunner().invoke(app, ["advise", str(file)])
    assert result.exit_code == 2
    assert result.stderr.startswith(f"dumbbell: {file}: flows: a run would take about")


def test_a_run_above_the_limits_can_be_allowed(tmp_path: Path) -> None:
    """The refusal names `--allow`, which the verb once did not have."""
    file = tmp_path / "e.yaml"
    file.write_text(
        "dumbbell: 1\nname: e\ntemplate: {dumbbell: {rate: 1 Mbit/s, rtt: 20 ms, buffer: 1 BDP}}\n"
        "flows: [{from: s1, to: d1, tcp: reno}]\nduration: 1 s\n"
    )
    refused = CliRunner().invoke(app, ["advise", str(file), "--allow", "events=1"])
    assert refused.exit_code == 2 and "allow it: --allow events=" in refused.output
    assert CliRunner().invoke(app, ["advise", str(file), "--allow", "all"]).exit_code in (0, 1)


def test_a_goodput_beside_the_rate_of_a_link_names_its_flow(tmp_path: Path) -> None:
    """Of two flows, one had 4.83 Mbit/s: that looked like what the line carries."""
    text = (Path(__file__).parents[2] / "examples" / "bufferbloat.yaml").read_text("utf-8")
    (evidence,) = [one.evidence for one in judge(text, "e.yaml").advice if one.rule == "buffer"]
    assert re.search(r"\(95 %\) at 4\.\d+ Mbit/s \(flow1\); with limit \d+: ", evidence)
