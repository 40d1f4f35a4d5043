"""Stores: folders of runs, addressed by a hash of everything that determines the result.

`Store` opens a store. `MemoryStore` keeps runs in memory, without files; `temporary_store` creates
a folder for the life of the process. The module `dumbbell.store.store` describes the layout of the
folder; each other module is one part of it.
"""

from __future__ import annotations

from dumbbell.store.memory import MemoryStore
from dumbbell.store.store import Store
from dumbbell.store.temporary import temporary_store

__all__ = ["MemoryStore", "Store", "temporary_store"]
