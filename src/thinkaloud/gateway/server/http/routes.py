"""The route table. The router, the authorization and the OpenAPI document are built from it."""

import re
from collections.abc import Mapping

from thinkaloud.core.dialects import (
    ag_ui,
    anthropic_messages,
    ollama,
    openai_chat,
    openai_responses,
    ui_message_stream,
)
from thinkaloud.gateway.server.compatible import count_tokens, model_lists
from thinkaloud.gateway.server.files.imports import MARKDOWN, OTHER_MEDIA_TYPES
from thinkaloud.gateway.server.handlers import (
    agents,
    figures,
    health,
    imports,
    models,
    preferences,
    sessions,
    transfer,
    turns,
)
from thinkaloud.gateway.server.http import request_parts
from thinkaloud.gateway.server.http.route import JSON, Access, ApiRoute, Resource
from thinkaloud.gateway.server.schemas import agents as agent_schemas
from thinkaloud.gateway.server.schemas import figures as figure_schemas
from thinkaloud.gateway.server.schemas import imports as import_schemas
from thinkaloud.gateway.server.schemas import models as model_schemas
from thinkaloud.gateway.server.schemas import sessions as schemas
from thinkaloud.gateway.store.rows import Preferences

_SESSION_PATH = "/api/sessions/{session}"
_TURN_PATH = "/api/turns/{turn}"
_AGENT_PATH = "/api/agents/{agent}"

_HEALTH = (
    ApiRoute(
        method="GET",
        path="/healthz",
        handler=health.alive,
        summary="Report that the process is alive.",
        access=Access.PUBLIC,
        response_body=schemas.Health,
    ),
    ApiRoute(
        method="GET",
        path="/readyz",
        handler=health.ready,
        summary="Report whether turns can be started and saved.",
        access=Access.PUBLIC,
        response_body=schemas.Health,
        error_statuses=(503,),
    ),
    ApiRoute(method="GET", path="/metrics", handler=health.metrics, summary="Return metrics for Prometheus."),
    ApiRoute(
        method="GET",
        path="/api/openapi.json",
        handler=health.openapi_document,
        summary="Return the OpenAPI document.",
        access=Access.PUBLIC,
    ),
)
_SESSIONS = (
    ApiRoute(
        method="GET",
        path="/api/sessions",
        handler=sessions.list_sessions,
        summary="List sessions, the most recently used first.",
        query=schemas.SessionsQuery,
        response_body=schemas.SessionPage,
        error_statuses=(422,),
    ),
    ApiRoute(
        method="POST",
        path="/api/sessions",
        handler=sessions.create,
        summary="Create a session.",
        body=schemas.NewSession,
        response_body=schemas.SessionBody,
        status=201,
    ),
    ApiRoute(
        method="GET",
        path=_SESSION_PATH,
        handler=sessions.read,
        summary="Return a session with a page of its turns, the oldest first.",
        resource=Resource.SESSION,
        query=schemas.PageQuery,
        response_body=schemas.SessionWithTurns,
        error_statuses=(422,),
    ),
    ApiRoute(
        method="PATCH",
        path=_SESSION_PATH,
        handler=sessions.change,
        summary="Change the title, pin, agent or model of a session.",
        resource=Resource.SESSION,
        body=schemas.SessionChange,
        response_body=schemas.SessionBody,
    ),
    ApiRoute(
        method="DELETE",
        path=_SESSION_PATH,
        handler=sessions.delete,
        summary="Delete a session and everything in it. Refused while a turn runs.",
        resource=Resource.SESSION,
        status=204,
        error_statuses=(409,),
    ),
    ApiRoute(
        method="GET",
        path=f"{_SESSION_PATH}/messages",
        handler=sessions.list_messages,
        summary="List the messages of a page of turns, with thinking in a separate field.",
        resource=Resource.SESSION,
        query=schemas.MessagesQuery,
        response_body=schemas.MessagePage,
        error_statuses=(422,),
    ),
    ApiRoute(
        method="GET",
        path=f"{_SESSION_PATH}/export",
        handler=transfer.export_session,
        summary="Export a session as text without thinking, as markdown, as JSON, or as traces.",
        resource=Resource.SESSION,
        query=schemas.ExportQuery,
        ends_with_client=True,
        error_statuses=(413, 422, 429),
    ),
    ApiRoute(
        method="POST",
        path="/api/import",
        handler=imports.import_sessions,
        summary="Import sessions, also of other programs (201). 200 if nothing was added.",
        query=import_schemas.ImportQuery,
        media_types=(JSON, MARKDOWN, *OTHER_MEDIA_TYPES),
        response_body=import_schemas.ImportBody,
        status=201,
        ends_with_client=True,
        error_statuses=(429,),
    ),
)
_TURNS = (
    ApiRoute(
        method="POST",
        path=f"{_SESSION_PATH}/turns",
        handler=turns.start,
        summary="Start a turn (202), or return the one that the same request started before (200).",
        resource=Resource.SESSION,
        body=schemas.NewTurn,
        response_body=schemas.TurnSummary,
        status=202,
        error_statuses=(409, 429),
    ),
    ApiRoute(
        method="GET",
        path=_TURN_PATH,
        handler=turns.read,
        summary="Return a turn: its answer, its reasoning, and its thinking as a block of steps.",
        resource=Resource.TURN,
        response_body=schemas.TurnBody,
    ),
    ApiRoute(
        method="GET",
        path=f"{_TURN_PATH}/context",
        handler=turns.read_context,
        summary="Return what of the conversation was sent back to the model with a turn's request, and why.",
        resource=Resource.TURN,
        response_body=schemas.ContextBody,
    ),
    ApiRoute(
        method="GET",
        path=f"{_TURN_PATH}/events",
        handler=None,
        summary="Stream the entries of a turn as server-sent events, from the start or after an id.",
        resource=Resource.TURN,
        query=schemas.EventsQuery,
        error_statuses=(429,),
    ),
    ApiRoute(
        method="POST",
        path=f"{_TURN_PATH}/cancel",
        handler=turns.cancel,
        summary="Cancel a running turn (202). A turn that has ended is returned unchanged (200).",
        resource=Resource.TURN,
        response_body=schemas.TurnSummary,
        status=202,
        error_statuses=(409,),
    ),
    ApiRoute(
        method="POST",
        path=f"{_TURN_PATH}/answer-now",
        handler=turns.answer_now,
        summary="Stop the thinking of a running turn and make the model answer now.",
        resource=Resource.TURN,
        response_body=schemas.TurnSummary,
        status=202,
        error_statuses=(409, 422),
    ),
    ApiRoute(
        method="POST",
        path=f"{_TURN_PATH}/approvals",
        handler=turns.decide_approval,
        summary="Approve or deny a tool call that waits for approval.",
        resource=Resource.TURN,
        body=schemas.ApprovalBody,
        response_body=schemas.TurnSummary,
        status=202,
        error_statuses=(409,),
    ),
)
_AGENTS = (
    ApiRoute(
        method="GET",
        path="/api/agents",
        handler=agents.list_agents,
        summary="List the agents of the workspace.",
        query=schemas.PageQuery,
        response_body=agent_schemas.AgentPage,
        error_statuses=(422,),
    ),
    ApiRoute(
        method="POST",
        path="/api/agents",
        handler=agents.create,
        summary="Create an agent.",
        body=agent_schemas.NewAgent,
        response_body=agent_schemas.AgentBody,
        status=201,
    ),
    ApiRoute(
        method="GET",
        path=_AGENT_PATH,
        handler=agents.read,
        summary="Return an agent.",
        resource=Resource.AGENT,
        response_body=agent_schemas.AgentBody,
    ),
    ApiRoute(
        method="PUT",
        path=_AGENT_PATH,
        handler=agents.replace,
        summary="Replace all settings of an agent.",
        resource=Resource.OWN_AGENT,
        body=agent_schemas.NewAgent,
        response_body=agent_schemas.AgentBody,
    ),
    ApiRoute(
        method="DELETE",
        path=_AGENT_PATH,
        handler=agents.delete,
        summary="Delete an agent. Its turns are kept.",
        resource=Resource.OWN_AGENT,
        status=204,
        error_statuses=(422,),
    ),
)
_OTHER = (
    ApiRoute(
        method="GET",
        path="/api/figures",
        handler=figures.read,
        summary="Return thinking time, tokens and cost by model, agent and day.",
        query=figure_schemas.FiguresQuery,
        response_body=figure_schemas.Figures,
    ),
    ApiRoute(
        method="GET",
        path="/api/models",
        handler=models.list_catalog_models,
        summary="List every model of the catalog, its providers and its thinking support.",
        response_body=model_schemas.ModelList,
    ),
    ApiRoute(
        method="GET",
        path="/api/preferences",
        handler=preferences.read,
        summary="Return the user's preferences in the workspace.",
        response_body=Preferences,
    ),
    ApiRoute(
        method="PUT",
        path="/api/preferences",
        handler=preferences.replace,
        summary="Replace the user's preferences in the workspace.",
        body=schemas.NewPreferences,
        response_body=Preferences,
    ),
    ApiRoute(
        method="GET",
        path="/api/workspaces",
        handler=preferences.list_workspaces,
        summary="List the user's workspaces and the current one.",
        response_body=schemas.WorkspaceList,
    ),
    ApiRoute(
        method="GET",
        path="/api/search",
        handler=sessions.search_sessions,
        summary="Search prompts, answers and tools; thoughts only if `scope` names them.",
        query=schemas.SearchQuery,
        response_body=schemas.HitPage,
        error_statuses=(422,),
    ),
)


def _compatible(path: str, dialect: str, summary: str, *, untyped_json: bool = False) -> ApiRoute:
    return ApiRoute(
        method="POST",
        path=path,
        handler=None,
        summary=summary,
        dialect=dialect,
        untyped_json=untyped_json,
    )


COMPATIBLE_ROUTES = (
    _compatible("/v1/chat/completions", openai_chat.NAME, "Answer a client of OpenAI Chat Completions."),
    _compatible("/v1/responses", openai_responses.NAME, "Answer a client of OpenAI Responses."),
    _compatible("/v1/messages", anthropic_messages.NAME, "Answer a client of Anthropic Messages."),
    # Ollama reads any body as JSON, so its guides use `curl -d` and some clients name no type.
    _compatible("/api/chat", ollama.NAME, "Answer a client of Ollama.", untyped_json=True),
    _compatible("/v1/ui-message-stream", ui_message_stream.NAME, "Answer a front end of the AI SDK."),
    _compatible("/v1/ag-ui", ag_ui.NAME, "Answer a front end of AG-UI."),
    ApiRoute(
        method="GET",
        path="/v1/models",
        handler=model_lists.list_models,
        summary="List the models that can be asked, in the format of the client.",
        dialect=openai_chat.NAME,
    ),
    ApiRoute(
        method="GET",
        path=f"{request_parts.MODEL_PATH}{{model}}",
        handler=model_lists.read_model,
        summary="Return one model, in the format of the client.",
        dialect=openai_chat.NAME,
    ),
    ApiRoute(
        method="POST",
        path="/v1/messages/count_tokens",
        handler=count_tokens.count_tokens,
        summary="Estimate the tokens of a request of Anthropic Messages.",
        dialect=anthropic_messages.NAME,
    ),
    ApiRoute(
        method="GET",
        path="/api/tags",
        handler=model_lists.list_ollama_models,
        summary="List the models that can be asked, for clients of Ollama.",
        dialect=ollama.NAME,
    ),
    ApiRoute(
        method="GET",
        path="/api/version",
        handler=model_lists.ollama_version,
        summary="Return the version, for clients of Ollama.",
        dialect=ollama.NAME,
    ),
)
"""The endpoints for existing clients. The OpenAPI document omits them: the formats are their vendors'."""

ROUTES: tuple[ApiRoute, ...] = (*_HEALTH, *_SESSIONS, *_TURNS, *_AGENTS, *_OTHER)

_OLLAMA_ONLY = re.compile(r"/api/(generate|embed|embeddings|show|ps|pull|push|create|copy|delete|blobs/.*)")
"""Paths of Ollama's interface that the gateway does not offer, among those of our own."""


def dialect_of_unknown_path(path: str, headers: Mapping[bytes, bytes]) -> str:
    """Return the dialect in which the client of such a path expects an error; empty for our own format."""
    if _OLLAMA_ONLY.fullmatch(path):
        return ollama.NAME
    if not path.startswith("/v1/"):
        return ""
    if path.startswith("/v1/messages") or b"anthropic-version" in headers:
        return anthropic_messages.NAME
    return openai_chat.NAME
