"""Builds the OpenAPI document of the gateway from the route table and its structs.

The same table always gives the same bytes. Facts that only this document needs are here and not in the table:
headers of single routes, and responses that are not JSON.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from http import HTTPStatus
from typing import Any

import msgspec

import thinkaloud
from thinkaloud.gateway.server.http.errors import ErrorBody
from thinkaloud.gateway.server.http.route import EVENT_STREAM, JSON, Access, ApiRoute

ID_PREFIXES = {"session": "ses", "turn": "trn", "agent": "agt"}
"""The prefix of each id in a path."""
RESPONSE_TYPES = {
    "/metrics": ("text/plain",),
    "/api/openapi.json": (JSON,),
    "/api/sessions/{session}/export": ("text/plain", "text/markdown", JSON, "application/jsonl"),
}
"""Media types of responses that are not described by a struct."""
ROUTE_HEADERS = {
    "POST /api/sessions/{session}/turns": (
        "Idempotency-Key",
        "^[!-~]{1,255}$",
        "A repeated request with the same key and body returns the turn that the first one started.",
    ),
    "GET /api/turns/{turn}/events": (
        "Last-Event-ID",
        "^[0-9]{0,15}$",
        "The last id that was received; the stream resumes after it. Same as the query parameter `after`.",
    ),
}
"""Request headers of single routes: name, pattern and description."""
OK_WHEN_REPEATED = (
    "POST /api/sessions/{session}/turns",
    "POST /api/turns/{turn}/cancel",
    "POST /api/import",
)
"""Routes that respond with 200 instead of 201 or 202 if there was nothing left to do."""
READINESS = "GET /readyz"
"""The route whose 503 response has the same body as its 200 response."""
WORKSPACE_HEADER = (
    "Thinkaloud-Workspace",
    "^wsp_[A-Za-z0-9_-]{22}$",
    "The id of one of the user's workspaces. The default is the user's first workspace.",
)
DESCRIPTION = (
    "Sessions, turns, and event streams that can be joined and resumed. Requests from the same machine need "
    "no token, unless the gateway was started with `--auth token`."
)

_SCHEMA_REF = "#/components/schemas/{name}"
_STATUS_DESCRIPTIONS = {
    400: "The request is malformed.",
    401: "The request has no valid credentials.",
    403: "The request comes from a page of another site.",
    404: "The resource does not exist, was deleted, or belongs to another user.",
    408: "The body did not arrive in time.",
    409: "The request conflicts with the present state of the resource.",
    413: "The body is larger than the limit.",
    415: "The route does not accept bodies of this type.",
    421: "The Host header names a host that the gateway does not serve.",
    422: "The request is well-formed and cannot be carried out.",
    429: "The caller has reached a limit on simultaneous use.",
    431: "The headers are larger than the limit.",
    500: "Internal error of the gateway.",
    502: "The provider failed.",
    503: "The gateway is starting, stopping, or cannot save anything.",
}
_COMMON_STATUSES = (400, 403, 421, 431, 500)
_USER_STATUSES = (401, 404, 503)
_BODY_STATUSES = (408, 413, 415, 422)

JsonObject = dict[str, Any]


@cache
def document(routes: tuple[ApiRoute, ...]) -> bytes:
    """Return the document as JSON with sorted keys."""
    return msgspec.json.format(msgspec.json.encode(build_document(routes), order="sorted"), indent=1)


def build_document(routes: Sequence[ApiRoute]) -> JsonObject:
    """Return the document as a dictionary."""
    types: list[type[msgspec.Struct]] = [ErrorBody]
    for route in routes:
        types += [
            struct_type
            for struct_type in (route.query, route.body, route.response_body)
            if struct_type is not None
        ]
    references, schemas = msgspec.json.schema_components(types, ref_template=_SCHEMA_REF)
    operations = _OperationWriter(dict(zip(types, references, strict=True)), schemas)
    paths: dict[str, JsonObject] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = operations.operation(route)
    for query in {route.query for route in routes}:
        del schemas[_schema_name(operations.references[query])]  # listed as parameters of the operation
    return {
        "openapi": "3.1.0",
        "info": {"title": "Thinkaloud", "version": thinkaloud.__version__, "description": DESCRIPTION},
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "key": {"type": "apiKey", "in": "header", "name": "X-Api-Key"},
            },
        },
    }


class _OperationWriter:
    """Builds the OpenAPI operation of one route."""

    def __init__(self, references: Mapping[type, JsonObject], schemas: Mapping[str, JsonObject]) -> None:
        self.references = references
        self._schemas = schemas

    def operation(self, route: ApiRoute) -> JsonObject:
        result: JsonObject = {
            "summary": route.summary,
            "operationId": "_".join(re.findall(r"\w+", f"{route.method.lower()} {route.path}")),
            "parameters": [
                *_path_parameters(route),
                *self._query_parameters(route),
                *_header_parameters(route),
            ],
            "responses": self._responses(route),
            "security": [] if route.access is Access.PUBLIC else [{"bearer": []}, {"key": []}, {}],
        }
        if content := self._request_content(route):
            result["requestBody"] = {"required": True, "content": content}
        return result

    def _query_parameters(self, route: ApiRoute) -> list[JsonObject]:
        schema = self._schemas[_schema_name(self.references[route.query])]
        required = schema.get("required", ())
        return [
            {"name": name, "in": "query", "required": name in required, "schema": field_schema}
            for name, field_schema in schema["properties"].items()
        ]

    def _request_content(self, route: ApiRoute) -> JsonObject:
        if route.body is None:
            return {} if route.media_types == (JSON,) else _untyped_content(route.media_types)
        return {**_untyped_content(route.media_types), JSON: self._json_schema(route.body)}

    def _responses(self, route: ApiRoute) -> JsonObject:
        statuses = {*_COMMON_STATUSES, *route.error_statuses}
        if route.access is Access.USER:
            statuses.update(_USER_STATUSES)
        if route.method != "GET":
            statuses.update(_BODY_STATUSES)
        responses = {
            str(status): _response_object(status, {JSON: self._json_schema(ErrorBody)}) for status in statuses
        }
        responses[str(route.status)] = _response_object(route.status, self._content(route))
        if (route_key := _route_key(route)) == READINESS:
            responses["503"] = _response_object(503, self._content(route))
        if route_key in OK_WHEN_REPEATED:
            responses["200"] = _response_object(200, self._content(route))
        if route.handler is None:
            responses["204"] = _response_object(204, {})
        return responses

    def _content(self, route: ApiRoute) -> JsonObject:
        if route.handler is None:
            return _untyped_content((EVENT_STREAM,))
        if route.path in RESPONSE_TYPES:
            return _untyped_content(RESPONSE_TYPES[route.path])
        return {} if route.response_body is None else {JSON: self._json_schema(route.response_body)}

    def _json_schema(self, struct_type: type[msgspec.Struct]) -> JsonObject:
        return {"schema": self.references[struct_type]}


def _route_key(route: ApiRoute) -> str:
    return f"{route.method} {route.path}"


def _schema_name(reference: JsonObject) -> str:
    return str(reference["$ref"]).rpartition("/")[2]


def _path_parameters(route: ApiRoute) -> list[JsonObject]:
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "string", "pattern": f"^{ID_PREFIXES[name]}_[A-Za-z0-9_-]{{22}}$"},
        }
        for name in re.findall(r"{(\w+)}", route.path)
    ]


def _header_parameters(route: ApiRoute) -> list[JsonObject]:
    headers = [ROUTE_HEADERS[route_key]] if (route_key := _route_key(route)) in ROUTE_HEADERS else []
    if route.access is Access.USER:
        headers.append(WORKSPACE_HEADER)
    return [
        {
            "name": name,
            "in": "header",
            "required": False,
            "description": description,
            "schema": {"type": "string", "pattern": pattern},
        }
        for name, pattern, description in headers
    ]


def _untyped_content(media_types: Sequence[str]) -> JsonObject:
    """Return content without a struct schema."""
    return {
        media_type: {"schema": {} if media_type == JSON else {"type": "string"}} for media_type in media_types
    }


def _response_object(status: int, content: JsonObject) -> JsonObject:
    response: JsonObject = {"description": _STATUS_DESCRIPTIONS.get(status, HTTPStatus(status).phrase)}
    return {**response, "content": content} if content else response
