"""The moving picture of the terminal shows what the chat really draws."""

import asyncio
import re
import runpy
import xml.etree.ElementTree as ElementTree
from pathlib import Path

DRAW = Path(__file__).parents[2] / "docs" / "pictures" / "draw_chat.py"


def _texts(svg: str) -> set[str]:
    """The texts of a picture, without times that differ from run to run."""
    root = ElementTree.fromstring(svg)
    texts = {element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}text")}
    return {text for text in texts if not re.search(r"\d(?:\.\d+)?s\b", text)}


def test_moving_picture_is_small_and_ends_as_the_chat_does() -> None:
    draw = runpy.run_path(str(DRAW))
    picture = draw["PICTURE"].read_text("utf-8")
    assert len(picture.encode()) <= draw["MOST_BYTES"]
    film = asyncio.run(draw["film"]())
    _, last_rows = film.frames[-1]
    last_frame = _texts(f'<svg xmlns="http://www.w3.org/2000/svg">{"".join(last_rows)}</svg>')
    assert len(last_frame) > 10
    assert last_frame <= _texts(picture), "run: python docs/pictures/draw_chat.py"
