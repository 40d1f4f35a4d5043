"""Building a kernel from a source, patches, options and modules; `kernel.py` finds it again."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from dumbbell.codes import Code
from dumbbell.engines.linux import compile as steps
from dumbbell.engines.linux import kernel as kept
from dumbbell.engines.linux.compile import Progress
from dumbbell.engines.linux.debian import Package
from dumbbell.engines.linux.kernel import Carried, Kernel
from dumbbell.engines.linux.modules import put_modules, read_modules
from dumbbell.engines.linux.source import Source, Tree
from dumbbell.engines.linux.workplace import TREES, alone, kept_tree, remove, tree_is_ready
from dumbbell.errors import EngineError
from dumbbell.files.whole import sync_path, write_file


def _silent(phase: str, fraction: float) -> None:
    """Shows nothing."""


def build(
    source: Path | Package | None = None,
    name: str | None = None,
    progress: Progress = _silent,
    *,
    jobs: int | None = None,
    patches: Sequence[Path] = (),
    modules: Sequence[Path] = (),
    keep: bool = False,
) -> Kernel:
    """Builds a kernel, or finds the one that was built from the same source.

    Args:
        source: A kernel tree, never written to, or a package; None for Debian's default.
        name: What to call it; by default the first two numbers of its version, and its modules.
        progress: Told a phase and the fraction of the build that is behind.
        jobs: Compilers at once; by default one per core.
        patches: Patches to apply besides the project's (`patch -p1`).
        modules: Sources of congestion controls, compiled in; keeps the tree, too.
        keep: Keeps the compiled tree, so that a build with modules takes seconds.

    Raises:
        EngineError: What is missing, does not fit or does not compile.
    """
    if name is not None and not kept.NAME.fullmatch(name):
        raise EngineError(
            f"--name {name}: letters, digits, and . _ + - after the first, up to 64",
            code=Code.KERNEL_BUILD,
        )
    added = replace(kept.carried(patches), modules=read_modules(modules))
    keep, root = keep or bool(added.modules), kept.kernels_folder()
    progress("looking at the source", 0.0)
    source = Package() if source is None else source
    try:
        root.mkdir(parents=True, exist_ok=True)
        found: Source | Package
        found = (source.known(root) or source) if isinstance(source, Package) else Tree(source)
        kernel = (
            None if isinstance(found, Package) else kept.kept_kernel(kept.address(found, added))
        )
        if kernel is None:
            steps.check_programs()
            jobs = jobs or len(os.sched_getaffinity(0))
            with alone(root, progress) as work:
                kernel = _made(found, added, work, jobs, progress, keep=keep)
        short = ".".join(re.findall(r"\d+", kernel.version)[:2])
        name = name or "+".join([short, *(module.name for module in added.modules)])
        (root / "names").mkdir(exist_ok=True)
        write_file(root / "names" / name, f"{kernel.hash}\n".encode(), sync=False)
    except OSError as error:
        raise EngineError(f"{error.filename or root}: {error.strerror or error}") from None
    progress("built", 1.0)
    return replace(kernel, name=name)


def _made(
    source: Source | Package,
    added: Carried,
    work: Path,
    jobs: int,
    progress: Progress,
    *,
    keep: bool,
) -> Kernel:
    """Builds in the folder `work` and moves the result to where it is kept."""
    root, log, tree = work.parent, work / "build.log", work / "linux"
    failed = root / "fetch.failed.log"
    try:
        known = source
        if isinstance(known, Package):
            progress("fetching the source", 0.0)
            known = known.fetched(root, work, log)
        kernel = _made_before(root, known, added, keep=keep)  # by another, while this one waited
        if kernel is not None:
            return kernel
        hashed = kept.address(known, added)
        failed = root / f"{hashed}.failed.log"
        with kept_tree(root, _base(known, added), tree) if keep else _no_tree() as found:
            _compile(known, added, tree, jobs, log, progress, found=found)
            return _result(known, added, work, hashed, failed)
    except EngineError as error:
        if not log.exists():
            raise
        log.replace(failed)
        raise EngineError(
            str(error).replace(str(log), str(failed)), code=Code.KERNEL_BUILD
        ) from None


def _base(source: Source, added: Carried) -> str:
    """Hash of the kernel without modules, of which the tree is kept."""
    return kept.address(source, replace(added, modules=()))


def _made_before(root: Path, source: Source, added: Carried, *, keep: bool) -> Kernel | None:
    """The kernel, if it was built; without modules and to be kept, if its tree is there, too."""
    if keep and not added.modules and not (root / TREES / _base(source, added)).is_dir():
        return None
    return kept.kept_kernel(kept.address(source, added))


@contextlib.contextmanager
def _no_tree() -> Iterator[bool]:
    yield False


def _result(known: Source, added: Carried, work: Path, hashed: str, failed: Path) -> Kernel:
    """Moves what was built to where it is kept."""
    root, log, tree, result = work.parent, work / "build.log", work / "linux", work / "result"
    version = steps.kernel_version(tree, log)
    result.mkdir()
    # A copy: the tree may be kept, and its file is written again by the next build.
    shutil.copy2(tree / "linux", result / "linux")
    shutil.copy2(tree / ".config", result / "config")
    log.replace(result / "build.log")
    about = {
        "version": version,
        "built_from": known.label,
        "source": known.identity,
        "added": added.hashes(),
        "compiler": steps.compiler(tree),
    }
    text = json.dumps(about, indent=1, ensure_ascii=False) + "\n"
    write_file(result / "kernel.json", text.encode(errors="surrogateescape"), sync=True)
    sync_path(result / "linux")
    remove(root / hashed)
    result.replace(root / hashed)
    for stale in (failed, root / "fetch.failed.log"):
        stale.unlink(missing_ok=True)
    kernel = kept.kept_kernel(hashed)
    if kernel is None:
        raise AssertionError(f"{root / hashed}: just written")
    return kernel


def _compile(
    source: Source,
    added: Carried,
    tree: Path,
    jobs: int,
    log: Path,
    progress: Progress,
    *,
    found: bool,
) -> None:
    """Makes the executable in the folder `tree`; `found`: it was compiled before."""
    if not found:
        _prepare(source, added, tree, log, progress, whole=not source.partial)
        try:
            steps.compile_kernel(tree, jobs, log, progress)
        except EngineError:
            if not source.partial:
                raise
            # A release that compiles more than those tried: once more with all its files.
            remove(tree)
            _prepare(source, added, tree, log, progress, whole=True)
            steps.compile_kernel(tree, jobs, log, progress)
        tree_is_ready(tree)
    if found or added.modules:
        put_modules(tree, added.modules)
        steps.compile_kernel(tree, jobs, log, progress)


def _prepare(
    source: Source, added: Carried, tree: Path, log: Path, progress: Progress, *, whole: bool
) -> None:
    """Unpacks, patches and configures."""
    progress("unpacking the source", 0.03)
    source.unpack(tree, log, whole=whole)
    progress("configuring", 0.06)
    steps.apply_patches(tree, [*added.patches, *(file.resolve() for file in added.given)], log)
    steps.configure(tree, added.fragment, added.register_bytes, log)
