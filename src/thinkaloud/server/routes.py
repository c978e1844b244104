"""The table of all routes: the router, the authorisation and the OpenAPI document are made from its rows."""

from thinkaloud.server import bodies
from thinkaloud.server.handlers import (
    agents,
    health,
    models,
    preferences,
    search,
    sessions,
    transfer,
    turns,
)
from thinkaloud.server.routing import Access, Resource, Route
from thinkaloud.store.rows import Preferences

_OF_SESSION = "/api/sessions/{session}"
_OF_TURN = "/api/turns/{turn}"
_OF_AGENT = "/api/agents/{agent}"

_HEALTH = (
    Route(
        method="GET",
        path="/healthz",
        handler=health.alive,
        summary="Whether the process lives.",
        access=Access.PUBLIC,
        returns=bodies.Health,
    ),
    Route(
        method="GET",
        path="/readyz",
        handler=health.ready,
        summary="Whether turns can be begun and kept.",
        access=Access.PUBLIC,
        returns=bodies.Health,
        refusals=(503,),
    ),
    Route(method="GET", path="/metrics", handler=health.metrics, summary="What was counted, for Prometheus."),
    Route(
        method="GET",
        path="/api/openapi.json",
        handler=health.document,
        summary="This document.",
        access=Access.PUBLIC,
    ),
)
_SESSIONS = (
    Route(
        method="GET",
        path="/api/sessions",
        handler=sessions.listed,
        summary="List sessions, the last used first.",
        query=bodies.PageQuery,
        returns=bodies.SessionPage,
        refusals=(422,),
    ),
    Route(
        method="POST",
        path="/api/sessions",
        handler=sessions.create,
        summary="Make a session.",
        body=bodies.NewSession,
        returns=bodies.SessionBody,
        status=201,
    ),
    Route(
        method="GET",
        path=_OF_SESSION,
        handler=sessions.read,
        summary="A session, with a page of its turns, the oldest first.",
        resource=Resource.SESSION,
        query=bodies.PageQuery,
        returns=bodies.SessionWithTurns,
        refusals=(422,),
    ),
    Route(
        method="PATCH",
        path=_OF_SESSION,
        handler=sessions.change,
        summary="Rename a session, or name another agent or model for it.",
        resource=Resource.SESSION,
        body=bodies.SessionChange,
        returns=bodies.SessionBody,
    ),
    Route(
        method="DELETE",
        path=_OF_SESSION,
        handler=sessions.delete,
        summary="Delete a session with everything in it; not while a turn runs.",
        resource=Resource.SESSION,
        status=204,
        refusals=(409,),
    ),
    Route(
        method="GET",
        path=f"{_OF_SESSION}/messages",
        handler=sessions.messages,
        summary="What was said: the messages of a page of turns, thoughts in a field of their own.",
        resource=Resource.SESSION,
        query=bodies.PageQuery,
        returns=bodies.MessagePage,
        refusals=(422,),
    ),
    Route(
        method="GET",
        path=f"{_OF_SESSION}/export",
        handler=transfer.export,
        summary="A session as a file: text without thoughts, markdown, or the canonical JSON.",
        resource=Resource.SESSION,
        query=bodies.ExportQuery,
        refusals=(422,),
    ),
    Route(
        method="POST",
        path="/api/import",
        handler=transfer.import_,
        summary="Make a session from an exported file, markdown or JSON.",
        media_types=("application/json", "text/markdown"),
        returns=bodies.SessionBody,
        status=201,
    ),
)
_TURNS = (
    Route(
        method="POST",
        path=f"{_OF_SESSION}/turns",
        handler=turns.start,
        summary="Ask: 202 with the turn that begins; 200 when this very request has begun it before.",
        resource=Resource.SESSION,
        body=bodies.NewTurn,
        returns=bodies.TurnBrief,
        status=202,
        refusals=(409, 429),
    ),
    Route(
        method="GET",
        path=_OF_TURN,
        handler=turns.read,
        summary="A turn as it stands: its answer, its reasoning apart, and its thinking as a block of steps.",
        resource=Resource.TURN,
        returns=bodies.TurnBody,
    ),
    Route(
        method="GET",
        path=f"{_OF_TURN}/events",
        handler=None,
        summary="The turn's entries as server-sent events, from the start or from where one was.",
        resource=Resource.TURN,
        query=bodies.EventsQuery,
        refusals=(429,),
    ),
    Route(
        method="POST",
        path=f"{_OF_TURN}/cancel",
        handler=turns.cancel,
        summary="End a turn that runs: 202; one that is over stays as it is: 200.",
        resource=Resource.TURN,
        returns=bodies.TurnBrief,
        status=202,
        refusals=(409,),
    ),
)
_AGENTS = (
    Route(
        method="GET",
        path="/api/agents",
        handler=agents.listed,
        summary="List the agents of the workspace.",
        query=bodies.PageQuery,
        returns=bodies.AgentPage,
        refusals=(422,),
    ),
    Route(
        method="POST",
        path="/api/agents",
        handler=agents.create,
        summary="Set up an agent.",
        body=bodies.NewAgent,
        returns=bodies.AgentBody,
        status=201,
    ),
    Route(
        method="GET",
        path=_OF_AGENT,
        handler=agents.read,
        summary="An agent.",
        resource=Resource.AGENT,
        returns=bodies.AgentBody,
    ),
    Route(
        method="PUT",
        path=_OF_AGENT,
        handler=agents.replace,
        summary="Set up an agent anew, all of it.",
        resource=Resource.OWN_AGENT,
        body=bodies.NewAgent,
        returns=bodies.AgentBody,
    ),
    Route(
        method="DELETE",
        path=_OF_AGENT,
        handler=agents.delete,
        summary="Delete an agent; what was said with it stays.",
        resource=Resource.OWN_AGENT,
        status=204,
        refusals=(422,),
    ),
)
_REST = (
    Route(
        method="GET",
        path="/api/models",
        handler=models.listed,
        summary="Every model of the catalog, where it is, and how it thinks.",
        returns=bodies.ModelList,
    ),
    Route(
        method="GET",
        path="/api/preferences",
        handler=preferences.read,
        summary="How one wants to see and send thoughts in this workspace.",
        returns=Preferences,
    ),
    Route(
        method="PUT",
        path="/api/preferences",
        handler=preferences.replace,
        summary="Set one's preferences, all of them.",
        body=bodies.NewPreferences,
        returns=Preferences,
    ),
    Route(
        method="GET",
        path="/api/search",
        handler=search.find,
        summary="Find words in prompts, answers and tools; in thoughts only when they are named.",
        query=bodies.SearchQuery,
        returns=bodies.HitPage,
        refusals=(422,),
    ),
)

ROUTES: tuple[Route, ...] = (*_HEALTH, *_SESSIONS, *_TURNS, *_AGENTS, *_REST)
