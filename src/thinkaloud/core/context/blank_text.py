"""Removes blank text from a provider's own message, which some providers refuse although they sent it."""

import msgspec


class _ContentBlock(msgspec.Struct):
    type: str = "text"
    text: str | None = None


_fields_decoder = msgspec.json.Decoder(dict[str, msgspec.Raw])
_blocks_decoder = msgspec.json.Decoder(list[msgspec.Raw])
_block_decoder = msgspec.json.Decoder(_ContentBlock)


def without_blank_text(message: str) -> str:
    """Return the message without blank text blocks. All other bytes of its content stay as they are."""
    fields = _fields_decoder.decode(message)
    content = fields.get("content", msgspec.Raw(b""))
    if bytes(content)[:1] != b"[":
        return message
    blocks = _blocks_decoder.decode(content)
    kept = [block for block in blocks if not _blank(block)]
    if len(kept) == len(blocks):
        return message
    fields["content"] = msgspec.Raw(msgspec.json.encode(kept))
    return msgspec.json.encode(fields).decode()


def _blank(raw: msgspec.Raw) -> bool:
    block = _block_decoder.decode(raw)
    return block.type == "text" and block.text is not None and not block.text.strip()
