"""Verbs of `dumbbell kernel`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dumbbell import console
from dumbbell.cli.guard import guarded
from dumbbell.codes import Code
from dumbbell.console import say
from dumbbell.errors import EngineError

if TYPE_CHECKING:
    from dumbbell.engines.linux.debian import Package

kernel_app = typer.Typer(help="Linux kernels to run experiments on.", no_args_is_help=True)


@kernel_app.command("build")
def kernel_build(
    source: Annotated[
        Path | None,
        typer.Option(metavar="TREE", help="A kernel tree [default: Debian's source]."),
    ] = None,
    release: Annotated[
        str | None, typer.Option(metavar="N.N", help="Release of Debian's source, as 6.12 or 7.3.")
    ] = None,
    package: Annotated[
        str | None, typer.Option(metavar="NAME", help="Debian's package, as linux-source-6.12.")
    ] = None,
    suite: Annotated[
        str | None,
        typer.Option(help="Suite of Debian to take it from, as trixie-backports [default: any]."),
    ] = None,
    patch: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="A patch to apply; repeatable.")
    ] = None,
    module: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="A congestion control tcp_NAME.c; repeatable."),
    ] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep the tree: builds with modules take seconds.")
    ] = False,
    name: Annotated[
        str | None, typer.Option(help="Name of the kernel [default: its version, as 6.12].")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Compilers at once [default: all cores].")
    ] = None,
) -> None:
    """Build a kernel. It runs in virtual time, as one process, without root."""
    with guarded():
        from dumbbell.cli.kernel_display import BuildBar
        from dumbbell.engines.linux.trial import build_and_try

        wanted = _source(source, release, package, suite)
        with BuildBar(console.err) as bar:
            kernel = build_and_try(
                wanted, name, bar, jobs=jobs, patches=patch or [], modules=module or [], keep=keep
            )
        text = f"{kernel.name}: Linux {kernel.version} from {kernel.built_from}, {kernel.hash}"
        console.out.print(text, soft_wrap=True)


def _source(
    tree: Path | None, release: str | None, package: str | None, suite: str | None
) -> Path | Package | None:
    """The source that the options name; None for the default."""
    given = {"--source": tree, "--release": release, "--package": package}
    named = [option for option, value in given.items() if value is not None]
    if len(named) > 1:
        raise EngineError(f"{' and '.join(named)} exclude each other", code=Code.EXCLUSIVE)
    if tree is not None and suite is not None:
        raise EngineError("--source and --suite exclude each other", code=Code.EXCLUSIVE)
    if tree is not None:
        return tree
    name = f"linux-source-{release}" if release is not None else package
    if name is None and suite is not None:
        raise EngineError("--suite needs --release or --package", code=Code.EXCLUSIVE)
    from dumbbell.engines.linux.debian import Package

    return Package(name, suite) if name is not None else None


@kernel_app.command("list")
def kernel_list() -> None:
    """List the kernels that were built."""
    with guarded():
        from dumbbell.cli.kernel_display import kernels_table
        from dumbbell.engines.linux.kernel import kernels, outdated_note

        found = kernels()
        if found:
            console.out.print(kernels_table(found))
            if note := outdated_note(found):
                say(note)
        else:
            say("There is no kernel yet; build one with: dumbbell kernel build")


@kernel_app.command("test")
def kernel_test(
    name: Annotated[str, typer.Argument(help="Which kernel [default: Debian's].")] = "",
) -> None:
    """Boot a kernel and test everything that the engine linux needs."""
    with guarded():
        from dumbbell.engines.linux.probe import probe

        wrong = 0
        for one in probe(name):
            wrong += not one.well
            sign = "ok  " if one.well else "FAIL"
            console.out.print(f"{sign} {one.name:<20} {one.found}", soft_wrap=True)
        if wrong:
            raise typer.Exit(1)
