"""What a release consists of: one version, a citation, templates of issues, archives."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from typer.testing import CliRunner

from dumbbell.cli import app
from tests.helpers import ROOT

CARGO = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))
VERSION = CARGO["workspace"]["package"]["version"]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def yaml(path: Path) -> Any:
    return YAML(typ="safe").load(path)


def test_the_version_stands_in_one_place() -> None:
    assert "version" not in PROJECT and "version" in PROJECT["dynamic"]
    for manifest in sorted((ROOT / "crates").glob("*/Cargo.toml")):
        found = tomllib.loads(manifest.read_text(encoding="utf-8"))["package"]["version"]
        assert found == {"workspace": True}, manifest
    asked = {
        name: one["version"]
        for name, one in CARGO["workspace"]["dependencies"].items()
        if name.startswith("dumbbell-")
    }
    assert set(asked.values()) == {VERSION}, asked
    assert CliRunner().invoke(app, ["--version"]).stdout == f"dumbbell {VERSION}\n"


def test_the_crates_can_be_packaged() -> None:
    private = ("python", "guest", "identity", "playground", "wasm", "plugin-cubic")
    command = ["cargo", "package", "--no-verify", "--allow-dirty", "--offline", "--workspace"]
    command += [word for name in private for word in ("--exclude", f"dumbbell-{name}")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for folder in sorted((ROOT / "crates").iterdir()):
        package = tomllib.loads((folder / "Cargo.toml").read_text(encoding="utf-8"))["package"]
        assert package["description"], folder
        assert (package.get("publish") is False) == (folder.name in private), folder


def test_the_citation_names_this_version_and_its_licence() -> None:
    citation = yaml(ROOT / "CITATION.cff")
    assert citation["version"] == VERSION
    assert citation["license"] == CARGO["workspace"]["package"]["license"]
    assert citation["cff-version"] == "1.2.0"
    assert {"message", "title", "authors", "type"} <= citation.keys()
    assert citation["authors"][0]["name"] == CARGO["workspace"]["package"]["authors"][0]


def test_the_package_holds_the_licences_of_its_parts() -> None:
    """The folder `kernel/` is under the licence of Linux."""
    assert PROJECT["license"] == "Apache-2.0 AND GPL-2.0-only"
    for file in PROJECT["license-files"]:
        assert (ROOT / file).is_file()


@pytest.mark.parametrize("name", ["defect", "kernel-differs", "question"])
def test_a_template_of_issues_is_well_formed(name: str) -> None:
    form = yaml(ROOT / ".github" / "ISSUE_TEMPLATE" / f"{name}.yml")
    assert {"name", "description", "body"} <= form.keys()
    kinds = {"markdown", "textarea", "input", "dropdown", "checkboxes"}
    asked = [one for one in form["body"] if one["type"] != "markdown"]
    assert asked and {one["type"] for one in form["body"]} <= kinds
    assert len({one["id"] for one in asked}) == len(asked)
    assert all(one["attributes"]["label"] for one in asked)


def test_pages_that_the_templates_and_the_policy_name_exist() -> None:
    files = [ROOT / "SECURITY.md", *(ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")]
    for file in files:
        for name in re.findall(r"docs/[a-z-]+\.md", file.read_text(encoding="utf-8")):
            assert (ROOT / name).is_file(), (file, name)


def test_the_container_uses_rust_and_python_as_the_package_asks() -> None:
    text = (ROOT / "Containerfile").read_text(encoding="utf-8")
    rust = re.search(r"rust:([0-9.]+)", text)
    python = re.search(r"python:([0-9.]+)", text)
    assert rust is not None and python is not None
    assert rust[1] == CARGO["workspace"]["package"]["rust-version"]
    least = PROJECT["requires-python"].removeprefix(">=")
    assert tuple(map(int, python[1].split("."))) >= tuple(map(int, least.split(".")))


def test_no_locked_package_needs_a_newer_rust() -> None:
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--offline",
               "--filter-platform", "x86_64-unknown-linux-gnu"]  # fmt: skip
    made = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if made.returncode != 0:
        pytest.skip(f"cargo has not all locked packages here: {made.stderr.strip()}")

    def numbers(version: str) -> tuple[int, ...]:
        return tuple(map(int, version.split(".")[:2]))

    ours = CARGO["workspace"]["package"]["rust-version"]
    newer = {
        f"{one['name']} {one['version']}": one["rust_version"]
        for one in json.loads(made.stdout)["packages"]
        if numbers(one["rust_version"] or "0") > numbers(ours)
    }
    assert not newer, f"newer than Rust {ours}: {newer}"
    setup = (ROOT / "scripts" / "setup.sh").read_text(encoding="utf-8")
    assert f"Rust {ours} or newer" in setup and f'"{ours}.0"' in setup


def script(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)


def test_a_wheel_holds_what_a_build_makes(tmp_path: Path) -> None:
    """`make wheel` runs the scripts of `make build` before it packs. The programs are stand-ins."""
    planned = subprocess.run(
        ["make", "--dry-run", "build"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    parts = sorted(set(re.findall(r"scripts/(build-[a-z]+)\.sh", planned)))
    assert parts == ["build-guest", "build-playground"]
    copied = tmp_path / "scripts" / "build-wheel.sh"
    for part in parts:
        script(copied.with_name(f"{part}.sh"), f"touch {tmp_path}/{part}")
    copied.write_bytes((ROOT / "scripts" / "build-wheel.sh").read_bytes())
    arch = platform.machine()
    wheel = f"dist/dumbbell_lab-1-cp311-abi3-manylinux_2_17_{arch}.whl"
    script(tmp_path / "venv/bin/python", "exit 0")
    script(tmp_path / "venv/bin/maturin", f"mkdir -p dist; ls build-* > {wheel}")
    script(tmp_path / "venv/bin/auditwheel", f"echo '\"manylinux_2_17_{arch}\"'")
    script(tmp_path / "bin/rustc", f"echo {tmp_path}")
    (tmp_path / f"lib/rustlib/{arch}-unknown-linux-gnu/lib").mkdir(parents=True)
    path = os.pathsep.join((str(tmp_path / "bin"), os.environ["PATH"]))
    subprocess.run(
        ["bash", str(copied), arch, str(tmp_path / "venv")],
        env={**os.environ, "PATH": path}, check=True,
    )  # fmt: skip
    assert (tmp_path / wheel).read_text(encoding="utf-8").split() == parts


@pytest.mark.slow
def test_the_archive_of_sources_holds_what_a_build_needs(tmp_path: Path) -> None:
    maturin = Path(sys.executable).with_name("maturin")
    command = [str(maturin), "sdist", "--out", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, stderr=subprocess.DEVNULL)
    (archive,) = tmp_path.iterdir()
    top = f"dumbbell_lab-{VERSION}"
    assert archive.name == f"{top}.tar.gz"
    with tarfile.open(archive) as opened:
        members = opened.getmembers()
    names = {one.name for one in members}
    listed = subprocess.run(
        ["git", "ls-files", "-z", "crates", "kernel", "studies", "examples", "scripts", "dumbbell",
         "Cargo.toml", "Cargo.lock", "pyproject.toml", "README.md", "LICENSE"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    links = {"dumbbell/_docs", "dumbbell/_examples", "dumbbell/_kernel", "dumbbell/_plugin"}
    links |= {"dumbbell/_studies"}
    assert {f"{top}/{name}" for name in listed.split("\0") if name and name not in links} <= names
    assert f"{top}/PKG-INFO" in names
    assert all(one.isfile() or one.isdir() for one in members)
    assert not {name for name in names if name.startswith((f"{top}/target", f"{top}/.venv"))}
