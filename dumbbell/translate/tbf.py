"""Token bucket filter (tc-tbf(8), sch_tbf.c, q_tbf.c)."""

from __future__ import annotations

from dataclasses import dataclass, field

from dumbbell.translate.netem_qdisc import Netem
from dumbbell.translate.stage import Pipe, Reading, Value
from dumbbell.translate.units import rate_text, size_text, time_text

WORDS = (
    "rate", "burst", "buffer", "maxburst", "limit", "latency", "peakrate", "mtu", "minburst", "mpu",
    "overhead", "linklayer",
)  # fmt: skip
#: Longest frame of an Ethernet device with an MTU of 1500, bytes.
_FRAME = 1514
LINK_LAYERS = ("ethernet", "atm", "adsl", "ethernet,atm")


@dataclass
class Tbf:
    """Parameters of a token bucket filter."""

    rate: int
    burst: int
    limit: int
    peak: int | None = None
    mtu: int | None = None
    framing: dict[str, Value] = field(default_factory=dict)
    #: The netem or the discipline below.
    child: object = None

    def shaper(self) -> dict[str, Value]:
        """Fields of the token bucket."""
        bucket: dict[str, Value] = {
            "rate": rate_text(self.rate), "burst": size_text(self.burst),
        }  # fmt: skip
        if self.peak is not None:
            bucket["peak"] = {"rate": rate_text(self.peak), "burst": size_text(self.mtu or 1514)}
        bucket["initial"] = "full"
        return {"shaper": {"tbf": bucket}, **({"framing": self.framing} if self.framing else {})}

    def pipes(self, below: list[Pipe], frame: int) -> list[Pipe]:
        """See `Stage`: the child's queue replaces `limit`."""
        if isinstance(self.child, Netem) and len(below) == 1:
            made = self.child.pipe(frame, self.shaper())
            made.rate_bps = self.rate
            return [made]
        if below and below[-1].needs_rate:
            *below, last = below
            fields = {**self.shaper(), **last.fields}
            return [*below, Pipe(fields, delay_ns=last.delay_ns, rate_bps=self.rate)]
        buffer = size_text(max(self.limit, frame))
        own = Pipe({**self.shaper(), "buffer": buffer}, rate_bps=self.rate)
        return [*below, own]


def read(reading: Reading) -> Tbf:
    """Reads the words behind `tbf`."""
    words = reading.words
    rate = burst = limit = latency = peak = mtu = None
    framing: dict[str, Value] = {}
    while words.more:
        word = words.take()
        if word == "rate":
            rate = words.positive_rate("rate")
        elif word in ("burst", "buffer", "maxburst"):
            burst = _bucket(reading, word)
        elif word == "limit":
            limit = words.size("limit")
        elif word == "latency":
            latency = words.time("latency")
        elif word == "peakrate":
            peak = words.positive_rate("peakrate")
        elif word in ("mtu", "minburst"):
            mtu = _bucket(reading, word)
        elif word in ("mpu", "overhead", "linklayer"):
            framing |= framing_word(reading, word)
        else:
            raise words.mistake("tbf has no such word", word, WORDS)
    if rate is None or not burst:
        missing = "rate" if rate is None else "burst"
        raise words.mistake(
            f"tbf needs a {missing}", allowed=("tbf rate 1mbit burst 32kbit latency 50ms",)
        )
    if (limit == 0 and latency is None) or (latency == 0 and limit is None):
        message = "tbf with " + ("limit 0" if limit == 0 else "latency 0") + ": tc refuses it"
        raise words.mistake(message, "0", ("limit 15kb", "latency 50ms"), near=False)
    if (limit is None) == (latency is None):
        raise words.mistake(
            "tbf needs a limit or a latency, one of them", allowed=("limit", "latency")
        )
    if peak is not None and not mtu:
        raise words.mistake("tbf's peakrate needs an mtu", allowed=("mtu 1540",))
    if limit is not None and limit < _FRAME:
        text = f"shorter than a frame of {_FRAME} bytes, which tc drops: a buffer of one frame"
        reading.lost(f"limit {limit}", text)
    if latency is not None:
        limit = rate // 8 * latency // 10**9 + burst
        formula = f"rate × latency + burst = {limit} bytes"
        if peak is not None and mtu:
            limit = min(limit, peak // 8 * latency // 10**9 + mtu)
            formula = f"{limit} bytes, of rate and peakrate the smaller"
        reading.became(f"latency {time_text(latency)}", f"buffer {formula}")
    made = Tbf(rate, burst, limit or 0, peak, mtu, framing)
    text = f"token bucket, full at the start, buffer {size_text(made.limit)}"
    reading.became(f"rate {rate_text(rate)} burst {size_text(burst)}", text)
    return made


def _bucket(reading: Reading, word: str) -> int:
    """Size with an optional cell, as `1600/8`."""
    words = reading.words
    text = words.peek()
    size, slash, cell = text.partition("/")
    if slash and cell.isdigit():
        words.take()
        from dumbbell.translate.units import SIZE_WORDS
        from dumbbell.translate.units import size as read_size

        found = read_size(size)
        if found is None:
            raise words.mistake(f"{word} should be a size", text, SIZE_WORDS)
        return found
    return words.size(word)


def framing_word(reading: Reading, word: str) -> dict[str, Value]:
    """Field of a framing: `mpu`, `overhead` or `linklayer`."""
    words = reading.words
    if word == "linklayer":
        layer = words.value(word, "a link layer", LINK_LAYERS)
        if layer not in LINK_LAYERS:
            raise words.mistake("linklayer has no such name", layer, LINK_LAYERS)
        return {} if layer == "ethernet" else {"atm": True}
    text = words.value(word, "a size", ("20", "64"))
    if not text.lstrip("-").isdigit() or len(text) > 5:
        raise words.mistake(f"{word} should be a number of bytes", text, ("20", "64"))
    return {word: size_text(int(text))}
