"""Languages other than tc."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.translate.helpers import of, pipes, refusal

TOPOLOGY = """
from mininet.topo import Topo
from mininet.link import TCLink

class Two(Topo):
    def build(self, n=3):
        switch = self.addSwitch('s1')
        options = dict(bw=10, delay='5ms', max_queue_size=100)
        for h in range(n):
            host = self.addHost('h%s' % (h + 1))
            self.addLink(host, switch, cls=TCLink, **options)
"""


def test_a_topology_of_mininet() -> None:
    made = of(TOPOLOGY, "topo.py")
    assert made.language == "mininet" and made.text.count("between:") == 3
    pipe = pipes(TOPOLOGY, "h3-s1", "topo.py")
    assert pipe["shaper"]["tbf"]["rate_bps"] == 10_000_000
    assert pipe["queue"]["netem"] == {"delay_ns": 5_000_000, "jitter_ns": 0, "limit_packets": 100}
    assert "from: h1, to: h3" in made.text


def test_each_link_of_mininet_with_words_has_a_flow() -> None:
    pairs = (
        "net.addLink('h1', 'h2', cls=TCLink, bw=10)\nnet.addLink('h3', 'h4', cls=TCLink, bw=20)\n"
    )
    made = of(pairs, "topo.py").text
    assert "from: h1, to: h2, tcp: cubic}" in made and "from: h3, to: h4, tcp: cubic}" in made
    assert "duration: 10 s" in made
    star = of(TOPOLOGY, "topo.py").text
    # Joined hosts: one flow after the other.
    assert "from: h1, to: h3, tcp: cubic, stop: 10 s}" in star
    assert "from: h1, to: h2, tcp: cubic, start: 10 s}" in star and "duration: 20 s" in star
    one_way = "net.addLink('h1', 'h2', cls=TCLink, params2={'bw': 10})\n"
    assert "from: h2, to: h1" in of(one_way, "topo.py").text


def test_a_link_that_no_flow_passes_is_said() -> None:
    text = "net.addHost('h1')\nnet.addHost('h2')\nnet.addLink('h1', 's1')\n"
    text += "net.addLink('h2', 's1')\nnet.addLink('s1', 's2', cls=TCLink, bw=10)\n"
    made = of(text, "topo.py")
    assert "from: h1, to: h2" in made.text
    assert [note.words for note in made.lost] == ["s1-s2"]


def test_options_of_a_link_alone() -> None:
    pipe = pipes("bw=20, delay='10ms', jitter='2ms', loss=1, use_htb=True", "h1-h2")
    assert pipe["queue"]["netem"]["delay_ns"] == 8_000_000
    assert pipe["loss"] == {"independent": {"probability": 0.01}}
    tbf = pipes("bw=20, use_tbf=True, latency_ms=10", "h1-h2")
    assert tbf["shaper"]["tbf"]["burst_bytes"] == 15_000
    assert tbf["queue"]["drop_tail"]["limit_bytes"] == 20_000_000 // 8 // 100 + 15_000


def test_what_only_a_run_would_tell_is_said() -> None:
    made = of(TOPOLOGY.replace("bw=10", "bw=float(sys.argv[1])"), "topo.py")
    assert any("bw" in str(note) for note in made.lost)


def test_a_topology_is_never_executed(tmp_path_factory: pytest.TempPathFactory) -> None:
    mark = tmp_path_factory.mktemp("mark") / "executed"
    hostile = f"open({str(mark)!r}, 'w').write('x')\n__import__('os').system('touch {mark}')\n"
    of(hostile + TOPOLOGY, "topo.py")
    assert not mark.exists()


def test_mistakes_of_mininet() -> None:
    assert "did you mean delay?" in refusal("bw=10, dellay='5ms'")
    assert "bw should be a number from 0 to 1000" in refusal("bw=2000, delay='5ms'")


def test_annotations_of_kubernetes() -> None:
    text = "metadata:\n  name: web\n  annotations:\n    kubernetes.io/ingress-bandwidth: 10M\n"
    made = of(text, "pod.yaml")
    assert "backward: {shaper: {tbf: {rate: 10 Mbit/s, burst: 268435455 bytes" in made.text
    assert "did you mean ingress-bandwidth?" in refusal(text.replace("ingress", "ingres"))
    assert "quantity" in refusal(text.replace("10M", "10Q"))


def test_a_cni_configuration() -> None:
    limits = {"ingressRate": 8_000_000, "ingressBurst": 80_000}
    text = json.dumps({"plugins": [{"type": "bridge"}, {"type": "bandwidth", **limits}]}, indent=1)
    made = of(text, "net.conflist")
    assert made.language == "cni"
    assert "buffer: 35000 bytes" in made.text  # 1 MB/s × 25 ms + 10000
    del limits["ingressBurst"]
    assert "ingressBurst must be set too" in refusal(json.dumps(limits))


def test_a_compose_file() -> None:
    text = """services:
  app:
    command: sh -c "tc qdisc add dev eth0 root netem delay 100ms && sleep 1d"
  chaos:
    image: gaiaadm/pumba
    command: netem --duration 5m --interface eth1 delay --time 300 --jitter 30 --correlation 0 app
  lossy:
    entrypoint: ["pumba", "netem", "--duration", "5m", "loss", "--percent", "20", "app"]
"""
    made = of(text, "compose.yaml")
    assert made.language == "compose" and made.lost == ()
    assert pipes(text, "app-eth0", "c.yaml")["queue"]["netem"]["delay_ns"] == 100_000_000
    chaos = pipes(text, "chaos-eth1", "c.yaml")["queue"]["netem"]
    assert (chaos["delay_ns"], chaos["jitter_ns"]) == (270_000_000, 60_000_000)
    assert pipes(text, "lossy-eth0", "c.yaml")["loss"] == {"independent": {"probability": 0.2}}


def test_toxiproxy() -> None:
    toxics = [
        {"type": "latency", "stream": "downstream", "attributes": {"latency": 100, "jitter": 20}},
        {"type": "bandwidth", "stream": "upstream", "attributes": {"rate": 100}},
        {"type": "slicer", "attributes": {}},
    ]
    made = of(json.dumps([{"name": "db", "toxics": toxics}], indent=1), "toxi.json")
    assert "delay: 80 ms, jitter: 40 ms" in made.text and "rate: 800 kbit/s" in made.text
    assert any("slicer" in str(note) for note in made.lost)
    assert any("outside of TCP's loop" in str(note) for note in made.lost)
    assert "did you mean latency?" in refusal(json.dumps([{"type": "latencyy", "attributes": {}}]))


def test_tcconfig() -> None:
    rule = {"delay": "10ms", "delay-distro": "2ms", "loss": "0.5%", "rate": "250Kbps"}
    text = json.dumps({"eth0": {"outgoing": {"protocol=ip": rule}, "incoming": {}}})
    pipe = pipes(text)
    assert pipe["shaper"]["tbf"] == {
        "rate_bps": 250_000, "burst_bytes": 32_000, "initial_bytes": 32_000, "peak": None,
    }  # fmt: skip
    words = pipe["queue"]["netem"]["words"]
    assert words["loss"] == {"random": {"probability": 0.005, "correlation": 0}}


def test_sqm() -> None:
    text = """config queue 'eth1'
\toption interface 'eth1'
\toption download '85000'
\toption upload '2000'
\toption script 'simplest.qos'
"""
    made = of(text, "sqm")
    assert made.language == "sqm" and made.lost == ()
    # 1540 bytes at 2 Mbit/s take 6.16 ms: the target is half as long again
    assert (
        pipes(text, "eth1")["queue"]["htb"]["classes"][0]["queue"]["fq_codel"]["target_ns"]
        == 9_240_000
    )
    cake = pipes(text.replace("simplest.qos", "piece_of_cake.qos"), "eth1")["queue"]["cake"]
    assert (cake["bandwidth_bps"], cake["diffserv"]) == (2_000_000, "besteffort")
    assert "did you mean simplest.qos?" in refusal(text.replace("simplest.qos", "simples.qos"))


def test_the_leaf_of_sqm() -> None:
    text = """config queue 'eth1'
\toption interface 'eth1'
\toption upload '20000'
\toption script 'simplest.qos'
\toption qdisc 'LEAF'
\toption qdisc_really_really_advanced '1'
\toption etarget '7ms'
\toption elimit '300'
"""

    def leaf(name: str, script: str = "simplest.qos") -> dict[str, Any]:
        found = pipes(text.replace("LEAF", name).replace("simplest.qos", script), "eth1")
        own: dict[str, Any] = found["queue"]["htb"]["classes"][0]["queue"]
        return own

    own = leaf("fq_codel")["fq_codel"]
    assert (own["target_ns"], own["limit_packets"]) == (7_000_000, 300)
    assert leaf("codel", "simple.qos")["codel"]["target_ns"] == 7_000_000
    assert leaf("pie")["pie"]["target_ns"] == 7_000_000
    assert leaf("pfifo")["drop_tail"]["limit_packets"] == 300
    assert leaf("bfifo")["drop_tail"]["limit_bytes"] == 300 * 1514
    assert "cake" in leaf("cake")
    assert "did you mean fq_codel?" in refusal(text.replace("LEAF", "fq_codell"))
    cake = text.replace("LEAF", "codel").replace("simplest.qos", "piece_of_cake.qos")
    assert any("always takes cake" in str(note) for note in of(cake, "sqm").lost)


def test_the_framing_of_sqm() -> None:
    text = "config queue 'eth1'\n\toption interface 'eth1'\n\toption upload '20000'\n"
    text += "\toption script 'simplest.qos'\n"
    mpu = "\toption overhead '18'\n\toption tcMPU '64'\n"
    framing = pipes(f"{text}\toption linklayer 'ethernet'\n{mpu}", "eth1")["framing"]
    assert (framing["overhead_bytes"], framing["mpu_bytes"]) == (18, 64)
    assert sum("linklayer is none" in str(note) for note in of(text + mpu, "sqm").lost) == 2
