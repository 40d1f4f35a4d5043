"""The page of a study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from dumbbell.console.words import many
from dumbbell.face.markup import Markup, joined, table, tag
from dumbbell.face.page import chart_page
from dumbbell.report.animations import animations_section
from dumbbell.report.claims import claims_section, pills
from dumbbell.report.figures import Begun, begin_figures, figure_section
from dumbbell.report.parts import closing, navigation, topologies, warning
from dumbbell.report.tables import agreement_section, study_table
from dumbbell.studies.definition import metrics_in
from dumbbell.studies.result import StudyResult


def study_page(
    result: StudyResult,
    figures: Mapping[str, Begun] | None = None,
    beside: Path | None = None,
    notes: Sequence[str] = (),
) -> str:
    """The report of a study, from its tables.

    `figures` may be in drawing already; `beside`: where the page will be, and animations are looked
    for; `notes`: what its store lacks.
    """
    study = result.study
    begun = begin_figures(study, result.parts, None) if figures is None else figures
    own = [part for part in result.parts if not study.parts[part].is_variant]
    variants = [part for part in result.parts if study.parts[part].is_variant]
    body = [
        *warning(notes),
        tag("p", study.question, class_="lead"),
        pills(result),
        tag("p", _ran(result), class_="faint"),
        navigation(
            {
                "testbed": "Testbed",
                **{f"part-{part}": study.parts[part].title for part in own},
                **({"variants": "Variants"} if variants else {}),
                **({"agreement": "Agreement"} if result.agreement else {}),
                **({"animations": "Animations"} if study.animations else {}),
                "method": "Method",
                "provenance": "Provenance",
                "files": "Experiment files",
            }
        ),
        tag("h2", "Testbed", id="testbed"),
        tag("p", study.testbed),
        *topologies(result.parts),
    ]
    if result.agreement is None:
        body += [_part(result, part, begun) for part in own]
        body += [_variants(result, variants)] if variants else []
    else:
        title = study.references[result.agreement.reference].title
        body += [
            tag("h2", "Agreement", id="agreement"),
            agreement_section(result.agreement, title),
        ]
    body += animations_section(study, beside)
    quantities = [one for t in study.tables.values() for one in t.columns.values()]
    metrics = dict.fromkeys(name for one in quantities for name in metrics_in(one))
    titles = {study.parts[part].title: results for part, results in result.parts.items()}
    body += closing(list(metrics), titles)
    body.append(tag("h3", "Sources"))
    body.append(tag("ul", *(tag("li", source) for source in study.sources)))
    return chart_page(study.title, joined(body))


def _ran(result: StudyResult) -> str:
    runs = sum(results.runs.height for results in result.parts.values())
    versions = ", ".join(f"{engine} {version}" for engine, version in result.versions.items())
    parts = result.study.parts
    have, all_variants = (
        [p for p in some if parts[p].is_variant] for some in (result.parts, parts)
    )
    text = f"{len(result.parts) - len(have)} of {many(len(parts) - len(all_variants), 'part')}"
    if all_variants:
        text += f", {len(have)} of {many(len(all_variants), 'variant')}"
    return f"{text}, {many(runs, 'run')} on {versions}."


def _part(result: StudyResult, part: str, begun: Mapping[str, Begun]) -> Markup:
    study = result.study
    parts = [
        tag("h2", study.parts[part].title, id=f"part-{part}"),
        tag("p", study.parts[part].question),
    ]
    for name, figure in study.figures.items():
        if figure.part == part:
            parts.append(figure_section(study, name, begun[name]))
    for name, rows in result.tables.items():
        if study.tables[name].part == part and rows:
            parts.append(study_table(study, name, rows))
    claims = [claim for claim in result.claims if claim.claim.part == part]
    if claims:
        parts += [tag("h3", "Claims"), claims_section(claims)]
    return tag("section", *parts)


def _variants(result: StudyResult, variants: list[str]) -> Markup:
    """Table of variants, run to try the causes of verdicts."""
    note = "Parts run again with something changed, to try what verdicts hang on."
    rows = [
        [
            one.title,
            one.experiment,
            ", ".join(f"{field}: {_levels(value)}" for field, value in one.set.items()),
            str(result.parts[part].runs.height),
        ]
        for part, one in ((part, result.study.parts[part]) for part in variants)
    ]
    head = ["variant", "experiment file", "changed", "runs"]
    return tag(
        "section",
        tag("h2", "Variants", id="variants"),
        tag("p", note),
        table(head, rows, left=3),
    )


def _levels(value: str | list[str]) -> str:
    return value if isinstance(value, str) else ", ".join(value)
