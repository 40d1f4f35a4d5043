"""Random experiments from the catalogue of fields: the JSON Schema of experiment files.

An object of the schema becomes a dictionary with some of its fields; what a field may hold is drawn
from the values below, by its name, or from its own schema. A field that has neither is an error, so
that no new field is forgotten.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from dumbbell.catalogue import Parameter, congestion_controls, disciplines
from dumbbell.experiment.schema import json_schema
from tests.helpers import KINDS, spec_name

#: Fields that no experiment is drawn with, and why.
NOT_DRAWN = {
    "each": "of `paths` and `rtt`: the same as writing them out",
    "all": "of `rtt`: the same as one time",
    "spread": "of `rtt`: written as `{from, to}`",
    "fixed": "of `size`: written as a size",
    "serial": "of `shaper`: the same as `rate`",
    "file": "of a trace: `deliveries` means the same and needs no file",
    "slots": "drawn by `pipe`, where a wire is in front of them",
    "rewrites": "as `slots`",
    "rates": "need a file: tests/experiment/test_rate_traces.py",
    "trace": "a joint trace needs a file: tests/experiment/test_joint_traces.py",
    "end": "of a joint trace",
    **dict.fromkeys(("column", "unit", "time", "time_unit", "length"), "as `rates`"),
    "access": "of links: tests/experiment/test_access.py",
    **dict.fromkeys(("type", "subscriber", "draw"), "as `access`"),
    "parameters": "of a plug-in, which needs a file: tests/plugins",
    "load": "of arrivals: the other way to write `per_second`",
    "sleeps": "of `udp`: refused where probes are kept",
    "refill": "of `bulk`: its own tests",
    "repeats": "of `sampling`: one repeat is run",
    "first": "of `spray`: drawn from the seed",
    "local": "a list of subflows needs hosts with several links; its own tests",
    "remote": "as `local`",
    "backup": "as `local`",
    "mean": "of `exponential`: written as its value",
    "run": "of `programs`: the simulator runs none; their own tests",
    "environment": "as `run`",
    "input": "as `run`",
    "exit": "as `run`",
    "programs": "as `run`",
    "scaling_ratio": "of the profile linux-6.12: tests/linux/test_profiles.py",
    "skb_small_head": "as `scaling_ratio`",
    "grow_skb": "as `scaling_ratio`",
    "delack_from_rto_min": "as `scaling_ratio`",
    "fin_beyond_cwnd": "as `scaling_ratio`",
    "rcvbuf_grow": "of the profile linux-7.3: tests/linux/test_profiles.py",
    "rack_always": "as `rcvbuf_grow`",
    "tcp_comp_sack_rtt_percent": "as `rcvbuf_grow`",
    "mptcp_sync_sndbuf": "as `scaling_ratio`",
    "mptcp_set_rcvlowat": "as `scaling_ratio`",
    "mptcp_last_snd": "as `scaling_ratio`",
    "tcp_syn_linear_timeouts": "as `scaling_ratio`",
    "via": "of `routes`",
    "servers": "of `rtt_fair`, which needs several servers",
    "rtt_fair": "needs several servers",
    "attack": "of `search`, which is not about one run",
    "batch": "of `search`, which is not about one run",
    "evaluations": "of `search`, which is not about one run",
    "goal": "of `search`, which is not about one run",
    "optimise": "of `search`, which is not about one run",
    "over": "of `search`, which is not about one run",
    "space": "of `search`, which is not about one run",
    "subject_to": "of `search`, which is not about one run",
    "tolerance": "of `search`, which is not about one run",
    "half_width": "of `repeats`: one repeat is run",
    "relative_half_width": "of `repeats`: one repeat is run",
    "until": "of `repeats`: one repeat is run",
    "above": "of `expect`, which is not about the run",
    "below": "of `expect`",
    "metric": "of `expect`",
    "where": "of `expect`",
    "routes": "explicit routes have their own tests",
    "switches": "made by the template `parallel-paths`",
    "description": "for people",
    "factors": "one cell is run",
    "seed": "the number of the experiment decides all else",
    "expect": "is not about the run",
}


@lru_cache(maxsize=1)
def schema() -> dict[str, Any]:
    """The JSON Schema of an experiment file."""
    found: dict[str, Any] = json_schema()
    return found


class Draw:
    """One random experiment. The same number gives the same experiment everywhere."""

    def __init__(self, number: int) -> None:
        self.random = random.Random(number)

    # Values

    def chance(self, share: float) -> bool:
        """True in such a share of cases."""
        return self.random.random() < share

    def whole(self, low: int, high: int) -> int:
        """A whole number, small ones as likely as large ones."""
        if low < 1:
            return self.random.randint(low, high)
        return min(high, int(low * (high / low) ** self.random.random() + 0.5))

    def one(self, *choices: Any) -> Any:
        """One of these."""
        return choices[self.random.randrange(len(choices))]

    def time(self, low_us: int, high_us: int) -> str:
        """A time in microseconds."""
        return f"{self.whole(low_us, high_us)} us"

    def rate(self, low: int = 100_000, high: int = 100_000_000) -> str:
        """A rate in bit/s."""
        return f"{self.whole(low, high)} bit/s"

    def size(self, low: int, high: int) -> str:
        """A size in bytes."""
        return f"{self.whole(low, high)} bytes"

    def share(self, most: float) -> str:
        """A probability up to `most` percent."""
        return f"{self.random.random() * most:.3f} %"

    # Fields

    def drawn(self, kind: str, share: float, required: tuple[str, ...] = ()) -> dict[str, Any]:
        """An object of the schema with such a share of its fields."""
        definition = schema()["$defs"][kind]
        must = {*definition.get("required", ()), *required}
        found: dict[str, Any] = {}
        for name in definition["properties"]:
            if name in must or (name not in NOT_DRAWN and self.chance(share)):
                found[name] = self.value(kind, name)
        return found

    def value(self, kind: str, name: str) -> Any:
        """What a field holds."""
        for key in (f"{kind}.{name}", name):
            if key in VALUES:
                return VALUES[key](self)
        for entry in disciplines().values():
            for one in entry.parameters:
                if (f"{entry.variant}Spec", one.name) == (kind, name):
                    return of_parameter(self, one)
        if f"{kind}.{name}" in PARAMETERS:
            return self.parameter(PARAMETERS[f"{kind}.{name}"])
        return self.plain(f"{kind}.{name}", schema()["$defs"][kind]["properties"][name])

    def parameter(self, one: Parameter) -> Any:
        """A value that the catalogue alone decides, where no better one is known."""
        if one.unit == "time":
            return self.time(10_000, 300_000)
        if one.unit == "rate":
            return self.rate(10_000, 20_000_000)
        if one.unit == "bytes":
            return self.size(max(one.least, 1), min(one.most, 9000))
        return self.one(*(one.choices or (True, False)))

    def plain(self, place: str, spec: Mapping[str, Any]) -> Any:
        """A value that its schema alone decides: a choice, a number in a range, a truth value."""
        options = [option for option in spec.get("anyOf", ()) if "pattern" not in option]
        options = [option for option in options if option.get("type") != "null"]
        if options:
            return self.plain(place, self.one(*options))
        if "const" in spec:
            return spec["const"]
        if "enum" in spec:
            return self.one(*spec["enum"])
        if spec.get("type") == "boolean":
            return self.chance(0.5)
        if spec.get("type") == "integer" and "maximum" in spec:
            return self.random.randint(int(spec.get("minimum", 0)), int(spec["maximum"]))
        raise LookupError(f"{place}: no value is known for this field; add one to VALUES")


def options(draw: Draw, share: float = 0.06) -> dict[str, Any]:
    """TCP options of a host or of one end of a flow."""
    found = draw.drawn("TcpOptionsSpec", share)
    if found.get("tcp_fack"):
        found |= {"tcp_sack": True, "tcp_recovery": 0}
    if found.get("hystart_plus_plus"):
        found.pop("search", None)
    if "saved_rtt" not in found:
        found.pop("saved_cwnd", None)
    return found


def classes(draw: Draw, kind: str) -> list[dict[str, Any]]:
    """Classes of prio, DRR or HTB: all but the last have a codepoint."""
    codepoints = draw.random.sample(["EF", "AF41", "CS1", "CS5"], draw.random.randint(1, 2))
    found = [draw.drawn(kind, 0.3) | {"dscp": codepoint} for codepoint in codepoints]
    last = draw.drawn(kind, 0.3)
    last.pop("dscp", None)
    return [*found, last]


def leaf(draw: Draw) -> Any:
    """A discipline without classes."""
    return draw.one(*(one.name for one in disciplines().values() if one.parameters))


def of_parameter(draw: Draw, one: Parameter) -> Any:
    """A value of a discipline's parameter, by its unit and around its default."""
    if one.unit == "choice":
        return draw.one(*one.choices)
    usual = int(one.default or 0)
    if one.unit == "flag":
        return draw.chance(0.5)
    if one.unit == "packets":
        return f"{draw.whole(max(2, one.least), max(2, 2 * usual))} packets"
    if one.unit == "bytes":
        return draw.size(max(1, one.least), max(1, 2 * usual))
    if one.unit == "time":
        least_us = max(1, one.least // 1000, usual // 4000)
        return draw.time(least_us, max(least_us, usual // 250))
    if one.unit == "share":
        return draw.share(20)
    return draw.whole(one.least, min(one.most, max(one.least, 4 * usual)))


def queue(draw: Draw) -> Any:
    """A queue discipline by its name in tc, with some of its fields."""
    kinds = {one.name: f"{one.variant}Spec" for one in disciplines().values()}
    name = draw.one(*kinds)
    if name != "htb":
        return {name: draw.drawn(kinds[name], 0.3)}
    below = (
        {"classes": classes(draw, "HtbClassSpec")} if draw.chance(0.5) else {"queue": leaf(draw)}
    )
    return {name: {"rate": draw.rate(500_000, 50_000_000), "burst": "1600 bytes"} | below}


def _shapes(queue: Any) -> bool:
    """Returns true for CAKE with a bandwidth, which has a rate and an overhead of its own."""
    return isinstance(queue, dict) and "bandwidth" in (queue.get("cake") or {})


def pipe(draw: Draw, share: float = 0.12, *, both: bool = True) -> dict[str, Any]:
    """Fields of a bottleneck: something that limits it, a queue, and what else happens there."""
    found = draw.drawn("PipeSpec", share)
    for name in ("rate", "shaper", "buffer", "netem", "queue", "overhead", "framing", "changes"):
        found.pop(name, None)
    limit = draw.random.random()
    if limit < 0.45:
        found["rate"] = draw.rate()
    elif limit < 0.6:
        found["shaper"] = {"tbf": draw.drawn("TbfSpec", 0.3)}
    elif limit < 0.7:
        found["shaper"] = {"trace": draw.drawn("TraceSpec", 0, ("deliveries",))}
    elif limit < 0.85:
        found["queue"] = {"htb": {"rate": draw.rate(), "queue": leaf(draw)}}
    if "queue" not in found:
        room = draw.random.random()
        if room < 0.55:
            found["buffer"] = VALUES["buffer"](draw)
        elif room < 0.7 and "rate" not in found:
            found["netem"] = netem(draw)
        elif "rate" in found:
            found["queue"] = queue(draw)
            if "htb" in found["queue"] or _shapes(found["queue"]):
                del found["rate"]
        else:
            found["buffer"] = "50 packets"
    if "rate" in found and "netem" not in found:
        own = Draw(int(found["rate"].split()[0]))  # A stream of its own changes no other draw.
        if own.chance(0.2):
            found["slots"] = slots(own)
    if draw.chance(0.15) and not _shapes(found.get("queue")):
        found[draw.one("overhead", "framing")] = None
        for name in ("overhead", "framing"):
            if name in found:
                found[name] = VALUES[name](draw)
    if found.get("rate"):
        own = Draw(1 + int(found["rate"].split()[0]))  # As for slots.
        if own.chance(0.2):
            found["rewrites"] = rewrites(own)
    if draw.chance(0.15):
        found["changes"] = changes(draw, rate="rate" in found)
    if both and draw.chance(0.1):
        found["forward"] = {"loss": draw.share(5), "jitter": draw.time(1, 5000)}
    if both and draw.chance(0.1):
        found["backward"] = {"loss": draw.share(5), "delay": draw.time(1, 20_000)}
    if {*found.get("netem", {})} - {"delay", "jitter", "limit"}:
        _without_losses(found)
    return found


def _without_losses(found: dict[str, Any]) -> None:
    """Takes out what the words of netem exclude."""
    for name in ("loss", "corruption", "duplication", "ack_aggregation"):
        found.pop(name, None)
    for part in (*found.get("changes", []), found.get("forward", {}), found.get("backward", {})):
        part.pop("loss", None)
    found["changes"] = [one for one in found.get("changes", []) if len(one) > 1]


def netem(draw: Draw) -> dict[str, Any]:
    """Linux's netem: plain, or with the words of tc."""
    found: dict[str, Any] = {}
    for name in ("delay", "jitter"):
        if draw.chance(0.3):
            found[name] = VALUES[name](draw)
    found["limit"] = VALUES["limit"](draw)
    own = Draw(int(found["limit"].split()[0]))  # A stream of its own changes no other draw.
    return words(own) | {"limit": found["limit"]} if own.chance(0.4) else found


def words(draw: Draw) -> dict[str, Any]:
    """Words of netem."""
    curve = draw.one("uniform", "normal", "pareto", "paretonormal")
    delay = {"mean": draw.time(100, 20_000), "jitter": draw.time(1, 9000)}
    found: dict[str, Any] = {"delay": delay | {"distribution": curve}}
    if draw.chance(0.4):
        delay = found["delay"] | {"correlation": draw.share(90)}
        found["delay"] = delay
    both = {"probability": draw.share(20), "correlation": draw.share(90)}
    for name in ("duplicate", "corrupt", "reorder"):
        if draw.chance(0.3):
            found[name] = draw.one(both, draw.share(5))
    if draw.chance(0.2):
        found["reorder"] = both | {"gap": draw.whole(1, 9)}
    if draw.chance(0.5):
        states = {"p13": draw.share(5), "p31": draw.share(50), "p32": draw.share(50)}
        gemodel = {"p": draw.share(5), "r": draw.share(90), "loss_bad": draw.share(90)}
        states |= {"p14": draw.share(1), "p23": draw.share(90)}
        gemodel |= {"loss_good": draw.share(1)}
        found["loss"] = draw.one({"random": both}, {"state": states}, {"gemodel": gemodel})
        found["ecn"] = draw.chance(0.5)
    if draw.chance(0.2):
        found["seed"] = draw.whole(0, 1 << 53)
    return found


def rewrites(draw: Draw) -> list[dict[str, Any]]:
    """Changes of headers, of all packets or of some of the first flow."""
    found: dict[str, Any] = {}
    if draw.chance(0.5):
        numbers = sorted(draw.random.sample(range(1, 40), draw.random.randint(1, 4)))
        found |= {"flow": "flow1", "nth": numbers}
    kind = draw.one("ecn", "clear_flags", "set_flags", "strip_option")
    if kind == "ecn":
        found["ecn"] = draw.one("not_ect", "ect0", "ect1", "ce")
    elif kind == "strip_option":
        found["strip_option"] = "accecn"
    else:
        found[kind] = draw.one("ece", "cwr", "ae", ["ece", "cwr", "ae"])
    return [found]


def slots(draw: Draw) -> dict[str, Any]:
    """Slots, some with a budget, some with pauses."""
    found: dict[str, Any] = {"max": draw.time(2000, 20_000)}
    if draw.chance(0.5):
        found["min"] = draw.time(1, 2000)
    if draw.chance(0.1):
        waits = {"delay": draw.time(2000, 9000), "jitter": draw.time(1, 9000)}
        found = {"distribution": waits | {"name": draw.one("normal", "pareto")}}
    if draw.chance(0.3):
        found["packets"] = draw.whole(1, 64)
    if draw.chance(0.3):
        found["bytes"] = draw.size(1500, 60_000)
    if draw.chance(0.3):
        found |= {"pause": draw.time(1000, 100_000), "pause_every": draw.time(200_000, 2_000_000)}
    return found


def changes(draw: Draw, *, rate: bool) -> list[dict[str, Any]]:
    """New values at growing moments."""
    found, at_ms = [], 0
    for _ in range(draw.random.randint(1, 4)):
        at_ms += draw.whole(1, 500)
        change: dict[str, Any] = {"at": f"{at_ms} ms"}
        if rate and draw.chance(0.6):
            change["rate"] = draw.rate()
        if draw.chance(0.4):
            change["loss"] = draw.one("none", draw.share(3))
        if len(change) == 1 or draw.chance(0.3):
            change["delay"] = draw.time(0, 20_000)
        found.append(change)
    own = Draw(at_ms)  # As for slots.
    if own.chance(0.3):
        for change, state in zip(found, ("down", "up", "down", "up"), strict=False):
            change["state"] = state
    return found


def scripted(draw: Draw) -> dict[str, Any]:
    """Loss of named packets of the first flow."""
    numbers = sorted(draw.random.sample(range(1, 60), draw.random.randint(1, 4)))
    return {"scripted": [{"flow": "flow1", "nth": numbers}]}


def loss(draw: Draw) -> Any:
    """Every kind of loss."""
    kind = draw.one("share", "independent", "gilbert_elliott", "state", "scripted", "none")
    if kind == "share":
        return draw.share(5)
    if kind == "scripted":
        return scripted(draw)
    if kind == "none":
        return "none"
    if kind == "state":
        states = {"p13": draw.share(5), "p31": draw.share(50), "p32": draw.share(50)}
        return {kind: states | {"p14": draw.share(1), "p23": draw.share(90)}}
    names = {"independent": "IndependentSpec", "gilbert_elliott": "GilbertElliottSpec"}
    return {kind: draw.drawn(names[kind], 0.4)}


def size_of_flows(draw: Draw) -> Any:
    """A distribution of sizes."""
    kind = draw.one("fixed", "exponential", "lognormal", "pareto", "empirical")
    if kind == "fixed":
        return draw.size(1, 200_000)
    if kind == "exponential":
        return {kind: draw.size(100, 100_000)}
    if kind == "lognormal":
        return {kind: {"median": draw.size(100, 50_000), "sigma": 0.2 + draw.random.random()}}
    if kind == "pareto":
        least = draw.whole(100, 5000)
        shape = 1.05 + draw.random.random()
        return {kind: {"shape": shape, "min": f"{least} bytes", "max": f"{least * 50} bytes"}}
    points = [{"size": "1000 bytes", "upto": "50 %"}, {"size": "20 KiB", "upto": "100 %"}]
    return {kind: points}


def memory(draw: Draw) -> str:
    """Least, default and greatest of a socket's buffer."""
    least = draw.whole(4096, 20_000)
    default = draw.whole(least, 300_000)
    return f"{least} {default} {draw.whole(default, 8_000_000)}"


def source(draw: Draw) -> Any:
    """What an application writes."""
    specs = {"bulk": "BulkSpec", "periodic": "PeriodicSpec", "on_off": "OnOffSpec"}
    kind = draw.one(*specs)
    return {kind: draw.drawn(specs[kind], 0.5)}


Value = Callable[[Draw], Any]

#: What a field holds, by `Kind.field` or by the field's name in every kind.
VALUES: Mapping[str, Value] = {
    # Times
    "delay": lambda d: d.time(0, 50_000),
    "jitter": lambda d: d.time(1, 10_000),
    "extra_delay": lambda d: d.time(1, 30_000),
    "max_wait": lambda d: d.time(100, 10_000),
    "target": lambda d: d.time(1000, 50_000),
    "tupdate": lambda d: d.time(5000, 50_000),
    "interval": lambda d: d.time(10_000, 300_000),
    "on": lambda d: d.time(10_000, 500_000),
    "off": lambda d: d.time(10_000, 500_000),
    "processing_jitter": lambda d: d.time(1, 1000),
    "rto_min": lambda d: d.time(10_000, 500_000),
    "rto_initial": lambda d: d.time(200_000, 3_000_000),
    "start": lambda d: d.time(1, 500_000),
    "stop": lambda d: d.time(600_000, 2_000_000),
    "start_jitter": lambda d: d.one("1 RTT", d.time(1, 100_000)),
    "lookup": lambda d: d.time(1, 50_000),
    "service": lambda d: d.time(1, 50_000),
    "refill": lambda d: d.time(1000, 200_000),
    "every": lambda d: d.time(1000, 50_000),
    "reachable": lambda d: d.time(500_000, 30_000_000),
    "probe_delay": lambda d: d.time(100_000, 5_000_000),
    "before": lambda d: d.time(1, 300_000),
    "length": lambda d: d.time(200_000, 1_000_000),
    "from": lambda d: "0 s",
    "to": lambda d: d.time(1000, 300_000),
    "rtt": lambda d: d.time(500, 100_000),
    "CodelSpec.interval": lambda d: d.time(50_000, 200_000),
    "FqCodelSpec.interval": lambda d: d.time(50_000, 200_000),
    # Rates and sizes
    "rate": lambda d: d.rate(),
    "ceil": lambda d: d.rate(20_000_000, 50_000_000),
    "UdpSpec.rate": lambda d: d.rate(10_000, 20_000_000),
    "QuicSpec.congestion_control": lambda d: d.one("cubic", "bbr", "new_reno"),
    "QuicSpec.encryption": lambda d: d.one("none", "tls"),
    "QuicSpec.streams": lambda d: d.whole(1, 20),
    "VideoSpec.datagram": lambda d: d.size(16, 1472),
    "SinkSpec.rate": lambda d: d.rate(100_000, 50_000_000),
    "TbfSpec.burst": lambda d: d.size(1600, 100_000),
    "PeakSpec.burst": lambda d: d.size(1600, 10_000),
    "PolicerSpec.burst": lambda d: d.size(1600, 100_000),
    "HtbClassSpec.burst": lambda d: d.size(1600, 10_000),
    "cburst": lambda d: d.size(1600, 10_000),
    "burst": lambda d: d.size(1600, 20_000),
    "CakeSpec.bandwidth": lambda d: d.rate(),
    "CakeSpec.overhead": lambda d: f"{d.whole(0, 64)} bytes",
    "CakeSpec.memlimit": lambda d: d.size(20_000, 1_000_000),
    "RedSpec.burst": lambda d: d.whole(15, 100),
    "RedSpec.limit": lambda d: d.size(30_000, 400_000),
    "RedSpec.min": lambda d: d.size(3000, 9000),
    "RedSpec.max": lambda d: d.size(10_000, 29_000),
    "ChokeSpec.limit": lambda d: f"{d.whole(50, 600)} packets",
    "ChokeSpec.min": lambda d: f"{d.whole(3, 10)} packets",
    "ChokeSpec.max": lambda d: f"{d.whole(12, 40)} packets",
    "ChokeSpec.burst": lambda d: d.whole(50, 150),
    "ChokeSpec.probability": lambda d: f"{1 + d.random.random() * 20:.2f} %",
    "avpkt": lambda d: "1000 bytes",
    "BfifoSpec.limit": lambda d: d.size(2000, 300_000),
    "limit": lambda d: f"{d.whole(2, 1000)} packets",
    "flow_limit": lambda d: f"{d.whole(2, 200)} packets",
    "depth": lambda d: d.whole(1, 127),
    "flows": lambda d: d.whole(1, 1024),
    "SfqSpec.flows": lambda d: d.whole(1, 128),
    "quantum": lambda d: d.size(256, 6000),
    "initial_quantum": lambda d: d.size(1514, 20_000),
    "chunk": lambda d: d.size(1, 100_000),
    "bytes": lambda d: d.size(1, 2_000_000),
    "lowat": lambda d: d.size(1, 20_000),
    "datagram": lambda d: d.size(16, 9000),
    "payload": lambda d: d.size(16, 1400),
    "mtu": lambda d: d.size(576, 1500),
    "request": lambda d: d.size(1, 2000),
    "ObjectSpec.size": lambda d: d.size(1, 200_000),
    "ArrivalsSpec.size": size_of_flows,
    "RequestsSpec.request": size_of_flows,
    "RequestsSpec.response": size_of_flows,
    "RequestsSpec.think": lambda d: d.time(1, 100_000),
    "RequestsSpec.count": lambda d: d.whole(1, 40),
    "RequestsSpec.request_writes": lambda d: d.whole(1, 4),
    "RequestsSpec.response_writes": lambda d: d.whole(1, 4),
    "notsent_lowat": lambda d: d.size(1000, 200_000),
    "snap": lambda d: d.size(54, 1600),
    "overhead": lambda d: d.size(0, 60),
    "FramingSpec.overhead": lambda d: f"{d.random.randint(-14, 60)} bytes",
    "mpu": lambda d: d.size(1, 100),
    "framing": lambda d: d.one("ethernet", "pppoe-llcsnap", "docsis", d.drawn("FramingSpec", 0.6)),
    "buffer": lambda d: d.one(
        f"{d.whole(2, 500)} packets", d.size(2000, 500_000), ["200 packets", "30 KiB"]
    ),
    # Shares
    "loss": loss,
    "corruption": lambda d: d.share(2),
    "duplication": lambda d: d.share(20),
    "probability": lambda d: d.share(20),
    "RedSpec.probability": lambda d: f"{1 + d.random.random() * 20:.2f} %",
    "good_to_bad": lambda d: d.share(2),
    "bad_to_good": lambda d: f"{10 + d.random.random() * 80:.1f} %",
    "loss_good": lambda d: d.share(1),
    "loss_bad": lambda d: f"{20 + d.random.random() * 80:.1f} %",
    "ecn_prob": lambda d: d.random.randint(1, 99),
    # Numbers
    "nth": lambda d: d.whole(1, 50),
    "max_acks": lambda d: d.whole(2, 20),
    "alpha": lambda d: d.random.randint(1, 16),
    "beta": lambda d: d.random.randint(5, 32),
    "prio": lambda d: d.random.randint(0, 7),
    "per_second": lambda d: d.whole(1, 50),
    "connections": lambda d: d.whole(1, 6),
    "streams": lambda d: d.whole(1, 4),
    "initcwnd": lambda d: d.whole(1, 64),
    "initrwnd": lambda d: d.random.randint(0, 64),
    "ssthresh": lambda d: d.random.randint(0, 100),
    "hz": lambda d: d.one(100, 250, 300, 1000),
    "tcp_reordering": lambda d: d.whole(1, 30),
    "tcp_max_reordering": lambda d: d.whole(30, 300),
    "tcp_rmem": memory,
    "tcp_wmem": memory,
    "tcp_adv_win_scale": lambda d: d.one(1, 2, 3),
    "tcp_comp_sack_nr": lambda d: d.random.randint(0, 255),
    "tcp_comp_sack_delay_ns": lambda d: d.random.randint(0, 5_000_000),
    "tcp_comp_sack_slack_ns": lambda d: d.random.randint(0, 500_000),
    "tcp_limit_output_bytes": lambda d: d.whole(10_000, 4_000_000),
    "tcp_pacing_ss_ratio": lambda d: d.whole(100, 400),
    "tcp_pacing_ca_ratio": lambda d: d.whole(80, 300),
    "tcp_min_rtt_wlen": lambda d: d.whole(1, 300),
    "tcp_min_tso_segs": lambda d: d.whole(1, 16),
    "tcp_retries2": lambda d: d.whole(3, 15),
    "tcp_syn_retries": lambda d: d.whole(1, 6),
    "tcp_recovery": lambda d: d.one(0, 1, 3, 5, 7),
    "tcp_ecn": lambda d: d.one(0, 1, 2),
    "tcp_ecn_option": lambda d: d.one(0, 1, 2, 3),
    "tcp_ecn_option_beacon": lambda d: d.one(0, 1, 3),
    "tcp_early_retrans": lambda d: d.one(0, 3),
    "tcp_frto": lambda d: d.one(0, 2),
    "tcp_abc": lambda d: d.one(0, 1, 2),
    "rx_segment": lambda d: d.one("pages", "copied", d.size(2000, 5000)),
    "delayed_ack": lambda d: d.one("adaptive", "every_second", "never"),
    "search": lambda d: d.one("off", "delivered", "sent"),
    "saved_cwnd": lambda d: d.random.randint(0, 400),
    "saved_rtt": lambda d: d.time(5000, 500_000),
    "profile": lambda d: d.one("linux-6.1", "linux-4.15", "linux-2.6.26"),
    # Names; those of nodes are put in by `experiments`
    **dict.fromkeys(("name", "client", "server", "at", "link", "FlowSpec.from"), lambda d: "x"),
    **dict.fromkeys(("ArrivalsSpec.from", "ArrivalsSpec.to", "FlowSpec.to"), lambda d: "x"),
    **dict.fromkeys(("objects", "after"), lambda d: []),
    "tcp": lambda d: d.one(*TCP_ALGORITHMS),
    "dscp": lambda d: d.one("EF", "AF41", "CS1", 0, 33),
    "group": lambda d: d.one("a", "b"),
    "codec": lambda d: "g711",
    "congestion_control": lambda d: d.one(*TCP_ALGORITHMS),
    "MptcpSpec.congestion_control": lambda d: d.one(*PLAIN_ALGORITHMS, *COUPLED_ALGORITHMS),
    "scheduler": lambda d: d.one(
        "default", "lowest_rtt", "round_robin", "redundant", "blest", "ecf"
    ),
    "path_manager": lambda d: d.one("fullmesh", "ndiffports"),
    "subflows": lambda d: d.whole(1, 4),
    "protocol": lambda d: d.one("icmp", "udp"),
    "PageSpec.protocol": lambda d: d.one("http/1.1", "http/2"),
    "tls": lambda d: d.one("none", "1.2", "1.3"),
    "initial": lambda d: d.one("full", "empty", "random"),
    # Objects
    "queue": leaf,
    "HtbClassSpec.rate": lambda d: d.rate(200_000, 10_000_000),
    "sender": options,
    "receiver": options,
    "source": source,
    "sink": lambda d: d.drawn("SinkSpec", 0.6),
    "peak": lambda d: {"rate": d.rate(100_000_000, 1_000_000_000)},
    "policer": lambda d: d.drawn("PolicerSpec", 1),
    "reordering": lambda d: d.drawn("ReorderingSpec", 1),
    "ack_aggregation": lambda d: d.drawn("AckAggregationSpec", 1),
    "slots": slots,
    "rewrites": rewrites,
    "netem": netem,
    "shaper": lambda d: {"tbf": d.drawn("TbfSpec", 0.3)},
    "changes": lambda d: changes(d, rate=False),
    "bands": lambda d: classes(d, "BandSpec"),
    "DrrSpec.classes": lambda d: classes(d, "DrrClassSpec"),
    "deliveries": lambda d: sorted(d.random.randint(1, 400) for _ in range(d.whole(5, 200))),
}

#: Parameters of kinds of traffic, by the model that has them.
PARAMETERS = {
    f"{spec_name(kind)}.{one.name}": one for kind in KINDS.values() for one in kind.written
}

TCP_ALGORITHMS = tuple(one.name for one in congestion_controls().values() if not one.coupled)
#: Multipath TCP negotiates no ECN.
PLAIN_ALGORITHMS = tuple(
    one.name for one in congestion_controls().values() if not one.coupled and not one.needs_ecn
)
COUPLED_ALGORITHMS = tuple(one.name for one in congestion_controls().values() if one.coupled)


def text(experiment: Mapping[str, Any]) -> str:
    """An experiment as a file: JSON is YAML."""
    return json.dumps(experiment, indent=1)
