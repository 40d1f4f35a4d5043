"""A drawn cell, its path, and the draws that make both."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

#: Size of a packet, bits.
PACKET_BITS = 12_000
#: Packets that a bottleneck carries in a cell without and with chance.
PACKETS, PACKETS_OF_CHANCE = 12_000, 4_000
#: A cell lasts at least this many RTTs, and its BDP is at most this share of its packets.
RTTS, BDP_SHARE = 20, 1 / 12
#: Longest cell, seconds.
LONGEST_S = 60.0
#: Rates (bit/s) and base RTTs (seconds) of a path.
RATES, BASE_RTTS = (0.5e6, 10e9), (20e-6, 0.45)


@dataclass(frozen=True, slots=True)
class Cell:
    """One experiment.

    Attributes:
        number: From 1, in order of drawing.
        kind: Class, as `one flow, tail drop`.
        words: Flows, queue and path in words.
        network: Fields of the experiment that make nodes and links.
        flows: Flows.
        duration_s: Duration, seconds.
        is_random: True if the result depends on the seed.
        packets_s: Time of a packet at the bottleneck of each path, seconds.
    """

    number: int
    kind: str
    words: str
    network: Mapping[str, Any]
    flows: tuple[Mapping[str, Any], ...]
    duration_s: float
    is_random: bool
    packets_s: tuple[float, ...]

    @property
    def name(self) -> str:
        """Level of the factor `cell`: `017`."""
        return f"{self.number:03d}"

    @property
    def with_jitter(self) -> Cell:
        """The cell with ACKs that arrive up to half a packet time early or late.

        ACKs clock the packets of a path without jitter, so packets arrive in the instants in which
        others leave, and the order of the two decides about each loss (Floyd and Jacobson, On
        traffic phase effects in packet-switched gateways, Internetworking 3, 1992). ACKs of full
        segments stay in order.
        """
        if "links" in self.network:
            # The second link of a path has no queue, and jitter needs one without a rate.
            behind = zip(self.network["links"][1::2], self.packets_s, strict=True)
            jittered = [
                {"between": link["between"], "backward": _jitter(packet_s)}
                for link, packet_s in behind
            ]
            pairs = zip(self.network["links"][::2], jittered, strict=True)
            network: dict[str, Any] = {"links": [link for pair in pairs for link in pair]}
        else:
            template = dict(self.network["template"]["dumbbell"])
            access = dict(template.get("access", {}))
            template["access"] = access | {"backward": _jitter(self.packets_s[0])}
            network = {"template": {"dumbbell": template}}
        return replace(self, network=network, is_random=True)


def _jitter(packet_s: float) -> dict[str, str]:
    """Half a packet time of jitter, around a delay of a packet time."""
    delay, jitter = (f"{max(1, round(packet_s * 1e9 / part))} ns" for part in (1, 2))
    return {"delay": delay, "jitter": jitter}


@dataclass(frozen=True, slots=True)
class Path:
    """A bottleneck.

    Attributes:
        rate: Rate, bit/s.
        rtt: Base RTT, seconds.
        limit: Limit of the queue, packets.
    """

    rate: float
    rtt: float
    limit: int

    @property
    def bdp(self) -> float:
        """Bandwidth-delay product, packets."""
        return self.rate * self.rtt / PACKET_BITS

    @property
    def words(self) -> str:
        """`12.3 Mbit/s, 40 ms`."""
        return f"{rate_text(self.rate)}, {time_text(self.rtt)}"

    def duration(self, packets: int) -> float:
        """Seconds that `packets` take, within the bounds of a cell, to three digits."""
        seconds = max(packets * PACKET_BITS / self.rate, RTTS * self.rtt)
        return digits(min(seconds, LONGEST_S))

    def dumbbell(self, pairs: int = 1, **fields: Any) -> dict[str, Any]:
        """The template with this bottleneck. `fields` add to it; None removes a field."""
        forward = {"buffer": f"{self.limit} packets", **fields.pop("forward", {})}
        if "queue" in forward:
            del forward["buffer"]
        template: dict[str, Any] = {
            "pairs": pairs,
            "rate": rate_text(self.rate),
            "rtt": time_text(self.rtt),
            "forward": forward,
            # Only one direction has a short queue: one question per cell.
            "backward": {"buffer": "10000 packets"},
            **fields,
        }
        return {"template": {"dumbbell": {k: v for k, v in template.items() if v is not None}}}


class Draw:
    """Random values. The same seed and number give the same cell everywhere."""

    def __init__(self, seed: int, number: int) -> None:
        self.random = random.Random(f"agreement {seed} {number}")
        self.paths: list[Path] = []

    def between(self, low: float, high: float) -> float:
        """Log-uniform, to three digits."""
        return digits(low * (high / low) ** self.random.random())

    def whole(self, low: int, high: int) -> int:
        """Whole number, log-uniform."""
        return max(low, min(high, round(self.between(low, high))))

    def one(self, *choices: Any) -> Any:
        """One of these."""
        return choices[self.random.randrange(len(choices))]

    def path(
        self,
        packets: int,
        rates: tuple[float, float] = RATES,
        rtts: tuple[float, float] = BASE_RTTS,
    ) -> Path:
        """A path whose BDP is small enough for the packets of a cell."""
        while True:
            path = Path(self.between(*rates), self.between(*rtts), 0)
            if path.bdp <= packets * BDP_SHARE and RTTS * path.rtt <= LONGEST_S:
                limit = self.whole(2, max(20, round(10 * path.bdp)))
                self.paths.append(Path(path.rate, path.rtt, limit))
                return self.paths[-1]


def digits(value: float) -> float:
    """A value to three digits."""
    return float(f"{value:.3g}")


def rate_text(value: float) -> str:
    """A rate with its unit."""
    for size, unit in ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")):
        if value >= size:
            return f"{digits(value) / size:.6g} {unit}"
    return f"{value:.6g} bit/s"


def time_text(value: float) -> str:
    """A time with its unit, in whole microseconds."""
    micros = max(1, round(digits(value) * 1e6))
    return f"{micros / 1000:g} ms" if micros >= 1000 else f"{micros} us"
