"""Priority qdisc (tc-prio(8), sch_prio.c, q_prio.c)."""

from __future__ import annotations

from dumbbell.translate.stage import Reading

WORDS = ("bands", "priomap")
#: Bands of tc, and band of priority 0: the first entry of `priomap`.
_BANDS, _BAND = 3, 1
_MOST = 16


def read(reading: Reading) -> int:
    """Minor number of the class of packets with TOS 0 and without a filter."""
    words = reading.words
    bands, band = _BANDS, _BAND
    while words.more:
        word = words.take()
        if word == "bands":
            bands = words.count("bands", _MOST)
        elif word == "priomap":
            band = words.count("priomap", _MOST - 1)
            for _ in range(_MOST - 1):
                if words.number_follows:
                    words.count("priomap", _MOST - 1)
        elif word != "multiq":
            raise words.mistake("prio has no such word", word, WORDS)
    if band >= bands:
        raise words.mistake("priomap names no band", str(band), (f"0 to {bands - 1}",), near=False)
    return band + 1
