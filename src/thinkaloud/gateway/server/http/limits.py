"""The limits of the gateway, each with the reason for its value."""

import msgspec

from thinkaloud.core.wire.frames import KIB, MIB


class ProcessLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What a process that reads an uploaded file or writes an export may take. Two of each kind may run."""

    memory_bytes: int = 512 * MIB
    """A file of `body_bytes` takes a third of it, the interpreter a tenth."""
    cpu_s: int = 60
    """Ten times what a file of `body_bytes` takes on a slow machine."""
    wall_s: float = 180.0
    """On a machine that is busy with other things."""
    output_bytes: int = 512 * MIB
    """On the disk, for as long as the request takes."""


class GatewayLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits. A request beyond one is refused, and the message names the limit."""

    body_bytes: int = 10 * MIB
    """Enough for a prompt with a few images, or for years of one session as markdown."""
    bodies_bytes: int = 64 * MIB
    """The bodies of all requests together. Beyond it a body is refused for the moment."""
    unpacked_bytes: int = 256 * MIB
    """The conversations of an uploaded zip file, unpacked. Text is seldom packed to less than a tenth."""
    imports_per_user: int = 4
    """Running or waiting. Their bodies leave room for those of others within `bodies_bytes`."""
    exports_per_user: int = 20
    """Running or waiting. Those that wait hold nothing."""
    process: ProcessLimits = ProcessLimits()
    """Of each process that reads an import or writes an export."""
    header_bytes: int = 16 * KIB
    """Request line and headers. Browsers send 1 to 2 KiB, and common proxies accept at most 16 KiB."""
    head_s: float = 10.0
    """From the first byte to the end of the headers. A slower client is likely a slow-header attack."""
    body_s: float = 60.0
    """For the whole body: 10 MiB at 1.4 Mbit/s."""
    query_parameters: int = 20
    """More than any route has."""
    reasoning_chars_per_block: int = 2 * MIB
    """About 500,000 tokens, four times the longest reasoning of any model. Bounds the memory of a turn."""
    text_chars_per_turn: int = 8 * MIB
    """All blocks of a turn together, tool results included."""
    image_chars_per_turn: int = 64 * MIB
    """The base64 of all images that tools return in a turn: about fifty large screenshots."""
    blocks_per_turn: int = 10_000
    """Thoughts, texts and calls of a turn. Ten times a long day's work of an agent."""
    prompt_chars: int = 4 * MIB
    """About a million tokens, the largest context window of current models."""
    readers_per_turn: int = 100
    """Enough for a class that watches one turn. More readers suggest a client that reconnects in a loop."""
    running_turns_per_user: int = 200
    """What one machine runs with ease. An application that serves many people counts as one user."""
    page: int = 200
    """Rows on one page of a list. A page of this size takes a few milliseconds."""
