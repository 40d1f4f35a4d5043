"""Translation of a named access link to the pipes of a link."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell.codes import Code
from dumbbell.errors import nearest_name
from dumbbell.experiment.access_models import AccessSpec, Epochs, Wait
from dumbbell.experiment.fields import QueueLimit
from dumbbell.experiment.network import ChangeSpec, IndependentSpec, LinkSpec, LossSpec, PipeSpec
from dumbbell.experiment.pipes import BuildError
from dumbbell.experiment.queues import FRAME_BYTES
from dumbbell.experiment.slots import SlotsSpec
from dumbbell.experiment.source import Loc

if TYPE_CHECKING:
    from dumbbell.experiment.queues import QueueSpec as _Queue

Sides = tuple[PipeSpec, PipeSpec]

#: Least limit of a queue in front of slots.
LEAST_PACKETS = 300
#: Fields of a link that an access link sets by its own parameters.
_RATES = ("rate", "rates", "shaper")
_NO_LOSS = LossSpec.made({"none": {}})


class Base(NamedTuple):
    """Values that changes start from, and return to.

    Attributes:
        rate: Rate in bit/s; None: it stays.
        delay: Delay in ns.
        loss: Loss outside of moments of loss.
    """

    rate: int | None
    delay: int
    loss: LossSpec


def sides(spec: LinkSpec, ends: tuple[str, str], duration_ns: int, at: Loc) -> Sides | None:
    """Forward and backward pipe of a link's access link; None: it has none.

    Args:
        spec: The link.
        ends: Names of both nodes.
        duration_ns: Duration of the run: values change until then.
        at: Path of the link in the file.

    Raises:
        BuildError: The subscriber is at neither end, or the link sets rates itself.
    """
    access = spec.access
    if access is None:
        return None
    for where in (spec, spec.forward, spec.backward):
        for name in _RATES:
            if where is not None and name in where.given():
                message = f"an access link has its own {name}; write access: {{type, down, up}}"
                raise BuildError(message, (*at, "access"), name, code=Code.ACCESS)
    subscriber = access.subscriber or ends[0]
    if subscriber not in ends:
        near = nearest_name(subscriber, ends)
        message = "the subscriber is at neither end of the link"
        raise BuildError(
            message, (*at, "access", "subscriber"), near or subscriber, ends, code=Code.ACCESS
        )
    names = ("up", "down") if subscriber == ends[0] else ("down", "up")
    written = (spec.forward, "forward"), (spec.backward, "backward")
    made = []
    for name, (side, field) in zip(names, written, strict=True):
        own = spec.pipe() | (side.pipe() if side is not None else {})
        if "changes" in own:
            here = (*at, field) if side is not None and "changes" in side.given() else at
            _refuse_changes(access, own["changes"], here)
        made.append(_pipe(access, name, duration_ns, own, at))
    return made[0], made[1]


def _pipe(
    access: AccessSpec, direction: str, duration_ns: int, own: Mapping[str, Any], at: Loc
) -> PipeSpec:
    """Pipe of a direction. `own`: fields that the file gives it, which changes start from."""
    model = access.model
    up = direction == "up"
    rate = (access.up or model.up_bps) if up else (access.down or model.down_bps)
    wait = model.up_wait if up else model.down_wait
    rtt = access.rtt or model.rtt_ns
    delay = rtt // 2 if up else rtt - rtt // 2
    size = max(rate * model.buffer_ns // (8 * 10**9), FRAME_BYTES)
    # In packets behind slots, as the kernel's netem counts; the ACKs of a fast download find place.
    packets = max(-(-size // FRAME_BYTES), LEAST_PACKETS)
    limit = QueueLimit(size=size) if wait is None else QueueLimit(packets=packets)
    fields = {"rate": rate, "delay": delay, "buffer": (limit,)}
    if model.overhead_bytes:
        fields["overhead"] = model.overhead_bytes
    if wait is not None:
        fields["slots"] = _slots(wait)
    if model.epochs is not None:
        # Behind slots the rate stays: the kernel's netem cannot change it.
        nominal = None if wait is not None else rate
        if nominal is not None and model.epochs.rate_spread:
            _refuse_shaping(access, own.get("queue"), at)
        base = Base(nominal, own.get("delay", delay), own.get("loss", _NO_LOSS))
        found = list(_changes(model.epochs, access, base, duration_ns))
        if found:
            fields["changes"] = found
    return PipeSpec.made(fields)


def _refuse_changes(access: AccessSpec, changes: Iterable[ChangeSpec], at: Loc) -> None:
    """Refuses changes of values that the access link sets itself."""
    epochs = access.model.epochs
    taken = {"rate"}
    if epochs is not None:
        taken |= {"delay"} if epochs.delay_ns else set()
        taken |= {"loss"} if epochs.loss else set()
    for number, change in enumerate(changes):
        for name in change.given():
            if name in taken:
                message = f"an access link of type {access.type} has its own {name}"
                here = (*at, "changes", number, name)
                raise BuildError(message, here, name, code=Code.ACCESS)


def _refuse_shaping(access: AccessSpec, queue: _Queue | None, at: Loc) -> None:
    """Refuses a queue with a rate of its own where the rate of the access link changes."""
    if queue is not None and queue.own_rate is not None:
        name = "htb" if queue.htb is not None else "cake with a bandwidth"
        message = (
            f"the rate of {access.type} changes over time, and {name} has a rate of its own: shape "
            "on a link of its own in front of this one, or leave the bandwidth out"
        )
        raise BuildError(message, (*at, "access"), code=Code.ACCESS)


def _slots(wait: Wait) -> SlotsSpec:
    return SlotsSpec.made({"min": wait.min_ns, "max": wait.max_ns, "packets": wait.packets})


def _changes(
    epochs: Epochs, access: AccessSpec, base: Base, duration_ns: int
) -> Iterator[ChangeSpec]:
    """New values until the end of the run."""
    rate, delay = base.rate, base.delay
    for number, at in enumerate(range(epochs.first_ns, duration_ns, epochs.every_ns)):
        fields: dict[str, object] = {"at": at}
        if rate is not None and epochs.rate_spread:
            exponent = (2 * _draw(access, "rate", number) - 1) * epochs.rate_spread
            fields["rate"] = max(round(rate * math.exp(exponent) / 1000), 1) * 1000
        if epochs.delay_ns:
            extra = _draw(access, "delay", number) * epochs.delay_ns
            fields["delay"] = delay + int(extra) // 1000 * 1000
        if epochs.loss:
            burst = IndependentSpec.made({"probability": epochs.loss})
            fields["loss"] = LossSpec.made({"independent": burst})
        if len(fields) > 1:
            yield ChangeSpec.made(fields)
        if epochs.loss and at + epochs.loss_ns < duration_ns:
            yield ChangeSpec.made({"at": at + epochs.loss_ns, "loss": base.loss})


def _draw(access: AccessSpec, quantity: str, number: int) -> float:
    """Number from 0 to 1, the same for both directions and for all runs of a `draw`."""
    text = f"{access.type}/{access.draw}/{quantity}/{number}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big") / 2**48
