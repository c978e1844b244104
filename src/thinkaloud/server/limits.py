"""How much of anything the gateway takes from one caller, each figure with its reason."""

import msgspec

KIB = 1024
MIB = 1024 * KIB


class GatewayLimits(msgspec.Struct, frozen=True, kw_only=True):
    """All of them; what goes beyond is refused with the name of the limit."""

    body_bytes: int = 10 * MIB
    """A prompt with a few pictures, or a session of years as markdown, fits; a flood does not."""
    header_bytes: int = 16 * KIB
    """The request line and all headers; browsers send 1 to 2 KiB, and no proxy takes more than 16."""
    head_s: float = 10.0
    """From the first byte to the end of the headers; who is slower holds a connection on purpose."""
    body_s: float = 60.0
    """For the whole body: 10 MiB at 1.4 Mbit/s."""
    query_parameters: int = 20
    """More than any route has."""
    reasoning_chars_per_block: int = 2 * MIB
    """Some 500,000 tokens: four times what any model thinks at once. Memory of one live turn follows it."""
    said_chars_per_turn: int = 8 * MIB
    """All blocks of a turn together, tool results included."""
    prompt_chars: int = 4 * MIB
    """A million tokens: the largest context there is."""
    readers_per_turn: int = 100
    """A class of people watching one answer; beyond it somebody opens tabs in a loop."""
    running_turns_per_user: int = 200
    """What one machine carries with ease. An application that asks for all its people is one user here."""
    page: int = 200
    """Rows of one page of a list: a screen or four, and a few milliseconds."""
