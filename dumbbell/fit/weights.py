"""Weight of each group of `features`, and exponent of the likelihood.

The weights are rounded from a conditional logit (McFadden 1974) over 24 simulated captures. The
weight of `growth` was held down, that of `ect` set: other ECN fields are another algorithm. The
exponent is the temperature of the probabilities. On 27 other captures, seeds 5000000 to 5000042,
the likelihood of the truth grows up to 8 and then hardly changes, so it is 8. None of them is
judged. `tests/write_fit_weights.py` fits all anew.
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
