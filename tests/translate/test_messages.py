"""Words around qdiscs, lines that tc shows, variables, and messages that name the mend."""

from __future__ import annotations

import pytest

from tests.translate.helpers import lost, of, pipes, refusal

ROOT = "tc qdisc add dev eth0 root"


def test_a_size_table_is_a_framing() -> None:
    stab = f"{ROOT} handle 1: stab overhead 26 linklayer atm "
    framing = pipes(stab + "tbf rate 1mbit burst 10k latency 50ms")["framing"]
    assert (framing["overhead_bytes"], framing["atm"]) == (26, True)
    leaf = "htb default 1\ntc class add dev eth0 parent 1: classid 1:1 htb rate 1mbit"
    assert pipes(stab + leaf)["framing"]["overhead_bytes"] == 26
    assert "without a rate" in lost(stab + "netem delay 10ms")[0]


def test_an_estimator_is_a_word() -> None:
    text = f"{ROOT} est 1sec 4sec netem delay 10ms"
    assert pipes(text)["queue"]["netem"]["delay_ns"] == 10_000_000
    assert lost(text) == ["est 1sec 4sec: without effect: it only counts"]


def test_lines_that_tc_shows_are_read_as_commands() -> None:
    shown = "qdisc netem 8001: root refcnt 2 limit 900 delay 100ms  10ms\n"
    assert of(shown).language == "tc" and lost(shown) == []
    queue = pipes(shown)["queue"]["netem"]
    assert (queue["limit_packets"], queue["delay_ns"]) == (900, 90_000_000)
    several = """qdisc noqueue 0: dev lo root refcnt 2
qdisc tbf 1: dev eth1 root refcnt 2 rate 1Mbit burst 4Kb lat 400.0ms
qdisc fq_codel 10: dev eth1 parent 1:1 limit 10240p flows 1024 quantum 1514 target 7ms ecn
"""
    pipe = pipes(several, "eth1")
    assert pipe["shaper"]["tbf"]["rate_bps"] == 1_000_000
    assert pipe["queue"]["fq_codel"]["target_ns"] == 7_000_000
    assert "name: lo" not in of(several).text
    # Beside commands they are output.
    both = f"{ROOT} netem delay 10ms\ntc qdisc show\n{shown}"
    assert pipes(both)["queue"]["netem"]["delay_ns"] == 10_000_000
    htb = """qdisc htb 1: root refcnt 2 r2q 10 default 0x10 direct_packets_stat 0 direct_qlen 1000
class htb 1:10 root leaf 10: prio 0 rate 10Mbit ceil 10Mbit burst 1600b cburst 1600b
qdisc netem 10: parent 1:10 limit 1000 delay 30ms
"""
    assert pipes(htb)["queue"]["netem"]["delay_ns"] == 30_000_000 and lost(htb) == []


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        ("netem delay 100 ms", ("write 100ms", "found 100 ms")),
        ("tbf rate 10 mbit burst 10k latency 5ms", ("write 10mbit",)),
        ("netem loss 1 %", ("write 1%",)),
        ("netem rate 100Mb", ("did you mean 100mbit?",)),
        ("tbf rate 100M burst 10k latency 5ms", ("did you mean 100mbit?",)),
        ("tbf rate 2.5Gb/s burst 10k latency 5ms", ("did you mean 2.5gbit?",)),
        ("netem delay $DELAY", ("DELAY=100ms on a line in front", "${DELAY:-100ms}")),
    ],
)
def test_messages_name_the_mend(words: str, parts: tuple[str, ...]) -> None:
    message = refusal(f"{ROOT} {words}")
    assert all(part in message for part in parts), message


def test_defaults_of_variables() -> None:
    text = f"{ROOT} netem delay ${{DELAY:-50ms}}"
    assert pipes(text)["queue"]["netem"]["delay_ns"] == 50_000_000
    assert pipes("DELAY=20ms\n" + text)["queue"]["netem"]["delay_ns"] == 20_000_000
    compose = 'services:\n  app:\n    command: sh -c "DELAY=30ms; {}"\n'
    own = compose.format(f"{ROOT} netem delay $${{DELAY}}")
    assert pipes(own, "app-eth0", "c.yaml")["queue"]["netem"]["delay_ns"] == 30_000_000


def test_beside_slots_the_limit_has_one_comment() -> None:
    text = of(f"{ROOT} netem delay 10ms slot 1ms 2ms limit 100").text
    assert text.count("limit 100") == 2  # the command, and the comment
    assert "lost: limit 100: does not count delayed packets" in text
    assert "(no limit)" not in of(f"{ROOT} netem delay 10ms slot 1ms 2ms").text
