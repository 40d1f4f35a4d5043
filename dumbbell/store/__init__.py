"""Stores: folders of runs, addressed by a hash of everything that determines the result.

`Store` opens a store. `temporary_store` creates one for the life of the process. The module
`dumbbell.store.store` describes the layout of the folder; each other module is one part of it.
"""

from __future__ import annotations

from dumbbell.store.store import Store
from dumbbell.store.temporary import temporary_store

__all__ = ["Store", "temporary_store"]
