"""Damage of a capture, in one sentence."""

from __future__ import annotations

from typing import Any


def damage(file: dict[str, Any]) -> list[str]:
    """Where a file is damaged, and how many packets were read before. Empty: it is not.

    Args:
        file: Totals of :func:`dumbbell.capture.survey`.
    """
    if file["broken"]:
        return [f"the capture breaks off: {file['broken']}; what follows is missing"]
    if not file["problem_count"]:
        return []
    first, others = file["problems"][0], file["problem_count"] - 1
    more = f"; {others} more problems" if others > 1 else "; 1 more problem" if others else ""
    return [f"the capture is damaged at byte {first['offset']}: {first['message']}{more}"]
