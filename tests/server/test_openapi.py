"""The OpenAPI document: every route is in it, every reference resolves, and it matches the routes."""

import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from thinkaloud.gateway.server.http import openapi
from thinkaloud.gateway.server.http.errors import HttpRefusal
from thinkaloud.gateway.server.http.route import Access, ApiRoute, NoQuery
from thinkaloud.gateway.server.http.routes import ROUTES
from thinkaloud.gateway.store.queries.values import new_id

DOCUMENT: dict[str, Any] = json.loads(openapi.document(ROUTES))
KEYS = [f"{route.method} {route.path}" for route in ROUTES]
EVERY_ROUTE = pytest.mark.parametrize("route", ROUTES, ids=KEYS)


def operation(route: ApiRoute) -> dict[str, Any]:
    operation_object: dict[str, Any] = DOCUMENT["paths"][route.path][route.method.lower()]
    return operation_object


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if "$ref" in value:
            yield value["$ref"]
        for inner in value.values():
            yield from references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from references(inner)


def parameters(route: ApiRoute, location: str) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in operation(route)["parameters"] if one["in"] == location}


def test_document_has_every_route_and_nothing_else() -> None:
    documented = [
        f"{method.upper()} {path}" for path, methods in DOCUMENT["paths"].items() for method in methods
    ]
    assert sorted(documented) == sorted(KEYS)
    assert DOCUMENT["openapi"] == "3.1.0"
    assert all(operation(route)["summary"] for route in ROUTES)
    names = [operation(route)["operationId"] for route in ROUTES]
    assert len(set(names)) == len(names)


def test_every_schema_reference_resolves_and_every_schema_is_used() -> None:
    used = {reference.removeprefix("#/components/schemas/") for reference in references(DOCUMENT)}
    assert used == set(DOCUMENT["components"]["schemas"])


def test_document_is_deterministic() -> None:
    again = msgspec.json.encode(openapi.build_document(ROUTES), order="sorted")
    assert msgspec.json.format(again, indent=1) == openapi.document(ROUTES)
    assert json.loads(again) == DOCUMENT


@EVERY_ROUTE
def test_document_describes_parameters_and_body(route: ApiRoute) -> None:
    assert list(parameters(route, "path")) == re.findall(r"{(\w+)}", route.path)
    fields = {field.encode_name: field.required for field in msgspec.structs.fields(route.query)}
    assert {name: one["required"] for name, one in parameters(route, "query").items()} == fields
    takes_body = route.body is not None or len(route.media_types) > 1
    assert ("requestBody" in operation(route)) is takes_body
    if takes_body:
        assert sorted(operation(route)["requestBody"]["content"]) == sorted(route.media_types)


@EVERY_ROUTE
def test_document_lists_error_statuses(route: ApiRoute) -> None:
    responses = operation(route)["responses"]
    statuses = {400, 403, 421, 431, 500, route.status, *route.error_statuses}
    if route.access is Access.USER:
        statuses |= {401, 404}
        assert operation(route)["security"] == [{"bearer": []}, {"key": []}, {}]
        assert "Thinkaloud-Workspace" in parameters(route, "header")
    else:
        assert operation(route)["security"] == []
    if route.body is not None:
        statuses |= {408, 413, 415, 422}
    assert statuses <= {int(status) for status in responses}
    for status, response in responses.items():
        assert response["description"]
        if int(status) >= 400 and (route.path, status) != ("/readyz", "503"):
            content = response["content"]["application/json"]
            assert content["schema"] == {"$ref": "#/components/schemas/ErrorBody"}


def test_id_patterns_match_real_ids() -> None:
    for route in ROUTES:
        for name, one in parameters(route, "path").items():
            pattern = one["schema"]["pattern"]
            assert re.search(pattern, new_id(openapi.ID_PREFIXES[name]))
            assert not re.search(pattern, new_id("xyz"))
            assert not re.search(pattern, new_id(openapi.ID_PREFIXES[name]) + "a")


def test_document_tables_name_existing_routes() -> None:
    assert {*openapi.ROUTE_HEADERS, *openapi.OK_WHEN_REPEATED, openapi.READINESS} <= set(KEYS)
    assert set(openapi.RESPONSE_TYPES) <= {route.path for route in ROUTES}
    unsaid = [
        route.path
        for route in ROUTES
        if route.handler
        and route.response_body is None
        and route.status != 204
        and route.path not in openapi.RESPONSE_TYPES
    ]
    assert unsaid == []


def test_events_route_is_an_event_stream() -> None:
    [stream] = [route for route in ROUTES if route.handler is None]
    stream_operation = operation(stream)
    assert list(stream_operation["responses"]["200"]["content"]) == ["text/event-stream"]
    assert "content" not in stream_operation["responses"]["204"]
    assert {"Last-Event-ID"} <= set(parameters(stream, "header"))
    assert set(parameters(stream, "query")) == {"after", "speed"}


def test_import_accepts_json_markdown_and_files_of_other_programs() -> None:
    content = DOCUMENT["paths"]["/api/import"]["post"]["requestBody"]["content"]
    assert set(content) == {
        "application/json",
        "text/markdown",
        "application/zip",
        "application/x-ndjson",
        "application/jsonl",
        "application/vnd.sqlite3",
        "application/octet-stream",
    }


def test_every_status_has_a_description() -> None:
    statuses = {kind.status for kind in HttpRefusal.__subclasses__()} - {405}
    descriptions = {
        int(status)
        for methods in DOCUMENT["paths"].values()
        for one in methods.values()
        for status in one["responses"]
    }
    assert statuses <= descriptions


def test_no_query_has_no_parameters() -> None:
    assert [route for route in ROUTES if route.query is NoQuery and parameters(route, "query")] == []
