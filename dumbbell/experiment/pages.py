"""Pages that a client loads: objects, their dependencies, and the connections."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from dumbbell.codes import Code
from dumbbell.errors import nearest_name
from dumbbell.experiment.fields import (
    Flag,
    Name,
    PositiveSize,
    Strict,
    Time,
    as_list,
    choice,
    exactly_one,
    problem,
    whole_number,
)
from dumbbell.experiment.traffic import Algorithm
from dumbbell.experiment.typical_pages import TYPICAL

#: Handshakes as exchanges of bytes (request, response): a ClientHello of Chrome's size, a server's
#: flight with two certificates, key exchange and Finished. TLS 1.3 (RFC 8446 §2) takes one RTT: the
#: client sends its Finished with the first request. TLS 1.2 (RFC 5246 §7.3) takes two.
TLS: dict[str, list[tuple[int, int]]] = {
    "none": [],
    "1.3": [(517, 4096)],
    "1.2": [(517, 4096), (126, 51)],
}
PROTOCOLS = {"http/1.1": "http1", "http/2": "http2"}
MAX_OBJECTS = 100_000


class ObjectSpec(Strict):
    """An object of a page. `count`: number of such objects; `{i}` in the name is 1, 2, …"""

    name: Name
    count: Annotated[int, whole_number(1, MAX_OBJECTS)] | None = None
    size: PositiveSize
    request: PositiveSize | None = None
    server: Name | None = None
    after: Annotated[list[Name], as_list({"type": "string"})] = Field(default=[])
    delay: Time = 0
    service: Time = 0
    group: Name | None = None

    def stands_for(self) -> list[str]:
        """Names of the objects: one, or `count`."""
        if self.count is None:
            return [self.name]
        return [self.name.replace("{i}", str(i + 1)) for i in range(self.count)]


class PageSpec(Strict):
    """A page and its client."""

    name: Name
    client: Name
    server: Name
    start: Time = 0
    start_jitter: Time = 0
    protocol: Annotated[str, choice(*PROTOCOLS, what="protocol")] = "http/1.1"
    connections: Annotated[int, whole_number(1, 256)] | None = None
    tls: Annotated[str, choice(*TLS, what="TLS version")] = "none"
    lookup: Time = 0
    congestion_control: Algorithm = "cubic"
    fq: Flag | None = None
    request: PositiveSize = 400
    page: Annotated[str, choice(*TYPICAL, what="typical page")] | None = None
    objects: Annotated[list[ObjectSpec], Field(min_length=1, max_length=MAX_OBJECTS)] | None = None

    @property
    def loaded(self) -> list[ObjectSpec]:
        """Objects of the file, or of the typical page."""
        if self.objects is not None:
            return self.objects
        return [ObjectSpec.model_validate(one) for one in TYPICAL[str(self.page)]]

    @model_validator(mode="after")
    def _objects_fit(self) -> Self:
        exactly_one(self, ("objects", "page"))
        if self.protocol == "http/2" and self.connections is not None:
            raise problem(
                "HTTP/2 uses one connection to a server", field="connections", code=Code.PAGE
            )
        known: set[str] = set()
        for i, spec in enumerate(self.loaded):
            for name in spec.after:
                if name not in known:
                    reason = "an object waits for those above it; there is none of this name"
                    near = nearest_name(name, known)
                    raise problem(reason, found=name, nearest=near, field="objects", code=Code.PAGE)
            for name in spec.stands_for():
                if name in known:
                    hint = "; with count, write {i} in the name" if spec.count is not None else ""
                    raise problem(
                        f"two objects are named {name}{hint}", field="objects", code=Code.PAGE
                    )
                known.add(name)
            if len(known) > MAX_OBJECTS:
                raise problem(
                    f"more than {MAX_OBJECTS} objects, at {i}", field="objects", code=Code.PAGE
                )
        return self

    def session(self) -> tuple[dict[str, Any], list[tuple[str, str]]]:
        """Session in the form of the scenario, and its connections: (name, server)."""
        servers = list(dict.fromkeys([self.server, *self._servers()]))
        count = 1 if self.protocol == "http/2" else self.connections or 6
        named = {
            server: [f"{self.name}-{server}-{k + 1}" for k in range(count)] for server in servers
        }
        used = set(self._servers())
        origins = [
            {
                "connections": named[server],
                "protocol": PROTOCOLS[self.protocol],
                "lookup_ns": self.lookup,
                "setup": [
                    {"request_bytes": there, "response_bytes": back}
                    for there, back in TLS[self.tls]
                ],
            }
            for server in servers
            if server in used
        ]
        numbers = {server: i for i, server in enumerate(s for s in servers if s in used)}
        session = {
            "name": self.name,
            "start_ns": self.start,
            "start_jitter_ns": self.start_jitter,
            "origins": origins,
            "objects": self._objects(numbers),
        }
        return session, [(name, server) for server in numbers for name in named[server]]

    def _servers(self) -> Iterator[str]:
        return (spec.server or self.server for spec in self.loaded)

    def _objects(self, origins: dict[str, int]) -> list[dict[str, Any]]:
        places: dict[str, int] = {}
        found: list[dict[str, Any]] = []
        for spec in self.loaded:
            after = [places[name] for name in spec.after]
            for name in spec.stands_for():
                places[name] = len(found)
                found.append(
                    {
                        "name": name,
                        "group": spec.group or "",
                        "origin": origins[spec.server or self.server],
                        "after": after,
                        "delay_ns": spec.delay,
                        "exchange": {
                            "request_bytes": spec.request or self.request,
                            "response_bytes": spec.size,
                        },
                        "service_ns": spec.service,
                    }
                )
        return found
