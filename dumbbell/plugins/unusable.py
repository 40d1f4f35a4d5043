"""The error of a plug-in's file."""

from __future__ import annotations


class UnusableError(Exception):
    """A file that is no plug-in, with the reason."""
