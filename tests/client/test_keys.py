"""Keys: looked up by reference, masked everywhere, and sent only to their own origin."""

import asyncio
import copy
import json
import logging
import pickle
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import msgspec
import pytest
from tests.client.upstream import (
    CHUNKED,
    FACT,
    KEY,
    STORY,
    STREAM,
    RequestHandler,
    UpstreamRequest,
    http_chunk,
    http_response,
    make_client,
    prepared,
    run,
    serve_upstream,
    sse_event,
)

from thinkaloud.client import (
    ClientEnvironment,
    Options,
    Secret,
    Timeouts,
    UnsafeAddress,
    entries,
    resolve_key,
)
from thinkaloud.client.keys import read_key_file
from thinkaloud.client.user_files import home_folder
from thinkaloud.core.canon import Entry, KeyMissing, ThinkaloudError
from thinkaloud.core.catalog.rows import AuthScheme, Provider


def resolved(reference: str, **environ: str) -> str:
    secret = resolve_key(reference, environ=environ)
    assert secret is not None
    return secret.reveal()


def missing_message(reference: str, **environ: str) -> str:
    with pytest.raises(KeyMissing) as error_info:
        resolve_key(reference, environ=environ)
    return str(error_info.value)


def test_a_key_from_the_environment() -> None:
    assert resolved("env:ACME_KEY", ACME_KEY=f" {KEY}\n") == KEY
    assert missing_message("env:ACME_KEY") == (
        "ACME_KEY is not set, so there is no key to send. Set it: export ACME_KEY=..."
    )
    assert missing_message("env:ACME_KEY", ACME_KEY=" ").startswith("ACME_KEY is empty")


def test_a_key_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "key"
    assert "cannot be read: No such file" in missing_message(f"file:{path}")
    path.write_text(f"{KEY}\n")
    assert resolved(f"file:{path}") == KEY
    assert read_key_file(str(path)) == f"{KEY}\n"
    path.write_bytes(b"\xff\xfe")
    assert "it is not text" in missing_message(f"file:{path}")


def test_a_key_from_the_credentials_file(tmp_path: Path) -> None:
    """R045: the credentials file has it as `ai.claude.api_token`; the environment comes first."""
    reference, home = "env:ACME_KEY | credentials:ai.claude.api_token", str(tmp_path)
    message = missing_message(reference, THINKALOUD_HOME=home)
    assert message.startswith("ACME_KEY is not set")
    assert "No credentials file found" in message
    path = tmp_path / "credentials.toml"
    path.touch(mode=0o600)
    path.write_text(f'[ai.claude]\napi_token = "{KEY}"\n[ai]\nother = 3\n')
    assert resolved(reference, THINKALOUD_HOME=home) == KEY
    assert (
        resolved(reference, THINKALOUD_HOME=home, ACME_KEY="from-the-environment") == "from-the-environment"
    )
    assert "is not set" in missing_message("credentials:ai.other", THINKALOUD_HOME=home)
    assert "is not set" in missing_message("credentials:ai.claude.api_token.more", THINKALOUD_HOME=home)
    path.chmod(0o644)
    assert "chmod 600" in missing_message("credentials:ai.claude.api_token", THINKALOUD_HOME=home)
    path.write_text("not = = toml")
    assert "it is not valid TOML" in missing_message("credentials:ai.claude.api_token", THINKALOUD_HOME=home)


def test_home_folder_is_the_platforms_unless_set() -> None:
    assert home_folder({"THINKALOUD_HOME": "/there"}) == Path("/there")
    assert home_folder({}).name == "thinkaloud"


def test_a_key_from_the_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    assert "the package keyring is not installed" in missing_message("keyring:acme/me")
    ring = ModuleType("keyring")
    monkeypatch.setitem(sys.modules, "keyring", ring)
    monkeypatch.setattr(ring, "get_password", {("acme", "me"): KEY}.get, raising=False)
    monkeypatch.setattr(ring, "get_password", lambda service, user: KEY if user == "me" else None)
    assert resolved("keyring:acme/me") == KEY
    assert missing_message("keyring:acme/you").endswith("Set it: keyring set acme you")

    def locked(service: str, user: str) -> None:
        raise RuntimeError(KEY)

    monkeypatch.setattr(ring, "get_password", locked)
    message = missing_message("keyring:acme/me")
    assert "could not be opened (RuntimeError)" in message
    assert KEY not in message


def test_an_empty_reference_needs_no_key() -> None:
    assert resolve_key("", environ={}) is None


@pytest.mark.parametrize("reference", [KEY, "env:", "file:", "keyring:acme", "keyring:/me", "vault:x"])
def test_an_unknown_kind_of_reference_is_refused(reference: str) -> None:
    assert "env:NAME, file:PATH, keyring:SERVICE/USER or credentials:NAME" in missing_message(reference)


@pytest.mark.parametrize("value", ["two words", "line\nend", "schlüssel", "bell\a"])
def test_an_invalid_key_is_not_sent(value: str) -> None:
    message = missing_message("env:ACME_KEY", ACME_KEY=value)
    assert "is not a valid key" in message
    assert value not in message


def test_a_secret_is_masked_unless_revealed() -> None:
    secret = Secret(KEY)
    container = {"key": secret, "header": secret.header("Bearer ")}
    shown = [f"{secret}", f"{secret!r:>20}", repr(container), str([secret])]
    assert KEY not in "".join(shown)
    assert secret.reveal() == KEY
    assert secret.header("Bearer ") == f"Bearer {KEY}"
    assert secret.mask_in(f"bad key {KEY}!") == "bad key ***!"
    assert Secret("a").mask_in("a cat") == "a cat"
    for store in (pickle.dumps, copy.deepcopy, json.dumps, msgspec.json.encode):
        with pytest.raises(TypeError):
            store(secret)


def sends(*data: bytes) -> RequestHandler:
    async def act(request: UpstreamRequest) -> None:
        await request.send(*data)

    return act


async def resets(request: UpstreamRequest) -> None:
    request.reset()


async def waits(request: UpstreamRequest) -> None:
    await request.wait_closed()


async def stalls(request: UpstreamRequest) -> None:
    await request.send(CHUNKED, http_chunk(STORY[0]))
    await request.wait_closed()


QUOTED = b'{"error":{"message":"Incorrect key: %s","code":"%s"}}' % (KEY.encode(), KEY.encode())
FAILURES: dict[str, RequestHandler] = {
    "refused": sends(http_response("401 No", QUOTED, x_request_id=KEY)),
    "refused in plain text": sends(http_response("403 No", f"who is {KEY}?".encode())),
    "faulty": sends(http_response("500 No", QUOTED)),
    "limited": sends(http_response("429 No", QUOTED, Retry_After="1")),
    "redirected": sends(http_response("302 No", Location=f"http://{KEY}@example.invalid/{KEY}")),
    "a web page": sends(http_response("200 OK", KEY.encode(), Content_Type="text/html")),
    "not http": sends(KEY.encode() + b"\r\n\r\n"),
    "bad header": sends(b"HTTP/1.1 200 OK\r\n" + KEY.encode() + b"\r\n\r\n"),
    "reset": resets,
    "silent": waits,
    "stalled": stalls,
    "broken": sends(CHUNKED, http_chunk(STORY[0]), b"zz\r\n"),
    "an error in the stream": sends(STREAM, STORY[0], sse_event(QUOTED.decode())),
    "bad gzip": sends(http_response("200 OK", KEY.encode(), Content_Encoding="gzip")),
}


def dump(error: BaseException) -> Iterator[str]:
    """Return everything that tools print of an error: its chain, its frames and their local variables."""
    yield repr(error)
    yield repr(vars(error))
    yield "".join(traceback.format_exception(error))
    for cause in (error.__cause__, error.__context__):
        if cause is not None:
            yield from dump(cause)
    trace = traceback.TracebackException.from_exception(error, capture_locals=True)
    for frame in trace.stack:
        if "/tests/" not in frame.filename:
            yield f"{frame.name} {frame.locals}"


@pytest.mark.parametrize("mishap", FAILURES)
def test_a_key_never_appears_in_errors_or_logs(mishap: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    async def scenario() -> list[str]:
        asyncio.get_running_loop().set_debug(True)
        read_entries: list[Entry] = []
        http_client = make_client(timeouts=Timeouts(1, 0.3, 0.3))
        async with serve_upstream(FAILURES[mishap]) as upstream, http_client:
            try:
                async for entry in entries(prepared(upstream.route()), options=Options(client=http_client)):
                    read_entries.append(entry)
            except ThinkaloudError as error:
                return [*dump(error), repr(read_entries), repr(http_client)]
            return [repr(read_entries), repr(http_client)]

    shown = run(scenario())
    shown += [record.getMessage() + str(record.exc_text) for record in caplog.records]
    assert [text for text in shown if KEY in text] == []


def test_a_key_never_appears_after_a_cancellation() -> None:
    async def scenario() -> list[str]:
        async with serve_upstream(waits) as upstream, make_client() as http_client:
            task = asyncio.create_task(
                http_client.fetch(upstream.provider(auth=AuthScheme.X_API_KEY), "/models")
            )
            await asyncio.sleep(0.1)
            task.cancel()
            try:
                await task
            except asyncio.CancelledError as error:
                return list(dump(error))
            return []

    shown = run(scenario())
    assert shown
    assert [text for text in shown if KEY in text] == []


def test_a_missing_key_error_does_not_show_other_keys() -> None:
    async def scenario() -> list[str]:
        environ = {"OTHER_KEY": KEY}
        async with make_client(environ=environ) as http_client, serve_upstream(waits) as upstream:
            shown: list[str] = []
            for reference in ("env:ACME_KEY", "file:no-such-file"):
                request_coroutine = msgspec.structs.replace(upstream.provider(), key=reference)
                with pytest.raises(KeyMissing) as error_info:
                    await http_client.fetch(request_coroutine, "/models")
                shown += dump(error_info.value)
            assert upstream.requests == []
            return shown

    assert [text for text in run(scenario()) if KEY in text] == []
    assert KEY not in repr(ClientEnvironment(environ={"ACME_KEY": KEY}))


def provider(base_url: str, *, local: bool = False) -> Provider:
    return Provider(
        name="acme", dialect="openai_chat", base_url=base_url, key="env:ACME_KEY", local=local, fact=FACT
    )


def refusal_message(base_url: str, path: str = "/models", *, local: bool = False) -> str:
    async def scenario() -> str:
        async with make_client() as http_client:
            with pytest.raises(UnsafeAddress) as error_info:
                await http_client.fetch(provider(base_url, local=local), path)
            return str(error_info.value)

    return run(scenario())


@pytest.mark.parametrize(
    "path", ["@evil.invalid/x", ":99/x", ".evil.invalid/x", "models", "", "\\evil", "/a b", "/\r\nHost: x"]
)
def test_a_path_cannot_leave_its_origin(path: str) -> None:
    """S12."""
    assert "leads away" in refusal_message("https://api.acme.invalid", path)


@pytest.mark.parametrize(
    "base_url",
    [
        "ftp://acme.invalid",
        "acme.invalid",
        "https://me:pass@acme.invalid",
        "https://acme.invalid?to=x",
        "https://acme.invalid/#x",
        "https://",
        "https://acme.invalid:port",
        "",
    ],
)
def test_a_base_url_with_user_query_or_fragment_is_refused(base_url: str) -> None:
    message = refusal_message(base_url)
    assert "Correct base_url" in message
    assert "pass" not in message


@pytest.mark.parametrize(
    "host",
    [
        "169.254.169.254",
        "[fe80::1]",
        "[::ffff:169.254.169.254]",
        "[64:ff9b::169.254.169.254]",
        "[64:ff9b:1::a9fe:a9fe]",
        "[2002:a9fe:a9fe::1]",
        "[::ffff:a9fe:a9fe]",
        "0xa9fea9fe",
        "0.0.0.0",
        "[::]",
        "224.0.0.1",
    ],
)
def test_no_spelling_of_a_link_local_address_is_connected_to(host: str) -> None:
    """S12."""
    assert "which no provider can have" in refusal_message(f"http://{host}:1", local=True)


@pytest.mark.parametrize("host", ["2852039166", "0251.0376.0251.0376", "169.254.43518"])
def test_numeric_hosts_that_are_not_addresses_are_refused(host: str) -> None:
    assert "is a number, but no IP address" in refusal_message(f"http://{host}:1", local=True)


def test_a_key_is_sent_unencrypted_only_to_this_machine() -> None:
    assert "would be sent unencrypted" in refusal_message("http://acme.invalid")
    assert "would be sent unencrypted" in refusal_message("http://10.0.0.1")
