"""Transfers drawn from a seed, whose path, limit and algorithm are known."""

from __future__ import annotations

import json
import math
import random
from dataclasses import dataclass
from typing import Any

from dumbbell import _core
from dumbbell.catalogue import single_path
from dumbbell.experiment.load import load

#: Algorithms that a flow `tcp` names.
ALGORITHMS = single_path()
TAPS = ("sender", "middle", "receiver")
#: Kinds of paths and their weights.
PATHS = {
    "drop-tail": 8,
    "codel": 2,
    "fq_codel": 1,
    "pie": 1,
    "red": 1,
    "policer": 2,
    "token bucket": 1,
    "loss": 2,
    "receive window": 1,
    "send buffer": 1,
    "application": 1,
    "wifi": 1,
    "starlink": 1,
    "lte": 1,
    "5g": 1,
    "docsis": 1,
    "gpon": 1,
    "geo": 1,
}
ACCESS = ("wifi", "starlink", "lte", "5g", "docsis", "gpon", "geo")
#: Kinds of queues by the discipline of a case.
QUEUE_KINDS = {
    "codel": "CoDel-like",
    "fq_codel": "CoDel-like",
    "pie": "RED-like",
    "red": "RED-like",
}
#: Data packets of a case, about.
PACKETS = 50_000


@dataclass(frozen=True)
class Truth:
    """What is true of a case.

    Attributes:
        algorithm: Congestion control.
        path: Kind of path, of `PATHS`.
        tap: Place of the tap.
        rtt_s: Base RTT without waits for slots.
        rates: Rate of the bottleneck from times on: (s, bit/s).
        limit_packets: Queue limit; None: not in packets, or none.
        queue: Kind of queue; None: none that matters.
        factor: What limits the transfer; None: more than one, or none known beforehand.
    """

    algorithm: str
    path: str
    tap: str
    rtt_s: float
    rates: tuple[tuple[float, float], ...]
    limit_packets: int | None
    queue: str | None
    factor: str | None


def _log(random_: random.Random, low: float, high: float) -> float:
    return math.exp(random_.uniform(math.log(low), math.log(high)))


@dataclass(frozen=True)
class Case:
    """A transfer to capture: its experiment, the seed of the run, and the truth."""

    experiment: dict[str, Any]
    seed: int
    truth: Truth

    def capture(self) -> bytes:
        """The capture of the simulator."""
        output = _core.run(load(self.experiment).cells[0].scenario, self.seed)
        if output.capture is None:
            raise AssertionError("no capture")
        return output.capture


def draw(
    seed: int,
    *,
    algorithms: tuple[str, ...] = ALGORITHMS,
    paths: dict[str, int] = PATHS,
    linux: bool = False,
) -> Case:
    """Case of a seed. With `linux` only what the engine `linux` runs."""
    chance = random.Random(seed)
    algorithm = chance.choice(algorithms)
    path = chance.choices(tuple(paths), tuple(paths.values()))[0]
    tap = chance.choice(TAPS)
    rate, rtt = _log(chance, 2e6, 60e6), _log(chance, 0.008, 0.15)
    bdps = _log(chance, 0.4, 3.0)
    if path in ACCESS:
        return _access(seed, chance, algorithm, path, tap)
    duration = min(30.0, max(8.0, PACKETS * 1514 * 8 / rate, 60 * rtt))
    duration = min(duration, 2 * PACKETS * 1514 * 8 / rate)
    limit = max(10, round(bdps * rate * rtt / 8 / 1514))
    down: dict[str, Any] = {"rate": f"{rate:.0f} bit/s", "buffer": f"{limit} packets"}
    tcp: dict[str, Any] = {"congestion_control": algorithm}
    factor: str | None = "bottleneck"
    queue: str | None = "drop-tail"
    bdp_bytes = rate * rtt / 8
    if path in QUEUE_KINDS:
        del down["buffer"]
        down["queue"] = _discipline(path, chance, rate, bdp_bytes)
        queue = QUEUE_KINDS[path]
        if path == "fq_codel" and algorithm in ("dctcp", "prague"):
            queue = "marks"  # the default of fq_codel
    elif path == "policer":
        burst = max(20_000, _log(chance, 0.3, 3.0) * bdp_bytes)
        down = {
            "rate": f"{rate * chance.uniform(3, 8):.0f} bit/s",
            "buffer": "2000 packets",
            "policer": {"rate": f"{rate:.0f} bit/s", "burst": f"{burst:.0f} bytes"},
        }
        factor, queue = "policer", None
    elif path == "token bucket":
        burst = max(10_000, _log(chance, 0.2, 2.0) * bdp_bytes)
        tbf = {"rate": f"{rate:.0f} bit/s", "burst": f"{burst:.0f} bytes", "initial": "full"}
        down = {"shaper": {"tbf": tbf}, "buffer": f"{limit} packets"}
    elif path == "loss":
        down["loss"] = f"{100 * _log(chance, 5e-4, 1e-2):.4f} %"
        down["buffer"] = f"{max(limit, round(rate * rtt / 8 / 1514))} packets"
        factor = None
    elif path == "receive window":
        window = max(20_000, chance.uniform(0.3, 0.8) * bdp_bytes)
        size = round(2 * window)
        tcp["receiver"] = {"tcp_rmem": f"4096 {size} {size}"}
        factor = "receive window" if window < 0.85 * bdp_bytes else None
        queue = None
    elif path == "send buffer":
        window = max(30_000, chance.uniform(0.3, 0.8) * bdp_bytes)
        size = round(2 * window)
        tcp["sender"] = {"tcp_wmem": f"4096 {size} {size}"}
        factor = "send buffer" if window < 0.7 * bdp_bytes else None
        queue = None
    elif path == "application":
        chunk = max(3_000, chance.uniform(0.2, 0.7) * rate * 0.05 / 8)
        tcp["source"] = {"periodic": {"chunk": f"{chunk:.0f} bytes", "interval": "50 ms"}}
        factor, queue = "application", None
    if algorithm in ("dctcp", "prague"):
        tcp["sender"] = {**tcp.get("sender", {}), "tcp_ecn": 1}
        tcp["receiver"] = {**tcp.get("receiver", {}), "tcp_ecn": 1}
        if algorithm == "prague":
            tcp["sender"] = {**tcp["sender"], "tcp_ecn": 3}
            tcp["receiver"] = {**tcp["receiver"], "tcp_ecn": 3}
    # The delay between the sender and the first router, and behind the second one.
    near, far = chance.uniform(0.05, 0.3), chance.uniform(0.05, 0.3)
    links = [
        _wire("near", "s", "r1", near * rtt / 2),
        {
            "name": "bottleneck",
            "between": ["r1", "r2"],
            "delay": f"{(1 - near - far) * rtt / 2 * 1e9:.0f} ns",
            "forward": down,
            "backward": {"rate": "1 Gbit/s", "buffer": "1000 packets"},
        },
        _wire("far", "r2", "d", far * rtt / 2),
    ]
    truth = Truth(
        algorithm, path, tap, rtt, ((0.0, rate),), limit if queue == "drop-tail" else None, queue,
        factor,
    )  # fmt: skip
    middle = chance.choice((("r1", "near"), ("r2", "far")))
    return _case(seed, links, tcp, duration, _tap(tap, middle), truth, linux)


def _discipline(path: str, chance: random.Random, rate: float, bdp_bytes: float) -> dict[str, Any]:
    limits: dict[str, Any] = {"limit": "1000 packets"}
    if path == "red":
        most = max(30_000, _log(chance, 0.5, 2.0) * bdp_bytes)
        limits = {
            "limit": f"{4 * most:.0f} bytes",
            "max": f"{most:.0f} bytes",
            "avpkt": "1514 bytes",
        }
    return {path: limits}


def _wire(name: str, left: str, right: str, delay_s: float) -> dict[str, Any]:
    wire = {"rate": "1 Gbit/s", "buffer": "5000 packets", "delay": f"{delay_s * 1e9:.0f} ns"}
    return {"name": name, "between": [left, right], **wire}


def _tap(tap: str, middle: tuple[str, str]) -> tuple[str, str]:
    return {"sender": ("s", "near"), "receiver": ("d", "far"), "middle": middle}[tap]


def _access(seed: int, chance: random.Random, algorithm: str, path: str, tap: str) -> Case:
    wide = chance.uniform(0.002, 0.02)
    links = [
        _wire("near", "s", "r1", wide / 2),
        {
            "name": "bottleneck",
            "between": ["r2", "r1"],
            "access": {"type": path, "draw": seed % 997},
        },
        _wire("far", "r2", "d", 0.0001),
    ]
    links[1]["access"]["subscriber"] = "r2"
    rates = {"wifi": 200e6, "starlink": 150e6, "lte": 8e6, "5g": 43e6, "docsis": 200e6,
             "gpon": 500e6, "geo": 25e6}  # fmt: skip
    duration = 2 * PACKETS * 1514 * 8 / rates[path]
    duration = min(45.0, max(3.0, duration, 20.0 if path in ("starlink", "lte", "5g") else 0.0))
    truth = Truth(algorithm, path, tap, 0.0, (), None, "drop-tail", "bottleneck")
    tcp = {"congestion_control": algorithm}
    if algorithm in ("dctcp", "prague"):
        ecn = {"tcp_ecn": 3 if algorithm == "prague" else 1}
        tcp |= {"sender": ecn, "receiver": ecn}
    middle = chance.choice((("r1", "near"), ("r2", "far")))
    made = _case(seed, links, tcp, duration, _tap(tap, middle), truth, False)
    return Case(made.experiment, seed, _from_scenario(made, wide))


def _from_scenario(case: Case, wide_s: float) -> Truth:
    """Truth of an access link: rates and delays over time as in its scenario."""
    scenario = json.loads(load(case.experiment).cells[0].scenario)
    (link,) = (one for one in scenario["links"] if one["name"] == "bottleneck")
    return Truth(
        **{
            **case.truth.__dict__,
            "rtt_s": wide_s + 0.0002 + _least_rtt_s(link),
            "rates": _rates(link["backward"]),
            "limit_packets": _limit(link["backward"]),
        }
    )


def _least_rtt_s(link: dict[str, Any]) -> float:
    return sum(_least_delay(link[way]) for way in ("forward", "backward"))


def _least_delay(pipe: dict[str, Any]) -> float:
    delays = [pipe["delay_ns"]]
    delays += [one["delay_ns"] for one in pipe.get("changes") or [] if one.get("delay_ns")]
    # A packet that finds a slot pending waits less than the least wait for its own slot: perhaps 0.
    return float(min(delays)) / 1e9


def _limit(pipe: dict[str, Any]) -> int | None:
    queue = pipe["queue"].get("drop_tail") or {}
    packets, size = queue.get("limit_packets"), queue.get("limit_bytes")
    return packets or (round(size / 1514) if size else None)


def _rates(pipe: dict[str, Any]) -> tuple[tuple[float, float], ...]:
    first = pipe["shaper"]["serial"]["rate_bps"]
    later = [(one["at_ns"] / 1e9, float(one["rate_bps"]))
             for one in pipe.get("changes") or [] if one.get("rate_bps")]  # fmt: skip
    return ((0.0, float(first)), *later)


def _case(
    seed: int,
    links: list[dict[str, Any]],
    tcp: dict[str, Any],
    duration_s: float,
    tap: tuple[str, str],
    truth: Truth,
    linux: bool,
) -> Case:
    experiment = {
        "dumbbell": 1,
        "name": f"fit {seed}",
        "hosts": {"s": {}, "d": {}, **({"defaults": {"profile": "linux-7.3"}} if linux else {})},
        "routers": {"r1": {}, "r2": {}},
        "links": links,
        "flows": [{"name": "f", "from": "s", "to": "d", "tcp": tcp}],
        "taps": [{"name": "tap", "at": tap[0], "link": tap[1]}],
        "sampling": {"keep": [], "capture": True},
        "duration": f"{duration_s:.2f} s",
    }
    return Case(experiment, seed, truth)


def suits_linux(case: Case) -> bool:
    """True if a kernel runs the case: its algorithm is in Linux, and its queue takes no slots."""
    return case.truth.algorithm not in ("ledbat++", "copa", "bbr3", "prague")
