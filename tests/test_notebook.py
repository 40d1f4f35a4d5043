"""`examples/notebook.ipynb` runs: results and figures show themselves, a figure is saved."""

from __future__ import annotations

import json
import os
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import ROOT

NOTEBOOK = ROOT / "examples" / "notebook.ipynb"


def test_its_outputs_are_stripped() -> None:
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert len(code) >= 5
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # what Jupyter warns of is not ours
def test_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    shutil.copy(ROOT / "examples" / "two-flows.yaml", tmp_path)
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    monkeypatch.setenv("PYTHONPATH", path)
    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    where = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=120, resources=where).execute()
    shown = {cell["id"]: _data(cell) for cell in notebook.cells if cell.cell_type == "code"}
    assert "→ bottleneck" in shown["run"]["text/html"]
    assert "CUBIC" in shown["run"]["text/html"]
    assert "mean" in shown["metric"]["text/html"]
    for cell in ("chosen", "window", "save"):
        ET.fromstring(shown[cell]["image/svg+xml"])
    assert "Goodput against RTT (sweep)" in shown["chosen"]["image/svg+xml"]
    assert "Goodput beside BBR" in shown["save"]["image/svg+xml"]
    assert (tmp_path / "goodput.pdf").read_bytes().startswith(b"%PDF")


def _data(cell: Any) -> dict[str, str]:
    """What a cell shows; nothing is printed beside it."""
    (output,) = cell["outputs"]
    assert output["output_type"] == "execute_result", output
    return dict(output["data"])
