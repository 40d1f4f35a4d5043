"""Each mistake has its exact message: file, line, field, what was found, what is allowed."""

from __future__ import annotations

import pytest

from tests.helpers import BASE, message


def with_(old: str, new: str) -> str:
    assert old in BASE
    return BASE.replace(old, new)


ALGORITHMS = (
    "allowed: reno, bic, cubic, bbr, westwood, scalable, highspeed, vegas, veno, htcp, illinois, "
    "yeah and 9 more"
)
MISTAKES = {
    "unknown field": (
        with_("duration", "durration"),
        "e.yaml:7: durration: unknown field; did you mean duration?; allowed: dumbbell, name, "
        "description, template, hosts, routers, switches, links, routes, workload, flows, arrivals "
        "and 13 more",
    ),
    "missing field": (
        with_("duration: 100 s\n", ""),
        "e.yaml:1: duration: is missing",
    ),
    "missing field below": (
        with_("rtt: 40 ms, ", ""),
        "e.yaml:3: template.dumbbell.rtt: is missing",
    ),
    "missing unit": (
        with_("100 s", "100"),
        "e.yaml:7: duration: a time needs a unit: 100 ms, 100 s or 100 us; found 100",
    ),
    "unit of another tool": (
        with_("10 Mbit/s", "10 Mbps"),
        "e.yaml:3: template.dumbbell.rate: unknown unit for a rate; found 10 Mbps; did you mean "
        "10 Mbit/s?; allowed: bit/s, kbit/s, Mbit/s, Gbit/s, Tbit/s",
    ),
    "negative": (
        with_("5 s", "-5 s"),
        "e.yaml:6: flows[1].start: a time cannot be negative; found -5 s",
    ),
    "too long": (
        with_("100 s", "3000 h"),
        "e.yaml:7: duration: 10800000000000000 ns is longer than 106 days",
    ),
    "stretch that ends before it begins": (
        BASE + "taps: [{at: s1, link: s1-r1}]\nsampling: {packets: {from: 5 s, to: 1 s}}\n",
        "e.yaml:9: sampling.packets.to: must be later than where it begins",
    ),
    "packets without a tap": (
        BASE + "sampling: {packets: {to: 1 s}}\n",
        "e.yaml:8: sampling.packets: packets are kept at taps; there is none",
    ),
    "an object that waits for one below it": (
        BASE + "pages: [{name: p, client: d1, server: s1, objects: [\n"
        "  {name: a, size: 1 KB, after: b}, {name: b, size: 1 KB}]}]\n",
        "e.yaml:8: pages[0].objects: an object waits for those above it; there is none of this "
        "name; found b",
    ),
    "two objects of one name": (
        BASE + "pages: [{name: p, client: d1, server: s1, objects: [\n"
        "  {name: a, size: 1 KB, count: 2}]}]\n",
        "e.yaml:8: pages[0].objects: two objects are named a; with count, write {i} in the name",
    ),
    "several connections of HTTP/2": (
        BASE + "pages: [{name: p, client: d1, server: s1, protocol: http/2, connections: 3,\n"
        "  objects: [{name: a, size: 1 KB}]}]\n",
        "e.yaml:8: pages[0].connections: HTTP/2 uses one connection to a server",
    ),
    "arrivals without a rate": (
        BASE + "arrivals: [{name: w, from: s1, to: d1, size: 1 KB, tcp: cubic}]\n",
        "e.yaml:8: arrivals[0]: exactly one of these is needed; found none; allowed: per_second, "
        "load",
    ),
    "a tail that ends where it begins": (
        BASE + "arrivals: [{name: w, from: s1, to: d1, per_second: 1, tcp: cubic,\n"
        "  size: {pareto: {shape: 1, min: 2 KB, max: 1 KB}}}]\n",
        "e.yaml:9: arrivals[0].size.pareto.max: not above the least",
    ),
    "a page from nowhere": (
        BASE + "pages: [{name: p, client: d1, server: s9, objects: [{name: a, size: 1 KB}]}]\n",
        "e.yaml:8: pages[0].server: no host s9; allowed: d1, d2, s1, s2",
    ),
    "nothing": (
        with_("10 Mbit/s", "0 Mbit/s"),
        "e.yaml:3: template.dumbbell.rate: a rate above 0 is needed; found 0 Mbit/s",
    ),
    "unknown algorithm": (
        with_("bbr", "bbr2"),
        "e.yaml:6: flows[1].tcp: unknown congestion control; found bbr2; did you mean bbr?; "
        + ALGORITHMS,
    ),
    "unknown level": (
        with_("tcp: cubic", "tcp: $cc") + "factors:\n  cc:\n    - reno\n    - cubik\n",
        "e.yaml:11: flows[0].tcp: unknown congestion control; found cubik; did you mean cubic?; "
        + ALGORITHMS,
    ),
    "a target above the interval": (
        with_("buffer: 1 BDP", "queue: {codel: {target: 200 ms}}"),
        "e.yaml:3: template.dumbbell.queue.codel.target: 200 ms; at most the interval (100 ms)",
    ),
    "a limit of nothing": (
        with_("buffer: 1 BDP", "queue: {pie: {limit: 0 packets}}"),
        "e.yaml:3: template.dumbbell.queue.pie.limit: a number of packets above 0 is needed; "
        "found 0 packets",
    ),
    "a quantum below the kernel's least": (
        with_("buffer: 1 BDP", "queue: {fq_codel: {quantum: 100 bytes}}"),
        "e.yaml:3: template.dumbbell.queue.fq_codel.quantum: 100 is not within 256 to 1048576",
    ),
    "a child under a classless discipline": (
        with_("buffer: 1 BDP", "queue: {codel: {queue: pfifo}}"),
        "e.yaml:3: template.dumbbell.queue.codel.queue: this discipline has no classes, so it "
        "takes no queue of its own; allowed: prio, drr, htb",
    ),
    "an unknown discipline": (
        with_("buffer: 1 BDP", "queue: coddel"),
        "e.yaml:3: template.dumbbell.queue: unknown queue; found coddel; did you mean codel?; "
        "allowed: pfifo, bfifo, pfifo_head_drop, red, choke, codel, fq_codel, pie, "
        "fq_pie, sfq, fq, dualpi2 and 1 more",
    ),
    "a rate for cake and one for its link": (
        with_("buffer: 1 BDP", "queue: {cake: {bandwidth: 1 Mbit/s}}"),
        "e.yaml:3: template.dumbbell.rate: cake with a bandwidth has a rate of its own",
    ),
    "an isolation that cake does not know": (
        with_("buffer: 1 BDP", "queue: {cake: {isolation: dual-srchosts}}"),
        "e.yaml:3: template.dumbbell.queue.cake.isolation: unknown isolation; found "
        "dual-srchosts; did you mean dual-srchost?; allowed: triple-isolate, dual-srchost, "
        "dual-dsthost, flows, hosts, srchost, dsthost, flowblind",
    ),
    "a discipline without its parameters": (
        with_("buffer: 1 BDP", "queue: drr"),
        "e.yaml:3: template.dumbbell.queue: drr needs its parameters; found drr; "
        "allowed: {drr: {…}}",
    ),
    "classes of which none takes the rest": (
        with_("buffer: 1 BDP", "queue: {prio: {bands: [{dscp: EF}]}}"),
        "e.yaml:3: template.dumbbell.queue.prio.bands: one must have no dscp and take what no "
        "other does",
    ),
    "rates that exceed the parent": (
        BASE.partition("template")[0] + "hosts: {a: , b: }\n"
        "links: [{between: [a, b], queue: {htb: {rate: 1 Mbit/s, classes: ["
        "{rate: 900 kbit/s, dscp: EF}, {rate: 200 kbit/s}]}}}]\n"
        "flows: [{from: a, to: b, tcp: cubic}]\nduration: 1 s\n",
        "e.yaml:4: links[0].queue.htb.classes[1].rate: 200000 bit/s; the classes so far are "
        "promised 1100000 bit/s, the parent has 1000000 bit/s",
    ),
    "two kinds of traffic": (
        with_("tcp: bbr", "tcp: bbr, udp: 1 Mbit/s"),
        "e.yaml:6: flows[1]: exactly one of these is needed; found tcp and udp; allowed: tcp, "
        "mptcp, udp, ping, video, quic, voice",
    ),
    "starts after the end": (
        with_("start: 5 s", "start: 100 s"),
        "e.yaml:6: flows[1].start: not before the end of the run",
    ),
    "unknown host": (
        with_("to: d1", "to: d3"),
        "e.yaml:5: flows[0].to: no host d3; allowed: d1, d2, s1, s2",
    ),
    "to itself": (
        with_("to: d1", "to: s1"),
        "e.yaml:5: flows[0].to: s1 sends to itself",
    ),
    "unjoined host": (
        BASE + "hosts: {lonely: {}}\n",
        "e.yaml:8: hosts.lonely: no link joins lonely",
    ),
    "unconnected hosts": (
        BASE.replace("to: d2", "to: b") + "hosts: {a: {}, b: {}}\nlinks:\n  - {between: [a, b]}\n",
        "e.yaml:6: flows[1]: there is no path from s2 to b",
    ),
    "loop in routes": (
        BASE
        + "routers: {r3: {}}\nlinks: [{between: [r1, r3]}, {between: [r3, r2]}]\n"
        + "routes:\n  - {at: r1, to: d1, via: r3}\n  - {at: r3, to: d1, via: r1}\n",
        "e.yaml:11: routes[0]: a loop on the path to d1: r1 → r3 → r1",
    ),
    "route by an unknown link": (
        BASE + "routes: [{at: r1, to: d1, via: bottlenek}]\n",
        "e.yaml:8: routes[0].via: no link or neighbour of r1; found bottlenek; did you mean "
        "bottleneck?; allowed: s1-r1, s2-r1, bottleneck",
    ),
    "path through a host": (
        BASE + "routes: [{at: r1, to: d1, via: s2-r1}]\n",
        "e.yaml:5: flows[0]: the path from s1 to d1 leads through s2, a host; hosts never forward",
    ),
    "empty factor": (
        BASE + "factors: {cc: []}\n",
        "e.yaml:8: factors.cc: a factor without levels",
    ),
    "unused factor": (
        BASE + "factors: {cc: [reno]}\n",
        "e.yaml:8: factors.cc: the factor changes nothing: write ${cc} somewhere, or give it a "
        "path",
    ),
    "unknown factor": (
        with_("tcp: cubic", 'tcp: "${c}"') + "factors: {cc: [reno]}\n",
        "e.yaml:5: flows: ${c} is no factor; did you mean cc?; allowed: cc",
    ),
    "factor named as a column": (
        BASE + "factors: {seed: [1]}\n",
        "e.yaml:8: factors: seed is a column of the results; name the factor differently",
    ),
    "zip of unequal lengths": (
        BASE + "factors: {zip: {a: [1, 2], b: [1]}}\n",
        "e.yaml:8: factors.zip: zipped factors need equally many levels; found a has 2, b has 1",
    ),
    "path to nowhere": (
        BASE + "factors: {a: {levels: [1], path: 'flows[7].start'}}\n",
        "e.yaml:8: factors.a.path: there is no such field: flows has 2 entries; found "
        "flows[7].start",
    ),
    "share without unit": (
        BASE + "links: [{name: bottleneck, loss: 0.01}]\n",
        "e.yaml:8: links[0].loss: a share needs a unit: 1 %, 0.01 % or 0.01 ppm; found 0.01",
    ),
    "more than everything": (
        BASE + "links: [{name: bottleneck, loss: 101 %}]\n",
        "e.yaml:8: links[0].loss: more than 100 %; found 101 %",
    ),
    "drop of an unknown flow": (
        BASE + "links: [{name: bottleneck, loss: {scripted: [{flow: f9, nth: 1}]}}]\n",
        "e.yaml:8: links[0].loss.scripted[0].flow: no flow f9; there are flow1, flow2",
    ),
    "unknown link of a template": (
        BASE + "links: [{name: bottlenek}]\n",
        "e.yaml:8: links[0]: between is missing, and no link of a template has this name; found "
        "bottlenek; did you mean bottleneck?; allowed: s1-r1, s2-r1, bottleneck, r2-d1, r2-d2",
    ),
    "rate without buffer": (
        BASE + "links: [{name: s1-r1, rate: 1 Mbit/s}]\n",
        "e.yaml:8: links[0]: a pipe with a rate needs a buffer; allowed: 100 packets, 64 KiB, "
        "1 BDP, 50 ms",
    ),
    "BDP of an unknown flow": (
        with_("1 BDP", "1 BDP of flow11"),
        "e.yaml:3: template.dumbbell: a BDP of an unknown flow; found flow11; did you mean flow1?; "
        "allowed: flow1, flow2",
    ),
    "rivals": (
        BASE + "links: [{name: s1-r1, buffer: 9 packets, netem: {limit: 9 packets}}]\n",
        "e.yaml:8: links[0].netem: buffer and netem exclude each other",
    ),
    "tap beside its node": (
        BASE + "taps: [{at: r1, link: r2-d1}]\n",
        "e.yaml:8: taps[0].link: r2-d1 is no link of r1; it has s1-r1, s2-r1, bottleneck",
    ),
    "unknown sysctl": (
        BASE + "hosts: {defaults: {tcp_sak: 1}}\n",
        "e.yaml:8: hosts.defaults.tcp_sak: unknown field; did you mean tcp_sack?; allowed: "
        "profile, hz, mtu, gso, initcwnd, initrwnd, ssthresh, rto_min, rto_initial, "
        "delayed_ack, tcp_sack, tcp_dsack and 54 more",
    ),
    "FACK without SACK": (
        BASE + "hosts: {defaults: {tcp_sack: 0, tcp_fack: 1, tcp_recovery: 0}}\n",
        "e.yaml:8: hosts.defaults.tcp_fack: FACK needs tcp_sack",
    ),
    "FACK beside RACK": (
        BASE + "hosts: {defaults: {tcp_fack: 1}}\n",
        "e.yaml:8: hosts.defaults.tcp_fack: RACK (tcp_recovery 1) takes the place of FACK; set "
        "tcp_recovery to 0",
    ),
    "sysctls at odds": (
        BASE + "hosts: {defaults: {tcp_sack: 0, tcp_dsack: 1}}\n",
        "e.yaml:8: hosts.defaults.tcp_dsack: DSACK needs tcp_sack",
    ),
    "unknown profile": (
        BASE + "hosts: {s1: {profile: linux-6}}\n",
        "e.yaml:8: hosts.s1.profile: unknown profile; found linux-6; did you mean linux-6.1?; "
        "allowed: linux-2.6.26, linux-4.15, linux-6.1, linux-6.12, linux-7.3",
    ),
    "missing trace": (
        BASE + "links: [{name: s1-r1, shaper: {trace: {file: no.trace}}, buffer: 9 packets}]\n",
        "e.yaml:8: links[0]: the trace cannot be read: No such file or directory; found no.trace",
    ),
    "newer format": (
        with_("dumbbell: 1", "dumbbell: 2"),
        "e.yaml:1: dumbbell: a newer file format than this program reads, which is 1; found 2",
    ),
    "another file": (
        "version: 3\nservices: {}\n",
        "e.yaml:1: no experiment of Dumbbell: the file should begin with 'dumbbell: 1'",
    ),
    "a list": ("[1, 2]", "e.yaml:1: an experiment is a mapping of fields"),
    "a text for a mapping": (
        with_("  - {from: s1, to: d1, tcp: cubic}", "  - cubic"),
        None,
    ),
    "true for a number": (
        BASE + "repeats: true\n",
        "e.yaml:8: repeats: should be a whole number from 1 to 100000; found true",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_message(name: str) -> None:
    text, expected = MISTAKES[name]
    found = message(text)
    if expected is None:
        assert found.startswith("e.yaml:5: flows[0]: should be a mapping; found cubic")
    else:
        assert found == expected


SETS = {
    "neither factor nor field": (
        {"ccc": "reno"},
        "--set ccc: neither a factor nor a field; did you mean cc?; allowed: cc",
    ),
    "bad level": (
        {"cc": "renno"},
        "--set: flows[0].tcp: unknown congestion control; found renno; did you mean reno?; "
        + ALGORITHMS,
    ),
    "bad value of a field": (
        {"duration": "5"},
        "--set: duration: a time needs a unit: 5 ms, 5 s or 5 us; found 5",
    ),
    "no such entry": (
        {"flows[7].start": "1 s"},
        "--set flows[7].start: no such field: flows has 2 entries",
    ),
}


@pytest.mark.parametrize("name", SETS)
def test_message_about_set(name: str) -> None:
    chosen, expected = SETS[name]
    text = with_("tcp: cubic", "tcp: $cc") + "factors: {cc: [cubic]}\n"
    assert message(text, set=chosen) == expected


def test_repeats_and_seed_have_bounds() -> None:
    assert message(BASE, repeats=0).startswith("--repeats: should be a whole number from 1")
    assert message(BASE, seed=-1).startswith("--seed: should be a whole number from 0")
    many = with_("tcp: cubic", "tcp: $cc") + f"factors: {{cc: [{','.join('abcdefghijk')}]}}\n"
    assert "unknown congestion control" in message(many, repeats=100_000)


def test_a_number_beyond_the_reader_is_told_with_its_range() -> None:
    found = message(with_("buffer: 1 BDP", "buffer: 1 BDP, overhead: 5 GB"))
    assert found.startswith("e.yaml:3: template.dumbbell.overhead: should be a whole number from -")
    assert "i32" not in found
