"""Types of the fields of an experiment file, and the base of its models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Annotated, Any, Self, cast

from pydantic import (
    BaseModel,
    ConfigDict,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from dumbbell.codes import Code
from dumbbell.errors import ExperimentError, nearest_name, shortened
from dumbbell.experiment import units
from dumbbell.experiment.units import Family, QuantityError


def problem(
    message: str,
    *,
    found: object = None,
    allowed: tuple[str, ...] = (),
    nearest: str | None = None,
    field: str | int | None = None,
    code: Code | None = None,
) -> PydanticCustomError:
    """Error for a pydantic validator to raise, with the fields of `ExperimentError`.

    Args:
        message: What is wrong.
        found: Value in the file.
        allowed: Values that are allowed.
        nearest: Likeliest correction.
        field: Field at fault, below the one being validated.
        code: Code of the cause; None: that of the section.
    """
    context = {
        "message": message,
        "found": None if found is None else shortened(found),
        "allowed": allowed,
        "nearest": nearest,
        "field": field,
        "code": code,
    }
    return PydanticCustomError("dumbbell", "{message}", context)


class Strict(BaseModel):
    """Mapping that refuses unknown fields.

    Its validator is built with that of the whole file, on first use: each alone takes longer. A
    default that is a model is made without one.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, serialize_by_alias=True, defer_build=True
    )

    @model_validator(mode="before")
    @classmethod
    def _known_fields(cls, data: Any) -> Any:
        if data is None:
            return {}
        if isinstance(data, cls):  # read for another cell of the same experiment
            return data
        if not isinstance(data, dict):
            raise problem(
                "should be a mapping", found=data, allowed=cls.names(), code=Code.FIELD_KIND
            )
        names = cls.names()
        for key in data:
            if key not in names:
                hint = cls.elsewhere(str(key))
                near = None if hint else nearest_name(str(key), names)
                message = f"unknown field; {hint}" if hint else "unknown field"
                raise problem(
                    message, allowed=names, nearest=near, field=str(key), code=Code.UNKNOWN_FIELD
                )
        return data

    @classmethod
    def elsewhere(cls, key: str) -> str | None:
        """Hint for a field that belongs elsewhere in a file; None: no hint."""
        return None

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Names of the fields as written in the file."""
        return tuple(info.alias or name for name, info in cls.model_fields.items())

    @classmethod
    def made(cls, fields: Mapping[str, Any]) -> Self:
        """Model of fields that are already checked. Copying the empty model is the fastest way."""
        return cast("Self", _empty(cls).model_copy(update=fields))

    def given(self) -> dict[str, Any]:
        """Fields that the file writes, by attribute; `null` counts as not written."""
        values = {name: getattr(self, name) for name in self.model_fields_set}
        return {name: value for name, value in values.items() if value is not None}


@cache
def _empty(kind: type[Strict]) -> Strict:
    """Model without any field."""
    return kind.model_construct()


@dataclass(frozen=True, slots=True, eq=False)
class Checked:
    """Function that reads the value of a field before pydantic does.

    Attributes:
        read: Returns the value, or raises the error of :func:`problem`.
        schema: JSON Schema of allowed values, or a function that makes it.
    """

    read: Callable[[Any], Any]
    schema: Mapping[str, Any] | Callable[[], Mapping[str, Any]]

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_before_validator_function(self.read, handler(source))

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return dict(self.schema() if callable(self.schema) else self.schema)


def read_alone(kind: Any, value: object) -> Any:
    """Reads a value that is in no file, as a field of the type `kind` does.

    Raises:
        ExperimentError: What is wrong with the value.
    """
    (checked,) = (one for one in kind.__metadata__ if isinstance(one, Checked))
    try:
        return checked.read(value)
    except PydanticCustomError as error:
        known: dict[str, Any] = dict(error.context or {})
        message, _ = known.pop("message"), known.pop("field")
        raise ExperimentError(message, **known) from None


def choice(*names: str, what: str) -> Checked:
    """Field that takes one of some names. `what`: what a name stands for, for messages."""
    same = {name: name for name in names}
    return late_choice(lambda: same, what)


def late_choice(names: Callable[[], Mapping[str, str]], what: str) -> Checked:
    """Field that takes one of some names, which are asked for with the first value.

    `names`: each with the name that it stands for. A former name is no suggestion.
    """

    def read(value: object) -> str:
        known = names()
        if isinstance(value, str) and value in known:
            return known[value]
        allowed = tuple(dict.fromkeys(known.values()))
        near = nearest_name(value, allowed) if isinstance(value, str) else None
        raise problem(
            f"unknown {what}", found=value, allowed=allowed, nearest=near, code=Code.UNKNOWN_NAME
        )

    return Checked(read, lambda: {"type": "string", "enum": list(names())})


def whole_number(low: int, high: int) -> Checked:
    """Field that takes a whole number from `low` to `high`, both included."""

    def read(value: object) -> int:
        if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
            return value
        raise problem(
            f"should be a whole number from {low} to {high}", found=value, code=Code.OUT_OF_RANGE
        )

    return Checked(read, {"type": "integer", "minimum": low, "maximum": high})


def _quantity(read: Callable[[Any], Any], schema: Mapping[str, Any]) -> Checked:
    def checked(value: object) -> Any:
        try:
            return read(value)
        except QuantityError as error:
            raise problem(
                error.message,
                found=error.found,
                allowed=error.allowed,
                nearest=error.nearest,
                code=error.code,
            ) from None

    return Checked(checked, schema)


def _text(
    title: str, families: Sequence[Family], *examples: str, positive: bool = False
) -> dict[str, Any]:
    """Schema of a quantity. Letter case is free, for which patterns of JSON Schema have no sign."""
    units = sorted({unit.casefold() for family in families for unit in family.folded})
    any_case = "|".join(
        "".join(f"[{letter.upper()}{letter}]" if letter.isascii() and letter.isalpha() else letter
                for letter in unit)
        for unit in units
    )  # fmt: skip
    above = r"(?![0._]+([eE][-+]?[0-9]+)?\s*[^0-9.])" if positive else ""
    pattern = rf"^\s*{above}[0-9][0-9_]*(\.[0-9]+)?([eE][-+]?[0-9]+)?\s*({any_case})\s*$"
    return {"type": "string", "pattern": pattern, "title": title, "examples": list(examples)}


def quantity(family: Family, *examples: str, positive: bool = False) -> Checked:
    """Field that takes a quantity in any unit of a family; the value is in its base unit."""

    def read(value: object) -> int:
        number = units.whole(value, family)
        if positive and number == 0:
            raise QuantityError(
                f"a {family.name} above 0 is needed", shortened(value), code=Code.OUT_OF_RANGE
            )
        return number

    return _quantity(read, _text(family.name.capitalize(), [family], *examples, positive=positive))


def sysctl_quantity(family: Family) -> Checked:
    """Field for a sysctl. A bare number is in the unit that Linux fixes."""

    def read(value: object) -> int:
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= units.MAX:
            return value
        return units.whole(value, family)

    return _quantity(read, {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string"}]})


Time = Annotated[int, quantity(units.TIME, "10 ms", "5 s", "20 us")]
PositiveTime = Annotated[int, quantity(units.TIME, "10 ms", "5 s", "20 us", positive=True)]
Rate = Annotated[int, quantity(units.RATE, "10 Mbit/s", "2.4 Gbit/s", positive=True)]
Size = Annotated[int, quantity(units.SIZE, "1500 bytes", "5 KiB", "1 MiB")]
PositiveSize = Annotated[int, quantity(units.SIZE, "1500 bytes", "5 KiB", positive=True)]
Share = Annotated[
    float, _quantity(units.share, _text("Share", [units.SHARE], "1 %", "0.1 %", "50 ppm"))
]


@dataclass(frozen=True, slots=True)
class QueueLimit:
    """Limit of a queue as written, before base RTTs are known. One of the first four is set.

    Attributes:
        packets: Limit in packets.
        size: Limit in bytes.
        time_ns: Limit as the bytes that the pipe's rate carries in this time, ns.
        bdp: Limit in bandwidth-delay products.
        flow: Flow that gives the base RTT for `bdp`; None: the one with the largest RTT through
            the pipe.
    """

    packets: int | None = None
    size: int | None = None
    time_ns: int | None = None
    bdp: Fraction | None = None
    flow: str | None = None


def _queue_limit(value: object) -> QueueLimit:
    flow = None
    if isinstance(value, str) and " of " in value:
        head, _, name = value.partition(" of ")
        if head.strip().lower().endswith("bdp"):
            value, flow = head, name.strip()
    family, exact = units.parse(value, units.PACKETS, units.SIZE, units.BDP, units.TIME)
    if exact == 0:
        raise QuantityError("a limit above 0 is needed", shortened(value), code=Code.OUT_OF_RANGE)
    if family is units.BDP:
        if exact > 10**6:
            raise QuantityError("more than a million BDP", shortened(value), code=Code.OUT_OF_RANGE)
        return QueueLimit(bdp=exact, flow=flow)
    number = units.integer(exact, family, value)
    if family is units.PACKETS:
        return QueueLimit(packets=number)
    return QueueLimit(time_ns=number) if family is units.TIME else QueueLimit(size=number)


def _queue_limits(value: object) -> tuple[QueueLimit, ...]:
    values = value if isinstance(value, list) else [value]
    limits = tuple(_queue_limit(one) for one in values)
    counted = sum(limit.packets is not None for limit in limits)
    if not limits or len(limits) > 2 or (len(limits) == 2 and counted != 1):
        raise QuantityError(
            "one limit, or one in packets and one in bytes, BDP or time",
            shortened(value),
            code=Code.QUEUE_LIMIT,
        )
    return limits


_LIMIT = {
    "anyOf": [
        _text(
            "Queue limit", [units.PACKETS, units.SIZE, units.BDP, units.TIME],
            "100 packets", "64 KiB", "1 BDP", "50 ms", positive=True,
        ),
        {
            "type": "string", "title": "Queue limit", "examples": ["1 BDP of flow1"],
            "pattern": r"^\s*[0-9][0-9.]*\s*[Bb][Dd][Pp] of ",
        },
    ]
}  # fmt: skip
_LIMITS = {"anyOf": [_LIMIT, {"type": "array", "items": _LIMIT, "minItems": 1, "maxItems": 2}]}
Buffer = Annotated[tuple[QueueLimit, ...], _quantity(_queue_limits, _LIMITS)]


def _packet_limit(value: object) -> QueueLimit:
    limit = _queue_limit(value)
    if limit.size is not None or limit.time_ns is not None:
        raise QuantityError(
            "netem counts packets",
            shortened(value),
            ("100 packets", "1 BDP"),
            code=Code.QUEUE_LIMIT,
        )
    return limit


PacketLimit = Annotated[QueueLimit, _quantity(_packet_limit, _LIMIT)]


@dataclass(frozen=True, slots=True)
class Jitter:
    """Start jitter: a time in ns, or a multiple of the flow's base RTT."""

    time_ns: int = 0
    rtt: Fraction | None = None


def _jitter(value: object) -> Jitter:
    family, exact = units.parse(value, units.TIME, units.RTT)
    if family is units.RTT:
        return Jitter(rtt=exact)
    return Jitter(time_ns=units.integer(exact, family, value))


StartJitter = Annotated[
    Jitter, _quantity(_jitter, _text("Jitter", [units.TIME, units.RTT], "1 RTT", "10 ms"))
]


def _name(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise problem("should be a name", found=value, code=Code.BAD_NAME)
    text = str(value)
    if not text or len(text) > 200 or not text.isprintable() or text != text.strip():
        raise problem(
            "a name of 1 to 200 printable characters is needed", found=value, code=Code.BAD_NAME
        )
    return text


Name = Annotated[str, Checked(_name, {"type": "string", "minLength": 1})]


def _flag(value: object) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, int) and value in (0, 1):
        return bool(value)
    raise problem("should be true or false", found=value, code=Code.FIELD_KIND)


Flag = Annotated[bool, Checked(_flag, {"enum": [True, False, 0, 1]})]


@dataclass(frozen=True, slots=True, eq=False)
class Short:
    """Annotation of a model that has a short form.

    Attributes:
        expand: Turns the short form into the long one, and returns mappings unchanged.
        schema: JSON Schema of the short form.
    """

    expand: Callable[[Any], Any]
    schema: Mapping[str, Any]

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_before_validator_function(self.expand, handler(source))

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {"anyOf": [dict(self.schema), handler(core)]}


def short_text(field: str, **schema: Any) -> Short:
    """Annotation of a model with the value of `field` as short form."""

    def expand(value: Any) -> Any:
        return value if isinstance(value, dict) else {field: value}

    return Short(expand, {"type": "string", **schema})


def as_list(item: Mapping[str, Any]) -> Short:
    """Annotation of a list: a single item needs no brackets."""
    return Short(lambda value: value if isinstance(value, list) else [value], item)


def exactly_one(model: BaseModel, fields: tuple[str, ...]) -> None:
    """Raises an error unless exactly one of the fields is given."""
    given = [name for name in fields if getattr(model, name) is not None]
    if len(given) != 1:
        found = " and ".join(given) if given else "none"
        raise problem(
            "exactly one of these is needed", found=found, allowed=fields, code=Code.ONE_OF
        )
