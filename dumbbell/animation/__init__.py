"""Packets seen moving: one self-contained page of a run, a trace or captures.

`sources` → `scene` → `pack` → `page`, whose program draws a moment from the time alone. `cells` and
`study` repeat runs for it.
"""

from __future__ import annotations

from dumbbell.animation.scene import Flow, Link, Node, Pipe, Scene

__all__ = ["Flow", "Link", "Node", "Pipe", "Scene"]
