"""The command line: one verb, or one family of verbs, per file.

Modules of verbs import at module level only what `dumbbell --help` needs. Nothing outside of this
package imports it.
"""

from __future__ import annotations

from dumbbell.cli.app import app, main

__all__ = ["app", "main"]
