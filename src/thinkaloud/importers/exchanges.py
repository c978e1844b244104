"""Turns a conversation of another program into the exchanges of a session.

A turn is what follows a prompt up to the next one: replies, tool calls and their results. Where the tree
divides, each way to go on becomes a branch. The branch that the program showed comes last, which makes it the
active one. The key of an exchange depends on the messages alone, so importing again gives the same keys.
"""

from collections import defaultdict
from hashlib import sha256
from typing import NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from thinkaloud.core.canon import (
    BlockGrew,
    Entry,
    Event,
    Finish,
    ReplyEnded,
    TurnEnded,
    TurnFailed,
    TurnStarted,
    Usage,
    UsageReported,
    Wording,
)
from thinkaloud.core.canon.events import (
    BlockEnded,
    BlockReclassified,
    BlockSealed,
    BlockStarted,
    Kind,
    NoticeGiven,
    ToolFinished,
)
from thinkaloud.core.canon.requests import ToolMessage, UserMessage
from thinkaloud.core.export.record import Exchange
from thinkaloud.importers.json_items import DamagedFile
from thinkaloud.importers.replies import tool_finished
from thinkaloud.importers.source_conversation import (
    SourceContent,
    SourceConversation,
    SourceNode,
    SourceReply,
    UnreadCounter,
)

_MAX_COPIES = 20
"""How often the messages of a conversation may be repeated in its branches, on average."""
_UNANSWERED = TurnFailed.of("unanswered", Wording("The imported conversation has no answer to this."))


class _Step(NamedTuple):
    """The end of a path: a message and the path before it, within one exchange."""

    node: SourceNode
    before: "_Step | None"


def exchanges_of(conversation: SourceConversation, unread: UnreadCounter) -> tuple[Exchange, ...]:
    """Return the exchanges of all branches, each after the one that it follows."""
    nodes = _connected(conversation)
    children: defaultdict[str, list[SourceNode]] = defaultdict(list)
    for node in nodes.values():
        children[node.parent].append(node)
    active = _active_branch(conversation, nodes)
    builder = _ExchangeBuilder(conversation, unread, len(nodes))
    reached = 0
    stack: list[tuple[SourceNode, _Step | None, int]] = []

    def push(followers: list[SourceNode], path: _Step | None, follows: int) -> None:
        ordered = sorted(followers, key=lambda node: node.id in active)
        stack.extend((node, path, follows) for node in reversed(ordered))

    push(children[""], None, -1)
    while stack:
        node, path, follows = stack.pop()
        reached += 1
        path = _Step(node, path)
        is_prompt = isinstance(node.content, UserMessage)
        followers = children[node.id]
        if is_prompt:
            prompts, others = [], followers
        else:
            prompts = [child for child in followers if isinstance(child.content, UserMessage)]
            others = [child for child in followers if not isinstance(child.content, UserMessage)]
        index = builder.add(path, follows) if prompts or not followers else -1
        if any(child.id in active for child in prompts):
            push(prompts, None, index)
            push(others, path, follows)
        else:
            push(others, path, follows)
            push(prompts, None, index)
    if reached < len(nodes):
        unread.add("message that follows itself", len(nodes) - reached)
    return tuple(builder.exchanges)


def _connected(conversation: SourceConversation) -> dict[str, SourceNode]:
    """Return the messages with content by id, each with the nearest one before it as its parent."""
    parents = {node.id: node.parent for node in conversation.nodes}
    with_content = {node.id: node for node in conversation.nodes if node.content is not None}
    connected = {}
    for node in with_content.values():
        parent, seen = node.parent, {node.id}
        while parent and parent not in with_content and parent not in seen:
            seen.add(parent)
            parent = parents.get(parent, "")
        connected[node.id] = msgspec.structs.replace(node, parent=parent)
    return connected


def _active_branch(conversation: SourceConversation, nodes: dict[str, SourceNode]) -> set[str]:
    """Return the ids of the branch that ends with the leaf, or with the last message."""
    parents = {node.id: node.parent for node in conversation.nodes}
    last = next(reversed(nodes), "")
    branch: set[str] = set()
    name = conversation.leaf if conversation.leaf in parents else last
    while name in parents and name not in branch:
        branch.add(name)
        name = parents[name]
    return branch


class _ExchangeBuilder:
    """Collects the exchanges of a conversation."""

    def __init__(self, conversation: SourceConversation, unread: UnreadCounter, messages: int) -> None:
        self._conversation = conversation
        self._unread = unread
        self._messages_left = messages * _MAX_COPIES + 1_000
        self._keys: list[str] = []
        self.exchanges: list[Exchange] = []

    def add(self, path: _Step, follows: int) -> int:
        """Add the exchange of a path; return its index."""
        nodes = []
        step: _Step | None = path
        while step is not None:
            nodes.append(step.node)
            step = step.before
        self._messages_left -= len(nodes)
        if self._messages_left < 0:
            raise DamagedFile(
                "The conversation {id} divides so often that its branches repeat its messages more "
                "than {max_copies} times. It cannot be imported.",
                id=repr(self._conversation.id[:80]),
                max_copies=_MAX_COPIES,
            )
        nodes.reverse()
        index = len(self.exchanges)
        previous_key = self._keys[follows] if follows >= 0 else ""
        self._keys.append(_key(previous_key, nodes))
        self.exchanges.append(self._exchange(nodes, UNSET if follows == index - 1 else follows))
        return index

    def _exchange(self, nodes: list[SourceNode], follows: int | UnsetType) -> Exchange:
        asked = tuple(node.content for node in nodes if isinstance(node.content, UserMessage))
        sent_ms = next((node.at_ms for node in nodes if node.at_ms is not None), None)
        writer = _TurnWriter(sent_ms, self._unread)
        answer = _joined_replies([node for node in nodes if not isinstance(node.content, UserMessage)])
        replies = sum(isinstance(node.content, SourceReply) for node in answer)
        writer.single = replies == 1 and len(answer) == 1
        for node in answer:
            if isinstance(node.content, SourceReply):
                writer.add_reply(node.content, node.at_ms)
            elif isinstance(node.content, tuple):
                writer.add_results(node.content, node.at_ms)
        writer.end()
        return Exchange(
            asked=asked,
            entries=tuple(writer.entries),
            model=writer.model or self._conversation.model,
            created_ms=sent_ms,
            follows=follows,
            key=self._keys[-1],
        )


def _joined_replies(nodes: list[SourceNode]) -> list[SourceNode]:
    """Join replies that follow one another and have no dialect: programs divide them into messages."""
    joined: list[SourceNode] = []
    for node in nodes:
        before = joined[-1].content if joined else None
        if _without_dialect(node.content) and _without_dialect(before):
            assert isinstance(before, SourceReply)
            assert isinstance(node.content, SourceReply)
            joined[-1] = SourceNode(node.id, "", _join(before, node.content), node.at_ms)
        else:
            joined.append(node)
    return joined


def _without_dialect(content: SourceContent) -> bool:
    if not isinstance(content, SourceReply):
        return False
    start = content.events[0][0]
    return isinstance(start, TurnStarted) and not start.dialect


def _join(first: SourceReply, second: SourceReply) -> SourceReply:
    blocks = sum(isinstance(event, BlockStarted) for event, _ in first.events)
    started = first.events[0][0], second.events[0][0]
    model = next((event.model for event in reversed(started) if isinstance(event, TurnStarted)), "")
    rest = ((_renumbered(event, blocks), at_ms) for event, at_ms in second.events[1:])
    return SourceReply(((TurnStarted("", model), None), *first.events[1:-1], *rest))


def _key(previous_key: str, nodes: list[SourceNode]) -> str:
    digest = sha256(previous_key.encode())
    for node in nodes:
        for text in (node.id, *_texts(node)):
            digest.update(b"\0" + text.encode(errors="replace"))
    return digest.hexdigest()[:40]


def _texts(node: SourceNode) -> list[str]:
    match node.content:
        case UserMessage(text=text):
            return [text]
        case SourceReply(events=events):
            return [event.text for event, _ in events if isinstance(event, BlockGrew)]
        case tuple() as results:
            return [result.result for result in results]
    return []


class _TurnWriter:
    """Writes the entries of one turn: its replies, renumbered, and the results of their calls."""

    def __init__(self, started_ms: int | None, unread: UnreadCounter) -> None:
        self.entries: list[Entry] = []
        self.model = ""
        self.single = False
        self._started_ms = started_ms
        self._unread = unread
        self._next_block = 0
        self._open_calls: dict[str, int] = {}
        self._end: TurnEnded | TurnFailed = _UNANSWERED
        self._end_ms = started_ms

    def add_reply(self, reply: SourceReply, at_ms: int | None) -> None:
        first_block, usage, started = self._next_block, Usage(), TurnStarted()
        calls: dict[int, str] = {}
        for event, event_ms in reply.events:
            match event:
                case TurnStarted():
                    started = event
                    self.model = event.model or self.model
                    if not self.entries:
                        self._emit(event, self._started_ms)
                    continue
                case UsageReported() if not self.single:
                    usage = usage.merge(event.usage)
                    continue
                case TurnEnded() | TurnFailed():
                    self._end, self._end_ms = event, event_ms if event_ms is not None else at_ms
                    continue
                case BlockStarted(kind=Kind.TOOL_CALL):
                    calls[event.block + first_block] = event.call_id
                case ToolFinished():
                    calls.pop(event.block + first_block, None)
            self._emit(_renumbered(event, first_block), event_ms)
        self._open_calls |= {call_id: block for block, call_id in calls.items()}
        if not self.single:
            self._emit(_reply_ended(self._end, usage, started), at_ms)

    def add_results(self, results: tuple[ToolMessage, ...], at_ms: int | None) -> None:
        for result in results:
            block = self._open_calls.pop(result.call_id, None)
            if block is None:
                self._unread.add("tool result without a call")
                continue
            if result.images:
                self._unread.add("image in a tool result", len(result.images))
            self._emit(tool_finished(block, result.result, failed=result.failed), at_ms)
            self._end_ms = at_ms or self._end_ms

    def end(self) -> None:
        if not self.entries:
            self._emit(TurnStarted(), self._started_ms)
        end = self._end
        if isinstance(end, TurnEnded) and not self.single:
            finish = Finish.TOOL_CALLS if self._open_calls else end.finish
            end = TurnEnded(finish, end.said)
        self._emit(end, self._end_ms)

    def _emit(self, event: Event, at_ms: int | None) -> None:
        if isinstance(event, BlockStarted):
            self._next_block = event.block + 1
        elif isinstance(event, BlockReclassified) and event.into is not None:
            self._next_block = event.into + 1
        self.entries.append(Entry(len(self.entries), event, at_ms))


def _reply_ended(end: TurnEnded | TurnFailed, usage: Usage, started: TurnStarted) -> ReplyEnded:
    ended = ReplyEnded(usage=usage, dialect=started.dialect, model=started.model)
    if isinstance(end, TurnFailed):
        return msgspec.structs.replace(ended, finish=Finish.CANCELLED)
    return msgspec.structs.replace(ended, finish=end.finish, said=end.said, message=end.message)


def _renumbered(event: Event, first_block: int) -> Event:
    match event:
        case BlockStarted() | BlockGrew() | BlockSealed() | BlockEnded() | ToolFinished():
            return msgspec.structs.replace(event, block=event.block + first_block)
        case BlockReclassified():
            into = None if event.into is None else event.into + first_block
            return msgspec.structs.replace(event, block=event.block + first_block, into=into)
        case NoticeGiven(block=int() as block):
            return msgspec.structs.replace(event, block=block + first_block)
    return event
