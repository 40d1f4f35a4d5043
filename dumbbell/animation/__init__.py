"""Packets seen moving: one self-contained page of a run, a trace or captures."""

from __future__ import annotations

from dumbbell.animation.scene import Flow, Link, Node, Pipe, Scene

__all__ = ["Flow", "Link", "Node", "Pipe", "Scene"]
