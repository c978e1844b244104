"""The replies of a turn as steps of a conversation: each as if it had been a turn of its own.

To its model, a run of an agent is a row of replies with the results of their calls in between. What an
assistant did belongs to a conversation of its own, which begins with the task it was given.
"""

import msgspec

from thinkaloud.canon import Kind, TurnEnded
from thinkaloud.canon.requests import ToolMessage, assistant_call_arguments, assistant_tool_name
from thinkaloud.context.conversation import AnsweredTurn, Step
from thinkaloud.transcript import Block, Reply, Turn
from thinkaloud.transcript.outcome import outcome_of_end


def steps_of(answered: AnsweredTurn) -> tuple[Step, ...]:
    """A turn as the steps that a conversation has for it; one of a single reply is a step as it is."""
    turn = answered.turn
    if not turn.replies:
        return (answered,)
    steps, unfinished = replies_of(turn), _unfinished_blocks(turn)
    if not any(not block.blank for block in unfinished):
        return steps
    broken_off = Turn(
        dialect=turn.dialect, model=turn.model, blocks=_renumbered(unfinished), outcome=turn.outcome
    )
    return (*steps, AnsweredTurn(broken_off, provider=answered.provider))


def replies_of(turn: Turn, parent: int | None = None) -> tuple[Step, ...]:
    """What the turn itself said so far, or one of its assistants, and what its calls came back with."""
    steps: list[Step] = []
    for reply in turn.replies:
        if reply.parent == parent:
            blocks = [_as_tool_call(block) for block in turn.blocks_of(reply)]
            steps.append(AnsweredTurn(_turn_of_reply(reply, blocks), reply.prefix, reply.provider))
            steps += (_tool_message(block) for block in blocks if _has_result(block, reply))
    return tuple(steps)


def _unfinished_blocks(turn: Turn) -> list[Block]:
    """What the turn began to say after its last reply: a reply that never came to its end."""
    replied_until = max((reply.until for reply in turn.replies if reply.parent is None), default=0)
    return [block for block in turn.blocks[replied_until:] if block.parent is None]


def _turn_of_reply(reply: Reply, blocks: list[Block]) -> Turn:
    """The reply alone. Its calls are as the model left them: what they came to is a step of its own."""
    own_blocks = [
        msgspec.structs.replace(block, result=None) if block.number in reply.calls else block
        for block in blocks
    ]
    turn = Turn(
        dialect=reply.dialect,
        model=reply.model,
        blocks=_renumbered(own_blocks),
        usage=reply.usage,
        message=reply.message,
    )
    turn.outcome = outcome_of_end(turn, TurnEnded(reply.finish, reply.said))
    return turn


def _renumbered(blocks: list[Block]) -> list[Block]:
    return [msgspec.structs.replace(block, number=number, parent=None) for number, block in enumerate(blocks)]


def _has_result(block: Block, reply: Reply) -> bool:
    return block.number in reply.calls and block.result is not None


def _tool_message(block: Block) -> ToolMessage:
    result = "\n\n".join(text for text in (block.error, block.result) if text)
    return ToolMessage(block.call_id, result, block.name, failed=bool(block.error))


def _as_tool_call(block: Block) -> Block:
    """To a model, an assistant is a tool like any other."""
    if block.kind is not Kind.ASSISTANT_CALL:
        return block
    return msgspec.structs.replace(
        block,
        kind=Kind.TOOL_CALL,
        name=assistant_tool_name(block.name),
        pieces=[assistant_call_arguments(block.text)],
    )
