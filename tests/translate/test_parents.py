"""Parents, classes and bands of tc: what packets pass, and what is said of all else."""

from __future__ import annotations

import pytest

from tests.translate.helpers import lost, of, pipes

ROOT = "tc qdisc add dev eth0 root"
CHILD = "tc qdisc add dev eth0 parent"
LEAF = "tc class add dev eth0 parent 1: classid 1:10 htb rate 10mbit\n"
POLICE = "tc filter add dev eth0 parent ffff: matchall police rate 10mbit burst 100k "


def test_a_qdisc_without_its_parent_is_used_as_if_at_the_root() -> None:
    text = f"{CHILD} 1:1 handle 10: netem delay 100ms"
    assert pipes(text)["queue"]["netem"]["delay_ns"] == 100_000_000
    assert lost(text) == [
        "netem parent 1:1: there is no such class or qdisc: used as if at the root"
    ]


def test_a_class_without_its_parent_is_used_as_if_at_the_root() -> None:
    assert pipes(LEAF)["queue"]["htb"]["rate_bps"] == 10_000_000
    assert "there is no qdisc 1:" in lost(LEAF)[0]
    text = f"{ROOT} handle 1: htb default 10\n{LEAF.replace('parent 1:', 'parent 1:9')}"
    assert pipes(text)["queue"]["htb"]["rate_bps"] == 10_000_000
    assert lost(text)[0].startswith("parent 1:9: there is no such class")


def test_a_child_of_no_class_is_said() -> None:
    text = f"{ROOT} handle 1: htb default 10\n{LEAF}{CHILD} 1:77 netem delay 10ms"
    assert lost(text) == ["netem parent 1:77: left out: there is no such class or qdisc"]
    other = f"{ROOT} handle 1: netem delay 5ms\n{CHILD} 7: tbf rate 1mbit burst 9k latency 9ms"
    assert lost(other) == ["tbf parent 7:: left out: there is no such class or qdisc"]


@pytest.mark.parametrize("default", ["", "default 20", "default 0"])
def test_htb_without_its_default_class_does_not_shape(default: str) -> None:
    text = f"{ROOT} handle 1: htb {default}\n{LEAF}{CHILD} 1:10 netem delay 30ms"
    pipe = pipes(text)
    assert pipe["shaper"] == {"serial": {"rate_bps": 10**9}}
    assert pipe["queue"]["drop_tail"]["limit_packets"] == 1000
    assert "pass unshaped" in lost(text)[0]
    steered = f"{text}\ntc filter add dev eth0 parent 1: matchall flowid 1:10"
    assert pipes(steered)["queue"]["netem"]["delay_ns"] == 30_000_000


def test_prio_puts_tos_0_into_its_second_band() -> None:
    text = f"{ROOT} handle 1: prio\n{CHILD} 1:3 netem delay 10ms"
    assert "netem" not in pipes(text)["queue"]
    assert lost(text) == [
        "netem parent 1:3: left out: packets without a filter or TOS are in 1:2 (priomap)"
    ]
    assert pipes(text.replace("1:3", "1:2"))["queue"]["netem"]["delay_ns"] == 10_000_000
    steered = "\ntc filter add dev eth0 parent 1: matchall flowid 1:1"
    other = text.replace("1:3", "1:2") + steered
    assert "netem" not in pipes(other)["queue"] and "another band" in lost(other)[0]
    mapped = text.replace("prio", "prio priomap 2 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1")
    assert lost(mapped) == [] and pipes(mapped)["queue"]["netem"]["delay_ns"] == 10_000_000


@pytest.mark.parametrize(
    ("action", "drops", "said"),
    [
        ("drop", True, ""),
        ("conform-exceed drop/pass", True, ""),
        ("", True, "(no action: reclassify)"),
        ("reclassify", True, "reclassify"),
        ("continue", False, "not dropped"),
        ("pass", False, "not dropped"),
        ("ok", False, "not dropped"),
        ("conform-exceed pipe", False, "not dropped"),
        ("conform-exceed continue/drop", False, "what conforms passes"),
    ],
)
def test_a_policer_drops_only_if_its_action_does(action: str, drops: bool, said: str) -> None:
    assert ("policer: {rate: 10 Mbit/s" in of(POLICE + action).text) == drops
    assert said in " ".join(lost(POLICE + action)) and bool(lost(POLICE + action)) == bool(said)


def test_a_policer_whose_mtu_is_below_a_frame_drops_each_full_frame() -> None:
    text = POLICE + "mtu 1000 drop"
    assert "burst: 1000 bytes" in of(text).text and "police mtu 1000" in lost(text)[0]
    assert lost(POLICE + "mtu 2000 drop") == []


def test_red_above_netem_is_the_queue_of_the_shaper() -> None:
    pipe = pipes("bw=10, delay='5ms', enable_ecn=True", "h1-h2")
    (own,) = [pipe["queue"]["htb"]["classes"][0]["queue"]]
    assert own["red"]["ecn"] and own["red"]["max_bytes"] == 35_000
    assert pipe["delay_ns"] == 5_000_000
    red = f"{CHILD} 1: handle 2: red limit 400000 min 30000 max 90000 avpkt 1000 burst 55\n"
    text = f"{ROOT} handle 1: tbf rate 10mbit burst 10k latency 50ms\n{red}{CHILD} 2: netem "
    pipe = pipes(text + "delay 20ms")
    assert pipe["shaper"]["tbf"]["rate_bps"] == 10_000_000 and pipe["delay_ns"] == 20_000_000
    assert pipe["queue"]["red"]["min_bytes"] == 30_000
    assert lost(text + "delay 20ms")[0].startswith("netem below red")


SHOWN = """qdisc mq 0: root
qdisc fq_codel 0: parent :2 limit 10240p flows 1024 quantum 1514 target 5ms interval 100ms ecn
qdisc fq_codel 0: parent :1 limit 10240p flows 1024 quantum 1514 target 5ms interval 100ms ecn
"""


def test_queues_of_a_network_card_are_beside_each_other() -> None:
    """The kernel's own qdiscs have handle 0: a queue of mq is no child of another queue."""
    found = of(SHOWN)
    assert found.text.count("fq_codel: {") == 1
    assert lost(SHOWN) == ["fq_codel parent 0:1: left out: the flow passes another child"]


def test_a_variable_may_hold_the_begin_of_a_command() -> None:
    """LARTC's U32: filters that were passed over in silence, with the class that they name."""
    text = (
        f"{ROOT} handle 1: htb default 30\n"
        "tc class add dev eth0 parent 1: classid 1:10 htb rate 5mbit\n"
        "tc class add dev eth0 parent 1: classid 1:30 htb rate 1mbit\n"
        'U32="tc filter add dev eth0 protocol ip parent 1:0 prio 1 u32"\n'
        "$U32 match ip dport 80 0xffff flowid 1:10\n"
    )
    assert pipes(text)["queue"]["htb"]["rate_bps"] == 5_000_000
    assert lost(text) == ["class 1:30: left out: the experiment has class 1:10"]


def test_a_variable_of_several_words_is_several_words() -> None:
    text = f'OPTIONS="delay 10ms loss 1%"\n{ROOT} netem $OPTIONS limit 70'
    netem = pipes(text)["queue"]["netem"]
    assert (netem["delay_ns"], netem["limit_packets"]) == (10_000_000, 70)


def test_a_ceil_below_the_rate_is_the_rate() -> None:
    """`htb_class_mode` of sch_htb.c: a class without tokens of its ceil cannot send."""
    text = (
        "tc qdisc add dev eth0 root handle 1: htb default 11\n"
        "tc class add dev eth0 parent 1: classid 1:11 htb rate 1mbit ceil 512kbit"
    )
    htb = pipes(text)["queue"]["htb"]
    assert htb["rate_bps"] == 512_000
    assert lost(text) == ["rate 1 Mbit/s: not reached: its ceil is 512 kbit/s"]


def test_parent_root_is_root() -> None:
    assert lost("tc qdisc add dev eth0 parent root handle 1: bfifo limit 100kb") == []
