"""netem (tc-netem(8), sch_netem.c, q_netem.c)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

from dumbbell.translate.mistakes import Note
from dumbbell.translate.stage import Pipe, Reading, Value
from dumbbell.translate.units import rate_text, share_text, size_text, time_text

#: Words that may begin a part, as tc's help names them.
WORDS = (
    "limit", "delay", "latency", "jitter", "distribution", "loss", "drop", "corrupt", "duplicate",
    "reorder", "gap", "rate", "slot", "ecn", "seed",
)  # fmt: skip
_DISTRIBUTIONS = ("uniform", "normal", "pareto", "paretonormal")
_LOSSES = ("random", "state", "gemodel")
LIMIT = 1000
_UNIFORM = "of the same standard deviation, ± "


def spread_of(jitter: int, distribution: str) -> int:
    """Half the width of uniform values of the same standard deviation as the table's."""
    factor = 1.0 if distribution == "uniform" else math.sqrt(3)
    return round(jitter * factor / 1000) * 1000


@dataclass
class Netem:
    """Parameters of a netem; times in ns."""

    limit: int = LIMIT
    delay: int = 0
    jitter: int = 0
    distribution: str = "uniform"
    loss: Value | None = None
    corrupt: Fraction = Fraction(0)
    duplicate: Fraction = Fraction(0)
    reorder: Fraction = Fraction(0)
    gap: int = 0
    rate: int | None = None
    framing: dict[str, Value] = field(default_factory=dict)
    slots: dict[str, Value] = field(default_factory=dict)

    @property
    def shortest(self) -> int:
        """Shortest delay."""
        return max(self.delay - self.spread, 0)

    @property
    def spread(self) -> int:
        """Half the width of the uniform delay: of the same standard deviation as the table's."""
        return spread_of(self.jitter, self.distribution)

    @property
    def width(self) -> int:
        """Width of the uniform delay."""
        return self.delay + self.spread - self.shortest

    def impairments(self) -> dict[str, Value]:
        """Fields that do not depend on the queue."""
        made: dict[str, Value] = {}
        if self.loss is not None:
            made["loss"] = self.loss
        if self.corrupt:
            made["corruption"] = share_text(self.corrupt)
        if self.duplicate:
            made["duplication"] = share_text(self.duplicate)
        return made

    def pipe(self, frame: int, shaper: dict[str, Value] | None = None) -> Pipe:
        """The pipe of this netem, alone or below a token bucket (`shaper`)."""
        made: dict[str, Value] = {}
        serial = False
        if shaper is not None:
            made |= shaper
        elif self.rate is not None:
            serial = bool(self.slots) or not self.delay + self.jitter or bool(self.reorder)
            made |= self._rate_fields(frame, serial)
        early = self.early
        if self.slots:
            made |= {"buffer": f"{self.limit} packets", "slots": self.slots}
            made |= self._delay_fields() if not early else {}
        elif early:
            if serial or shaper is not None:
                made["buffer"] = f"{self.limit} packets"
        elif serial:
            made["buffer"] = f"{self.limit} packets"
        else:
            own: dict[str, Value] = {}
            if self.shortest:
                own["delay"] = time_text(self.shortest)
            in_order = self.rate is not None
            if self.width and not in_order:
                own["jitter"] = time_text(self.width)
            own["limit"] = f"{self.limit} packets"
            made["netem"] = own
            if self.width and in_order:
                made["jitter"] = time_text(self.width)
        if early:
            late = {"probability": share_text(1 - early), "extra_delay": time_text(self.delay)}
            made["reordering"] = late
        made |= self.impairments()
        return Pipe(made, delay_ns=self.delay, rate_bps=self.rate)

    def _rate_fields(self, frame: int, serial: bool) -> dict[str, Value]:
        assert self.rate is not None
        if serial:
            made: dict[str, Value] = {"rate": rate_text(self.rate)}
        else:
            burst = size_text(frame)
            bucket = {"rate": rate_text(self.rate), "burst": burst, "initial": "full"}
            made = {"shaper": {"tbf": bucket}}
        return made | ({"framing": self.framing} if self.framing else {})

    def _delay_fields(self) -> dict[str, Value]:
        made: dict[str, Value] = {}
        if self.shortest:
            made["delay"] = time_text(self.shortest)
        if self.width:
            made["jitter"] = time_text(self.width)
        return made

    @property
    def early(self) -> Fraction:
        """Mean share of packets that `reorder` sends at once (netem_enqueue)."""
        if not self.reorder or not self.delay:
            return Fraction(0)
        return 1 / (max(self.gap, 1) - 1 + 1 / self.reorder)

    def pipes(self, below: list[Pipe], frame: int) -> list[Pipe]:
        """See `Stage`: packets enter the child after their delay."""
        return [self.pipe(frame), *below]


def read(reading: Reading) -> Netem:
    """Reads the words behind `netem`."""
    words, made = reading.words, Netem()
    limit_line, place = 0, 0
    while words.more:
        word = _full(words.take(), reading)
        if word == "limit":
            made.limit = words.count("limit", 2**31 - 1) or 1
            limit_line, place = words.line, len(reading.notes.all)
        elif word in ("delay", "latency"):
            _delay(reading, made, word)
        elif word == "jitter":
            made.jitter = words.time("jitter")
        elif word == "distribution":
            made.distribution = _distribution(reading)
        elif word in ("loss", "drop"):
            _loss(reading, made)
        elif word in ("corrupt", "duplicate"):
            share = words.percent(word)
            setattr(made, word, share)
            field_name = {"corrupt": "corruption", "duplicate": "duplication"}[word]
            reading.became(f"{word} {share_text(share)}", f"{field_name} {share_text(share)}")
            _correlation(reading, word)
        elif word == "reorder":
            made.reorder = words.percent("reorder")
            _correlation(reading, "reorder")
            if words.take_if("gap"):
                made.gap = words.count("gap")
        elif word == "gap":
            made.gap = words.count("gap")
        elif word == "rate":
            _rate(reading, made)
        elif word == "slot":
            _slot(reading, made)
        elif word == "ecn":
            reading.lost("ecn", "no counterpart: the model of loss drops, it does not mark")
        else:
            reading.lost(f"seed {words.count('seed', 2**64 - 1)}", "no counterpart: see --seed")
    if not made.early and not (made.slots and made.delay):
        _remark_limit(reading, made, limit_line, place)
    _remark(reading, made)
    return made


def _remark_limit(reading: Reading, made: Netem, line: int, place: int) -> None:
    """Remarks what the limit became, at the place where it was read; line 0: none was."""
    if line:
        text = f"limit {made.limit} packets, delayed packets included"
        reading.notes.all.insert(place, Note(line, f"limit {made.limit}", text))
    else:
        text = f"netem's default: limit {LIMIT} packets, delayed ones included"
        reading.became("(no limit)", text)


def _full(word: str, reading: Reading) -> str:
    """Full name of a word, which tc takes abbreviated."""
    if word in WORDS:
        return word
    near = [one for one in WORDS if len(word) >= 3 and one.startswith(word)]
    if near:
        return near[0]
    raise reading.words.mistake("netem has no such word", word, WORDS)


def _delay(reading: Reading, made: Netem, word: str) -> None:
    words = reading.words
    made.delay = words.time(word)
    if words.number_follows:
        made.jitter = words.time(f"jitter of {word}")
        _correlation(reading, word)
    if words.peek() == "distribution":
        words.take()
        made.distribution = _distribution(reading)


def _distribution(reading: Reading) -> str:
    name = reading.words.value("distribution", "a name", _DISTRIBUTIONS)
    if name not in _DISTRIBUTIONS and not name.replace("-", "").replace("_", "").isalnum():
        raise reading.words.mistake("distribution has no such name", name, _DISTRIBUTIONS)
    return name


def _correlation(reading: Reading, of: str) -> None:
    if reading.words.number_follows:
        share = reading.words.percent(f"correlation of {of}")
        if share:
            text = "no counterpart: packets draw independently of each other"
            reading.lost(f"{of} … {share_text(share)} (correlation)", text)


def _loss(reading: Reading, made: Netem) -> None:
    words = reading.words
    if not words.more:
        raise words.mistake("loss needs a percentage", "", ("1%", *_LOSSES))
    kind = words.take_if(*_LOSSES) or "random"
    if not words.number_follows:
        raise words.mistake("loss should be a percentage", words.peek(), ("1%", *_LOSSES))
    if kind == "random":
        share = words.percent("loss")
        if share:
            made.loss = share_text(share)
        reading.became(f"loss {share_text(share)}", f"independent loss of {share_text(share)}")
        _correlation(reading, "loss")
        return
    parts = [words.percent(f"loss {kind}")]
    while words.number_follows and len(parts) < (4 if kind == "gemodel" else 5):
        parts.append(words.percent(f"loss {kind}"))
    given = f"loss {kind} " + " ".join(map(share_text, parts))
    if kind == "gemodel":
        made.loss = _gilbert(*_filled(parts, [parts[0], 1 - parts[0], Fraction(1), Fraction(0)]))
    else:
        p13, p31, p32, p23, p14 = _filled(
            parts, [parts[0], 1 - parts[0], *map(Fraction, (0, 1, 0))]
        )
        made.loss = _gilbert(p13, p31, Fraction(1), Fraction(0))
        if p32 or p14:
            text = "two of the four states have no counterpart: P13 and P31 alone are used"
            reading.lost(f"loss state … P32 {share_text(p32)} P14 {share_text(p14)}", text)
        elif p23 != 1:
            reading.lost(f"P23 {share_text(p23)}", "without effect: P32 is 0")
    reading.became(given, "Gilbert-Elliott")


def _filled(given: list[Fraction], defaults: list[Fraction]) -> list[Fraction]:
    return [*given, *defaults[len(given) :]]


def _gilbert(bad: Fraction, good: Fraction, in_bad: Fraction, in_good: Fraction) -> Value:
    made: dict[str, Value] = {"good_to_bad": share_text(bad), "bad_to_good": share_text(good)}
    if in_good:
        made["loss_good"] = share_text(in_good)
    if in_bad != 1:
        made["loss_bad"] = share_text(in_bad)
    return {"gilbert_elliott": made}


def _rate(reading: Reading, made: Netem) -> None:
    words = reading.words
    made.rate = words.positive_rate("rate")
    extra: list[int] = []
    while len(extra) < 3 and (words.number_follows or words.peek()[:1] in ("-", "+")):
        text = words.take()
        if not text.lstrip("+-").isdigit() or len(text) > 6:
            raise words.mistake(
                "rate's overhead and cells should be whole numbers", text, ("20", "48")
            )
        extra.append(int(text))
    overhead, cell, cell_overhead = [*extra, 0, 0, 0][:3]
    if cell == 48 and cell_overhead == 5:
        made.framing = {"overhead": size_text(overhead), "atm": True}
    elif cell:
        reading.lost(
            f"rate … {cell} {cell_overhead} (cells)", "no counterpart: cells of 48 + 5 bytes alone"
        )
    if overhead and not made.framing:
        made.framing = {"overhead": size_text(overhead)}


def _slot(reading: Reading, made: Netem) -> None:
    words = reading.words
    if words.take_if("distribution"):
        name = words.value("slot distribution", "a name", _DISTRIBUTIONS)
        mean = words.time("slot distribution")
        spread = words.time("slot distribution") if words.number_follows else 0
        half = spread_of(spread, name)
        least, most = max(mean - half, 0), mean + half
        if name != "uniform":
            text = f"{_UNIFORM}{time_text(half)}"
            reading.lost(f"slot distribution {name}", f"no counterpart: uniform wait {text}")
        if half > mean:
            reading.lost(f"slot {time_text(mean)} {time_text(spread)}", "draws below 0 are missing")
    else:
        least = words.time("slot")
        most = words.time("slot") if words.number_follows else least
    made.slots = {"min": time_text(least), "max": time_text(max(most, 1))}
    while (word := words.peek()) in ("packets", "bytes"):
        words.take()
        count = words.count(word, 2**31 - 1) if word == "packets" else words.size(word)
        made.slots[word] = count if word == "packets" else size_text(count)
    reading.became("slot", f"slots, a wait of {time_text(least)} to {time_text(max(most, 1))}")


def _remark(reading: Reading, made: Netem) -> None:
    """Remarks what follows from several words."""
    words = reading.words
    if made.reorder and not made.delay:
        raise words.mistake(
            "reorder is not possible without a delay", allowed=("delay 10ms reorder 25%",)
        )
    if made.jitter and made.distribution != "uniform":
        text = f"no counterpart: uniform delay {_UNIFORM}{time_text(made.spread)}"
        reading.lost(f"distribution {made.distribution}", text)
    if made.delay or made.jitter:
        given = f"delay {time_text(made.delay)}"
        text = f"delay {time_text(made.delay)}"
        if made.jitter:
            given += f" {time_text(made.jitter)}"
            text = f"delay {time_text(made.shortest)}, jitter {time_text(made.width)}"
            kept = made.rate is not None or made.slots
            text += ": netem draws mean ± jitter; " + ("order is kept" if kept else "it reorders")
        if not made.early:
            reading.became(given, text)
    if made.spread > made.delay:
        reading.lost(
            f"delay {time_text(made.delay)} {time_text(made.jitter)}",
            "draws below 0, which netem sends at once, are missing",
        )
    if made.early:
        _remark_reorder(reading, made)
    elif made.gap:
        reading.lost(f"gap {made.gap}", "without effect: there is no reorder")
    if made.rate is not None:
        _remark_rate(reading, made)
    if made.slots and made.delay:
        reading.lost(f"limit {made.limit}", "does not count delayed packets beside slots")


def _remark_reorder(reading: Reading, made: Netem) -> None:
    share = share_text(round(1 - made.early, 9))
    reading.became(
        f"reorder {share_text(made.reorder)}",
        f"the other packets are late: {share} by {time_text(made.delay)}",
    )
    if made.jitter:
        reading.lost(f"jitter {time_text(made.jitter)}", "no counterpart beside reorder")
    if made.gap > 1:
        reading.lost(
            f"gap {made.gap}", "no counterpart: a share of the same mean, drawn for each packet"
        )
    reading.lost(f"limit {made.limit}", "does not count delayed packets beside reorder")


def _remark_rate(reading: Reading, made: Netem) -> None:
    assert made.rate is not None
    text = f"rate {rate_text(made.rate)}"
    if (made.delay or made.jitter) and not made.slots and not made.early:
        text += " of a token bucket of one frame, so that netem's limit counts delayed packets too"
    reading.became(f"rate {rate_text(made.rate)}", text)
