"""Loads plug-ins. Their code runs: only a worker process calls this."""

from __future__ import annotations

import importlib.util
import inspect
import sys
import traceback
from dataclasses import replace
from pathlib import Path

from dumbbell import _core
from dumbbell.plugins.declare import DECLARED, Declared
from dumbbell.plugins.unusable import UnusableError


def facts(path: Path, name: str) -> Declared:
    """What is known of the plug-in in a file. Raises `UnusableError`."""
    if path.suffix == ".py":
        chosen = _class(path, name)
        found: Declared = getattr(chosen, DECLARED)
        return replace(found, parameters=_parameters(chosen))
    if path.suffix == ".onnx":
        return _policy(path, name)
    try:
        return Declared(*_core.plugin_library(path))
    except ValueError as error:
        raise UnusableError(str(error)) from None


def _policy(path: Path, name: str) -> Declared:
    try:
        _core.Policy(path.read_bytes())
    except ValueError as error:
        raise UnusableError(str(error)) from None
    return Declared(name)


def _parameters(chosen: type) -> tuple[str, ...] | None:
    """Names of the arguments that its constructor takes; None: any, or they are not known."""
    try:
        arguments = inspect.signature(chosen).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(one.kind is one.VAR_KEYWORD for one in arguments):
        return None
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return tuple(one.name for one in arguments if one.kind in named)


def loaded(path: Path, name: str) -> Path | type:
    """A library, module or policy by its path, or the class of a Python file.

    Raises `UnusableError`.
    """
    return _class(path, name) if path.suffix == ".py" else path


def _class(path: Path, name: str) -> type:
    """The declared class of a file: that with this name, or the only one."""
    module_name = f"dumbbell_plugin_{path.stem}"
    module = sys.modules.get(module_name)
    if module is None:
        spec = importlib.util.spec_from_file_location(module_name, path)
        if spec is None or spec.loader is None:
            raise UnusableError("Python cannot load it")
        module = importlib.util.module_from_spec(spec)
        sys.modules[module_name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException as error:
            del sys.modules[module_name]
            raise UnusableError(_raised(error, path)) from None
    found = [
        one
        for one in vars(module).values()
        if isinstance(one, type) and DECLARED in vars(one) and one.__module__ == module_name
    ]
    named = [one for one in found if getattr(one, DECLARED).name == name]
    if len(chosen := named or found) == 1:
        return chosen[0]
    if not found:
        raise UnusableError("no class has the decorator @dumbbell.congestion_control")
    names = ", ".join(getattr(one, DECLARED).name for one in found)
    raise UnusableError(f"it declares {names}; name one of them")


def _raised(error: BaseException, path: Path) -> str:
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == str(path)
    ]
    if isinstance(error, SyntaxError):
        lines = [error.lineno]
    where = f" (line {lines[-1]})" if lines else ""
    said = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"{type(error).__name__}: {said}{where}"
