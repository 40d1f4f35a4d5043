"""Policers: the action `police` of a filter (tc-police(8))."""

from __future__ import annotations

from dataclasses import dataclass

from dumbbell.translate.mistakes import Notes
from dumbbell.translate.stage import Pipe, Reading
from dumbbell.translate.tbf import framing_word
from dumbbell.translate.units import rate_text, size_text

WORDS = (
    "rate", "burst", "buffer", "maxburst", "mtu", "minburst", "peakrate", "avrate", "mpu",
    "overhead", "linklayer", "conform-exceed", "pkts_rate", "pkts_burst", "index", "action",
    "drop", "shot", "pass", "ok", "reclassify", "continue", "pipe", "flowid", "classid",
)  # fmt: skip
ACTIONS = ("drop", "shot", "pass", "ok", "reclassify", "continue", "pipe")


@dataclass
class Police:
    """Parameters of a policer."""

    rate: int
    burst: int
    mtu: int | None = None
    drops: bool = True

    def pipes(self, frame: int, notes: Notes) -> list[Pipe]:
        """The pipe of the policer; none if what exceeds is not dropped."""
        if not self.drops:
            return []
        burst = self.burst
        if self.mtu is not None and self.mtu < frame:
            line = notes.all[0].line if notes.all else 1
            text = f"below a full frame of {frame} bytes: each of them exceeds, and is dropped"
            notes.lost(line, f"police mtu {self.mtu}", text)
            burst = min(burst, self.mtu)
        value = {"rate": rate_text(self.rate), "burst": size_text(burst)}
        return [Pipe({"policer": value}, rate_bps=self.rate)]


def read(reading: Reading) -> Police:
    """Reads the words behind `police`."""
    words = reading.words
    rate = burst = mtu = None
    exceeds = ""
    while words.more:
        word = words.take()
        if word == "rate":
            rate = words.positive_rate("rate")
        elif word in ("burst", "buffer", "maxburst"):
            burst = words.size(word)
        elif word in ("mtu", "minburst"):
            mtu = words.size(word) or None
        elif word in ("peakrate", "avrate", "pkts_rate", "pkts_burst"):
            reading.lost(f"{word} {words.value(word)}", "no counterpart: one rate, one bucket")
        elif word in ("mpu", "overhead", "linklayer"):
            framing_word(reading, word)
            reading.lost(word, "no counterpart beside a policer")
        elif word == "conform-exceed":
            exceeds = _exceeding(reading, words.value("conform-exceed", "an action", ("drop/ok",)))
        elif word.partition("/")[0] in ACTIONS:
            exceeds = _exceeding(reading, word)
        elif word == "index":
            words.count("index")
        elif word in ("flowid", "classid"):
            words.value(word)
        elif word not in WORDS:
            raise words.mistake("police has no such word", word, WORDS)
    if rate is None or not burst:
        missing = "rate" if rate is None else "burst"
        raise words.mistake(
            f"police needs a {missing}", allowed=("police rate 1mbit burst 100k drop",)
        )
    drops = exceeds in ("", "reclassify", "drop", "shot")
    _remark(reading, f"police rate {rate_text(rate)} burst {size_text(burst)}", exceeds, drops)
    return Police(rate, burst, mtu, drops)


def _exceeding(reading: Reading, text: str) -> str:
    """Action for what exceeds; that for what conforms is behind a slash."""
    exceeds, _, conforms = text.partition("/")
    for one in (exceeds, conforms or "pass"):
        if one not in ACTIONS:
            raise reading.words.mistake("police has no such action", one, ACTIONS)
    if conforms in ("drop", "shot"):
        text_of = "no counterpart: what conforms passes here"
        reading.lost(f"conform-exceed {text}", text_of)
    return exceeds


def _remark(reading: Reading, given: str, exceeds: str, drops: bool) -> None:
    if not drops:
        text = f"what exceeds is not dropped (action {exceeds}): nothing is policed"
        reading.lost(given, text)
        return
    reading.became(given, "policer: what exceeds the bucket is dropped, nothing waits")
    if exceeds in ("", "reclassify"):
        # tcf_classify of net/sched/cls_api.c: max_reclassify_loop.
        text = "the kernel asks the filters again and drops after 16 rounds; write drop"
        reading.lost("reclassify" if exceeds else "(no action: reclassify)", text)
