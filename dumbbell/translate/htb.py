"""Hierarchy Token Bucket (tc-htb(8), sch_htb.c, q_htb.c)."""

from __future__ import annotations

from dataclasses import dataclass, field

from dumbbell.translate.netem_qdisc import Netem
from dumbbell.translate.stage import Pipe, Reading, Value
from dumbbell.translate.tbf import framing_word
from dumbbell.translate.units import rate_text, size_text

QDISC_WORDS = ("default", "r2q", "direct_qlen", "offload", "debug")
CLASS_WORDS = (
    "rate", "ceil", "burst", "buffer", "maxburst", "cburst", "cbuffer", "cmaxburst", "prio",
    "quantum", "mtu", "mpu", "overhead", "linklayer",
)  # fmt: skip
#: tc adds this `mtu` to the bytes of a tick.
_MTU = 1600
#: Ticks per second of tc with high-resolution timers.
_HZ = 10**9
#: Queue limit of a leaf without a child: the default txqueuelen.
LEAF_PACKETS = 1000


@dataclass
class Htb:
    """The qdisc: minor number of its default class; None: none."""

    default: int | None = None


@dataclass
class HtbClass:
    """Parameters of a class, with what lies above and below."""

    rate: int
    ceil: int
    burst: int
    cburst: int
    prio: int = 0
    quantum: int | None = None
    framing: dict[str, Value] = field(default_factory=dict)
    parent: HtbClass | None = None
    child: object = None

    @property
    def top(self) -> HtbClass | None:
        """Class above that lends least; None: this class has no parent."""
        above, one = [], self.parent
        while one is not None:
            above.append(one)
            one = one.parent
        return min(above, key=lambda each: each.rate, default=None)

    @property
    def reaches(self) -> int:
        """Rate that a single flow reaches."""
        top = self.top
        return self.rate if top is None else max(min(self.ceil, top.rate), self.rate)

    def pipes(self, below: list[Pipe], frame: int) -> list[Pipe]:
        """Pipes of a leaf with its child."""
        extra: dict[str, Value] = {"framing": self.framing} if self.framing else {}
        if isinstance(self.child, Netem) and len(below) == 1:
            burst = size_text(max(self._depth(), frame))
            bucket = {"rate": rate_text(self.reaches), "burst": burst, "initial": "full"}
            made = self.child.pipe(frame, {"shaper": {"tbf": bucket}, **extra})
            made.rate_bps = self.reaches
            return [made]
        queue: Value = {"pfifo": {"limit": f"{LEAF_PACKETS} packets"}}
        kept: dict[str, Value] = {}
        delay = 0
        if below and below[-1].needs_rate:
            *below, last = below
            queue, delay = last.fields["queue"], last.delay_ns
            kept = {key: one for key, one in last.fields.items() if key != "queue"}
        fields = {**kept, "queue": {"htb": self._spec(queue)}, **extra}
        return [*below, Pipe(fields, delay_ns=delay, rate_bps=self.reaches)]

    def _depth(self) -> int:
        return min(self.burst, self.cburst) if self.top is None else self.cburst

    def _spec(self, queue: Value) -> dict[str, Value]:
        top = self.top
        if top is None:
            burst = size_text(min(self.burst, self.cburst))
            return {"rate": rate_text(self.rate), "burst": burst, "queue": queue}
        own: dict[str, Value] = {
            "rate": rate_text(self.rate),
            "ceil": rate_text(max(self.ceil, self.rate)),
        }
        own |= {"burst": size_text(self.burst), "cburst": size_text(self.cburst)}
        if self.prio:
            own["prio"] = self.prio
        if self.quantum:
            own["quantum"] = size_text(self.quantum)
        own["queue"] = queue
        rate = max(top.rate, self.rate)
        return {"rate": rate_text(rate), "burst": size_text(top.burst), "classes": [own]}


def read(reading: Reading) -> Htb:
    """Reads the words behind `htb` of a qdisc."""
    words, made = reading.words, Htb()
    while words.more:
        word = words.take()
        if word == "default":
            text = words.value("default", "a class", ("10", "1"))
            made.default = minor(text.rpartition(":")[2])
            if made.default is None:
                raise words.mistake("default should be a class (hexadecimal)", text, ("10", "1"))
        elif word in ("r2q", "direct_qlen", "debug"):
            words.count(word)
        elif word != "offload":
            raise words.mistake("htb has no such word", word, QDISC_WORDS)
    return made


def minor(text: str) -> int | None:
    """Minor number of a class, hexadecimal."""
    text = text.lower().removeprefix("0x")
    plain = 0 < len(text) <= 4 and all(c in "0123456789abcdef" for c in text)
    return int(text, 16) if plain else None


def read_class(reading: Reading, parent: HtbClass | None) -> HtbClass:
    """Reads the words behind `htb` of a class."""
    words = reading.words
    rate = ceil = burst = cburst = quantum = None
    prio, mtu = 0, _MTU
    framing: dict[str, Value] = {}
    while words.more:
        word = words.take()
        if word in ("rate", "ceil"):
            value = words.positive_rate(word)
            rate, ceil = (value, ceil) if word == "rate" else (rate, value)
        elif word in ("burst", "buffer", "maxburst"):
            burst = words.size(word)
        elif word in ("cburst", "cbuffer", "cmaxburst"):
            cburst = words.size(word)
        elif word == "prio":
            prio = min(words.count("prio"), 7)
        elif word == "quantum":
            quantum = words.size("quantum")
        elif word == "mtu":
            mtu = words.size("mtu")
        elif word in ("mpu", "overhead", "linklayer"):
            framing |= framing_word(reading, word)
        else:
            raise words.mistake("a class of htb has no such word", word, CLASS_WORDS)
    if rate is None:
        raise words.mistake("a class of htb needs a rate", allowed=("rate 10mbit",))
    ceil = rate if ceil is None else ceil
    burst = rate // 8 // _HZ + mtu if burst is None else burst
    cburst = ceil // 8 // _HZ + mtu if cburst is None else cburst
    if ceil < rate:
        # htb_class_mode: without tokens of ceil a class cannot send.
        reading.lost(f"rate {rate_text(rate)}", f"not reached: its ceil is {rate_text(ceil)}")
        rate, burst = ceil, min(burst, cburst)
    return HtbClass(rate, ceil, max(burst, 1), max(cburst, 1), prio, quantum, framing, parent)
