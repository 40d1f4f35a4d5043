"""Congestion controls from outside: shared libraries, WebAssembly modules and classes in Python.

A plug-in's code runs in a process of its own (:mod:`dumbbell.plugins.worker`), since a crash or an
endless loop cannot be stopped inside of one.
"""

from __future__ import annotations

from dumbbell._core import AckEvent, AckSample, Conn, LostSkb, RateSample, Window
from dumbbell.plugins.declare import congestion_control

__all__ = [
    "AckEvent",
    "AckSample",
    "Conn",
    "LostSkb",
    "RateSample",
    "Window",
    "congestion_control",
]
