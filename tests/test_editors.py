"""The schema in an editor (`docs/editors.md`), with the language server of VS Code's extension."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dumbbell.experiment import json_schema
from dumbbell.experiment.schema import ADDRESS, FILE_MATCH
from tests.helpers import ROOT
from tests.language_server import Client, served

VERSION = "2.0.0"
PAGE = (ROOT / "docs" / "editors.md").read_text(encoding="utf-8")
SETTINGS, ENTRY = (json.loads(text) for text in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL))
WRONG = """\
dumbbell: 1
name: wrong
template: {dumbbell: {rate: 10 Mbit/s, rtt: 20 ms}}
flows:
  - from: s1
    to: d1
    tcp: cubix
duration: 5 seconds
repeat: 3
"""


def test_the_entry_of_a_store_is_that_of_the_schema() -> None:
    assert ENTRY["url"] == ADDRESS == json_schema()["$id"]
    assert tuple(ENTRY["fileMatch"]) == FILE_MATCH
    assert ENTRY["description"] == json_schema()["description"]


def test_the_settings_name_these_files() -> None:
    (names,) = SETTINGS["yaml.schemas"].values()
    assert set(FILE_MATCH) <= set(names)


@pytest.fixture(scope="module")
def server() -> list[str]:
    """Command of the language server, installed with npm beside the virtual environment's files."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed")
    folder = ROOT / ".venv" / f"yaml-language-server-{VERSION}"
    program = folder / "node_modules" / ".bin" / "yaml-language-server"
    if not program.exists():
        folder.mkdir(parents=True, exist_ok=True)
        quiet = ["--silent", "--no-audit", "--no-fund", "--prefix", str(folder)]
        command = [npm, "install", *quiet, f"yaml-language-server@{VERSION}"]
        if subprocess.run(command, timeout=300, check=False).returncode:
            pytest.skip("npm cannot install yaml-language-server")
    return [str(program), "--stdio"]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "dumbbell.schema.json").write_text(json.dumps(json_schema()), encoding="utf-8")
    (folder / "wrong.dumbbell.yaml").write_text(WRONG, encoding="utf-8")
    modeline = re.search(r"```yaml\n(# yaml-language-server: .*?)```", PAGE, re.DOTALL)
    assert modeline is not None
    (folder / "right.yaml").write_text(modeline[1], encoding="utf-8")
    (folder / "other.yaml").write_text(modeline[1].replace("5 s", "5 sec"), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def client(server: list[str], project: Path) -> Iterator[Client]:
    nested: dict[str, Any] = {}
    for name, value in SETTINGS.items():
        section, _, key = name.partition(".")
        nested.setdefault(section, {})[key] = value
    nested["yaml"] |= {"validate": True, "completion": True, "hover": True}
    with served(server, project, nested) as one:
        yield one


@pytest.mark.slow
@pytest.mark.peers("npm")
def test_an_editor_shows_mistakes_names_and_descriptions(client: Client, project: Path) -> None:
    wrong = project / "wrong.dumbbell.yaml"
    said = "\n".join(client.open(wrong))
    assert "repeat" in said
    assert "pattern" in said
    assert '"cubic"' in said
    lines = WRONG.splitlines()
    line = lines.index("    tcp: cubix")
    names = client.at("textDocument/completion", wrong, line, len("    tcp: "))["items"]
    assert {"cubic", "bbr", "reno"} <= {one["label"] for one in names}
    hover = client.at("textDocument/hover", wrong, lines.index("duration: 5 seconds"), 2)
    assert "Virtual time of a run" in json.dumps(hover)


@pytest.mark.slow
@pytest.mark.peers("npm")
def test_the_first_line_of_a_file_names_its_schema(client: Client, project: Path) -> None:
    assert client.open(project / "right.yaml") == []
    assert client.open(project / "other.yaml") != []
