"""Anthropic's message threads: the server holds a conversation, and a request sends only what is new.

A thread is held under the id of its last response. A request that continues it is completed with what is held
before all other rules, which then see the whole conversation.
"""

from dataclasses import replace

from thinkaloud.simulators.api import ApiError, ApiRequest, Json, Rule, first_violation, mapping

BETA = "message-threads-2026-08-12"
_CREATE_FIELDS = ("system", "tools")
"""Fields that a thread keeps from its first request."""
_FIXED_FIELDS = ("output_config",)
_UNSUPPORTED_FIELDS = ("context_management", "fallbacks")
_SOURCE = "vendor docs: message threads"


def with_held_messages(request: ApiRequest) -> ApiRequest:
    """Return the request with all that its thread holds; as it is if it may not continue that thread."""
    thread = request.state.threads.get(_previous(request))
    if thread is None or first_violation(RULES, request):
        return request
    messages = [*thread["messages"], *request.body.get("messages", ())]
    held = {name: thread[name] for name in _CREATE_FIELDS if name in thread}
    return replace(request, body={**request.body, **held, "messages": messages}, completed=True)


def hold(request: ApiRequest, message: Json) -> None:
    """Hold the conversation under the id of this answer, if the request asks for that."""
    if not request.body.get("thread"):
        return
    answer = {"role": "assistant", "content": message["content"]}
    held = {name: request.body[name] for name in (*_CREATE_FIELDS, *_FIXED_FIELDS) if name in request.body}
    request.state.threads[message["id"]] = {**held, "messages": [*request.body["messages"], answer]}
    request.state.continued_threads.add(_previous(request))


def _previous(request: ApiRequest) -> str:
    return str(mapping(request.body.get("thread")).get("previous_message_id", ""))


def _refusal(code: str, message: str, status: int = 400, **details: object) -> ApiError:
    kind = "not_found_error" if status == 404 else "invalid_request_error"
    return ApiError(status, message, kind, details=({"error_code": code, **details},))


def _check_header(request: ApiRequest) -> ApiError | None:
    if "thread" not in request.body or request.has_beta(BETA):
        return None
    return ApiError(400, "thread: Extra inputs are not permitted", "invalid_request_error")


def _check_supported(request: ApiRequest) -> ApiError | None:
    names = [name for name in _UNSUPPORTED_FIELDS if request.body.get(name)]
    if not request.body.get("thread") or not names:
        return None
    message = f"`thread` is not supported together with: {', '.join(names)}."
    return _refusal("thread_unsupported_request", message, unsupported=names)


def _check_known(request: ApiRequest) -> ApiError | None:
    thread = mapping(request.body.get("thread"))
    if thread.get("type") != "continue" or _previous(request) in request.state.threads:
        return None
    return _refusal("thread_not_found", f"No thread was found for '{_previous(request)}'.", 404)


def _check_last(request: ApiRequest) -> ApiError | None:
    if not _previous(request) or _previous(request) not in request.state.continued_threads:
        return None
    return _refusal("thread_already_continued", f"'{_previous(request)}' has already been continued.")


def _check_repeated(request: ApiRequest) -> ApiError | None:
    repeated = [name for name in _CREATE_FIELDS if name in request.body]
    if not _previous(request) or request.completed or not repeated:
        return None
    return ApiError(400, f"{repeated[0]}: may not be set when a thread is continued", "invalid_request_error")


def _check_fixed(request: ApiRequest) -> ApiError | None:
    thread = request.state.threads.get(_previous(request))
    if thread is None:
        return None
    changed = [name for name in _FIXED_FIELDS if request.body.get(name) != thread.get(name)]
    if not changed:
        return None
    return _refusal("thread_fingerprint_mismatch", f"differing field(s): {', '.join(changed)}")


RULES = (
    Rule("anthropic.thread-header", "a thread without its beta header", _SOURCE, _check_header),
    Rule(
        "anthropic.thread-fields",
        "a thread together with context_management or fallbacks",
        "SDK types",
        _check_supported,
    ),
    Rule("anthropic.thread-known", "a thread that is not held", "SDK types", _check_known),
    Rule("anthropic.thread-last", "a response that was already continued", "SDK types", _check_last),
    Rule(
        "anthropic.thread-repeated",
        "the system prompt or tools in a request that continues a thread",
        "SDK: lib/threads",
        _check_repeated,
    ),
    Rule(
        "anthropic.thread-fixed",
        "another output_config than the thread began with",
        "SDK: lib/threads",
        _check_fixed,
    ),
)
