"""Causal chain of an incident of a flow: what happened, why, and what it cost.

`observed` (packets, windows, queues) → `incident` → cause, notice, reaction, repair, cost. Only
`made_again` imports engines: it repeats a run with more of it kept.
"""

from dumbbell.explain.chain import explain as explain
from dumbbell.explain.explanation import Explanation as Explanation
from dumbbell.explain.explanation import Link as Link
from dumbbell.explain.explanation import Step as Step
from dumbbell.explain.explanation import What as What
from dumbbell.explain.observed import Observed as Observed
from dumbbell.explain.observed import observe as observe
