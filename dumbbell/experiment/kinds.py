"""Models and translation of the traffic kinds with parameters in the catalogue."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import create_model

from dumbbell.catalogue import Parameter, Traffic, traffic_kinds
from dumbbell.experiment.fields import (
    Flag,
    PositiveSize,
    PositiveTime,
    Rate,
    Size,
    Strict,
    Time,
    choice,
    short_text,
)

#: Kinds with parameters in the catalogue, by name. The others have models in `traffic`.
KINDS = {name: one for name, one in traffic_kinds().items() if one.parameters}
_EXAMPLES = {"rate": "10 Mbit/s", "bytes": "1500 bytes", "time": "1 s"}


def _type(one: Parameter) -> Any:
    if one.unit == "choice":
        return Annotated[str, choice(*one.choices, what=one.name)]
    if one.unit == "bytes":
        return PositiveSize if one.least else Size
    if one.unit == "time":
        return PositiveTime if one.least else Time
    return {"rate": Rate, "flag": Flag}[one.unit]


def spec_name(kind: Traffic) -> str:
    """Name of the model of a traffic kind."""
    return f"{kind.name.title().replace('_', '')}Spec"


def _model(kind: Traffic) -> type[Strict]:
    fields: Any = {
        one.name: (_type(one), ... if one.default is None else one.default) for one in kind.written
    }
    return create_model(spec_name(kind), __base__=Strict, __doc__=kind.about, **fields)


def _field(kind: Traffic) -> tuple[Any, None]:
    (short,) = (one for one in kind.written if one.name == kind.short)
    schema = {"enum": list(short.choices)} if short.choices else {}
    schema |= {"examples": [_EXAMPLES[short.unit]]} if short.unit in _EXAMPLES else {}
    return Annotated[_model(kind), short_text(kind.short, **schema)] | None, None


def with_kinds(base: type[Strict]) -> type[Strict]:
    """Model with an additional optional field for each of `KINDS`."""
    fields: Any = {name: _field(kind) for name, kind in KINDS.items()}
    return create_model(f"{base.__name__}OfAKind", __base__=base, **fields)


def scenario_traffic(flow: Strict) -> dict[str, Any] | None:
    """Traffic of a flow in the form of the scenario; None: the flow has none of `KINDS`."""
    for name, kind in KINDS.items():
        spec = getattr(flow, name)
        if spec is not None:
            return {name: {one.field: getattr(spec, one.name, None) for one in kind.parameters}}
    return None
