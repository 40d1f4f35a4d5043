"""What tests ask of the engine linux: which kernel is meant, and does it run here?"""

from __future__ import annotations

from functools import lru_cache

from dumbbell.engines.linux.trial import carry_a_flow
from dumbbell.errors import EngineError

#: Release of `--release`, which is compared in place of the default kernel's.
RELEASE = "6.12"


def profile() -> str:
    """Profile of the release that is compared."""
    return f"linux-{RELEASE}"


@lru_cache(maxsize=1)
def problem() -> str | None:
    """Why no guest carries a flow here; None if one does. Asked once a session."""
    try:
        carry_a_flow()
    except EngineError as error:
        return str(error)
    return None
