"""netem as it was read, and the fields that it becomes (sch_netem.c)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

from dumbbell.translate.stage import Pipe, Value
from dumbbell.translate.units import rate_text, share_text, size_text, time_text

DISTRIBUTIONS = ("uniform", "normal", "pareto", "paretonormal")
LIMIT = 1000


def correlated(share: Fraction, correlation: Fraction | None) -> Value:
    """A probability, with its correlation if there is one."""
    if not correlation:
        return share_text(share)
    return {"probability": share_text(share), "correlation": share_text(correlation)}


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
    correlations: dict[str, Fraction] = field(default_factory=dict)
    #: Loss with tc's words, and whether the link's loss says it, too.
    netem_loss: Value | None = None
    plain_loss: bool = True
    ecn: bool = False
    seed: int | None = None

    @property
    def worded(self) -> bool:
        """True if netem's own words are needed: the link's fields do not say the same.

        Beside slots netem is a link, and with a rate it keeps the order of jitter: both have the
        fields of the link.
        """
        if self.slots or (self.rate is not None and self.jitter):
            return False
        curved = self.jitter and (self.distribution != "uniform" or self.jitter > self.delay)
        draws = self.jitter or self.loss or self.corrupt or self.duplicate or self.early
        correlated = any(self.correlations.get(one) for one in self.drawn)
        marks = self.ecn and self.loss is not None
        seeded = self.seed is not None and draws
        return bool(curved or correlated or self.early or marks or not self.plain_loss or seeded)

    @property
    def drawn(self) -> list[str]:
        """Words that draw numbers."""
        draws = {
            "delay": self.jitter, "loss": self.loss is not None, "corrupt": self.corrupt,
            "duplicate": self.duplicate, "reorder": self.early,
        }  # fmt: skip
        return [word for word, given in draws.items() if given]

    def _words(self) -> dict[str, Value]:
        """Fields of `netem` with tc's words."""
        made: dict[str, Value] = {}
        if self.jitter:
            delay: dict[str, Value] = {
                "mean": time_text(self.delay), "jitter": time_text(self.jitter)
            }  # fmt: skip
            if self.correlations.get("delay"):
                delay["correlation"] = share_text(self.correlations["delay"])
            if self.distribution != "uniform":
                delay["distribution"] = self.distribution
            made["delay"] = delay
        elif self.delay:
            made["delay"] = time_text(self.delay)
        made["limit"] = f"{self.limit} packets"
        if self.netem_loss is not None:
            made["loss"] = self.netem_loss
        if self.ecn and self.netem_loss is not None:
            made["ecn"] = True
        for word, share in (("duplicate", self.duplicate), ("corrupt", self.corrupt)):
            if share:
                made[word] = correlated(share, self.correlations.get(word))
        if self.early:
            early = correlated(self.reorder, self.correlations.get("reorder"))
            gap: dict[str, Value] = {"gap": self.gap} if self.gap > 1 else {}
            probability: dict[str, Value] = {"probability": share_text(self.reorder)}
            made["reorder"] = (
                probability | early if isinstance(early, dict) else probability
            ) | gap
        if self.seed is not None:
            made["seed"] = self.seed
        return made

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
        if self.worded:
            return made
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
            serial = bool(self.slots) or not (self.delay + self.jitter or self.worded)
            made |= self._rate_fields(frame, serial)
        if self.slots:
            made |= {"buffer": f"{self.limit} packets", "slots": self.slots}
            made |= self._delay_fields()
        elif self.worded:
            made["netem"] = self._words()
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
