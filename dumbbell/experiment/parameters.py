"""Parameters of plug-ins: those that a Python class does not take are refused before a run."""

from __future__ import annotations

from dumbbell.codes import Code
from dumbbell.errors import ExperimentError, nearest_name
from dumbbell.experiment.beside import Files
from dumbbell.experiment.source import Node


def check_parameters(root: Node, files: Files, file: str) -> None:
    """Checks the section `plugins`. Raises `ExperimentError` for a name that the class lacks."""
    plugins = root.value.get("plugins") if isinstance(root.value, dict) else None
    if plugins is None or not isinstance(plugins.value, dict):
        return
    for name, node in plugins.value.items():
        own = node.value if isinstance(node.value, dict) else {}
        path, given = own.get("file"), own.get("parameters")
        if path is None or given is None or not isinstance(given.value, dict):
            continue
        known = files.parameters(name, str(path.value)) if given.value else None
        for one in given.value:
            if known is not None and one not in known:
                raise ExperimentError(
                    "its constructor takes no such parameter",
                    file=file,
                    line=given.key_lines.get(one),
                    field=f"plugins.{name}.parameters.{one}",
                    found=one,
                    allowed=known,
                    nearest=nearest_name(one, known),
                    code=Code.PLUGIN,
                )
