"""Queue disciplines without classes: words of tc → parameters of the catalogue.

Words and defaults are those of iproute2's `q_*.c` and of the kernel's `sch_*.c`. Parameters of the
catalogue have the defaults of the kernel, so a word that is not given is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from dumbbell.translate.stage import Pipe, Reading, Value
from dumbbell.translate.units import decimal, rate_text, share_text, size_text, time_text
from dumbbell.translate.words import Words

_NONE = "no counterpart"
_Reader = Callable[[Words, str], Value]


@dataclass(frozen=True)
class Word:
    """Word of a discipline.

    Attributes:
        read: Reads its value; None: a flag, whose value is `value`.
        name: Parameter of the catalogue; empty: it has no counterpart.
        value: Value of a flag.
        why: Why it has none.
    """

    read: _Reader | None = None
    name: str = ""
    value: Value = True
    why: str = _NONE


def _packets(words: Words, of: str) -> Value:
    return f"{words.count(of, 2**31 - 1)} packets"


def _count(words: Words, of: str) -> Value:
    return words.count(of)


def _bytes(words: Words, of: str) -> Value:
    return size_text(words.size(of))


def _time(words: Words, of: str) -> Value:
    return time_text(words.time(of))


def _rate(words: Words, of: str) -> Value:
    return rate_text(words.positive_rate(of))


def _fraction(words: Words, of: str) -> Value:
    """Probability as a number from 0 to 1 (RED)."""
    value = words.number(of)
    if value > 1:
        raise words.mistake(f"{of} should be a number up to 1", decimal(value), ("0.02",))
    return share_text(value)


def _whole_percent(words: Words, of: str) -> Value:
    return int(words.percent(of) * 100)


def _scaled(words: Words, of: str) -> Value:
    """DualPI2's gain, in 256ths."""
    return min(max(int(words.number(of) * 256), 1), 65535)


def _text(words: Words, of: str) -> Value:
    return words.value(of)


def _plain(word: str, read: _Reader) -> tuple[str, Word]:
    return word, Word(read, word)


def _lost(read: _Reader | None, *words: str, why: str = _NONE) -> dict[str, Word]:
    return {word: Word(read, why=why) for word in words}


_ECN = {"ecn": Word(None, "ecn"), "noecn": Word(None, "ecn", value=False)}
_CODEL = dict([_plain("limit", _packets), _plain("target", _time), _plain("interval", _time)]) | {
    "ce_threshold": Word(_time, "ce_threshold")
}
_PIE = {
    **dict([_plain("limit", _packets), _plain("target", _time), _plain("tupdate", _time)]),
    **dict([_plain("alpha", _count), _plain("beta", _count)]),
    **_ECN,
    "bytemode": Word(None, "bytemode"),
    "nobytemode": Word(None, "bytemode", value=False),
    **_lost(None, "dq_rate_estimator", why="no counterpart: delays are measured by time stamps"),
    **_lost(None, "no_dq_rate_estimator", why="as in the model"),
}
_RED = {
    **dict([_plain("limit", _bytes), _plain("min", _bytes), _plain("max", _bytes)]),
    **dict([_plain("avpkt", _bytes), _plain("burst", _count)]),
    "probability": Word(_fraction, "probability"),
    **{flag: Word(None, flag) for flag in ("ecn", "harddrop", "nodrop", "adaptive")},
    **_lost(_rate, "bandwidth", why="without effect on a queue that is never idle"),
}
#: Framing of cake's keywords (empty: as before) and bytes of overhead (`q_cake.c` of iproute2).
_KEYWORDS = {
    "raw": ("noatm", 0), "conservative": ("atm", 48), "ethernet": ("", 38),
    "ether-vlan": ("", 4), "docsis": ("noatm", 18), "pppoe-ptm": ("ptm", 30),
    "bridged-ptm": ("ptm", 22), "ipoa-vcmux": ("atm", 8), "ipoa-llcsnap": ("atm", 16),
    "bridged-vcmux": ("atm", 24), "bridged-llcsnap": ("atm", 32), "pppoa-vcmux": ("atm", 10),
    "pppoa-llc": ("atm", 14), "pppoe-vcmux": ("atm", 32), "pppoe-llcsnap": ("atm", 40),
}  # fmt: skip
_MPU = {"ethernet": 84, "docsis": 64}
_RTTS = {
    "datacentre": "100 us", "lan": "1 ms", "metro": "10 ms", "regional": "30 ms",
    "internet": "100 ms", "oceanic": "300 ms", "satellite": "1000 ms",
}  # fmt: skip
_CAKE = {
    "bandwidth": Word(_rate, "bandwidth"),
    "rtt": Word(_time, "rtt"),
    **{word: Word(None, "rtt", rtt) for word, rtt in _RTTS.items()},
    **{
        word: Word(None, "diffserv", word)
        for word in ("diffserv3", "diffserv4", "diffserv8", "precedence", "besteffort")
    },
    **{
        word: Word(None, "isolation", word)
        for word in (
            "triple-isolate", "dual-srchost", "dual-dsthost", "flows", "hosts", "srchost",
            "dsthost", "flowblind",
        )
    },
    "diffserv": Word(None, "diffserv", "diffserv4"),
    **{word: Word(None, "atm", word) for word in ("noatm", "atm", "ptm")},
    **_lost(None, "via-ethernet", why="without effect: tc shows it and takes it as nothing"),
    **{
        word: Word(None, "ack_filter", word)
        for word in ("no-ack-filter", "ack-filter", "ack-filter-aggressive")
    },
    "ingress": Word(None, "ingress"),
    "egress": Word(None, "ingress", value=False),
    "memlimit": Word(_bytes, "memlimit"),
    "mpu": Word(lambda words, of: size_text(words.count(of, 256)), "mpu"),
    **_lost(None, "unlimited", why="without effect: cake's default, it does not shape"),
    **_lost(None, "autorate-ingress"),
    **_lost(None, "nat", "nonat", why="without effect: addresses are not translated"),
    **_lost(None, "split-gso", "no-split-gso", why="without effect: packets arrive one by one"),
    **_lost(None, "nowash", why="without effect: cake's default"),
    **_lost(None, "wash", "interplanetary"),
    **_lost(_text, "fwmark"),
}  # fmt: skip
_SFQ = {
    **dict([_plain("limit", _packets), _plain("flows", _count), _plain("depth", _count)]),
    "quantum": Word(_bytes, "quantum"),
    "headdrop": Word(None, "headdrop"),
    **_lost(_count, "perturb", why="no counterpart: the hash never changes"),
    **_lost(_count, "divisor", why="without effect: each flow has its own queue"),
    **_lost(_bytes, "redflowlimit", "min", "max", "avpkt"),
    **_lost(_fraction, "probability"),
    **_lost(_count, "burst"),
    **_lost(None, "ecn", "harddrop"),
}
_FQ = {
    "limit": Word(_packets, "limit"),
    "flow_limit": Word(_packets, "flow_limit"),
    "quantum": Word(_bytes, "quantum"),
    "initial_quantum": Word(_bytes, "initial_quantum"),
    **_lost(
        _rate,
        "maxrate",
        "defrate",
        "low_rate_threshold",
        why="no counterpart: fq on a link paces nothing",
    ),
    **_lost(_count, "buckets", "orphan_mask", why="without effect"),
    **_lost(_time, "refill_delay", "ce_threshold", "timer_slack", "horizon"),
    **_lost(
        None, "pacing", "nopacing", "horizon_drop", "horizon_cap", why="without effect on a link"
    ),
}
_DUALPI2 = {
    **dict([_plain("limit", _packets), _plain("target", _time), _plain("tupdate", _time)]),
    "alpha": Word(_scaled, "alpha"),
    "beta": Word(_scaled, "beta"),
    "step_thresh": Word(_time, "step_thresh"),
    **dict([_plain("min_qlen_step", _count), _plain("coupling_factor", _count)]),
    "classic_protection": Word(_whole_percent, "classic_protection"),
    "drop_on_overload": Word(None, "drop_on_overload"),
    "overflow": Word(None, "drop_on_overload", value=False),
    "drop_enqueue": Word(None, "drop_enqueue"),
    "drop_dequeue": Word(None, "drop_enqueue", value=False),
    "any_ect": Word(None, "any_ect"),
    "l4s_ect": Word(None, "any_ect", value=False),
    **_lost(_bytes, "memlimit"),
    **_lost(_time, "max_rtt", "typical_rtt"),
    **_lost(None, "split_gso", "no_split_gso", why="without effect: packets arrive one by one"),
}
#: Discipline → its words.
WORDS: dict[str, dict[str, Word]] = {
    "pfifo": {"limit": Word(_packets, "limit")},
    "bfifo": {"limit": Word(_bytes, "limit")},
    "pfifo_head_drop": {"limit": Word(_packets, "limit")},
    "pfifo_fast": {},
    "noqueue": {},
    "codel": _CODEL | _ECN,
    "fq_codel": _CODEL
    | _ECN
    | dict([_plain("flows", _count), _plain("quantum", _bytes)])
    | _lost(_bytes, "memory_limit", why="no counterpart: limit counts packets")
    | _lost(_count, "drop_batch", why="without effect on the packets that leave")
    | {"ce_threshold_selector": Word(_text, "ce_threshold_ect1")},
    "pie": _PIE,
    "fq_pie": _PIE
    | dict([_plain("flows", _count), _plain("quantum", _bytes)])
    | {"ecn_prob": Word(_count, "ecn_prob")}
    | _lost(_bytes, "memory_limit"),
    "red": _RED,
    "choke": {
        **dict([_plain("limit", _packets), _plain("min", _packets), _plain("max", _packets)]),
        **dict([_plain("burst", _count)]),
        "probability": Word(_fraction, "probability"),
        "ecn": Word(None, "ecn"),
        **_lost(_rate, "bandwidth", why="without effect on a queue that is never idle"),
    },
    "sfq": _SFQ,
    "fq": _FQ,
    "dualpi2": _DUALPI2,
    "cake": _CAKE,
}
#: Discipline → words whose value 0 iproute2 takes as a word that is not given (`if (limit)`).
_ZERO_IS_NONE = {
    "codel": ("limit", "target", "interval"),
    "fq_codel": ("limit", "target", "interval", "flows", "quantum"),
    "pie": ("limit", "target", "tupdate", "alpha", "beta"),
    "fq_pie": ("limit", "target", "tupdate", "alpha", "beta", "flows", "quantum", "ecn_prob"),
    "sfq": ("quantum", "flows", "depth"),
    "red": ("min", "max", "burst"),
    "choke": ("min", "max", "burst"),
    "cake": ("rtt", "memlimit", "mpu"),
}
#: Discipline → words whose value 0 drops every packet.
_ZERO_DROPS = {
    "pfifo": ("limit",),
    "bfifo": ("limit",),
    "pfifo_head_drop": ("limit",),
    "fq": ("limit", "flow_limit"),
}
#: Discipline → least `limit` that tc or the kernel takes.
_LEAST_LIMIT = {"sfq": 2, "choke": 1, "dualpi2": 1, "red": 1}
#: txqueuelen of an Ethernet device: the limit of pfifo_fast.
TXQUEUELEN = 1000


@dataclass
class Discipline:
    """A queue discipline with its parameters; of cake, `overhead` beyond a `header`, in bytes."""

    name: str
    parameters: dict[str, Value] = field(default_factory=dict)
    rate_bps: int | None = None
    overhead: int = 0
    header: int = 0

    @property
    def value(self) -> Value:
        """Value of the field `queue`."""
        return {self.name: self.parameters} if self.parameters else self.name

    def pipes(self, below: list[Pipe], frame: int) -> list[Pipe]:
        """See `Stage`. Of the disciplines, red alone has a child."""
        needs = self.rate_bps is None
        if self.name == "red" and below:
            return [*below[:-1], self._over(below[-1])]
        return [Pipe({"queue": self.value}, rate_bps=self.rate_bps, needs_rate=needs), *below]

    def _over(self, child: Pipe) -> Pipe:
        """The pipe of a child with this queue in place of its own; its delay is behind it."""
        fields = {key: one for key, one in child.fields.items() if key not in ("buffer", "queue")}
        netem = fields.pop("netem", {})
        if isinstance(netem, Mapping):
            fields |= {key: one for key, one in netem.items() if key != "limit"}
        needs = child.rate_bps is None
        return Pipe({**fields, "queue": self.value}, child.delay_ns, child.rate_bps, needs)


def read(name: str, reading: Reading) -> Discipline:
    """Reads the words behind a discipline."""
    words, known = reading.words, WORDS[name]
    made = Discipline(name)
    while words.more:
        word = words.take()
        if name == "cake" and (word in _KEYWORDS or word == "overhead"):
            _cake_overhead(reading, made, word)
            continue
        entry = known.get(word)
        if entry is None:
            allowed = [*known, *(("overhead", *_KEYWORDS) if name == "cake" else ())]
            raise words.mistake(f"{name} has no such word", word, allowed)
        if name == "cake" and word == "bandwidth":
            if not words.take_if("unlimited"):
                made.rate_bps = words.positive_rate("bandwidth")
                made.parameters["bandwidth"] = rate_text(made.rate_bps)
            continue
        value = entry.value if entry.read is None else entry.read(words, word)
        if entry.read is not None and _none(reading, name, word, str(value).split()[0]):
            continue
        if not entry.name:
            silent = entry.why.startswith(("without effect", "as in"))
            remark = reading.became if silent else reading.lost
            remark(word if entry.read is None else f"{word} {value}", entry.why)
        elif entry.name == "ce_threshold_ect1":
            made.parameters[entry.name] = str(value).lower().replace("0x0", "0x") in (
                "0x1/0x3",
                "1/3",
            )
        else:
            made.parameters[entry.name] = value
    return _complete(made, reading)


def _none(reading: Reading, name: str, word: str, number: str) -> bool:
    """Returns true if a word with this number is taken as one that is not given.

    Raises `TranslateError` if it drops every packet, or is refused.
    """
    if number == "0" and word in _ZERO_DROPS.get(name, ()):
        message = f"{name} with {word} 0 drops every packet, which no experiment can say"
        raise reading.words.mistake(message, number, (f"{word} 1 or more",), near=False)
    least = _LEAST_LIMIT.get(name, 0) if word == "limit" else 0
    if number in ("0", "1") and int(number) < least:
        message = f"{name} refuses {word} {number}"
        raise reading.words.mistake(message, number, (f"{word} {least} or more",), near=False)
    if number != "0" or word not in _ZERO_IS_NONE.get(name, ()):
        return False
    reading.became(f"{word} 0", "the default: tc takes 0 as a word that is not given")
    return True


def _cake_overhead(reading: Reading, made: Discipline, word: str) -> None:
    """Framing as tc reads it: keywords add to the overhead before them, `overhead` replaces it."""
    before = 0 if word in ("overhead", "raw", "conservative") else made.overhead
    if word == "overhead":
        text = reading.words.value("overhead", "a number of bytes", ("18",))
        if not text.lstrip("-").isdigit() or len(text) > 4 or not -64 <= int(text) <= 256:
            raise reading.words.mistake("overhead should be -64 to 256 bytes", text, ("18", "44"))
        atm, overhead = "", int(text)
    else:
        atm, overhead = _KEYWORDS[word]
    if word == "raw":
        reading.became(
            "raw", "overhead 14 bytes: an Ethernet header, as cake counts without overhead"
        )
        made.header, atm = 14, ""
        made.parameters.pop("atm", None)
    made.overhead = before + overhead
    made.parameters |= {"atm": atm} if atm else {}
    made.parameters["overhead"] = size_text(made.header + made.overhead)
    if _MPU.get(word):
        made.parameters["mpu"] = size_text(_MPU[word])


def _complete(made: Discipline, reading: Reading) -> Discipline:
    """Values that the kernel takes where words are missing, and other names."""
    if made.name in ("pfifo_fast", "noqueue"):
        text = f"pfifo, limit {TXQUEUELEN} packets (txqueuelen)"
        reading.became(made.name, text + (": no bands" if made.name == "pfifo_fast" else ""))
        return Discipline("pfifo", {"limit": f"{TXQUEUELEN} packets"})
    if made.name == "bfifo" and "limit" not in made.parameters:
        made.parameters["limit"] = size_text(TXQUEUELEN * 1514)
    if made.name in ("red", "choke") and "limit" not in made.parameters:
        allowed = ("limit 400000",) if made.name == "red" else ("limit 1000",)
        raise reading.words.mistake(f"{made.name} needs a limit", allowed=allowed)
    if made.parameters.pop("adaptive", False):
        made.parameters["adaptive"] = True
    reading.became(made.name, _shown(made))
    return made


def _shown(made: Discipline) -> str:
    given = ", ".join(f"{name} {_worded(value)}" for name, value in made.parameters.items())
    return f"queue {made.name}" + (f" ({given})" if given else " with the kernel's defaults")


def _worded(value: Value) -> str:
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)
