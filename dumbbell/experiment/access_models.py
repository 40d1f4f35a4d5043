"""Named access links: what each is made of, and where its numbers come from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from dumbbell.experiment.fields import (
    Name,
    PositiveTime,
    Rate,
    Short,
    Strict,
    choice,
    whole_number,
)

US = 1_000
MS = 1_000_000
S = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Epochs:
    """New values of a link at equal intervals.

    Attributes:
        every_ns: Interval.
        first_ns: Time of the first new values.
        rate_spread: New rates are the nominal rate times exp(U(-spread, spread)); 0: constant.
        delay_ns: New delays of each direction are U(0, this) above the least; alike in both.
        loss: Probability of a loss at the beginning of an interval.
        loss_ns: Length of this beginning.
    """

    every_ns: int
    first_ns: int = 0
    rate_spread: float = 0.0
    delay_ns: int = 0
    loss: float = 0.0
    loss_ns: int = 0


@dataclass(frozen=True, slots=True)
class Wait:
    """Wait for a slot, ns; at most `packets` leave in one (0: all that wait)."""

    min_ns: int
    max_ns: int
    packets: int = 0


@dataclass(frozen=True, slots=True)
class Model:
    """An access link.

    Attributes:
        title: Name on pages.
        down_bps: Nominal rate to the subscriber.
        up_bps: Nominal rate from the subscriber.
        rtt_ns: Base RTT of the link, both directions together, without waits for slots.
        down_wait: Slots of packets to the subscriber; None: they leave as serialised.
        up_wait: Slots of packets from the subscriber.
        epochs: New values over time, of both directions; None: they stay.
        overhead_bytes: Bytes on the wire beyond the Ethernet frame without FCS.
        buffer_ns: Limit of either queue: the bytes that the nominal rate carries in this time.
        sources: Quantity → where its number comes from.
        limits: What the model leaves out.
    """

    title: str
    down_bps: int
    up_bps: int
    rtt_ns: int
    sources: dict[str, str]
    limits: str
    down_wait: Wait | None = None
    up_wait: Wait | None = None
    epochs: Epochs | None = None
    overhead_bytes: int = 0
    buffer_ns: int = 100 * MS


_BUFFER = "assumed: 100 ms of the nominal rate; in front of slots at least 300 packets"
_DATASET = "5Gdataset (Raca et al., MMSys 2020), download"

MODELS: dict[str, Model] = {
    "wifi": Model(
        title="Wi-Fi of a home (802.11ac, 5 GHz)",
        down_bps=200_000_000,
        up_bps=200_000_000,
        rtt_ns=100 * US,
        down_wait=Wait(100 * US, 2_800 * US, 64),
        up_wait=Wait(100 * US, 2_800 * US, 64),
        sources={
            "rates": "assumed: 57 % of VHT-MCS 4, two streams, 80 MHz (351 Mbit/s, 802.11ac)",
            "slots": "wait chosen for the median RTT of Sui et al., MobiSys 2016: 3 ms",
            "packets of a slot": "64, the window of a compressed Block Ack (802.11n)",
            "buffer": _BUFFER,
        },
        limits=(
            "The tail is shorter than measured; `pause` adds suspensions. Each direction has the "
            "medium for itself. Frames are not repeated, so none is late alone."
        ),
    ),
    "starlink": Model(
        title="Starlink, stationary dish",
        down_bps=150_000_000,
        up_bps=15_000_000,
        rtt_ns=30 * MS,
        up_wait=Wait(0, 20 * MS),
        epochs=Epochs(
            15 * S, 12 * S, rate_spread=0.5, delay_ns=3_750 * US, loss=0.75, loss_ns=200 * MS
        ),
        sources={
            "rates": "assumed, within the ranges of WetLinks (Laniewski et al., TMA 2024: 0 to 400 "
            "and 0 to 50 Mbit/s)",
            "base RTT": "assumed; Huston 2024 has a least RTT of 30 ms",
            "slots": "0 to 20 ms: RTTs then differ by 6.7 ms on average from one ping to the next, "
            "as in Huston 2024",
            "15 s, at :12, :27, :42, :57": "Mohan et al., WWW 2024; Tanveer et al., LEO-NET 2023",
            "change of the RTT": "0 to 7.5 ms: two hops of 3.7 ms at the zenith to 7.5 ms at 25° "
            "(Huston, IETF 118), 550 km",
            "loss": "1 % on average, as Huston 2024 (1 to 2 %); that all of it lies in 200 ms "
            "after a change is assumed",
            "spread of rates": "assumed: × 0.6 to 1.65",
            "buffer": _BUFFER,
        },
        limits=(
            "The uplink's rate stays. Losses between changes, obstructions, weather and load of "
            "the cell are left out. A run begins at second 0 of a minute."
        ),
    ),
    "lte": Model(
        title="LTE, driving",
        down_bps=8_000_000,
        up_bps=5_000_000,
        rtt_ns=40 * MS,
        down_wait=None,
        up_wait=Wait(8 * MS, 18 * MS),
        epochs=Epochs(10 * S, 10 * S, rate_spread=1.2),
        sources={
            "rate down, its spread and 10 s": f"{_DATASET}, LTE while driving: median, "
            "quartiles and autocorrelation of DL_bitrate",
            "rate up": "assumed",
            "base RTT": "assumed",
            "slots": "scheduling request every 10 ms (3GPP TS 36.213 table 10.1.5-1), then 4 ms to "
            "the grant and 4 ms to the transmission (FDD, §8.0, §10.1)",
            "buffer": _BUFFER,
        },
        limits=(
            "A loaded uplink has grants every 1 ms, the model every 8 to 18 ms. HARQ, handovers "
            "and stalls are left out."
        ),
    ),
    "5g": Model(
        title="5G NSA, 3.5 GHz, static",
        down_bps=43_000_000,
        up_bps=15_000_000,
        rtt_ns=25 * MS,
        up_wait=Wait(3 * MS, 8 * MS),
        epochs=Epochs(10 * S, 10 * S, rate_spread=1.97),
        sources={
            "rate down, its spread and 10 s": f"{_DATASET}, 5G, static: median, quartiles "
            "and autocorrelation of DL_bitrate",
            "rate up": "assumed",
            "base RTT": "15 ms below `lte`, as the median ping of the same set",
            "slots": "scheduling request every 5 ms, then 3 ms to the transmission at 30 kHz "
            "(3GPP TS 38.213 §9.2.4, TS 38.214 table 6.1.2.1.1-4); periods assumed",
            "buffer": _BUFFER,
        },
        limits="As `lte`. A TDD pattern is not modelled slot by slot.",
    ),
    "docsis": Model(
        title="Cable (DOCSIS 3.1)",
        down_bps=200_000_000,
        up_bps=20_000_000,
        rtt_ns=5 * MS,
        up_wait=Wait(2 * MS, 8 * MS),
        overhead_bytes=4,
        sources={
            "rates": "assumed: a service of 200/20 Mbit/s",
            "base RTT": "10 ms in all (White et al., draft-white-tsvwg-lld-00), less the mean wait",
            "slots": "media acquisition of 2 to 8 ms (same draft; MAPs of 2 ms)",
            "overhead": "tc-cake(8), `docsis`: 18 bytes around the IP packet",
            "buffer": _BUFFER,
        },
        limits=(
            "Piggybacked requests, which shorten the wait under load, and DOCSIS-PIE are left out: "
            "write `queue: pie` for the direction up (simulator only)."
        ),
    ),
    "gpon": Model(
        title="Fibre (GPON)",
        down_bps=500_000_000,
        up_bps=200_000_000,
        rtt_ns=200 * US,
        up_wait=Wait(250 * US, 2 * MS),
        overhead_bytes=9,
        sources={
            "rates": "assumed: a service of 500/200 Mbit/s within 2.488/1.244 Gbit/s (G.984.2)",
            "base RTT": "20 km of fibre, the reach of ITU-T G.984.1, at 5 µs/km",
            "slots": "from two frames of 125 µs (report, then grant; ITU-T G.984.3) to 2 ms, the "
            "target of G.987.3 for assured bandwidth",
            "overhead": "FCS 4 and GEM header 5 bytes (ITU-T G.984.3 §8.3)",
            "buffer": _BUFFER,
        },
        limits="Competition of other subscribers for the cycle is left out.",
    ),
    "geo": Model(
        title="Geostationary satellite",
        down_bps=25_000_000,
        up_bps=3_000_000,
        rtt_ns=600 * MS,
        buffer_ns=600 * MS,
        sources={
            "rates": "the FCC's definition of broadband of 2015 (25/3 Mbit/s), which services are "
            "sold by",
            "base RTT": "600 ms (FCC 2020, rural auction); 4 × 35 786 km at c are 477 ms",
            "buffer": "assumed: one base RTT of the nominal rate",
        },
        limits=(
            "Operators split TCP connections at the dish (PEP, RFC 3135): a plain TCP shows what "
            "an encrypted transport sees. Fading by rain is left out."
        ),
    ),
}


class AccessSpec(Strict):
    """Named access link. `down` and `up` are the rates to and from the subscriber."""

    type: Annotated[str, choice(*MODELS, what="access link")]
    down: Rate | None = None
    up: Rate | None = None
    rtt: PositiveTime | None = None
    subscriber: Name | None = None
    draw: Annotated[int, whole_number(0, 2**32 - 1)] = 1

    @property
    def model(self) -> Model:
        """Model of this name."""
        return MODELS[self.type]


def _named(value: Any) -> Any:
    if isinstance(value, dict):
        return value
    choice(*MODELS, what="access link").read(value)
    return {"type": value}


Access = Annotated[AccessSpec, Short(_named, {"type": "string", "enum": list(MODELS)})]
