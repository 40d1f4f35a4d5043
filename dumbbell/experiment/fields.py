"""Types of the fields of an experiment file, and the base of its models."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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

from dumbbell.errors import nearest_name, shortened
from dumbbell.experiment import units
from dumbbell.experiment.units import Family, QuantityError


def problem(
    message: str,
    *,
    found: object = None,
    allowed: tuple[str, ...] = (),
    nearest: str | None = None,
    field: str | int | None = None,
) -> PydanticCustomError:
    """An error for a pydantic validator to raise, with all that `ExperimentError` carries.

    Args:
        message: What is wrong.
        found: What stands there.
        allowed: What may stand there.
        nearest: The likeliest correction.
        field: The field below the one being validated that is at fault.
    """
    context = {
        "message": message,
        "found": None if found is None else shortened(found),
        "allowed": allowed,
        "nearest": nearest,
        "field": field,
    }
    return PydanticCustomError("dumbbell", "{message}", context)


class Strict(BaseModel):
    """A mapping whose fields are all known."""

    model_config = ConfigDict(extra="forbid", frozen=True, serialize_by_alias=True)

    @model_validator(mode="before")
    @classmethod
    def _known_fields(cls, data: Any) -> Any:
        if data is None:
            return {}
        if isinstance(data, cls):  # of another cell of the same experiment
            return data
        if not isinstance(data, dict):
            raise problem("should be a mapping", found=data, allowed=cls.names())
        names = cls.names()
        for key in data:
            if key not in names:
                near = nearest_name(str(key), names)
                message = "unknown field"
                raise problem(message, allowed=names, nearest=near, field=str(key))
        return data

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The fields as written in the file."""
        return tuple(info.alias or name for name, info in cls.model_fields.items())

    @classmethod
    def made(cls, fields: Mapping[str, Any]) -> Self:
        """A model of fields that were checked: a copy of the empty one costs least."""
        return cast("Self", _empty(cls).model_copy(update=fields))

    def given(self) -> dict[str, Any]:
        """The fields that were written, by attribute, `null` counting as not written."""
        values = {name: getattr(self, name) for name in self.model_fields_set}
        return {name: value for name, value in values.items() if value is not None}


@cache
def _empty(kind: type[Strict]) -> Strict:
    """The model without any field."""
    return kind.model_construct()


@dataclass(frozen=True, slots=True, eq=False)
class Checked:
    """Reads the value of a field by a function, before anything else.

    Attributes:
        read: Returns the value or raises what :func:`problem` gives.
        schema: JSON Schema of what may be written.
    """

    read: Callable[[Any], Any]
    schema: Mapping[str, Any]

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_before_validator_function(self.read, handler(source))

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return dict(self.schema)


def choice(*names: str, what: str) -> Checked:
    """A field that takes one of a few names."""

    def read(value: object) -> str:
        if isinstance(value, str) and value in names:
            return value
        near = nearest_name(value, names) if isinstance(value, str) else None
        raise problem(f"unknown {what}", found=value, allowed=names, nearest=near)

    return Checked(read, {"type": "string", "enum": list(names)})


def whole_number(low: int, high: int) -> Checked:
    """A field that takes a whole number within bounds, both included."""

    def read(value: object) -> int:
        if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
            return value
        raise problem(f"should be a whole number from {low} to {high}", found=value)

    return Checked(read, {"type": "integer", "minimum": low, "maximum": high})


def _quantity(read: Callable[[Any], Any], schema: Mapping[str, Any]) -> Checked:
    def checked(value: object) -> Any:
        try:
            return read(value)
        except QuantityError as error:
            raise problem(
                error.message, found=error.found, allowed=error.allowed, nearest=error.nearest
            ) from None

    return Checked(checked, schema)


def _text(title: str, *examples: str) -> dict[str, Any]:
    pattern = r"^\s*[0-9][0-9_]*(\.[0-9]+)?([eE][-+]?[0-9]+)?\s*[^0-9]+$"
    return {"type": "string", "pattern": pattern, "title": title, "examples": list(examples)}


def quantity(family: Family, *examples: str, positive: bool = False) -> Checked:
    """A field that takes a whole number of a family's base unit, written with any of its units."""

    def read(value: object) -> int:
        number = units.whole(value, family)
        if positive and number == 0:
            raise QuantityError(f"a {family.name} above 0 is needed", shortened(value))
        return number

    return _quantity(read, _text(family.name.capitalize(), *examples))


def sysctl_quantity(family: Family) -> Checked:
    """A sysctl whose unit Linux fixes: a bare number is in that unit."""

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
Share = Annotated[float, _quantity(units.share, _text("Share", "1 %", "0.1 %", "50 ppm"))]


@dataclass(frozen=True, slots=True)
class Room:
    """Room of a queue before base RTTs are known. One of the three is set.

    Attributes:
        packets: Packets.
        size: Bytes.
        time_ns: Bytes that the pipe's rate carries in this time.
        bdp: Bytes: this many bandwidth-delay products.
        flow: The flow whose base RTT counts for `bdp`; None: the largest through the pipe.
    """

    packets: int | None = None
    size: int | None = None
    time_ns: int | None = None
    bdp: Fraction | None = None
    flow: str | None = None


def _room(value: object) -> Room:
    flow = None
    if isinstance(value, str) and " of " in value:
        head, _, name = value.partition(" of ")
        if head.strip().lower().endswith("bdp"):
            value, flow = head, name.strip()
    family, exact = units.parse(value, units.PACKETS, units.SIZE, units.BDP, units.TIME)
    if exact == 0:
        raise QuantityError("room above 0 is needed", shortened(value))
    if family is units.BDP:
        if exact > 10**6:
            raise QuantityError("more than a million BDP", shortened(value))
        return Room(bdp=exact, flow=flow)
    number = units.integer(exact, family, value)
    if family is units.PACKETS:
        return Room(packets=number)
    return Room(time_ns=number) if family is units.TIME else Room(size=number)


def _rooms(value: object) -> tuple[Room, ...]:
    values = value if isinstance(value, list) else [value]
    rooms = tuple(_room(one) for one in values)
    counted = sum(room.packets is not None for room in rooms)
    if not rooms or len(rooms) > 2 or (len(rooms) == 2 and counted != 1):
        raise QuantityError(
            "one limit, or one in packets and one in bytes, BDP or time", shortened(value)
        )
    return rooms


_ROOM = {
    "type": "string",
    "title": "Room",
    "examples": ["100 packets", "64 KiB", "1 BDP", "1 BDP of flow1", "50 ms"],
}
_ROOMS = {"anyOf": [_ROOM, {"type": "array", "items": _ROOM, "minItems": 1, "maxItems": 2}]}
Buffer = Annotated[tuple[Room, ...], _quantity(_rooms, _ROOMS)]


def _limit(value: object) -> Room:
    room = _room(value)
    if room.size is not None or room.time_ns is not None:
        raise QuantityError("netem counts packets", shortened(value), ("100 packets", "1 BDP"))
    return room


Limit = Annotated[Room, _quantity(_limit, _ROOM)]


@dataclass(frozen=True, slots=True)
class Jitter:
    """Start jitter: a time, or a multiple of the flow's base RTT."""

    time_ns: int = 0
    rtt: Fraction | None = None


def _jitter(value: object) -> Jitter:
    family, exact = units.parse(value, units.TIME, units.RTT)
    if family is units.RTT:
        return Jitter(rtt=exact)
    return Jitter(time_ns=units.integer(exact, family, value))


StartJitter = Annotated[Jitter, _quantity(_jitter, _text("Jitter", "1 RTT", "10 ms"))]


def _name(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise problem("should be a name", found=value)
    text = str(value)
    if not text or len(text) > 200 or not text.isprintable() or text != text.strip():
        raise problem("a name of 1 to 200 printable characters is needed", found=value)
    return text


Name = Annotated[str, Checked(_name, {"type": "string", "minLength": 1})]


def _flag(value: object) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, int) and value in (0, 1):
        return bool(value)
    raise problem("should be true or false", found=value)


Flag = Annotated[bool, Checked(_flag, {"enum": [True, False, 0, 1]})]


@dataclass(frozen=True, slots=True, eq=False)
class Short:
    """Marks a model that may also be written in a shorter form.

    Attributes:
        expand: Turns the short form into the long one; leaves mappings alone.
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
    """A model whose short form is the value of one of its fields."""

    def expand(value: Any) -> Any:
        return value if isinstance(value, dict) else {field: value}

    return Short(expand, {"type": "string", **schema})


def as_list(item: Mapping[str, Any]) -> Short:
    """A list that may be written as its only item."""
    return Short(lambda value: value if isinstance(value, list) else [value], item)


def exactly_one(model: BaseModel, fields: tuple[str, ...]) -> None:
    """Checks that one of the fields is given, and only one."""
    given = [name for name in fields if getattr(model, name) is not None]
    if len(given) != 1:
        found = " and ".join(given) if given else "none"
        raise problem("exactly one of these is needed", found=found, allowed=fields)
