"""What tests ask of the engine linux: which kernel is meant, and does it run here?"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from dumbbell.engines.linux.trial import carry_a_flow
from dumbbell.errors import EngineError
from dumbbell.experiment.source import Node

#: Release of `--release`, which is compared in place of the default kernel's.
RELEASE = "6.12"


def profile() -> str:
    """Profile of the release that is compared."""
    return f"linux-{RELEASE}"


def with_profile(root: Node) -> Node:
    """Tree of an experiment whose hosts have the profile that is compared, unless it names one."""
    fields = root.value
    if not isinstance(fields, dict) or "dumbbell" not in fields:
        return root
    hosts = fields.get("hosts") or Node({}, "", 0)
    named = hosts.value if isinstance(hosts.value, dict) else {}
    defaults = named.get("defaults") or Node({}, "", 0)
    options = defaults.value if isinstance(defaults.value, dict) else {}
    if "profile" in options:
        return root
    options = {**options, "profile": Node(profile(), profile(), 0)}
    named = {**named, "defaults": replace(defaults, value=options)}
    return replace(root, value={**fields, "hosts": replace(hosts, value=named)})


@lru_cache(maxsize=1)
def problem() -> str | None:
    """Why no guest carries a flow here; None if one does. Asked once a session."""
    try:
        carry_a_flow()
    except EngineError as error:
        return str(error)
    return None
