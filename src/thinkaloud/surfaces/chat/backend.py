"""What a chat surface needs from a gateway: sessions, turns, agents, models and preferences.

`thinkaloud.cli` hands a surface an implementation: `cli/gateway_client` asks a gateway in this process, on
this machine or elsewhere. Methods raise `Refused` with a message for the person if the gateway refuses, and
`BackendUnreachable` if there is no connection. A stream of a turn survives lost connections: it continues
after the last entry, so that a surface sees every entry once and in order.
"""

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any, Protocol

import msgspec

from thinkaloud.core.canon import Entry, Refused, ThinkaloudError, Wording
from thinkaloud.core.canon.requests import Image, TurnRequest


class BackendUnreachable(ThinkaloudError):
    """There is no connection to the gateway. The message says which address, why, and what to do."""


class SessionBusy(Refused):
    """A turn of the session still runs, so no other can be started in it."""


class SessionInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the list of sessions."""

    id: str
    title: str
    agent: str = ""
    model: str = ""
    created_ms: int = 0
    updated_ms: int = 0


class TurnInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A turn of a session, without its contents."""

    id: str
    session: str
    state: str
    model: str = ""
    provider: str = ""
    created_ms: int = 0


class PastTurn(msgspec.Struct, frozen=True, kw_only=True):
    """A turn of a session: the question, and the entries of the reply that are stored so far."""

    id: str
    prompt: str
    images: tuple[Image, ...] = ()
    state: str = "done"
    """`running`, `done`, `failed`, `cancelled` or `interrupted`."""
    model: str = ""
    agent_name: str = ""
    versions: tuple[str, ...] = ()
    """The turns that replace each other here with this one, the oldest first; empty if it is the only one."""
    entries: tuple[Entry, ...] = ()
    """Entries that fold to the turn. Empty while it runs: `stream` then yields them from the first one."""


class FoundText(msgspec.Struct, frozen=True, kw_only=True):
    """A place where the words were found. `marks` are the positions of the words in the snippet."""

    session: str
    turn: str
    kind: str
    """`prompt`, `answer`, `tool` or `thought`."""
    block: int | None = None
    """The number of the block in its turn; None in a prompt."""
    snippet: str
    marks: tuple[tuple[int, int], ...] = ()
    session_title: str = ""
    created_ms: int = 0


class Responder(msgspec.Struct, frozen=True, kw_only=True):
    """A model or an agent that can be asked. `reason` says why it cannot be used now, if it cannot."""

    id: str
    name: str
    description: str = ""
    ready: bool = True
    reason: str = ""
    keyless: tuple[str, ...] = ()
    """The providers of which one needs an API key, if that is why it cannot be used."""
    unchecked: tuple[str, ...] = ()
    """The local servers of which one has to run; not checked."""
    thinking: str = ""
    """Whether a model thinks: `none`, `optional` or `always`; empty if that is unknown."""


class DisplayPreferences(msgspec.Struct, kw_only=True):
    """The user's preferences in a workspace. `display` holds a preset and the settings that override it."""

    display: dict[str, Any]
    language: str = ""
    model: str = ""
    """The model that answers if nothing else names one; empty for the gateway's own. It is not saved."""


class TurnCost(msgspec.Struct, frozen=True, kw_only=True):
    """What a turn used. None is unknown, never zero."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    usd: str | None = None
    """US dollars as decimal text."""
    context_tokens: int | None = None
    """The tokens of the last request and its reply: what the conversation takes in the context window."""
    context_window: int | None = None


class Reconnecting(msgspec.Struct, frozen=True):
    """The stream of a turn was cut and is being resumed."""

    attempt: int
    reason: Wording


class Restarted(msgspec.Struct, frozen=True):
    """The stream begins again at the first entry, because the earlier ones were changed. Forget those."""

    reason: str


class StorageChanged(msgspec.Struct, frozen=True):
    """Whether the entries of the turn reach the disk of the gateway. Unsaved ones are kept in memory."""

    saved: bool


StreamItem = Entry | Reconnecting | Restarted | StorageChanged
"""What the stream of a turn yields."""


INSIDE = "inside this process"
"""The address of a backend that is part of this process."""


class TurnBackend(Protocol):
    """Where a turn runs, as those who show it and answer its questions use it."""

    address: str
    """The address of the gateway, or `INSIDE`."""

    def stream(self, turn: str, *, after: int = -1) -> AsyncGenerator[StreamItem, None]:
        """Yield the entries of a turn after one of them, live, until the turn has ended and is saved."""

    async def cancel(self, turn: str) -> None:
        """Stop a running turn."""

    async def answer_now(self, turn: str) -> None:
        """Stop the thinking of a turn and make the model answer."""

    async def approve(self, turn: str, block: int, granted: bool) -> None:
        """Approve or deny a tool call that waits for approval."""


class Backend(TurnBackend, Protocol):
    """A gateway, as a chat surface uses it."""

    async def sessions(self, *, after: str = "", limit: int = 50) -> tuple[list[SessionInfo], str]:
        """Return a page of sessions, the most recently used first, and the cursor of the next page."""

    async def create_session(self, *, model: str = "", agent: str = "", title: str = "") -> SessionInfo:
        """Create a session."""

    async def rename_session(self, session: str, title: str) -> None:
        """Change the title of a session."""

    async def delete_session(self, session: str) -> None:
        """Delete a session and everything in it."""

    async def turns(self, session: str, *, branch: str = "") -> list[PastTurn]:
        """Return the turns of a session, the oldest first: of the newest branch, or of that with a turn."""

    async def ask(self, session: str, request: TurnRequest, key: str = "") -> str:
        """Start a turn and return its id. `SessionBusy` is raised if another turn runs in the session.

        A request that is sent again with its idempotency key is asked once. Empty for a new key.
        """

    def replay(self, turn: str, *, speed: float = 1.0) -> AsyncIterator[Entry]:
        """Yield the entries of an ended turn with their pauses."""

    async def cost(self, turn: str) -> TurnCost:
        """Return what a turn used so far."""

    async def search(self, words: str, *, thoughts: bool = False) -> list[FoundText]:
        """Find words in prompts, answers and tools, and in thoughts if asked for."""

    async def export(self, session: str, form: str, *, thinking: str = "details") -> str:
        """Return a session as `text`, `markdown` or `json`."""

    async def models(self) -> list[Responder]:
        """Return the models that can be chosen."""

    async def agents(self) -> list[Responder]:
        """Return the agents that can be chosen."""

    async def preferences(self) -> DisplayPreferences:
        """Return the user's preferences in the workspace."""

    async def save_preferences(self, preferences: DisplayPreferences) -> None:
        """Save the user's preferences in the workspace."""
