"""Files: read by their content, encoded by each dialect, replaced by a note where nobody can read them."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from tests.context.conversations import (
    CLAUDE,
    DEEPSEEK,
    GEMINI,
    GPT,
    INTERACTIONS,
    CityCall,
    answer_from,
    route,
)
from tests.context.conversations import user_message as user_prompt

from thinkaloud.client.files import MAX_BYTES, user_message
from thinkaloud.core.canon import Refused
from thinkaloud.core.canon.requests import File, Image, ToolMessage, UserMessage
from thinkaloud.core.catalog import Route
from thinkaloud.core.context import Context, build
from thinkaloud.core.dialects import build_request

PDF = File("application/pdf", "JVBERi0=", "report.pdf")
WAV = File("audio/wav", "UklGRg==", "voice.wav")


def parts(route: Route, *files: File) -> Any:
    context = Context((UserMessage("Read this.", (), files),))
    sent = json.loads(build_request(route, build(context, route).request).body)
    messages = sent.get("messages") or sent.get("input") or sent["contents"]
    return messages[0].get("content") or messages[0]["parts"]


@pytest.mark.parametrize(
    ("destination", "part"),
    [
        (
            CLAUDE,
            {
                "type": "document",
                "source": {"type": "base64", "media_type": "application/pdf", "data": PDF.data},
                "title": "report.pdf",
            },
        ),
        (
            GPT,
            {
                "type": "input_file",
                "filename": "report.pdf",
                "file_data": f"data:application/pdf;base64,{PDF.data}",
            },
        ),
        (
            route("openrouter/openai/gpt-5"),
            {
                "type": "file",
                "file": {"filename": "report.pdf", "file_data": f"data:application/pdf;base64,{PDF.data}"},
            },
        ),
        (GEMINI, {"inlineData": {"mimeType": "application/pdf", "data": PDF.data}}),
        (INTERACTIONS, {"type": "document", "data": PDF.data, "mime_type": "application/pdf"}),
        (
            route("bedrock/claude-opus-4.5"),
            {"document": {"format": "pdf", "name": "report pdf 1", "source": {"bytes": PDF.data}}},
        ),
    ],
)
def test_pdf_files_are_encoded_by_each_dialect(destination: Route, part: dict[str, Any]) -> None:
    assert part in parts(destination, PDF)


def test_recordings_go_to_models_that_hear() -> None:
    audio = {"type": "input_audio", "input_audio": {"data": WAV.data, "format": "wav"}}
    assert audio in parts(route("vllm/voxtral"), WAV)
    assert {"inlineData": {"mimeType": "audio/wav", "data": WAV.data}} in parts(GEMINI, WAV)


@pytest.mark.parametrize(
    ("destination", "file", "note"),
    [
        (DEEPSEEK, PDF, "(A PDF file was attached here, which this model does not take.)"),
        (CLAUDE, WAV, "(A recording was attached here, which this model does not take.)"),
        (route("ollama/gemma"), PDF, "(A PDF file was attached here, which this model does not take.)"),
    ],
)
def test_files_become_a_note_where_nobody_can_read_them(destination: Route, file: File, note: str) -> None:
    built = build(Context((UserMessage("Read this.", (), (file,)),)), destination)
    assert built.request.messages == (UserMessage(f"Read this.\n\n{note}"),)
    assert [line.code for line in built.report.lines] == ["no_audio" if file is WAV else "no_files"]
    assert len(built.report.notes) == 1


def test_files_are_read_by_their_content(tmp_path: Path) -> None:
    contents = {
        "picture.txt": b"\x89PNG\r\n\x1a\n0",
        "report": b"%PDF-1.7",
        "voice.bin": b"RIFF\0\0\0\0WAVE",
        "notes.md": "Grüße".encode(),
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    message = user_message("Look.", [tmp_path / name for name in contents])
    assert message.text == "Look.\n\nnotes.md:\n\nGrüße"
    assert message.images == (Image("image/png", base64.b64encode(contents["picture.txt"]).decode()),)
    assert [(file.media_type, file.name) for file in message.files] == [
        ("application/pdf", "report"),
        ("audio/wav", "voice.bin"),
    ]


def test_files_that_cannot_be_attached_are_refused(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\0\1\2")
    with open(tmp_path / "large", "wb") as file:
        file.truncate(MAX_BYTES + 1)
    for name, reason in (("binary", "is not text"), ("large", "larger than 20 MB"), ("none", "No such file")):
        with pytest.raises(Refused, match=reason):
            user_message("Look.", [tmp_path / name])


PNG = Image("image/png", "aGk=")


@pytest.mark.parametrize(
    ("destination", "part"),
    [
        (CLAUDE, {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}),
        (GPT, {"type": "input_image", "image_url": "data:image/png;base64,aGk=", "detail": "auto"}),
        (GEMINI, {"inlineData": {"mimeType": "image/png", "data": "aGk="}}),
        (route("bedrock/claude-opus-4.5"), {"image": {"format": "png", "source": {"bytes": "aGk="}}}),
        (
            route("openrouter/openai/gpt-5"),
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
        ),
    ],
)
def test_images_of_tool_results_go_to_models_that_see(destination: Route, part: dict[str, Any]) -> None:
    result = ToolMessage("call_1", "A map.", "get_weather", images=(PNG,))
    call = answer_from(GPT if destination is CLAUDE else CLAUDE, "Hm.", "", [CityCall("call_1", "Lima")])
    sent = build_request(destination, build(Context((user_prompt(), call, result)), destination).request).body
    assert json.dumps(part, separators=(",", ":")).encode() in sent
    assert b"A map." in sent


def test_images_of_tool_results_become_a_note_for_models_that_do_not_see() -> None:
    result = ToolMessage("call_1", "A map.", "get_weather", images=(PNG,))
    call = answer_from(CLAUDE, "Hm.", "", [CityCall("call_1", "Lima")])
    built = build(Context((user_prompt(), call, result)), DEEPSEEK)
    last = built.request.messages[-1]
    assert isinstance(last, ToolMessage)
    assert last.result == "A map.\n\n(An image was attached here, which this model does not take.)"
    assert last.images == ()


def test_images_of_tool_results_become_a_note_where_the_api_has_no_place_for_them() -> None:
    destination = route("mistral/mistral-medium-latest")
    result = ToolMessage("call_1", "A map.", "get_weather", images=(PNG, PNG))
    call = answer_from(CLAUDE, "Hm.", "", [CityCall("call_1", "Lima")])
    built = build(Context((user_prompt(), call, result)), destination)
    last = built.request.messages[-1]
    assert isinstance(last, ToolMessage)
    assert last.result == "A map.\n\n(2 images were returned here, which cannot be sent as a tool result.)"
    assert tuple(map(str, built.report.notes)) == (
        "mistral takes no images in tool results, so 2 images were replaced by a note in the text.",
    )
