"""Queue disciplines in an experiment file, with Linux's names, parameters and defaults.

The fields of a classless discipline are the parameters of its entry in the catalogue.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from pydantic import Field, create_model, model_validator

from dumbbell.catalogue import Discipline, Parameter, disciplines
from dumbbell.codes import Code
from dumbbell.experiment.fields import (
    Checked,
    Flag,
    PositiveSize,
    PositiveTime,
    Rate,
    Share,
    Short,
    Size,
    Strict,
    Time,
    as_list,
    choice,
    exactly_one,
    problem,
    quantity,
    whole_number,
)
from dumbbell.experiment.framing import Overhead
from dumbbell.experiment.units import PACKETS

FRAME_BYTES = 1514
#: Default burst of HTB: the minimum of `tc`.
HTB_BURST_BYTES = 1600

Packets = Annotated[int, quantity(PACKETS, "1000 packets", positive=True)]

#: RFC 2474 §4.2.2, RFC 2597 §6, RFC 3246 §2.7, RFC 5865 §3.4, RFC 8622 §2.
CODEPOINTS = {
    "BE": 0,
    "LE": 1,
    **{f"CS{i}": 8 * i for i in range(8)},
    **{f"AF{i}{j}": 8 * i + 2 * j for i in range(1, 5) for j in range(1, 4)},
    "VA": 44,
    "EF": 46,
}


def _codepoint(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 63:
        return value
    if isinstance(value, str) and value.upper() in CODEPOINTS:
        return CODEPOINTS[value.upper()]
    allowed = ("EF", "AF41", "CS1", "BE", "a number from 0 to 63")
    raise problem("unknown codepoint", found=value, allowed=allowed, code=Code.UNKNOWN_NAME)


_CODEPOINT = {"anyOf": [{"enum": list(CODEPOINTS)}, {"type": "integer", "maximum": 63}]}
Codepoint = Annotated[int, Checked(_codepoint, _CODEPOINT)]
Codepoints = Annotated[list[Codepoint], as_list(_CODEPOINT), Field(min_length=1, max_length=64)]

_CHILDREN = ("queue", "classes", "bands", "child")


class Classless(Strict):
    """Classless discipline."""

    @model_validator(mode="before")
    @classmethod
    def _no_child(cls, data: Any) -> Any:
        for name in _CHILDREN:
            if isinstance(data, dict) and name in data:
                message = "this discipline has no classes, so it takes no queue of its own"
                allowed = ("prio", "drr", "htb")
                raise problem(message, field=name, allowed=allowed, code=Code.QUEUE_PARAMETERS)
        return data

    def scenario(self) -> dict[str, Any]:
        """Value in the form of the scenario."""
        raise NotImplementedError


def _red_rest(given: Mapping[str, Any]) -> dict[str, Any]:
    """Bounds and burst of RED as `tc red` derives them."""
    limit, least, most = given["limit"], given["min"], given["max"]
    if most is None:
        most = limit // 4 if least is None else 3 * least
    least = most // 3 if least is None else least
    burst = (2 * least + most) // (3 * given["avpkt"])
    return {"min": least, "max": most, "burst": burst}


def _choke_rest(given: Mapping[str, Any]) -> dict[str, Any]:
    """Bounds and burst of CHOKe as `tc choke` derives them."""
    most = given["limit"] // 4 if given["max"] is None else given["max"]
    least = most // 3 if given["min"] is None else given["min"]
    return {"min": least, "max": most, "burst": (2 * least + most) // 3}


def _cake_rest(_: Mapping[str, Any]) -> dict[str, Any]:
    """0: the kernel's rule."""
    return {"bandwidth": 0, "memlimit": 0}


#: Defaults that follow from other parameters, by discipline.
DERIVED: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "red": _red_rest,
    "choke": _choke_rest,
    "cake": _cake_rest,
}

#: Type of a field, by the unit of its parameter and whether 0 is excluded.
_TYPES: Mapping[tuple[str, bool], Any] = {
    ("packets", True): Packets,
    ("bytes", True): PositiveSize,
    ("bytes", False): Size,
    ("signed", False): Overhead,
    ("rate", False): Rate,
    ("time", True): PositiveTime,
    ("time", False): Time,
    ("share", False): Share,
    ("flag", False): Flag,
}


def _field(parameter: Parameter) -> Any:
    """Type and default of a parameter's field."""
    if parameter.unit == "number":
        kind: Any = Annotated[int, whole_number(parameter.least, parameter.most)]
    elif parameter.unit == "choice":
        kind = Annotated[str, choice(*parameter.choices, what=parameter.name)]
    else:
        kind = _TYPES[parameter.unit, parameter.least > 0]
    if parameter.rule is not None:
        return (kind | None, Field(default=None, description=parameter.about))
    return (kind, Field(default=parameter.default, description=parameter.about))


class Listed(Classless):
    """Classless discipline with the parameters of its entry in the catalogue as fields."""

    ENTRY: ClassVar[Discipline]

    def scenario(self) -> dict[str, Any]:
        """Value in the form of the scenario."""
        entry = self.ENTRY
        values = {one.name: getattr(self, one.name) for one in entry.parameters}
        if entry.name in DERIVED:
            rest = DERIVED[entry.name](values)
            values = {
                name: rest[name] if value is None else value for name, value in values.items()
            }
        found: dict[str, Any] = {}
        for one in entry.parameters:
            *above, last = one.field.split(".")
            held = found
            for name in above:
                held = held.setdefault(name, {})
            held[last] = values[one.name]
        if entry.key == "drop_tail":
            found = {"limit_packets": None, "limit_bytes": None} | found
        return {entry.key: found}


def _listed(entry: Discipline) -> type[Listed]:
    """Model of an entry with parameters."""
    fields = {one.name: _field(one) for one in entry.parameters}
    about = f"{entry.title}. {entry.about}"
    model: type[Listed] = create_model(
        f"{entry.variant}Spec", __base__=Listed, __doc__=about, __module__=__name__, **fields
    )
    model.ENTRY = entry
    return model


#: Models of the classless disciplines, by name.
LISTED: Mapping[str, type[Listed]] = {
    entry.name: _listed(entry) for entry in disciplines().values() if entry.parameters
}


class BandSpec(Strict):
    """A band of prio. The band without codepoints takes all other packets."""

    dscp: Codepoints | None = None
    queue: QueueDiscipline | None = None

    def fields(self) -> dict[str, Any]:
        """Fields that every class has, in the form of the scenario."""
        queue = (self.queue or LISTED["pfifo"]()).scenario()
        return {"dscp": self.dscp or [], "queue": queue}


class PrioSpec(Strict):
    """Strict priority. The first band is served first."""

    bands: Annotated[list[BandSpec], Field(min_length=1, max_length=16)]

    def scenario(self) -> dict[str, Any]:
        """Value in the form of the scenario."""
        return {"prio": {"bands": [band.fields() for band in self.bands]}}


class DrrClassSpec(BandSpec):
    """A class of DRR."""

    quantum: PositiveSize = FRAME_BYTES

    def fields(self) -> dict[str, Any]:
        """Fields of the class in the form of the scenario."""
        return {**super().fields(), "quantum_bytes": self.quantum}


class DrrSpec(Strict):
    """Deficit Round Robin (Shreedhar and Varghese 1995)."""

    classes: Annotated[list[DrrClassSpec], Field(min_length=1, max_length=16)]

    def scenario(self) -> dict[str, Any]:
        """Value in the form of the scenario."""
        return {"drr": {"classes": [one.fields() for one in self.classes]}}


class HtbClassSpec(BandSpec):
    """A class of HTB."""

    rate: Rate
    ceil: Rate | None = None
    burst: PositiveSize = HTB_BURST_BYTES
    cburst: PositiveSize = HTB_BURST_BYTES
    prio: Annotated[int, whole_number(0, 7)] = 0
    quantum: PositiveSize = FRAME_BYTES

    def under(self, parent: HtbSpec) -> dict[str, Any]:
        """Class in the form of the scenario, with the defaults that follow from its parent."""
        return {
            **self.fields(),
            "rate_bps": self.rate,
            "ceil_bps": parent.rate if self.ceil is None else self.ceil,
            "burst_bytes": self.burst,
            "cburst_bytes": self.cburst,
            "priority": self.prio,
            "quantum_bytes": self.quantum,
        }


class HtbSpec(Strict):
    """Hierarchy Token Bucket: one queue, or classes that share the rate."""

    rate: Rate
    burst: PositiveSize = HTB_BURST_BYTES
    queue: QueueDiscipline | None = None
    classes: Annotated[list[HtbClassSpec], Field(min_length=1, max_length=16)] | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        if self.queue is not None and self.classes is not None:
            raise problem("queue and classes exclude each other", field="queue", code=Code.ONE_OF)
        return self

    def scenario(self) -> dict[str, Any]:
        """Value in the form of the scenario."""
        classes = self.classes
        if classes is None:
            bucket = f"{self.burst} bytes"
            rate = f"{self.rate} bit/s"
            one = HtbClassSpec.model_validate({"rate": rate, "burst": bucket, "cburst": bucket})
            classes = [one.model_copy(update={"queue": self.queue})]
        return {
            "htb": {
                "rate_bps": self.rate,
                "burst_bytes": self.burst,
                "classes": [one.under(self) for one in classes],
            }
        }


class _Queue(Strict):
    """A queue or a queue discipline, by its name in `tc`."""

    if TYPE_CHECKING:
        htb: HtbSpec | None
        cake: Any

    @property
    def own_rate(self) -> int | None:
        """Rate of a discipline that shapes (htb, cake with a bandwidth), bit/s."""
        if self.htb is not None:
            return self.htb.rate
        bandwidth: int | None = self.cake.bandwidth if self.cake is not None else None
        return bandwidth

    @model_validator(mode="after")
    def _one(self) -> Self:
        exactly_one(self, NAMES)
        return self

    def scenario(self) -> dict[str, Any]:
        """Value in the form of the scenario."""
        chosen = next(one for name in NAMES if (one := getattr(self, name)) is not None)
        done: dict[str, Any] = chosen.scenario()
        return done


_WITH_CLASSES: Mapping[str, type[Strict]] = {"prio": PrioSpec, "drr": DrrSpec, "htb": HtbSpec}
#: Models of all disciplines, by name, in the order of the catalogue.
MODELS: Mapping[str, type[Strict]] = {
    name: LISTED[name] if name in LISTED else _WITH_CLASSES[name] for name in disciplines()
}
#: Names of all disciplines.
NAMES = tuple(MODELS)
#: Names of the disciplines that need no parameter.
PLAIN = tuple(LISTED)

_FIELDS: dict[str, Any] = {name: (model | None, None) for name, model in MODELS.items()}
if TYPE_CHECKING:
    QueueSpec = _Queue
else:
    QueueSpec = create_model(
        "QueueSpec", __base__=_Queue, __doc__=_Queue.__doc__, __module__=__name__, **_FIELDS
    )


def _named(value: Any) -> Any:
    if isinstance(value, dict):
        return value
    if isinstance(value, str) and value in NAMES and value not in PLAIN:
        allowed = (f"{{{value}: {{rate: …}}}}" if value == "htb" else f"{{{value}: {{…}}}}",)
        raise problem(
            f"{value} needs its parameters",
            found=value,
            allowed=allowed,
            code=Code.QUEUE_PARAMETERS,
        )
    choice(*PLAIN, what="queue").read(value)
    return {value: {}}


QueueDiscipline = Annotated[QueueSpec, Short(_named, {"type": "string", "enum": list(PLAIN)})]
