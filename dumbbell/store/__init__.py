"""Stores: folders in which runs are kept, and found again by what decides them.

`Store` opens one, `temporary_store` makes one that goes with its process. The layout of the folder
is described in `dumbbell.store.store`; each other module is one part of it.
"""

from __future__ import annotations

from dumbbell.store.store import Store
from dumbbell.store.temporary import temporary_store

__all__ = ["Store", "temporary_store"]
