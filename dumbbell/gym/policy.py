"""Policies that have learnt: saved as ONNX, with what they see and set in the file's notes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dumbbell import _core
from dumbbell.codes import Code
from dumbbell.errors import DumbbellError
from dumbbell.gym.choices import Choices
from dumbbell.gym.onnx import Dense, written


def save_policy(path: str | Path, layers: Sequence[Dense], **choices: Any) -> None:
    """Saves a policy. `plugins: {NAME: {file: PATH}}` of an experiment runs it in a flow.

    Args:
        path: File, which ends with `.onnx`.
        layers: Its network: observations are inputs, actions outputs. Outputs beyond the
            bounds of an action are clipped.
        choices: What the environment had: see `dumbbell.gym.Choices`.

    Raises:
        DumbbellError: The network does not fit to the choices.
        OSError: The file cannot be written.
    """
    chosen, path = Choices(**choices), Path(path)
    if path.suffix != ".onnx":
        raise _refused(f"policy {path}: a file that ends with .onnx is needed")
    notes = {
        "version": "1",
        "observations": ",".join(chosen.observations),
        "normalised": str(chosen.normalised).lower(),
        "actions": ",".join(chosen.actions),
        "scaled": str(chosen.scaled).lower(),
        "step": chosen.kind,
        "count": str(chosen.count),
        "length_ns": str(chosen.length_ns),
    }
    try:
        data = written(layers, {f"dumbbell_{name}": text for name, text in notes.items()})
        _core.Policy(data)
    except ValueError as error:
        raise _refused(f"policy {path}: {error}") from None
    path.write_bytes(data)


def load_policy(path: str | Path) -> _core.Policy:
    """A saved policy; its `act` gives the actions that a flow takes.

    Raises:
        DumbbellError: The file is no policy.
        OSError: It cannot be read.
    """
    try:
        return _core.Policy(Path(path).read_bytes())
    except ValueError as error:
        raise _refused(f"policy {path}: {error}") from None


def _refused(message: str) -> DumbbellError:
    return DumbbellError(message, code=Code.PLUGIN)
