"""netem (tc-netem(8), sch_netem.c, q_netem.c)."""

from __future__ import annotations

from fractions import Fraction

from dumbbell.translate.mistakes import Note
from dumbbell.translate.netem_qdisc import DISTRIBUTIONS, LIMIT, Netem, correlated, spread_of
from dumbbell.translate.stage import Reading, Value
from dumbbell.translate.units import rate_text, share_text, size_text, time_text
from dumbbell.translate.words import Words

#: Words that may begin a part, as tc's help names them.
WORDS = (
    "limit", "delay", "latency", "jitter", "distribution", "loss", "drop", "corrupt", "duplicate",
    "reorder", "gap", "rate", "slot", "ecn", "seed",
)  # fmt: skip
#: Limit of `tc_core_time_big` in tc_core.c of iproute2.
_MOST_NS = 2**32 * 64
_LOSSES = ("random", "state", "gemodel")
_SEED_MAX = 2**53
_FILE = "with its file beside the experiment, `distribution: NAME.dist`"
_UNIFORM = "of the same standard deviation, ± "


def read(reading: Reading) -> Netem:
    """Reads the words behind `netem`."""
    words, made = reading.words, Netem()
    limit_line, place = 0, 0
    while words.more:
        word = _full(words.take(), reading)
        if word == "limit":
            made.limit = words.count("limit", 2**31 - 1)
            if not made.limit:
                message = "netem with limit 0 drops every packet, which no experiment can say"
                raise words.mistake(message, "0", ("limit 1 or more",), near=False)
            limit_line, place = words.line, len(reading.notes.all)
        elif word in ("delay", "latency"):
            _delay(reading, made, word)
        elif word == "jitter":
            made.jitter = _ticks(words, "jitter")
        elif word == "distribution":
            made.distribution = _distribution(reading)
        elif word in ("loss", "drop"):
            _loss(reading, made)
        elif word in ("corrupt", "duplicate"):
            share = words.percent(word)
            setattr(made, word, share)
            field_name = {"corrupt": "corruption", "duplicate": "duplication"}[word]
            reading.became(f"{word} {share_text(share)}", f"{field_name} {share_text(share)}")
            _correlation(reading, made, word)
        elif word == "reorder":
            made.reorder = words.percent("reorder")
            _correlation(reading, made, "reorder")
            if words.take_if("gap"):
                made.gap = words.count("gap")
        elif word == "gap":
            made.gap = words.count("gap")
        elif word == "rate":
            _rate(reading, made)
        elif word == "slot":
            _slot(reading, made)
        elif word == "ecn":
            made.ecn = True
        else:
            _seed(reading, made)
    if not (made.slots and made.delay):
        _remark_limit(reading, made, limit_line, place)
    _remark(reading, made)
    return made


def _seed(reading: Reading, made: Netem) -> None:
    seed = reading.words.count("seed", 2**64 - 1)
    if seed <= _SEED_MAX:
        made.seed = seed
    else:
        reading.lost(f"seed {seed}", f"a seed has at most {_SEED_MAX}")


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
    made.delay = _ticks(words, word)
    if words.number_follows:
        made.jitter = _ticks(words, f"jitter of {word}")
        _correlation(reading, made, "delay")
    if words.peek() == "distribution":
        words.take()
        made.distribution = _distribution(reading)


def _ticks(words: Words, of: str) -> int:
    """Time in ns; tc counts those of netem in 32 bits of 64 ns."""
    text, value = words.peek(), words.time(of)
    if value >= _MOST_NS:
        message = f"{of} is longer than tc takes"
        raise words.mistake(message, text, ("274s or less",), near=False)
    return value


def _distribution(reading: Reading) -> str:
    name = reading.words.value("distribution", "a name", DISTRIBUTIONS)
    if name not in DISTRIBUTIONS and not name.replace("-", "").replace("_", "").isalnum():
        raise reading.words.mistake("distribution has no such name", name, DISTRIBUTIONS)
    return name


def _correlation(reading: Reading, made: Netem, of: str) -> None:
    if reading.words.number_follows:
        made.correlations[of] = reading.words.percent(f"correlation of {of}")


def _loss(reading: Reading, made: Netem) -> None:
    words = reading.words
    if not words.more:
        raise words.mistake("loss needs a percentage", "", ("1%", *_LOSSES))
    kind = words.take_if(*_LOSSES) or "random"
    if not words.number_follows:
        raise words.mistake("loss should be a percentage", words.peek(), ("1%", *_LOSSES))
    if kind == "random":
        share = words.percent("loss")
        reading.became(f"loss {share_text(share)}", f"independent loss of {share_text(share)}")
        _correlation(reading, made, "loss")
        made.plain_loss = True
        made.loss = made.netem_loss = None
        if share:
            made.loss = share_text(share)
            own = correlated(share, made.correlations.get("loss"))
            made.netem_loss = {"random": own} if isinstance(own, dict) else own
        return
    parts = [words.percent(f"loss {kind}")]
    while words.number_follows and len(parts) < (4 if kind == "gemodel" else 5):
        parts.append(words.percent(f"loss {kind}"))
    given = f"loss {kind} " + " ".join(map(share_text, parts))
    if kind == "gemodel":
        p, r, bad, good = _filled(parts, [parts[0], 1 - parts[0], Fraction(1), Fraction(0)])
        made.loss, made.plain_loss = _gilbert(p, r, bad, good), True
        made.netem_loss = {"gemodel": _shares(p=p, r=r, loss_bad=bad, loss_good=good)}
    else:
        p13, p31, p32, p23, p14 = _filled(
            parts, [parts[0], 1 - parts[0], *map(Fraction, (0, 1, 0))]
        )
        made.loss = _gilbert(p13, p31, Fraction(1), Fraction(0))
        made.plain_loss = not (p32 or p14)
        made.netem_loss = {"state": _shares(p13=p13, p31=p31, p32=p32, p23=p23, p14=p14)}
        if made.plain_loss and p23 != 1:
            reading.lost(f"P23 {share_text(p23)}", "without effect: P32 is 0")
    reading.became(given, "Gilbert-Elliott" if made.plain_loss else "four states")


def _shares(**shares: Fraction) -> Value:
    return {name: share_text(share) for name, share in shares.items()}


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
    text = words.peek()
    made.rate = words.rate("rate")
    if made.rate < 8:  # tc counts bytes, the kernel takes 0 as no rate
        made.rate = None
        reading.became(f"rate {text}", "no rate: tc takes it as 0 bytes/s, which limits nothing")
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
        name = words.value("slot distribution", "a name", DISTRIBUTIONS)
        mean = words.time("slot distribution")
        spread = words.time("slot distribution") if words.number_follows else 0
        if spread and name in DISTRIBUTIONS[1:]:
            made.slots["distribution"] = {
                "name": name, "delay": time_text(mean), "jitter": time_text(spread)
            }  # fmt: skip
        half = spread_of(spread, name)
        least, most = max(mean - half, 0), mean + half
        if spread and name not in DISTRIBUTIONS:
            text = f"uniform wait {_UNIFORM}{time_text(half)}; {_FILE}"
            reading.lost(f"slot distribution {name}", text)
    else:
        least = words.time("slot")
        most = words.time("slot") if words.number_follows else least
    text = f"slots, a wait of {time_text(least)} to {time_text(max(most, 1))}"
    if "distribution" in made.slots:
        text = "slots with waits of this distribution"
    else:
        made.slots = {"min": time_text(least), "max": time_text(max(most, 1))}
    while (word := words.peek()) in ("packets", "bytes"):
        words.take()
        count = words.count(word, 2**31 - 1) if word == "packets" else words.size(word)
        made.slots[word] = count if word == "packets" else size_text(count)
    reading.became("slot", text)


def _remark(reading: Reading, made: Netem) -> None:
    """Remarks what follows from several words."""
    words = reading.words
    if made.reorder and not made.delay:
        raise words.mistake(
            "reorder is not possible without a delay", allowed=("delay 10ms reorder 25%",)
        )
    if made.distribution not in DISTRIBUTIONS:
        if made.jitter:
            text = f"uniform delay {_UNIFORM}{time_text(made.spread)}; {_FILE}"
            reading.lost(f"distribution {made.distribution}", text)
        # Of the same standard deviation.
        made.jitter, made.distribution = made.spread, "uniform"
    if made.worded:
        _remark_words(reading, made)
        return
    _remark_missing(reading, made)
    if made.delay or made.jitter:
        given = f"delay {time_text(made.delay)}"
        text = f"delay {time_text(made.delay)}"
        if made.jitter:
            given += f" {time_text(made.jitter)}"
            text = f"delay {time_text(made.shortest)}, jitter {time_text(made.width)}"
            kept = made.rate is not None or made.slots
            text += ": netem draws mean ± jitter; " + ("order is kept" if kept else "it reorders")
        reading.became(given, text)
    if made.spread > made.delay:
        reading.lost(
            f"delay {time_text(made.delay)} {time_text(made.jitter)}",
            "draws below 0, which netem sends at once, are missing",
        )
    if made.early:
        reading.lost(f"reorder {share_text(made.reorder)}", "no counterpart beside these words")
    elif made.gap:
        reading.lost(f"gap {made.gap}", "without effect: there is no reorder")
    if made.rate is not None:
        _remark_rate(reading, made)
    if made.slots and made.delay:
        reading.lost(f"limit {made.limit}", "does not count delayed packets beside slots")


def _remark_missing(reading: Reading, made: Netem) -> None:
    """Remarks words that netem has, and the fields of a link have not."""
    beside = "slots" if made.slots else "a rate that keeps the order of jitter"
    if made.jitter and made.distribution != "uniform":
        text = f"no counterpart beside {beside}: uniform delay {_UNIFORM}{time_text(made.spread)}"
        reading.lost(f"distribution {made.distribution}", text)
    for word, share in made.correlations.items():
        if share and word in made.drawn:
            text = f"no counterpart beside {beside}: packets draw independently of each other"
            reading.lost(f"{word} … {share_text(share)} (correlation)", text)
    if not made.plain_loss:
        reading.lost("loss state", f"beside {beside} P13 and P31 alone are used")
    if made.ecn and made.loss is not None:
        reading.lost("ecn", f"no counterpart beside {beside}: packets are dropped")
    if made.seed is not None and made.drawn:
        reading.lost(f"seed {made.seed}", f"no counterpart beside {beside}: see --seed")


def _remark_words(reading: Reading, made: Netem) -> None:
    """Remarks the words that netem's fields of the same name have."""
    if made.jitter:
        given = f"delay {time_text(made.delay)} {time_text(made.jitter)}"
        reading.became(given, f"netem's delay, {made.distribution}; it reorders")
    if made.early:
        share = share_text(made.reorder)
        reading.became(f"reorder {share}", "netem's reorder: these packets are sent at once")
        if made.rate is not None:
            reading.lost(f"reorder {share}", "the rate delays early packets, too")
    if made.rate is not None:
        _remark_rate(reading, made)


def _remark_rate(reading: Reading, made: Netem) -> None:
    assert made.rate is not None
    text = f"rate {rate_text(made.rate)}"
    if (made.delay or made.jitter) and not made.slots and not made.early:
        text += " of a token bucket of one frame, so that netem's limit counts delayed packets too"
    reading.became(f"rate {rate_text(made.rate)}", text)
