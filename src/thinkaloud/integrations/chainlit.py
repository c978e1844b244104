"""Chainlit: `show` sends an answer as it arrives: its thinking in one message, its text in the next.

The element is a custom element of Chainlit, whose file this module serves itself. Entries come in elements of
their own, which are removed at the end: then the block has all of the turn, and a data layer keeps it.
"""

import json
from collections.abc import Mapping
from contextlib import aclosing
from typing import Any
from uuid import uuid4

import chainlit as cl
from chainlit.config import config
from chainlit.server import app
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from thinkaloud.core.export.markdown_format import TextForm, format_text, without_html
from thinkaloud.core.transcript import Turn
from thinkaloud.core.view import read_policy
from thinkaloud.integrations.chunks import CHUNKS_SCRIPT, TurnChunks, whole_turn
from thinkaloud.integrations.element import batches_async, followed, script, unshown_notice

_NAME = "ThinkaloudTurn"
_ELEMENT = """
import { useEffect, useRef } from "react";

const SCRIPT = "/public/thinkaloud/element.js";
const STYLE = {
  "--thinking-accent": "hsl(var(--primary))",
  "--thinking-background": "transparent",
  "--thinking-border": "hsl(var(--border))",
  "--thinking-color": "hsl(var(--foreground))",
  "--thinking-error-color": "hsl(var(--destructive))",
  "--thinking-font": "1rem / 1.6 var(--font-sans)",
  "--thinking-muted-color": "hsl(var(--muted-foreground))",
  "--thinking-rule-color": "hsl(var(--border))",
};

export default function ThinkaloudTurn() {
  const place = useRef(null);
  useEffect(() => {
    if (document.querySelector("script[data-thinkaloud]")) return;
    const script = document.createElement("script");
    script.src = apiClient.buildEndpoint(SCRIPT);
    script.dataset.thinkaloud = "";
    document.head.append(script);
  }, []);
  useEffect(() => {
    customElements.whenDefined("thinking-block").then(() => {
      const lang = props.lang || navigator.language;
      if (props.policy) globalThis.thinkingTurns.place(place.current, { ...props, lang });
      if (props.lines) globalThis.thinkingTurns.feed(props);
    });
  }, [props]);
  return <div ref={place} style={STYLE} />;
}
"""


def _serve(path: str, text: str, media_type: str) -> None:
    """Serve a text from Chainlit's own server, before its route for the files of the app."""

    async def respond(request: Request) -> Response:
        return Response(text, media_type=media_type, headers={"Cache-Control": "no-cache"})

    app.router.routes.insert(0, Route(f"{config.run.root_path or ''}/public/{path}", respond))


_serve(f"elements/{_NAME}.jsx", _ELEMENT, "text/plain")
_serve("thinkaloud/element.js", f"{script()}\n{CHUNKS_SCRIPT}", "text/javascript")


async def show(source: object, *, policy: Mapping[str, str | bool] | None = None, lang: str = "") -> Turn:
    """Send the messages of a stream as it arrives, and return its turn.

    `source` is what `thinkaloud.follow` takes or returns, or a turn, which is sent whole. `policy` are
    display settings, and `lang` is the language of the words, by default the browser's.
    """
    read_policy(policy or {})
    settings = {"policy": dict(policy or {}), "lang": lang}
    if isinstance(source, Turn):
        drawing = await _Drawing.begin(source, settings)
        await drawing.end()
        return source
    following = followed(source)
    drawing = await _Drawing.begin(following.turn, settings)
    try:
        async with aclosing(batches_async(following)) as batches:
            async for lines in batches:
                await drawing.draw(lines)
    finally:
        await drawing.end()
    return following.turn


class _Drawing:
    """The two messages of one turn."""

    def __init__(self, turn: Turn, settings: Mapping[str, Any]) -> None:
        self._turn = turn
        self._name = uuid4().hex
        self._block = cl.CustomElement(name=_NAME, props={"turn": self._name, **settings})
        self._message = cl.Message(content="", elements=[self._block])
        self._answer = cl.Message(content="")
        self._chunks = TurnChunks(self._name)
        self._entries: list[cl.CustomElement] = []

    @classmethod
    async def begin(cls, turn: Turn, settings: Mapping[str, Any]) -> "_Drawing":
        """Send the block of a turn."""
        drawing = cls(turn, settings)
        await drawing._message.send()
        return drawing

    async def draw(self, lines: str) -> None:
        """Send what these lines add."""
        chunk = self._chunks.add(lines)
        if self._chunks.number == len(self._entries):
            self._entries.append(cl.CustomElement(name=_NAME, for_id=self._message.id))
        self._entries[-1].props = chunk
        # Not by its own `send`, which would keep every value of it in a file.
        await cl.context.emitter.send_element(self._entries[-1].to_dict())
        await self._draw_answer()

    async def end(self) -> None:
        """Let the block alone have all of the turn, and send the whole answer."""
        self._block.props |= whole_turn(self._name, self._turn)
        self._block.content = json.dumps(self._block.props)
        await self._block.update()
        for element in self._entries:
            await cl.context.emitter.emit("remove_element", {"id": element.id})
        await self._draw_answer()
        if ending := unshown_notice(self._turn, self._block.props["lang"]):
            await self._answer.stream_token("\n\n" + format_text(f"*{ending}*", TextForm.PLAIN)[1])
        if self._answer.content:
            await self._answer.send()

    async def _draw_answer(self) -> None:
        answer, drawn = without_html(self._turn.answer), self._answer.content
        if answer.startswith(drawn):
            await self._answer.stream_token(answer[len(drawn) :])
        else:
            await self._answer.stream_token(answer, is_sequence=True)
