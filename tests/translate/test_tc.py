"""Commands of tc: what each word becomes in the scenario."""

from __future__ import annotations

from typing import Any

import pytest

from tests.translate.helpers import lost, of, pipes, refusal

ROOT = "tc qdisc add dev eth0 root"


def test_the_limit_of_netem_holds_delayed_packets_and_is_1000_by_default() -> None:
    queue = pipes(f"{ROOT} netem delay 100ms")["queue"]["netem"]
    assert queue == {"delay_ns": 100_000_000, "jitter_ns": 0, "limit_packets": 1000}
    assert pipes(f"{ROOT} netem delay 100ms limit 5000")["queue"]["netem"]["limit_packets"] == 5000


def test_jitter_is_mean_and_half_width() -> None:
    queue = pipes(f"{ROOT} netem delay 60ms 30ms")["queue"]["netem"]
    assert (queue["delay_ns"], queue["jitter_ns"]) == (30_000_000, 60_000_000)


def test_netem_with_a_rate_keeps_the_order() -> None:
    pipe = pipes(f"{ROOT} netem delay 60ms 30ms rate 10mbit")
    assert pipe["jitter_ns"] == 60_000_000 and pipe["queue"]["netem"]["jitter_ns"] == 0
    assert pipe["shaper"]["tbf"]["rate_bps"] == 10_000_000


def test_netem_with_a_rate_alone_is_a_wire() -> None:
    pipe = pipes(f"{ROOT} netem rate 1mbps limit 50")
    assert pipe["shaper"] == {"serial": {"rate_bps": 8_000_000}}
    assert pipe["queue"]["drop_tail"]["limit_packets"] == 50


def words(text: str) -> dict[str, Any]:
    """Words of netem."""
    return dict(pipes(f"{ROOT} netem {text}")["queue"]["netem"]["words"])


def test_delays_have_their_distribution_and_correlation() -> None:
    normal = words("delay 100ms 20ms 25% distribution normal")
    assert (normal["jitter_ns"], normal["distribution"]) == (20_000_000, "normal")
    assert normal["delay_correlation"] == 0.25
    # Draws below 0 are sent at once.
    assert words("delay 1ms 2ms")["jitter_ns"] == 2_000_000


def test_beside_a_rate_a_distribution_keeps_its_standard_deviation() -> None:
    """netem with a rate keeps the order of packets, so the jitter is that of the link."""
    text = f"{ROOT} netem delay 100ms 20ms distribution normal rate 10mbit"
    pipe = pipes(text)
    assert pipe["jitter_ns"] == pytest.approx(20e6 * 12**0.5, rel=1e-4)
    middle = pipe["queue"]["netem"]["delay_ns"] + pipe["jitter_ns"] / 2
    assert middle == pytest.approx(100e6, rel=1e-4)
    assert "standard deviation" in lost(text)[0]
    own = f"{ROOT} netem delay 100ms 20ms distribution mine"
    assert pipes(own)["queue"]["netem"]["jitter_ns"] == pytest.approx(20e6 * 12**0.5, rel=1e-4)
    assert "mine" in lost(own)[0]


def test_slots_have_their_distribution() -> None:
    text = f"{ROOT} netem slot distribution normal 10ms 2ms packets 4"
    slots = pipes(text)["slots"]
    waits = slots["distribution"]
    assert (waits["distribution"], waits["delay_ns"], waits["jitter_ns"]) == (
        "normal", 10_000_000, 2_000_000
    )  # fmt: skip
    assert slots["packets"] == 4 and lost(text) == []


def test_losses() -> None:
    assert pipes(f"{ROOT} netem loss 0.3%")["loss"] == {"independent": {"probability": 0.003}}
    model = pipes(f"{ROOT} netem loss gemodel 1% 10% 70% 0.1%")["loss"]["gilbert_elliott"]
    assert model == {"good_to_bad": 0.01, "bad_to_good": 0.1, "loss_bad": 0.7, "loss_good": 0.001}
    default = pipes(f"{ROOT} netem loss gemodel 1%")["loss"]["gilbert_elliott"]
    assert (default["bad_to_good"], default["loss_bad"], default["loss_good"]) == (0.99, 1, 0)
    state = pipes(f"{ROOT} netem loss state 5% 20%")["loss"]["gilbert_elliott"]
    assert (state["good_to_bad"], state["bad_to_good"], state["loss_bad"]) == (0.05, 0.2, 1)


def test_losses_of_netem_itself() -> None:
    assert words("loss 1% 25%")["loss"]["random"] == {"probability": 0.01, "correlation": 0.25}
    chain = words("loss state 1% 20% 30% 50% 0.1%")["loss"]["state"]
    assert chain == {"p13": 0.01, "p31": 0.2, "p32": 0.3, "p23": 0.5, "p14": 0.001}
    marked = words("loss gemodel 1% 10% 70% 0.1% ecn")
    assert marked["ecn"]
    assert marked["loss"]["gemodel"] == {"p": 0.01, "r": 0.1, "loss_bad": 0.7, "loss_good": 0.001}


def test_correlation_and_seed() -> None:
    both = words("duplicate 2% 50% corrupt 1% 40% seed 7")
    assert both["duplicate"] == {"probability": 0.02, "correlation": 0.5}
    assert both["corrupt"] == {"probability": 0.01, "correlation": 0.4}
    assert both["seed"] == 7
    assert "18446744073709551615" in lost(f"{ROOT} netem loss 1% seed 18446744073709551615")[0]


def test_reorder_sends_early() -> None:
    early = words("delay 10ms reorder 25% 50%")["reorder"]
    assert early == {"probability": 0.25, "correlation": 0.5, "gap": 1}
    gap = words("delay 10ms reorder 100% gap 5")["reorder"]
    assert (gap["probability"], gap["gap"]) == (1, 5)


def test_other_parts_of_netem() -> None:
    pipe = pipes(f"{ROOT} netem corrupt 0.1% duplicate 2% slot 800us 1ms packets 4")
    assert (pipe["corruption"], pipe["duplication"]) == (0.001, 0.02)
    assert (pipe["slots"]["min_ns"], pipe["slots"]["max_ns"], pipe["slots"]["packets"]) == (
        800_000,
        1_000_000,
        4,
    )
    atm = pipes(f"{ROOT} netem rate 1mbit 20 48 5")["framing"]
    assert (atm["atm"], atm["overhead_bytes"]) == (True, 20)


def test_the_limit_of_tbf() -> None:
    pipe = pipes(f"{ROOT} tbf rate 1mbit burst 32kbit latency 400ms")
    assert (
        pipe["queue"]["drop_tail"]["limit_bytes"] == 125_000 * 4 // 10 + 4096
    )  # `tc -r qdisc show`
    assert pipe["shaper"]["tbf"]["initial_bytes"] == 4096
    peak = pipes(f"{ROOT} tbf rate 1mbit burst 10kb latency 70ms peakrate 2mbit minburst 1540")
    assert peak["queue"]["drop_tail"]["limit_bytes"] == 125_000 * 7 // 100 + 10_240
    assert peak["shaper"]["tbf"]["peak"]["rate_bps"] == 2_000_000


def test_children_replace_the_queue_of_tbf() -> None:
    text = (
        f"{ROOT} handle 1: tbf rate 1mbit burst 10k limit 3000\ntc qdisc add dev eth0 parent 1:1 "
    )
    assert pipes(text + "netem delay 30ms")["queue"]["netem"]["delay_ns"] == 30_000_000
    assert pipes(text + "fq_codel target 20ms")["queue"]["fq_codel"]["target_ns"] == 20_000_000


def test_a_child_of_netem_follows_in_a_link_of_its_own() -> None:
    text = f"""{ROOT} handle 1: netem delay 30ms
tc qdisc add dev eth0 parent 1: handle 2: tbf rate 1mbit burst 10k limit 9000"""
    assert pipes(text)["queue"]["netem"]["delay_ns"] == 30_000_000
    assert pipes(text, "eth0-1")["shaper"]["tbf"]["rate_bps"] == 1_000_000


def test_htb_borrows_from_its_parent() -> None:
    pipe = pipes("""tc qdisc add dev eth0 root handle 1: htb default 10
tc class add dev eth0 parent 1: classid 1:1 htb rate 6mbit burst 15k
tc class add dev eth0 parent 1:1 classid 1:10 htb rate 1mbit ceil 5mbit burst 15k""")
    htb = pipe["queue"]["htb"]
    assert (htb["rate_bps"], htb["burst_bytes"]) == (6_000_000, 15_360)
    own = htb["classes"][0]
    assert (own["rate_bps"], own["ceil_bps"], own["cburst_bytes"]) == (1_000_000, 5_000_000, 1600)


def test_htb_with_netem_below() -> None:
    pipe = pipes("""tc qdisc add dev eth0 root handle 5: htb default 1
tc class add dev eth0 parent 5: classid 5:1 htb rate 10mbit burst 15k
tc qdisc add dev eth0 parent 5:1 handle 10: netem delay 5ms limit 100""")
    assert pipe["shaper"]["tbf"]["burst_bytes"] == 1600  # cburst bounds it (htb_class_mode)
    assert pipe["queue"]["netem"] == {"delay_ns": 5_000_000, "jitter_ns": 0, "limit_packets": 100}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("fq_codel limit 1000 noecn", {"limit_packets": 1000, "ecn": False}),
        ("fq_codel ce_threshold 1ms ce_threshold_selector 0x1/0x3", {"ce_threshold_ect1": True}),
        ("codel target 10ms ecn", {"target_ns": 10_000_000, "ecn": True}),
        ("pie target 20ms alpha 4", {"target_ns": 20_000_000, "alpha": 4}),
        ("fq_pie flows 64 target 20ms", {"flows": 64, "target_ns": 20_000_000}),
        ("red limit 400000 min 30000 max 90000 avpkt 1000 burst 55", {"burst_packets": 55}),
        ("red limit 400000 probability 0.1", {"probability": 0.1}),
        ("choke limit 500 min 20 max 60", {"min_packets": 20}),
        ("sfq perturb 10", {"limit_packets": 127}),
        ("fq flow_limit 50", {"flow_limit_packets": 50}),
        ("dualpi2 target 20ms step_thresh 2ms", {"step_thresh_ns": 2_000_000}),
        ("dualpi2 alpha 0.16 beta 3.2", {"alpha": 40, "beta": 819}),
        ("cake bandwidth 20mbit overhead 18", {"bandwidth_bps": 20_000_000, "overhead_bytes": 18}),
        ("cake bandwidth 20mbit diffserv4 mpu 64", {"diffserv": "diffserv4", "mpu_bytes": 64}),
        ("cake bandwidth 20mbit raw", {"overhead_bytes": 14}),
        ("cake bandwidth 20mbit docsis", {"overhead_bytes": 18, "mpu_bytes": 64}),
    ],
)
def test_disciplines(words: str, expected: dict[str, object]) -> None:
    (queue,) = pipes(f"{ROOT} {words}")["queue"].values()
    flat = {**queue, **queue.get("fq", {}), **queue.get("pie", {})}
    assert {key: flat.get(key) for key in expected} == expected


def test_fifos() -> None:
    assert pipes(f"{ROOT} pfifo limit 20")["queue"]["drop_tail"]["limit_packets"] == 20
    assert pipes(f"{ROOT} bfifo limit 30kb")["queue"]["drop_tail"]["limit_bytes"] == 30_720
    assert pipes(f"{ROOT} pfifo_fast")["queue"]["drop_tail"]["limit_packets"] == 1000


def test_a_policer_of_arriving_packets() -> None:
    text = of("""tc qdisc add dev eth0 handle ffff: ingress
tc filter add dev eth0 parent ffff: protocol ip u32 match u32 0 0 \\
  police rate 10mbit burst 100k drop flowid :1""").text
    assert "backward: {policer: {rate: 10 Mbit/s, burst: 102400 bytes}}" in text
    assert "from: there, to: here" in text and "from: here" not in text


def test_what_ifb_shapes_arrives() -> None:
    text = of("""tc qdisc add dev eth0 handle ffff: ingress
tc filter add dev eth0 parent ffff: matchall action mirred egress redirect dev ifb0
tc qdisc add dev ifb0 root netem delay 10ms""").text
    assert "backward: {netem: {delay: 10 ms, limit: 1000 packets}}" in text


def test_scripts() -> None:
    text = """#!/bin/sh
# tc qdisc add dev eth9 root netem delay 9s
DEV=eth0; DELAY=40
sudo /sbin/tc qdisc del dev $DEV root 2>/dev/null || true
sudo tc qdisc add dev $DEV root \\
    handle 1: netem \\
    delay ${DELAY}ms && echo done
docker exec web sh -c "tc qdisc replace dev eth1 root netem loss 1%"
ip link set dev eth0 mtu 9000
"""
    made = of(text).text
    assert pipes(text)["queue"]["netem"]["delay_ns"] == 40_000_000
    assert pipes(text, "eth1")["loss"] == {"independent": {"probability": 0.01}}
    assert "mtu: 9000 bytes" in made and "eth9" not in made and "# line 5:" in made


def test_abbreviations_and_code_in_a_page() -> None:
    assert pipes("tc q a dev eth0 root netem loss 1%")["loss"] != "none"
    page = "Add loss: `tc qdisc add dev eth0 root netem loss 1%` and measure.\n"
    assert pipes(page)["loss"] == {"independent": {"probability": 0.01}}


def test_a_variable_without_a_value_is_said() -> None:
    message = refusal(f"{ROOT} tbf rate ${{RATE}} burst 10k latency 5ms")
    assert "rate has a variable that the script does not set; found ${RATE}" in message


def test_words_have_the_line_where_they_stand() -> None:
    text = f"# first\n{ROOT} netem \\\n  delay 10ms 5ms \\\n  25% rate 1mbit"
    assert [note.line for note in of(text).lost] == [4]
    assert refusal(text.replace("rate 1mbit", "lost 1%")).startswith(
        "x.sh:4: netem has no such word"
    )


def test_a_script_in_quotes_over_several_lines() -> None:
    text = "docker exec web sh -c '\n  tc qdisc add dev eth0 root netem loss 1%'\n"
    assert pipes(text)["loss"] == {"independent": {"probability": 0.01}}


def test_a_prompt_of_root_is_no_comment_if_there_is_nothing_else() -> None:
    assert pipes("# tc qdisc add dev eth0 root netem loss 1%")["loss"] != "none"
    assert pipes("$ sudo tc qdisc add dev eth0 root netem loss 1%")["loss"] != "none"


def test_both_ends_of_a_veth_pair_are_one_link() -> None:
    text = """ip link add veth0 type veth peer name veth1
tc qdisc add dev veth0 root netem delay 10ms
tc qdisc add dev veth1 root netem delay 30ms"""
    made = of(text).text
    assert "forward: {netem: {delay: 10 ms" in made and "backward: {netem: {delay: 30 ms" in made


def test_a_script_that_cleans_up_keeps_its_words() -> None:
    text = "tc qdisc add dev eth0 root netem delay 10ms\nsleep 60\ntc qdisc del dev eth0 root\n"
    assert pipes(text)["queue"]["netem"]["delay_ns"] == 10_000_000


def test_words_without_a_counterpart_are_said_with_their_line() -> None:
    text = (
        f"# first\n{ROOT} netem delay 10ms 5ms 25% loss 1% 30% distribution pareto ecn rate 1mbit"
    )
    found = of(text, "x.sh")
    assert {note.line for note in found.lost} == {2}
    words = " ".join(map(str, found.lost))
    for word in ("25 %", "30 %", "pareto", "ecn"):
        assert word in words
        assert word in found.text
    assert lost(f"{ROOT} netem delay 10ms 5ms loss 1%") == []


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        ("netem dellay 100ms", ("x.sh:1", "found dellay", "did you mean delay?", "allowed:")),
        ("netem delay 100mss", ("delay should be a time", "found 100mss", "100ms")),
        ("netem loss", ("loss needs a percentage", "found nothing")),
        ("netem loss 120%", ("loss should be a percentage", "120%")),
        ("netem reorder 25%", ("reorder is not possible without a delay",)),
        ("nettem delay 1ms", ("no such qdisc", "did you mean netem?")),
        ("tbf rate 1mbit burst 10k", ("a limit or a latency",)),
        ("tbf rate 1mbt burst 10k latency 5ms", ("rate should be a rate", "1mbt")),
        ("htb defualt 10", ("htb has no such word", "did you mean default?")),
        ("fq_codel targett 5ms", ("fq_codel has no such word", "did you mean target?")),
        ("cake bandwith 1mbit", ("cake has no such word", "did you mean bandwidth?")),
        ("red min 3000", ("red needs a limit",)),
    ],
)  # fmt: skip
def test_wrong_words(words: str, parts: tuple[str, ...]) -> None:
    message = refusal(f"{ROOT} {words}")
    assert all(part in message for part in parts), message


def test_text_without_words() -> None:
    assert "no words that can be translated" in refusal("hello\n")
    assert "nothing that shapes packets (tc)" in refusal("tc qdisc show dev eth0\n")
    assert "no such language" in refusal("x", language="tcc")
