"""Weight of each group of `features`: log-likelihood per unit of distance.

Fitted by `python -m tests.write_fit_weights` (conditional logit, McFadden 1974) to simulated
captures with seeds that are not judged.
"""

from __future__ import annotations

WEIGHTS = {
    "flight": 8.0,
    "early": 8.0,
    "flight spread": 12.0,
    "rtt": 8.0,
    "rtt spread": 12.0,
    "cycles": 4.0,
    "growth": 8.0,
    "losses": 2.0,
    "reaction": 2.0,
    "gaps": 8.0,
    "rate": 8.0,
}
