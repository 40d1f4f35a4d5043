"""Policers: the action `police` of a filter (tc-police(8))."""

from __future__ import annotations

from dataclasses import dataclass

from dumbbell.translate.stage import Pipe, Reading
from dumbbell.translate.tbf import framing_word
from dumbbell.translate.units import rate_text, size_text

WORDS = (
    "rate", "burst", "buffer", "maxburst", "mtu", "minburst", "peakrate", "avrate", "mpu",
    "overhead", "linklayer", "conform-exceed", "pkts_rate", "pkts_burst", "index", "action",
    "drop", "pass", "ok", "reclassify", "continue", "pipe", "flowid", "classid",
)  # fmt: skip


@dataclass
class Police:
    """Parameters of a policer."""

    rate: int
    burst: int

    def pipe(self) -> Pipe:
        """The pipe of the policer."""
        value = {"rate": rate_text(self.rate), "burst": size_text(self.burst)}
        return Pipe({"policer": value}, rate_bps=self.rate)


def read(reading: Reading) -> Police:
    """Reads the words behind `police`."""
    words = reading.words
    rate = burst = None
    while words.more:
        word = words.take()
        if word == "rate":
            rate = words.positive_rate("rate")
        elif word in ("burst", "buffer", "maxburst"):
            burst = words.size(word)
        elif word in ("mtu", "minburst"):
            words.size(word)
        elif word in ("peakrate", "avrate", "pkts_rate", "pkts_burst"):
            reading.lost(f"{word} {words.value(word)}", "no counterpart: one rate, one bucket")
        elif word in ("mpu", "overhead", "linklayer"):
            framing_word(reading, word)
            reading.lost(word, "no counterpart beside a policer")
        elif word == "conform-exceed":
            action = words.value("conform-exceed", "an action", ("drop", "drop/ok"))
            if not action.startswith("drop"):
                reading.lost(f"conform-exceed {action}", "no counterpart: what exceeds is dropped")
        elif word == "index":
            words.count("index")
        elif word in ("flowid", "classid"):
            words.value(word)
        elif word not in WORDS and not word.startswith(("drop/", "pass/", "ok/")):
            raise words.mistake("police has no such word", word, WORDS)
    if rate is None or not burst:
        missing = "rate" if rate is None else "burst"
        raise words.mistake(
            f"police needs a {missing}", allowed=("police rate 1mbit burst 100k drop",)
        )
    text = (
        f"policer: what exceeds {size_text(burst)} at {rate_text(rate)} is dropped, nothing waits"
    )
    reading.became(f"police rate {rate_text(rate)} burst {size_text(burst)}", text)
    return Police(rate, burst)
