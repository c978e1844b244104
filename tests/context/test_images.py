"""Images go only to models that take them; the others get a note in the text."""

import json

import pytest
from tests.context.conversations import CLAUDE, DEEPSEEK, KIMI, OLLAMA, route
from tests.simulators.rule_cases import HttpReply, post_json, with_simulator

from thinkaloud.core.canon.requests import Image, UserMessage
from thinkaloud.core.catalog import Route
from thinkaloud.core.context import Context, SendStatus, build
from thinkaloud.core.dialects import build_request
from thinkaloud.simulators import Simulator

PNG = Image("image/png", "aGk=")
LOOK = Context(steps=(UserMessage("Look.", (PNG, PNG)), UserMessage("", (PNG,)), UserMessage("And now?")))


@pytest.mark.parametrize("destination", [CLAUDE, route("moonshot/kimi-k2.6"), OLLAMA])
def test_images_are_sent_to_models_that_take_them_or_may(destination: Route) -> None:
    built = build(LOOK, destination)
    assert built.request.messages == LOOK.steps
    assert (built.report.lines, built.report.notes) == ((), ())


@pytest.mark.parametrize("destination", [DEEPSEEK, KIMI])
def test_images_become_a_note_for_models_that_take_none(destination: Route) -> None:
    built = build(LOOK, destination)
    assert built.request.messages == (
        UserMessage("Look.\n\n(2 images were attached here, which this model does not take.)"),
        UserMessage("(An image was attached here, which this model does not take.)"),
        UserMessage("And now?"),
    )
    assert [(line.step, line.kind, line.status, line.code) for line in built.report.lines] == [
        (step, "image", SendStatus.TRANSFORMED, "no_images") for step in (0, 0, 1)
    ]
    assert tuple(map(str, built.report.notes)) == (
        f"{destination.model_id} takes no images, so 3 images were replaced by a note in the text.",
    )


def test_deepseek_answers_a_conversation_with_images() -> None:
    """The simulator refuses an image, as DeepSeek does."""
    body = json.loads(build_request(DEEPSEEK, build(LOOK, DEEPSEEK).request).body)
    refused = json.loads(build_request(DEEPSEEK, build(LOOK, CLAUDE).request).body) | {"model": body["model"]}

    async def scenario(server: Simulator) -> tuple[HttpReply, HttpReply]:
        path = "/chat/completions"
        return await post_json(server, path, body), await post_json(server, path, refused)

    accepted, refusal = with_simulator("deepseek", scenario)
    assert (accepted.status, refusal.status) == (200, 400)
    assert "unknown variant `image_url`" in refusal.json["error"]["message"]
