"""Weight of each group of `features`: log-likelihood per unit of distance.

Fitted by `python -m tests.write_fit_weights` (conditional logit, McFadden 1974) to simulated
captures with seeds that are not judged.
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
}
