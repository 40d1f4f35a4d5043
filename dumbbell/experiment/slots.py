"""Transmission opportunities of a link in an experiment file."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import model_validator

from dumbbell.experiment.fields import (
    PositiveTime,
    Size,
    Strict,
    Time,
    problem,
    whole_number,
)

MAX = 2**31 - 1


class SlotsSpec(Strict):
    """Slots in which packets leave. Names and meaning as in netem's `slot`."""

    min: Time = 0
    max: PositiveTime
    packets: Annotated[int, whole_number(0, MAX)] = 0
    bytes: Size = 0
    pause: Time = 0
    pause_every: Time = 0

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.min > self.max:
            raise problem("longer than max", field="min")
        if self.bytes > MAX:
            raise problem(f"at most {MAX} bytes", field="bytes")
        if self.pause and self.pause >= self.pause_every:
            raise problem("pause_every is needed, and longer than pause", field="pause")
        return self

    def scenario(self) -> dict[str, Any]:
        """Value in the form of the scenario."""
        return {
            "min_ns": self.min,
            "max_ns": self.max,
            "packets": self.packets,
            "bytes": self.bytes,
            "pause_ns": self.pause,
            "pause_every_ns": self.pause_every,
        }
