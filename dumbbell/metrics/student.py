"""Student's t distribution with a whole number of degrees of freedom."""

from __future__ import annotations

import math
from functools import lru_cache


def student_p(t: float, freedom: int) -> float:
    """Two-sided p of Student's t with a whole number of degrees of freedom.

    Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4.
    """
    angle = math.atan2(abs(t), math.sqrt(freedom))
    cosine2 = math.cos(angle) ** 2
    odd = freedom % 2 == 1
    term, total = (math.cos(angle), 0.0) if odd else (1.0, 0.0)
    for step in range(2 if odd else 1, freedom, 2):
        total += term
        term *= cosine2 * step / (step + 1)
    inside = (angle + math.sin(angle) * total) * 2 / math.pi if odd else math.sin(angle) * total
    return max(0.0, min(1.0, 1.0 - inside))


@lru_cache(maxsize=256)
def student_quantile(confidence: float, freedom: int) -> float:
    """Value of t that |t| exceeds with probability `1 − confidence`, by bisection of `student_p`.

    Raises `ValueError` for a confidence outside 0 to 1, or fewer than one degree of freedom.
    """
    if not 0 < confidence < 1 or freedom < 1:
        raise ValueError(f"confidence {confidence:g} with {freedom} degrees of freedom")
    low, high = 0.0, 1.0
    while student_p(high, freedom) > 1 - confidence:
        high *= 2
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        if student_p(middle, freedom) > 1 - confidence:
            low = middle
        else:
            high = middle
    return high
