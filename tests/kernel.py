"""What tests ask of the engine linux: is there a kernel that runs here? Asked once a session."""

from __future__ import annotations

from functools import lru_cache

from dumbbell.engines.linux.trial import carry_a_flow
from dumbbell.errors import EngineError


@lru_cache(maxsize=1)
def problem() -> str | None:
    """Why no guest carries a flow here; None if one does."""
    try:
        carry_a_flow()
    except EngineError as error:
        return str(error)
    return None
