"""Which packets filters send to a class, and arithmetic of scripts."""

from __future__ import annotations

import pytest

from dumbbell.translate.mistakes import TranslateError
from tests.translate.helpers import lost, of, pipes

HTB = """
tc qdisc add dev eth0 root handle 1: htb default 20
tc class add dev eth0 parent 1: classid 1:1 htb rate 10mbit
tc class add dev eth0 parent 1:1 classid 1:10 htb rate 1mbit ceil 1mbit
tc class add dev eth0 parent 1:1 classid 1:20 htb rate 8mbit ceil 8mbit
tc filter add dev eth0 parent 1: protocol ip prio 1 {} flowid 1:10
"""


@pytest.mark.parametrize(
    ("match", "rate"),
    [
        ("u32 match ip dport 80 0xffff", "rate: 1 Mbit/s"),
        ("u32 match ip protocol 6 0xff", "rate: 1 Mbit/s"),
        ("u32 match ip tos 0x00 0xff", "rate: 1 Mbit/s"),
        ("u32 match u32 0 0", "rate: 1 Mbit/s"),
        ("matchall", "rate: 1 Mbit/s"),
        ("flower ip_proto tcp dst_port 80", "rate: 1 Mbit/s"),
        ("u32 match ip tos 0x10 0xff", "rate: 8 Mbit/s"),
        ("u32 match ip dsfield 0xb8 0xfc", "rate: 8 Mbit/s"),
        ("u32 match ip protocol 17 0xff", "rate: 8 Mbit/s"),
        ("u32 match ip protocol 6 0xff match u16 0x0000 0xffc0 at 2", "rate: 8 Mbit/s"),
        ("flower ip_proto icmp", "rate: 8 Mbit/s"),
    ],
)
def test_the_flow_is_in_the_class_whose_filter_its_data_match(match: str, rate: str) -> None:
    assert f"classes: [{{{rate}" in of(HTB.format(match)).text


def test_conditions_of_filters_are_in_the_file() -> None:
    text = of(HTB.format("u32 match ip dport 80 0xffff")).text
    assert "# line 6: tc filter add dev eth0 parent 1: protocol ip prio 1 u32" in text
    assert "match ip dport 80 0xffff → the flow has such packets: class 1:10" in text
    text = of(HTB.format("u32 match u16 0x0000 0xffc0 at 2")).text
    assert "match u16 0x0000 0xffc0 at 2 → no data of the flow is so: not class 1:10" in text
    assert "such packets" not in of(HTB.format("matchall")).text


def test_a_policer_of_datagrams_says_that_it_polices_these_alone() -> None:
    text = "tc filter add dev eth0 egress {} action police rate 5mbit burst 64k drop"
    assert lost(text.format("matchall")) == []
    (one,) = lost(text.format("flower ip_proto udp"))
    assert one.startswith("ip_proto udp: only these packets are policed")
    assert (
        "dst_port 80 → the flow has such packets"
        in of(text.format("flower ip_proto tcp dst_port 80")).text
    )


@pytest.mark.parametrize("rate", ["$((9*$UP/10))", "$[9*UP/10]", "$(( ${UP} * 9 / 10 ))"])
def test_arithmetic_of_a_script(rate: str) -> None:
    """As in wondershaper: nine tenths of the rate."""
    text = f"UP=805\ntc qdisc add dev eth0 root tbf rate {rate}kbit burst 10k limit 30k\n"
    assert pipes(text)["shaper"]["tbf"]["rate_bps"] == 724_000
    text = f"UP=805\nRATE={rate}kbit\ntc qdisc add dev eth0 root tbf rate $RATE burst 10k limit 30k"
    assert pipes(text)["shaper"]["tbf"]["rate_bps"] == 724_000


@pytest.mark.parametrize("words", ["$((UP*9))", "$((1/0))", "$((9**9**9))", "$((`reboot`))"])
def test_arithmetic_that_is_not_known_is_refused(words: str) -> None:
    with pytest.raises(TranslateError, match="rate"):
        of(f"tc qdisc add dev eth0 root tbf rate {words}kbit burst 10k limit 30k")


def test_lists_of_a_topology() -> None:
    program = """
from mininet.topo import Topo
class T(Topo):
    def build(self, k=2):
        hosts = [self.addHost('h%d' % (i + 1)) for i in range(k) if i < 5]
        switches = []
        for i in range(2):
            switches.append(self.addSwitch(f's{i + 1}'))
        for i, host in enumerate(hosts):
            if i == 0:
                self.addLink(host, switches[0], bw=100)
            else:
                self.addLink(host, switches[-1], bw=10, use_hfsc=True, latency_ms=3)
        for a, b in zip(switches, switches[1:]):
            self.addLink(a, b, bw=5)
"""
    made = of(program, "t.py")
    for words in ("between: [h1, s1]", "between: [h2, s2]", "between: [s1, s2]"):
        assert words in made.text
    assert [one.words for one in made.lost] == ["use_hfsc", "latency_ms"]


def test_a_topology_without_a_known_end_says_so() -> None:
    with pytest.raises(TranslateError, match="no end of a link is known before the program runs"):
        of("net.addLink(random.choice(a), pick(b), bw=10)", "t.py", "mininet")
