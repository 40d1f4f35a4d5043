"""Weight of each group of `features`: log-likelihood per unit of distance.

Rounded from a conditional logit (McFadden 1974) over 24 simulated captures, whose seeds (100000 to
100026 of `tests/fit/cases.py`) are not judged. The weight of `growth` was held down.
"""

from __future__ import annotations

WEIGHTS = {
    "flight": 4.0,
    "early": 10.0,
    "flight spread": 7.0,
    "rtt": 6.0,
    "rtt spread": 6.0,
    "cycles": 8.0,
    "growth": 30.0,
    "losses": 3.0,
    "reaction": 6.0,
    "gaps": 3.0,
    "rate": 4.0,
    "ect": 30.0,
}
#: Exponent of the likelihood, see `likelihood`.
POWER = 8.0
