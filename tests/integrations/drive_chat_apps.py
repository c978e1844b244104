"""Chat apps as they are: the pipe in Open WebUI's own server, and LibreChat's YAML in its own schema.

`make integrations` runs it. Open WebUI is installed from the registry at its newest version, about 5 GB, and
runs without network.
"""

import json
import os
import re
import subprocess
import time
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen
from uuid import uuid4

import pytest
from tests.cli.environment import running_simulator
from tests.integrations.environments import ROOT, environment_of
from tests.integrations.screen_table import PAGES
from tests.integrations.test_servers import free_port, running, wait_until
from tests.patience import PATIENCE_S

PIPE = ROOT / "examples/open_webui_pipe.py"
MODEL = "deepseek/deepseek-v4-pro"
TOOL = "get_current_timestamp"
"""A tool that Open WebUI has itself. This model refuses its result without the thought before the call."""
SCRIPT: list[Any] = [
    {"thinking": "Look at the clock.", "tool_calls": [{"name": TOOL, "arguments": {}}]},
    {"thinking": "Now I know.", "text": "It is late."},
    {"thinking": "Later.", "text": "Even later."},
    {"thinking": "A title.", "text": "The time"},
]
ENVIRONMENT = {
    "WEBUI_AUTH": "False",
    "OFFLINE_MODE": "True",
    "HF_HUB_OFFLINE": "1",
    "RAG_EMBEDDING_ENGINE": "openai",
    "ENABLE_OLLAMA_API": "False",
    "ENABLE_OPENAI_API": "False",
    "WEBUI_SECRET_KEY": "any",
    "DEEPSEEK_API_KEY": "any-key",
}

pytestmark = pytest.mark.timeout(0)


class OpenWebUi:
    """The interface that the page of Open WebUI uses."""

    def __init__(self, port: int) -> None:
        self._url = f"http://127.0.0.1:{port}"
        self._token = ""
        self._token = self.call("/api/v1/auths/signin", {"email": "", "password": ""})["token"]

    def call(self, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self._token}"}
        with urlopen(Request(self._url + path, data, headers), timeout=PATIENCE_S) as response:
            return json.load(response)

    def install(self, base_url: str) -> str:
        """Add the pipe as an administrator does, and return the name of its model."""
        meta = {"description": "Asks through Thinkaloud"}
        content = PIPE.read_text("utf-8")
        form = {"id": "thinkaloud", "name": "Thinkaloud", "content": content, "meta": meta}
        self.call("/api/v1/functions/create", form)
        self.call("/api/v1/functions/id/thinkaloud/toggle", {})
        valves = {"base_url": base_url, "models": MODEL, "thinking": "low"}
        self.call("/api/v1/functions/id/thinkaloud/valves/update", valves)
        [model] = self.call("/api/models?refresh=true")["data"]
        return str(model["id"])

    def ask(self, model: str, question: str, chat: str = "", parent: str | None = None) -> dict[str, Any]:
        """Ask in a new chat, or after an answer, and return the answer as it is stored."""
        answer = str(uuid4())
        message: dict[str, Any] = {"id": str(uuid4()), "role": "user", "content": question}
        message |= {"parentId": parent, "childrenIds": [], "timestamp": int(time.time()), "models": [model]}
        question_alone = [{"role": "user", "content": question}]
        form: dict[str, Any] = {"model": model, "stream": True, "messages": question_alone}
        form |= {"parent_id": parent, "user_message": message, "id": answer, "session_id": "s1"}
        started = self.call("/api/chat/completions", form | ({"chat_id": chat} if chat else {}))
        chat = chat or started["chat_id"]

        def stored() -> dict[str, Any]:
            history = self.call(f"/api/v1/chats/{chat}")["chat"]["history"]
            found: dict[str, Any] = history["messages"].get(answer, {})
            return found

        wait_until(lambda: stored().get("done"))
        return {**stored(), "chat": chat}


def items_of(answer: dict[str, Any], kind: str) -> list[Any]:
    return [item for item in answer["output"] if item["type"] == kind]


def text_of(item: dict[str, Any]) -> str:
    return "".join(part.get("text", "") for part in item["content"])


def test_pipe_shows_thoughts_and_sends_them_back(tmp_path: Path) -> None:
    port = free_port()
    program = environment_of(".venv-openwebui", "open-webui").with_name("open-webui")
    command = [str(program), "serve", "--host", "127.0.0.1", "--port", str(port)]
    environment = {**os.environ, **ENVIRONMENT, "DATA_DIR": str(tmp_path), "HOME": str(tmp_path)}
    with (
        running_simulator("deepseek", SCRIPT) as simulator,
        running(command, port, tmp_path, environment),
    ):
        app = OpenWebUi(port)
        model = app.install(simulator.base_url)
        first = app.ask(model, "What time is it?")
        second = app.ask(model, "And now?", first["chat"], first["id"])
        title = {"model": model, "stream": False, "messages": [{"role": "user", "content": "A title?"}]}
        whole = app.call("/api/chat/completions", title)
        assert simulator.refusals == []
        sent = [json.loads(request.raw)["messages"] for request in simulator.requests]
    assert [text_of(item) for item in items_of(first, "reasoning")] == ["Look at the clock.", "Now I know."]
    assert [item["name"] for item in items_of(first, "function_call")] == [TOOL]
    assert first["content"] == "It is late."
    assert [text_of(item) for item in items_of(second, "reasoning")] == ["Later."]
    assert second["content"] == "Even later."
    for messages in sent[1:3]:
        [call] = [message for message in messages if message.get("tool_calls")]
        assert call["reasoning_content"] == "Look at the clock."
    assert whole["choices"][0]["message"]["content"] == "The time"


_CHECK = """
const { configSchema } = require("librechat-data-provider");
const { load } = require("js-yaml");
const text = require("fs").readFileSync(0, "utf8");
const [whole, without] = [load(text), load(text)];
without.endpoints.custom[0].models = {};
const fits = (config) => configSchema.strict().safeParse(config).success;
console.log(JSON.stringify([fits(whole), fits(without)]));
"""


def test_yaml_of_librechat_fits_its_schema(tmp_path: Path) -> None:
    page = (PAGES / "librechat.md").read_text("utf-8")
    yaml = re.search(r"```yaml\n(.*?)```", page, re.DOTALL)
    assert yaml is not None
    install = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(tmp_path)]
    subprocess.check_call([*install, "librechat-data-provider", "js-yaml"])
    output = subprocess.check_output(["node", "-e", _CHECK], cwd=tmp_path, input=yaml[1], text=True)
    assert json.loads(output) == [True, False]
