"""The OpenAPI document of the gateway, made from the table of routes and the structs that it names.

The same table always gives the same bytes. What a row does not say, because only this document needs it, is
said here: headers of single routes, and what answers are other than JSON.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from http import HTTPStatus
from typing import Any

import msgspec

import thinkaloud
from thinkaloud.server.refusals import ErrorBody
from thinkaloud.server.routing import Access, Route

JSON = "application/json"
EVENTS = "text/event-stream"
IDS = {"session": "ses", "turn": "trn", "agent": "agt"}
"""What the ids in a path begin with."""
PRODUCES = {
    "/metrics": ("text/plain",),
    "/api/openapi.json": (JSON,),
    "/api/sessions/{session}/export": ("text/plain", "text/markdown", JSON),
}
"""Answers that are not JSON, or not only."""
HEADERS = {
    "POST /api/sessions/{session}/turns": (
        "Idempotency-Key",
        "^[!-~]{1,255}$",
        "The same key with the same body starts nothing twice, and gives the turn that it started before.",
    ),
    "GET /api/turns/{turn}/events": (
        "Last-Event-ID",
        "^[0-9]{0,15}$",
        "The last id that was seen; what follows it is sent. `after` says the same in the address.",
    ),
}
"""Headers that single routes go by: name, pattern, and what it is for."""
AGAIN = ("POST /api/sessions/{session}/turns", "POST /api/turns/{turn}/cancel")
"""What answers 200 where there was nothing left to do."""
UNREADY = "GET /readyz"
"""What says 503 in the words it also says 200 in."""
WORKSPACE = (
    "Thinkaloud-Workspace",
    "^wsp_[A-Za-z0-9_-]{22}$",
    "The id of a workspace one is in; without it, the first.",
)
ABOUT = (
    "Sessions and turns kept exactly, and streams that anyone can join and resume. On the machine itself no "
    "token is needed, unless the gateway was started with `--auth token`."
)

_SCHEMAS = "#/components/schemas/{name}"
_WORDS = {
    400: "It cannot be understood.",
    401: "The gateway does not know who asks.",
    403: "It comes from a page of another site.",
    404: "There is nothing here for you: it never was, is gone, or is not yours.",
    408: "The body did not come to its end.",
    409: "It cannot be done while things stand as they do.",
    413: "The body is larger than the limit.",
    415: "The body is of a kind that is not read here.",
    421: "The gateway does not answer to the name in the Host header.",
    422: "Understood, and not possible.",
    429: "More at once than one may have.",
    431: "The headers are larger than the limit.",
    500: "A mistake of the gateway.",
    502: "The provider failed.",
    503: "Not now: starting, stopping, or nothing can be saved.",
}
_ALWAYS = (400, 403, 421, 431, 500)
_WITH_USER = (401, 404, 503)
_WITH_BODY = (408, 413, 415, 422)

Json = dict[str, Any]


@cache
def document(routes: tuple[Route, ...]) -> bytes:
    """The document as JSON, with sorted names."""
    return msgspec.json.format(msgspec.json.encode(described(routes), order="sorted"), indent=1)


def described(routes: Sequence[Route]) -> Json:
    """The document as a value."""
    types: list[type[msgspec.Struct]] = [ErrorBody]
    for route in routes:
        types += [kind for kind in (route.query, route.body, route.returns) if kind is not None]
    references, schemas = msgspec.json.schema_components(types, ref_template=_SCHEMAS)
    operations = _Operations(dict(zip(types, references, strict=True)), schemas)
    paths: dict[str, Json] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = operations.of(route)
    for query in {route.query for route in routes}:
        del schemas[_name(operations.refs[query])]  # told as parameters, one by one
    return {
        "openapi": "3.1.0",
        "info": {"title": "Thinkaloud", "version": thinkaloud.__version__, "description": ABOUT},
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "key": {"type": "apiKey", "in": "header", "name": "X-Api-Key"},
            },
        },
    }


class _Operations:
    """Writes what one row of the table comes to."""

    def __init__(self, refs: Mapping[type, Json], schemas: Mapping[str, Json]) -> None:
        self.refs = refs
        self._schemas = schemas

    def of(self, route: Route) -> Json:
        operation: Json = {
            "summary": route.summary,
            "operationId": "_".join(re.findall(r"\w+", f"{route.method.lower()} {route.path}")),
            "parameters": [*_path_parameters(route), *self._query_parameters(route), *_headers(route)],
            "responses": self._responses(route),
            "security": [] if route.access is Access.PUBLIC else [{"bearer": []}, {"key": []}, {}],
        }
        if content := self._request_content(route):
            operation["requestBody"] = {"required": True, "content": content}
        return operation

    def _query_parameters(self, route: Route) -> list[Json]:
        schema = self._schemas[_name(self.refs[route.query])]
        required = schema.get("required", ())
        return [
            {"name": name, "in": "query", "required": name in required, "schema": about}
            for name, about in schema["properties"].items()
        ]

    def _request_content(self, route: Route) -> Json:
        if route.body is None:
            return {} if route.media_types == (JSON,) else _unknown(route.media_types)
        return {**_unknown(route.media_types), JSON: self._json(route.body)}

    def _responses(self, route: Route) -> Json:
        statuses = {*_ALWAYS, *route.refusals}
        if route.access is Access.USER:
            statuses.update(_WITH_USER)
        if route.method != "GET":
            statuses.update(_WITH_BODY)
        responses = {str(status): _response(status, {JSON: self._json(ErrorBody)}) for status in statuses}
        responses[str(route.status)] = _response(route.status, self._content(route))
        if (key := _key(route)) == UNREADY:
            responses["503"] = _response(503, self._content(route))
        if key in AGAIN:
            responses["200"] = _response(200, self._content(route))
        if route.handler is None:
            responses["204"] = _response(204, {})
        return responses

    def _content(self, route: Route) -> Json:
        if route.handler is None:
            return _unknown((EVENTS,))
        if route.path in PRODUCES:
            return _unknown(PRODUCES[route.path])
        return {} if route.returns is None else {JSON: self._json(route.returns)}

    def _json(self, kind: type[msgspec.Struct]) -> Json:
        return {"schema": self.refs[kind]}


def _key(route: Route) -> str:
    return f"{route.method} {route.path}"


def _name(reference: Json) -> str:
    return str(reference["$ref"]).rpartition("/")[2]


def _path_parameters(route: Route) -> list[Json]:
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "string", "pattern": f"^{IDS[name]}_[A-Za-z0-9_-]{{22}}$"},
        }
        for name in re.findall(r"{(\w+)}", route.path)
    ]


def _headers(route: Route) -> list[Json]:
    told = [HEADERS[key]] if (key := _key(route)) in HEADERS else []
    if route.access is Access.USER:
        told.append(WORKSPACE)
    return [
        {
            "name": name,
            "in": "header",
            "required": False,
            "description": about,
            "schema": {"type": "string", "pattern": pattern},
        }
        for name, pattern, about in told
    ]


def _unknown(media_types: Sequence[str]) -> Json:
    """Content that no struct describes."""
    return {kind: {"schema": {} if kind == JSON else {"type": "string"}} for kind in media_types}


def _response(status: int, content: Json) -> Json:
    about: Json = {"description": _WORDS.get(status, HTTPStatus(status).phrase)}
    return {**about, "content": content} if content else about
