"""The replies of a turn as steps of a conversation: each as if it had been a turn of its own.

To its model, a run of an agent is a row of replies with the results of their calls in between. What an
assistant did belongs to a conversation of its own, which begins with the task it was given.
"""

import msgspec

from thinkaloud.canon import Kind, TurnEnded
from thinkaloud.canon.requests import ToolMessage, assistant_arguments, assistant_tool
from thinkaloud.context.conversation import Said, Step
from thinkaloud.transcript import Block, Reply, Turn
from thinkaloud.transcript.outcome import of_end


def steps_of(said: Said) -> tuple[Step, ...]:
    """A turn as the steps that a conversation has for it; one of a single reply is a step as it is."""
    turn = said.turn
    if not turn.replies:
        return (said,)
    steps, rest = replies_of(turn), _rest(turn)
    if not any(not block.blank for block in rest):
        return steps
    broken_off = Turn(dialect=turn.dialect, model=turn.model, blocks=_alone(rest), outcome=turn.outcome)
    return (*steps, Said(broken_off, provider=said.provider))


def replies_of(turn: Turn, parent: int | None = None) -> tuple[Step, ...]:
    """What the turn itself said so far, or one of its assistants, and what its calls came back with."""
    steps: list[Step] = []
    for reply in turn.replies:
        if reply.parent == parent:
            blocks = [_called(block) for block in turn.said_in(reply)]
            steps.append(Said(_turn(reply, blocks), reply.prefix, reply.provider))
            steps += (_result(block) for block in blocks if _came_back(block, reply))
    return tuple(steps)


def _rest(turn: Turn) -> list[Block]:
    """What the turn began to say after its last reply: a reply that never came to its end."""
    told = max((reply.until for reply in turn.replies if reply.parent is None), default=0)
    return [block for block in turn.blocks[told:] if block.parent is None]


def _turn(reply: Reply, blocks: list[Block]) -> Turn:
    """The reply alone. Its calls are as the model left them: what they came to is a step of its own."""
    left = [
        msgspec.structs.replace(block, result=None) if block.number in reply.calls else block
        for block in blocks
    ]
    turn = Turn(
        dialect=reply.dialect,
        model=reply.model,
        blocks=_alone(left),
        usage=reply.usage,
        message=reply.message,
    )
    turn.outcome = of_end(turn, TurnEnded(reply.finish, reply.said))
    return turn


def _alone(blocks: list[Block]) -> list[Block]:
    return [msgspec.structs.replace(block, number=number, parent=None) for number, block in enumerate(blocks)]


def _came_back(block: Block, reply: Reply) -> bool:
    return block.number in reply.calls and block.result is not None


def _result(block: Block) -> ToolMessage:
    result = "\n\n".join(text for text in (block.error, block.result) if text)
    return ToolMessage(block.call_id, result, block.name, failed=bool(block.error))


def _called(block: Block) -> Block:
    """To a model, an assistant is a tool like any other."""
    if block.kind is not Kind.ASSISTANT_CALL:
        return block
    return msgspec.structs.replace(
        block,
        kind=Kind.TOOL_CALL,
        name=assistant_tool(block.name),
        pieces=[assistant_arguments(block.text)],
    )
