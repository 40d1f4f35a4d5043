"""Routes of the explorer."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

import orjson
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from dumbbell.errors import DumbbellError, StoreError
from dumbbell.explore import again, answers, packet_view, run_view
from dumbbell.explore.editing import KEY, Editing, OutdatedError
from dumbbell.explore.listing import Listing, Question
from dumbbell.explore.page import files, page
from dumbbell.explore.series import MOST_RUNS, Lines, packed, quantity_named
from dumbbell.explore.shelf import Shelf, StoredExperiment
from dumbbell.explore.sources import Source, known_runs
from dumbbell.explore.study_view import StudyView, study_view
from dumbbell.figures import Figure, plot

#: Lists that stay in memory.
_MOST_LISTINGS = 8
#: Endpoint: turns a request into an answer, in a thread.
_Answer = Callable[[Request], Response]
#: Policy of an animation: a page of its own, which cannot ask this server anything.
_SANDBOX = (
    "sandbox allow-scripts allow-downloads; default-src 'none'; script-src 'unsafe-inline';"
    " style-src 'unsafe-inline'; img-src data: blob:"
)


class Explorer:
    """Application around one store.

    Args:
        store: Folder of the store.
    """

    def __init__(self, store: Path) -> None:
        self.shelf = Shelf(store)
        self.editing = Editing()
        self._lock = threading.Lock()
        self._lines: dict[str, Lines] = {}
        self._listings: dict[int, tuple[Source, Listing]] = {}
        self._study: tuple[int, StudyView | None] | None = None
        # While the browser starts, what it asks first is read.
        threading.Thread(target=self._first_list, daemon=True).start()

    def _first_list(self) -> None:
        with contextlib.suppress(DumbbellError):
            self._listing(self.shelf.experiment(None)).answer(Question())

    def routes(self) -> list[Route]:
        """All addresses that are answered."""
        ways: dict[str, _Answer] = {
            "state": self.state,
            "list": self.list,
            "series": self.series,
            "run-facts": self.run_facts,
            "packets": self.packets,
            "explain": self.explain,
            "animation": self.animation,
            "study": self.study,
            "why": self.why,
            "figure": self.figure,
            "download": self.download,
        }
        return [
            Route("/", _page),
            *(Route(path, _file) for path in files()),
            *(Route(f"/api/{name}", _threaded(way)) for name, way in ways.items()),
            Route("/api/run", self.run, methods=["POST"]),
        ]

    # Requests

    def source(self, request: Request) -> Source:
        """Experiment that a request names. Raises `DumbbellError` for another."""
        key = request.query_params.get("experiment") or None
        if key == KEY:
            if self.editing.shown is None:
                raise DumbbellError("nothing was run here yet")
            return self.editing.shown
        return self.shelf.experiment(key)

    def _stored(self, request: Request) -> StoredExperiment:
        found = self.source(request)
        if not isinstance(found, StoredExperiment):
            raise DumbbellError("only runs of the store can be made again")
        return found

    def _lines_of(self, source: Source) -> Lines:
        """Lines of an experiment. Those of a run stay when its store changes: runs never do."""
        if not isinstance(source, StoredExperiment):
            return self.editing.lines or Lines(source)
        with self._lock:
            lines = self._lines.setdefault(source.record.id, Lines(source))
            lines.source = source
            return lines

    def _listing(self, source: Source) -> Listing:
        """List of an experiment; of an older state of the store it is forgotten."""
        with self._lock:
            if id(source) not in self._listings:
                while len(self._listings) >= _MOST_LISTINGS:
                    self._listings.pop(next(iter(self._listings)))
                self._listings[id(source)] = (source, Listing(source))
            return self._listings[id(source)][1]

    # Answers

    def state(self, request: Request) -> Response:
        """Experiments, how much of them is finished, and what is wrong with the store."""
        self.shelf.refresh()
        shown = request.query_params.get("experiment") or None
        notes: list[str] = []
        if shown != KEY and self.shelf.records:
            notes = self.shelf.experiment(shown).notes
        marks = answers.marks(self.shelf.records)
        return answers.json(
            {
                "stamp": self.shelf.stamp,
                "store": str(self.shelf.place),
                "banner": self.shelf.banner,
                "notes": notes,
                "experiments": [
                    {
                        "id": one.id,
                        "name": one.info.name,
                        "engine": one.engine,
                        "mark": marks.get(one.id, ""),
                        "planned": len(one.runs),
                        "finished": self.shelf.finished(one),
                        "yaml": one.info.yaml,
                    }
                    for one in self.shelf.records
                ],
                "study": any(answers.may_be_of_study(one.info.name) for one in self.shelf.records),
            }
        )

    def list(self, request: Request) -> Response:
        """Rows of runs or cells."""
        return answers.json(self._listing(self.source(request)).answer(_question(request)))

    def series(self, request: Request) -> Response:
        """Lines of some runs over time, as bytes."""
        source = self.source(request)
        asked = request.query_params
        runs = known_runs(source, asked.get("runs", ""), MOST_RUNS)
        name = asked.get("quantity", "")
        quantity = quantity_named(name)
        kept = self._lines_of(source)
        lines = kept.of(runs, name)
        if asked.get("names"):
            wanted = set(asked["names"].split("\x1f"))
            lines = [one for one in lines if one.name in wanted]
        algorithms = kept.algorithms(runs) if quantity.name == "flow" else {}
        own = {one.name for one in lines}
        more = {
            "quantity": name,
            "label": quantity.label,
            "algorithms": {key: value for key, value in algorithms.items() if key in own},
        }
        window = _window(request)
        pixels = answers.whole(asked.get("pixels", "1000"), "pixels")
        return Response(packed(lines, window, pixels, more), media_type="application/octet-stream")

    def run_facts(self, request: Request) -> Response:
        """Facts of one run."""
        source = self.source(request)
        return answers.json(run_view.run_facts(source, request.query_params.get("run", "")))

    def packets(self, request: Request) -> Response:
        """Packets of a run in a stretch of time."""
        asked = request.query_params
        window = _window(request) or (0.0, 9e9)
        table, run = asked.get("table", "packets"), asked.get("run", "")
        return answers.json(packet_view.packet_rows(self.source(request), run, table, window))

    def explain(self, request: Request) -> Response:
        """Causal chain of an incident of a flow."""
        asked = request.query_params
        at_s = answers.number(asked.get("at", ""), "at")
        source, run, flow = self._stored(request), asked.get("run", ""), asked.get("flow", "")
        return Response(again.explained(source, run, flow, at_s), media_type="application/json")

    def animation(self, request: Request) -> Response:
        """Page of the animation of a run."""
        body, _ = again.animated(self._stored(request), request.query_params.get("run", ""))
        headers = {"content-encoding": "gzip", "content-security-policy": _SANDBOX}
        return Response(body, media_type="text/html", headers=headers)

    def study(self, request: Request) -> Response:
        """Cells of the store's study beside what was published."""
        del request
        return answers.json(self._study_or_error().answer())

    def why(self, request: Request) -> Response:
        """Why a cell of the study differs."""
        asked = request.query_params
        row = answers.whole(asked.get("row", ""), "row")
        return answers.json(
            self._study_or_error().why(asked.get("table", ""), row, asked.get("column", ""))
        )

    def figure(self, request: Request) -> Response:
        """A figure as SVG, PNG or CSV: of the study, or of an experiment against a factor."""
        asked = request.query_params
        drawn: Figure
        if asked.get("name"):
            drawn = self._study_or_error().figure(asked["name"])
            stem = f"figure-{asked['name']}"
        else:
            kind = asked.get("kind") or None
            try:
                drawn = plot(self.source(request).results, kind)
            except (ValueError, TypeError) as error:
                raise DumbbellError(f"this figure cannot be drawn: {error}") from None
            stem = kind or "figure"
        return answers.figure(drawn, asked.get("format", "svg"), stem, asked.get("theme", "light"))

    def download(self, request: Request) -> Response:
        """Rows that are listed, or chosen, as CSV or Parquet."""
        source = self.source(request)
        frame = self._listing(source).chosen_frame(_question(request))
        runs = request.query_params.get("runs")
        if runs:
            known = known_runs(source, runs, 10_000)
            frame = frame.filter(frame["run"].is_in(known))
        return answers.table(frame, request.query_params.get("format", "csv"))

    async def run(self, request: Request) -> Response:
        """Checks and runs an edited experiment. The only endpoint that takes a body."""
        try:
            asked = orjson.loads(await request.body())
            text, run = asked["text"], asked.get("run", True)
            if not isinstance(text, str) or not isinstance(run, bool):
                raise TypeError
        except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError):
            return answers.error('the body should be {"text": "...", "run": true}', 400)
        try:
            found = await run_in_threadpool(self.editing.answer, text, run=run)
        except OutdatedError as error:
            return answers.error(str(error), 409)
        return answers.json(found)

    def _of_study(self) -> StudyView | None:
        """Study of the store, judged once per state of the store."""
        stamp = self.shelf.stamp
        with self._lock:
            if self._study is None or self._study[0] != stamp:
                found = [
                    (one.id, one.info.name, self.shelf.experiment(one.id))
                    for one in self.shelf.records
                    if answers.may_be_of_study(one.info.name)
                ]
                try:
                    self._study = (stamp, study_view(found) if found else None)
                except DumbbellError:
                    self._study = (stamp, None)
            return self._study[1]

    def _study_or_error(self) -> StudyView:
        found = self._of_study()
        if found is None:
            raise DumbbellError("the experiments of this store belong to no study")
        return found


def _question(request: Request) -> Question:
    asked = request.query_params
    levels: dict[str, list[str]] = {}
    for name, value in asked.multi_items():
        if name.startswith("f."):
            levels.setdefault(name[2:], []).append(value)
    metrics = asked.get("metrics")
    chosen = {} if metrics is None else {"metrics": [one for one in metrics.split(",") if one]}
    return Question(
        by=asked.get("by", "runs"),
        filter=asked.get("filter", ""),
        levels=levels,
        sort=asked.get("sort", ""),
        down=asked.get("down") == "1",
        start=answers.whole(asked.get("start", "0"), "start"),
        count=answers.whole(asked.get("count", "100"), "count"),
        **chosen,
    )


def _window(request: Request) -> tuple[float, float] | None:
    """Stretch of time of a request; None: all. Raises `DumbbellError` if it is none."""
    asked = request.query_params
    if not asked.get("from") or not asked.get("to"):
        return None
    first, last = (answers.number(asked[name], name) for name in ("from", "to"))
    if not first < last:
        raise DumbbellError("from: should be earlier than to")
    return first, last


def _threaded(way: _Answer) -> Callable[[Request], Awaitable[Response]]:
    """Endpoint that works in a thread and turns errors of the user into answers."""

    def answered(request: Request) -> Response:
        try:
            return way(request)
        except StoreError as error:
            return answers.error(str(error), 409)
        except DumbbellError as error:
            return answers.error(str(error), 400)

    async def endpoint(request: Request) -> Response:
        return await run_in_threadpool(answered, request)

    return endpoint


def _page(request: Request) -> Response:
    del request
    return Response(page(), media_type="text/html")


def _file(request: Request) -> Response:
    kind, text = files()[request.url.path]
    return Response(text, media_type=kind)
