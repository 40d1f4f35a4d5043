"""Running a study: every part as an experiment, or set up as a reference was."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.text import Text

from dumbbell.compare.agreement import Agreement, CellKey, agree, cells_of, read_reference
from dumbbell.files.urls import store_path
from dumbbell.metrics import METRICS, Tables
from dumbbell.studies.definition import Study, StudyError, load_study
from dumbbell.studies.fixed import fix_claims, refuse_changed
from dumbbell.studies.names import list_names, names_for
from dumbbell.studies.reference import filled, plain
from dumbbell.studies.references import Reference
from dumbbell.studies.result import StudyResult, evaluate_study

#: Runs one experiment file and gives its tables.
Runner = Callable[[Path, Mapping[str, str | list[str]]], Tables]


def list_studies() -> list[Study]:
    """All studies found, by name. Raises `StudyError` for a file that is no study."""
    return [load_study(name) for name in list_names()]


def studies_of(experiment: str) -> list[Study]:
    """Studies that may have an experiment of this name: reading them all takes a second."""
    return [load_study(name) for name in names_for(experiment)]


def run_study(
    name: str | Path,
    *,
    parts: Sequence[str] | None = None,
    engine: str = "sim",
    repeats: int | None = None,
    workers: int | None = None,
    store: Path | None = None,
    against: str | None = None,
    console: Console | None = None,
    runner: Runner | None = None,
) -> StudyResult:
    """Runs a study, or some of its parts, and judges its claims.

    Args:
        name: Name of a study, or a folder with a `study.yaml`.
        parts: Ids of the parts; None: all.
        engine: The engine that runs them.
        repeats: Runs per cell; None: as the experiment files say.
        workers: Processes or threads; None: as many as there are cores.
        store: Folder in which runs are kept and found again; None: they are not kept.
        against: A reference of the study (`kernel`): its cells are run, set up as it was, and
            compared; claims are not judged then.
        console: Where headings and progress go; None: nowhere.
        runner: Runs one experiment file in place of `dumbbell.run` (for tests).

    Raises:
        StudyError: For an unknown study, part or reference.
    """
    study = load_study(name)
    run = runner or _runner(engine, repeats, workers, store)
    if against is None:
        return evaluate_study(study, _run_parts(study, parts, None, run, store, console))
    found = _run_parts(study, parts, against, run, store, console)
    agreement = agreement_of(study, against, found)
    result = evaluate_study(study.model_copy(update={"tables": {}, "claims": []}), found)
    return StudyResult(study, result.engine, result.versions, [], {}, agreement, found)


def run_shard(
    name: str | Path,
    shard: str,
    *,
    parts: Sequence[str] | None = None,
    engine: str = "sim",
    repeats: int | None = None,
    workers: int | None = None,
    store: Path | None = None,
    against: str | None = None,
    console: Console | None = None,
) -> None:
    """Makes the runs of one shard of each part. Claims are not judged: runs are missing.

    Arguments and errors: those of `run_study` and, for `shard`, of `dumbbell.run`.
    """
    run = _runner(engine, repeats, workers, store, shard)
    _run_parts(load_study(name), parts, against, run, store, console)


@dataclass(frozen=True)
class PartSetup:
    """Experiment file of a part, and its changes (`set`)."""

    part: str
    title: str
    file: Path
    changes: Mapping[str, str | list[str]]


def setups(
    study: Study, parts: Sequence[str] | None = None, against: str | None = None
) -> list[PartSetup]:
    """Experiment files and changes of the parts of a study, or of one of its references.

    Raises:
        StudyError: A part or the reference is unknown.
    """
    chosen = _chosen(study, parts)
    if against is None:
        return [
            PartSetup(part, one.title, study.folder / one.experiment, _changed(study, part))
            for part, one in study.parts.items()
            if part in chosen
        ]
    reference = _reference(study, against)
    found = []
    for part in chosen:
        if part in reference.parts:
            setup = reference.parts[part]
            title = f"{study.parts[part].title}, as {reference.title}"
            found.append(PartSetup(part, title, study.folder / setup.experiment, setup.set))
    return found


def _run_parts(
    study: Study,
    parts: Sequence[str] | None,
    against: str | None,
    run: Runner,
    store: Path | None,
    console: Console | None,
) -> dict[str, Tables]:
    """Runs what is chosen of a study. Claims are fixed before the runs of their part."""
    if store is not None:
        refuse_changed(study, store_path(store))
    results: dict[str, Tables] = {}
    for one in setups(study, parts, against):
        _heading(console, one.title)
        if store is not None and against is None:
            fix_claims(study, [one.part], store_path(store))
        results[one.part] = run(one.file, one.changes)
    return results


def _changed(study: Study, part: str) -> dict[str, str | list[str]]:
    """Changes of a variant: another name, its own fields, no tables that only figures need."""
    one = study.parts[part]
    if not one.is_variant:
        return {}
    text = (study.folder / one.experiment).read_text(encoding="utf-8")
    changed: dict[str, str | list[str]] = {**one.set, "name": _part_name(study, part)}
    if re.search(r"^sampling:(?! *none\b)", text, re.MULTILINE):
        # Metrics come from probes; of all other tables over time only figures do.
        kept = "[probes]" if re.search(r"\bprobes\b", text) else "[]"
        changed["sampling.keep"] = kept
    return changed


def _part_name(study: Study, part: str) -> str:
    """The name of a part's experiment."""
    one = study.parts[part]
    name = _experiment_name(study.folder / one.experiment)
    return f"{name}-{part}" if name and one.is_variant else name


def _chosen(study: Study, parts: Sequence[str] | None) -> list[str]:
    unknown = [part for part in parts or () if part not in study.parts]
    if unknown:
        known = ", ".join(study.parts)
        raise StudyError(f"study {study.study} has no part {unknown[0]!r}; it has {known}")
    return [part for part in study.parts if not parts or part in parts]


def _reference(study: Study, name: str) -> Reference:
    if name not in study.references:
        known = ", ".join(study.references) or "none"
        raise StudyError(f"study {study.study} has no reference {name!r}; it has: {known}")
    return study.references[name]


def _heading(console: Console | None, text: str) -> None:
    if console is not None:
        console.print(Text(text, "bold"))


def _runner(
    engine: str,
    repeats: int | None,
    workers: int | None,
    store: Path | None,
    shard: str | None = None,
) -> Runner:
    import dumbbell

    return lambda path, changed: dumbbell.run(
        path, set=changed, repeats=repeats, workers=workers, store=store, engine=engine, shard=shard
    )


def agreement_of(study: Study, name: str, parts: Mapping[str, Tables]) -> Agreement:
    """Our cells of some parts, set up as a reference was, compared with it."""
    reference = _reference(study, name)
    layout = reference.layout
    published = read_reference(study.folder / reference.file, layout)
    wanted = {key: values for key, values in published.items() if key[0] in parts}
    rows = (row for part, results in parts.items() for row in _rows(reference, part, results))
    return agree(cells_of(rows), wanted, layout, name)


def parts_of(
    study: Study, experiments: Mapping[str, Tables]
) -> tuple[dict[str, Tables], dict[str, dict[str, Tables]]]:
    """Experiments (by name) as parts of a study, and as parts compared with each reference."""

    def found(names: Mapping[str, str]) -> dict[str, Tables]:
        return {part: experiments[name] for part, name in names.items() if name in experiments}

    own = found({part: _part_name(study, part) for part in study.parts})
    compared = {
        name: found(
            {
                part: _experiment_name(study.folder / one.experiment)
                for part, one in reference.parts.items()
            }
        )
        for name, reference in study.references.items()
    }
    return own, {name: parts for name, parts in compared.items() if parts}


def experiment_names(study: Study) -> set[str]:
    """Names of all experiments of a study."""
    files = [one.experiment for ref in study.references.values() for one in ref.parts.values()]
    names = {_experiment_name(study.folder / file) for file in files}
    return names | {_part_name(study, part) for part in study.parts}


def _experiment_name(path: Path) -> str:
    """The name that an experiment file gives itself."""
    if not path.is_file():
        return ""
    match = re.search(r"^name:\s*(.+?)\s*$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return match[1].strip("'\"") if match else path.stem


def _rows(
    reference: Reference, part: str, results: Tables
) -> Iterator[tuple[CellKey, str, str, float]]:
    """Our values as (cell, flow, quantity, value), one per repeat."""
    names = reference.parts[part].cell
    factors = list(results.experiment.factors)
    for criterion in reference.layout.criteria:
        measured = METRICS[criterion.metric].measure(results)
        for row in measured.iter_rows(named=True):
            flow = reference.flows.get(row["flow"])
            if flow is None or row["value"] != row["value"]:  # not compared, or does not apply
                continue
            levels = {factor: plain(row[factor]) for factor in factors}
            cell = tuple(filled(template, levels) for template in names.values())
            yield (part, *cell), flow, criterion.column, row["value"]
