"""The error codes of the HTTP API. Clients branch on them, so a renamed class must keep its code."""

import importlib
import pkgutil
from typing import TypeVar

import msgspec
import pytest

import thinkaloud
from thinkaloud.core.canon import ProviderFault, Refused
from thinkaloud.gateway.server.http.errors import (
    REFUSAL_CODES,
    HttpRefusal,
    MethodNotAllowed,
    NotFound,
    error_response,
)
from thinkaloud.gateway.store.engine.database import NotSaved

ErrorType = TypeVar("ErrorType", bound=Exception)

# Migrations are run, not imported; an integration needs its framework.
NOT_OF_THE_GATEWAY = ("thinkaloud.gateway.store.migrations.", "thinkaloud.integrations.")

CODES = {
    "BadCatalog": (422, "bad_catalog"),
    "BadPosition": (400, "bad_request"),
    "BadRequest": (400, "bad_request"),
    "BudgetTooSmall": (422, "budget_too_small"),
    "Conflict": (409, "conflict"),
    "DamagedFile": (422, "damaged_file"),
    "DatabaseInUse": (422, "in_use"),
    "Forbidden": (403, "forbidden"),
    "HeadersTooLarge": (431, "headers_too_large"),
    "IdempotencyConflict": (409, "idempotency_conflict"),
    "KeyMissing": (422, "key_missing"),
    "MethodNotAllowed": (405, "method_not_allowed"),
    "MisdirectedRequest": (421, "misdirected"),
    "NotAResponse": (422, "not_a_response"),
    "NotAgentOwner": (404, "not_found"),
    "NotFound": (404, "not_found"),
    "PayloadTooLarge": (413, "too_large"),
    "Refused": (422, "refused"),
    "RequestTimeout": (408, "too_slow"),
    "ServiceUnavailable": (503, "unavailable"),
    "SessionGone": (404, "not_found"),
    "ThinkingNotOffered": (422, "thinking_not_offered"),
    "ThreadBusy": (400, "thread_continue_in_flight"),
    "ThreadNotFound": (404, "thread_not_found"),
    "TooManyRequests": (429, "too_many"),
    "TurnRunning": (409, "turn_running"),
    "UnknownFormat": (422, "unknown_format"),
    "Unauthorised": (401, "unauthorised"),
    "UnknownDialect": (422, "unknown_dialect"),
    "UnknownLocale": (422, "unknown_locale"),
    "UnknownModel": (422, "unknown_model"),
    "UnknownPreset": (422, "unknown_preset"),
    "UnknownProfile": (422, "unknown_profile"),
    "Unprocessable": (422, "unprocessable"),
    "UnsafeAddress": (422, "unsafe_address"),
    "UnsupportedMediaType": (415, "unsupported_media_type"),
}
PROVIDER_CODES = {
    "BadFrame": "bad_frame",
    "BrokenFrame": "bad_frame",
    "ConnectionLost": "cut_off",
    "LimitExceeded": "limit_exceeded",
    "ProviderFault": "provider_fault",
    "ProviderRefused": "provider_fault",
    "RateLimited": "provider_fault",
    "Stalled": "stalled",
    "Unreachable": "unreachable",
    "WireLimitExceeded": "limit_exceeded",
}


def subclasses(root: type[ErrorType]) -> dict[str, type[ErrorType]]:
    """The class and all its subclasses in the package, by name."""
    for module in pkgutil.walk_packages(thinkaloud.__path__, "thinkaloud."):
        if not module.name.endswith("__main__") and not module.name.startswith(NOT_OF_THE_GATEWAY):
            importlib.import_module(module.name)
    classes: dict[str, type[ErrorType]] = {}
    pending = [root]
    while pending:
        cls = pending.pop()
        pending += cls.__subclasses__()
        # Another test of this process may have imported what is not of the gateway.
        if cls.__module__.startswith("thinkaloud.") and not cls.__module__.startswith(NOT_OF_THE_GATEWAY):
            classes[cls.__name__] = cls
    return classes


def test_every_refusal_has_its_code() -> None:
    refusals = {
        name: cls
        for name, cls in subclasses(Refused).items()
        if not cls.__module__.startswith(("thinkaloud.cli.", "thinkaloud.surfaces."))  # of clients
    }
    del refusals["HttpRefusal"]
    assert refusals.keys() == CODES.keys()
    for name, cls in refusals.items():
        error = MethodNotAllowed("PUT", "GET") if cls is MethodNotAllowed else cls("Something.")
        response = error_response(error)
        assert (response.status, response.detail.code) == CODES[name], name


def test_every_refusal_is_in_the_table_or_has_its_own_code() -> None:
    listed = {cls.__name__ for cls in REFUSAL_CODES}
    own = {cls.__name__ for cls in HttpRefusal.__subclasses__()}
    assert listed | own == CODES.keys()
    assert not listed & own


def test_every_provider_fault_has_its_code() -> None:
    faults = subclasses(ProviderFault)
    assert {name: cls.code for name, cls in faults.items()} == PROVIDER_CODES


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (NotSaved("The disk is full."), 503, "not_saved"),
        (ProviderFault("It broke."), 502, "provider_fault"),
        (ValueError("A bug."), 500, "internal"),
    ],
)
def test_codes_of_other_errors(error: Exception, status: int, code: str) -> None:
    response = error_response(error)
    assert (response.status, response.detail.code) == (status, code)


def test_error_body() -> None:
    body = msgspec.json.decode(error_response(NotFound("No such path.")).body)
    assert body == {"error": {"code": "not_found", "message": "No such path."}}
