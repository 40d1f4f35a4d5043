"""TCP options of a host: profiles, and options by their Linux names."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import create_model

from dumbbell import _core
from dumbbell.catalogue import Parameter, tcp_options
from dumbbell.errors import shortened
from dumbbell.experiment import units
from dumbbell.experiment.fields import (
    Checked,
    Flag,
    PositiveSize,
    PositiveTime,
    Strict,
    Time,
    choice,
    problem,
    sysctl_quantity,
    whole_number,
)
from dumbbell.experiment.units import SIZE, TIME, QuantityError

PROFILES: dict[str, dict[str, Any]] = {
    name: json.loads(text) for name, text in _core.profiles().items()
}
DEFAULT_PROFILE = _core.default_profile()
IN_PAGES = ("pages", "small_head")
"""Buffers of received segments whose payload lies in pages."""


def _memory(value: object) -> list[int]:
    """Sizes `[min, default, max]` or `min default max`; a bare number is in bytes."""
    parts = value.split() if isinstance(value, str) else value
    if not isinstance(parts, list) or len(parts) != 3:
        raise problem("three sizes are needed: minimum, default, maximum", found=value)
    sizes = []
    for part in parts:
        text = str(part) if isinstance(part, int) and not isinstance(part, bool) else part
        if isinstance(text, str) and text.isascii() and text.isdigit() and len(text) <= 19:
            sizes.append(int(text))
            continue
        try:
            sizes.append(units.whole(part, SIZE))
        except QuantityError as error:
            raise problem(
                error.message, found=shortened(part), allowed=error.allowed, code=error.code
            ) from None
    return sizes


def _receive_buffer(value: object) -> str | dict[str, Any]:
    """`pages`, `small_head`, `copied`, or the size of a separate buffer per segment."""
    if value in (*IN_PAGES, "copied"):
        return str(value)
    try:
        size = units.whole(value, SIZE)
    except QuantityError as error:
        allowed = (*IN_PAGES, "copied", "a size, as 2304 bytes")
        raise problem(
            error.message, found=shortened(value), allowed=allowed, code=error.code
        ) from None
    return {"own": {"bytes": size}}


_BUFFERS = {
    "anyOf": [{"enum": [*IN_PAGES, "copied"]}, {"type": "string", "examples": ["2304 bytes"]}]
}
_SIZES = {"anyOf": [{"type": "array", "minItems": 3, "maxItems": 3}, {"type": "string"}]}
NsNumber = Annotated[int, sysctl_quantity(TIME)]
BytesNumber = Annotated[int, sysctl_quantity(SIZE)]
Memory = Annotated[list[int], Checked(_memory, _SIZES)]
Profile = Annotated[str, choice(*PROFILES, what="profile")]
ReceiveBuffer = Annotated[Any, Checked(_receive_buffer, _BUFFERS)]


def _type(one: Parameter) -> Any:
    """Type of an option's field. A sysctl with the unit in its name also takes a bare number."""
    bare = one.name == one.field
    if one.unit == "number":
        return Annotated[int, whole_number(one.least, one.most)]
    if one.unit == "signed":
        return Annotated[int, whole_number(-one.most, one.most)]
    if one.unit == "choice":
        return Annotated[str, choice(*one.choices, what=one.name)]
    if one.unit in ("bytes", "time"):
        units = {"bytes": (PositiveSize, BytesNumber), "time": (PositiveTime, NsNumber)}
        return units[one.unit][bare]
    return {"flag": Flag, "sizes": Memory, "buffer": ReceiveBuffer}[one.unit]


#: All options by name, in the order of the scenario.
OPTIONS = {name: one.parameter for name, one in tcp_options().items()}

if TYPE_CHECKING:

    class OptionFields(Strict):
        """Fields that the code uses by name."""

        profile: Profile | None = None
        rx_segment: Any = None

else:
    #: Base of the options' model: the profile, and a field for each of `OPTIONS`.
    OptionFields = create_model(
        "OptionFields",
        __base__=Strict,
        profile=(Profile | None, None),
        **{name: (_type(one) | None, None) for name, one in OPTIONS.items()},
    )


class TcpOptionsSpec(OptionFields):
    """TCP options by their Linux sysctl names (without `net.ipv4.`), over a profile.

    Sysctls with a unit that Linux fixes (`tcp_rmem`, `tcp_limit_output_bytes`, `…_ns`) take a bare
    number in that unit, or a quantity.
    """

    @classmethod
    def elsewhere(cls, key: str) -> str | None:
        """See :meth:`Strict.elsewhere`."""
        if key in ("congestion_control", "tcp_congestion_control", "cc"):
            return "a flow chooses its congestion control: `tcp: NAME`"
        return None

    def over(self, base: dict[str, Any]) -> dict[str, Any]:
        """All options in the form of the scenario: `base`, overridden by these options.

        A profile among these options replaces `base`. Without SACK, DSACK and FACK are off as in
        Linux, unless the file sets them.
        """
        given = self.given()
        options = dict(base if self.profile is None else PROFILES[self.profile])
        for name, value in given.items():
            if name in OPTIONS:
                options[OPTIONS[name].field] = value
        if given.get("tcp_sack") is False:
            options.update({name: False for name in _NEED_SACK if name not in given})
        return options


def option_hint(key: str, here: str) -> str | None:
    """Hint for a TCP option where no host is described; None: `key` is none.

    Args:
        key: Name of a field.
        here: Path of `sender` and `receiver` from there, as `tcp.`; empty: they are fields.
    """
    if key not in OPTIONS and key != "profile":
        return None
    return (
        f"a TCP option belongs to a host: below `{here}sender` or `{here}receiver` for this flow, "
        "below `hosts` for all flows of a host"
    )


#: Options that have an effect in Linux only with SACK.
_NEED_SACK = ("tcp_dsack", "tcp_fack")


class HostSpec(TcpOptionsSpec):
    """A host: TCP options and processing jitter."""

    processing_jitter: Time | None = None

    def under(self, defaults: HostSpec) -> dict[str, Any]:
        """All options of this host: the profile, overridden by `defaults`, then by its own."""
        profile = self.profile or defaults.profile or DEFAULT_PROFILE
        common = defaults.model_copy(update={"profile": profile}).over({})
        return self.model_copy(update={"profile": None}).over(common)
