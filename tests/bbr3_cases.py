"""`studies/bbr3/cases.py`, imported."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

from tests.helpers import ROOT

FOLDER = ROOT / "studies" / "bbr3"


def load() -> ModuleType:
    """The module with the state cases of draft-ietf-ccwg-bbr."""
    for name in ("trajectory", "cases"):
        if name not in sys.modules:
            spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
            assert spec is not None
            assert spec.loader is not None
            module = sys.modules[name] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
    return sys.modules["cases"]
