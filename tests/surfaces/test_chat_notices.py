"""What the chat tells: notices, the model that answers, places that were found, and the last lines."""

import asyncio
import inspect
import time

import msgspec
import pytest
from tests.surfaces.chat_pilot import ChatPilot, run_chat
from tests.surfaces.memory_backend import MemoryBackend, thought_and_answer

from thinkaloud.core.canon import BlockStarted, Kind, Refused, TurnEnded, TurnStarted
from thinkaloud.surfaces.chat.backend import FoundText, Responder, TurnCost
from thinkaloud.surfaces.tui.screens import status_line
from thinkaloud.surfaces.tui.screens.app import ChatOptions


def test_notices_are_shown_one_at_a_time() -> None:
    async def act(chat: ChatPilot) -> None:
        await chat.type("/thinking hide")
        await chat.sees("Thinking blocks: hidden")
        await chat.type("/thinking show")
        await chat.sees("Thinking blocks: shown")
        await chat.lost_sight_of("Thinking blocks: hidden")
        await chat.settles()

    run_chat(act, size=(80, 24))


@pytest.mark.parametrize("size", [(80, 24), (40, 15), (120, 40)])
def test_notices_cover_neither_a_grown_prompt_nor_a_window(size: tuple[int, int]) -> None:
    async def act(chat: ChatPilot) -> None:
        await chat.type("one\ntwo\nthree\nfour\nfive\nsix", send=False)
        chat.app.show_error(Refused("The disk is full. " * 8))
        await chat.sees("The disk is full.", "four", "six")
        line = chat.chat.status_line
        assert line.region.y >= chat.chat.composer.region.bottom
        assert line.region.bottom == size[1]
        await chat.press("f9")
        await chat.sees("Settings", "Theme", "Enter chooses")
        chat.app.show_notice("Later")
        await chat.press("escape")
        await chat.sees("Later")

    run_chat(act, size=size)


def test_notice_stays_until_the_window_over_it_was_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status_line, "NOTICE_S", 0.01)

    async def act(chat: ChatPilot) -> None:
        await chat.press("f9")
        await chat.sees("Theme")
        chat.app.show_notice("Written to a file.")
        await chat.pilot.pause(0.1)
        await chat.press("escape")
        await chat.until(lambda: chat.app.screen is chat.chat)
        await chat.sees("? keys")
        await chat.lost_sight_of("Written to a file.")

    run_chat(act)


class _ManyModels(MemoryBackend):
    async def models(self) -> list[Responder]:
        rows = [Responder(id=f"m{number}", name=f"m{number}") for number in range(40)]
        return [*rows, Responder(id="locked", name="Locked", ready=False, reason="No API key was found.")]


@pytest.mark.parametrize("size", [(80, 24), (40, 15)])
def test_long_model_list_leaves_room_for_its_keys_and_says_why_a_row_is_refused(
    size: tuple[int, int],
) -> None:
    async def act(chat: ChatPilot) -> None:
        await chat.press("ctrl+o")
        await chat.sees("m1", "Enter chooses")
        window, keys = (chat.app.screen.query_one(name) for name in (".window", ".window-keys"))
        assert window.content_region.bottom == keys.region.bottom  # nothing is left empty below a long list
        await chat.press(*"locked", "enter")
        await chat.sees("Locked: No API key")

    run_chat(act, backend=_ManyModels(), size=size)


class _KeylessModels(MemoryBackend):
    async def models(self) -> list[Responder]:
        local = Responder(id="qwen", name="Qwen", unchecked=("ollama", "vllm"))
        thinking = [Responder(id=name, name=name, thinking=name) for name in ("none", "optional", "always")]
        return [local, *thinking, Responder(id="claude", name="Claude", ready=False, keyless=("anthropic",))]


def test_model_list_says_in_the_language_of_the_person_what_is_missing() -> None:
    async def act(chat: ChatPilot) -> None:
        await chat.press("ctrl+o")
        await chat.sees("requer ollama ou vllm em execução", "Nenhuma chave de API encontrada para anthropic")
        await chat.sees("Sempre pensa", "Não pensa.")

    run_chat(act, backend=_KeylessModels(), options=ChatOptions(language="pt-BR"))


def test_errors_are_told_in_the_language_of_the_person() -> None:
    async def act(chat: ChatPilot) -> None:
        await chat.type("/attach /no/such.png")
        await chat.sees("Não foi possível anexar /no/such.png: Arquivo ou pasta inexistente.")

    run_chat(act, options=ChatOptions(language="pt-BR"))


def test_theme_that_is_chosen_is_saved() -> None:
    saved: list[str] = []

    async def act(chat: ChatPilot) -> None:
        await chat.type("/theme light")
        await chat.until(lambda: saved)
        assert chat.app.theme == "textual-light"

    run_chat(act, options=ChatOptions(save_theme=saved.append))
    assert saved == ["light"]


def test_title_names_the_default_model_and_the_picker_marks_it() -> None:
    async def act(chat: ChatPilot) -> None:
        await chat.sees("New conversation · ", "qwen")
        await chat.press("ctrl+o")
        await chat.sees("✓ Qwen")

    for name in ("qwen", "vllm/qwen"):
        run_chat(act, options=ChatOptions(default_model=name))


def test_search_names_session_and_date_and_says_if_nothing_was_found() -> None:
    backend = MemoryBackend()

    async def act(chat: ChatPilot) -> None:
        await chat.type("/search sea")
        await chat.sees("Nada foi encontrado.")
        backend.places = [
            FoundText(
                session="s1",
                turn="t1",
                kind="answer",
                snippet="the sea",
                session_title="Trip",
                created_ms=10**12,
            )
        ]
        await chat.press("s", "enter")
        await chat.sees("Trip · 2001-09-0", "Resposta", "the sea", "1 lugar")

    run_chat(act, backend=backend, options=ChatOptions(language="pt-BR"))


def test_quitting_reads_the_running_turn_to_its_end(capsys: pytest.CaptureFixture[str]) -> None:
    backend = MemoryBackend()

    async def act(chat: ChatPilot) -> None:
        await chat.type("Which one?")
        await chat.until(lambda: chat.called("ask"))
        backend.last_turn().say(*thought_and_answer("Half a thought.", "All of the answer.")[:3])
        await chat.sees("Half a thought.")
        await chat.press("ctrl+q")

    app = run_chat(act, backend=backend)
    assert "goes on in the gateway" in app.closing_lines(turns_go_on=True)[0]
    turn = backend.last_turn()
    turn.say(*thought_and_answer("Half a thought.", "All of the answer.")[3:])
    turn.end()
    asyncio.run(app.finish_turns())
    assert "A turn of this chat still runs" in capsys.readouterr().err
    assert "All of the answer." in app.transcript(100)
    assert app.closing_lines(turns_go_on=True) == [f"To go on: thinkaloud chat -s {app.shown_session}"]


def test_invalid_entry_of_a_gateway_ends_the_turn_and_not_the_chat() -> None:
    async def act(chat: ChatPilot) -> None:
        await chat.type("Hello")
        await chat.until(lambda: chat.called("ask"))
        chat.backend.last_turn().say(TurnStarted(), BlockStarted(0, Kind.REASONING), TurnEnded(), step_ms=0)
        await chat.sees("The gateway sent an invalid entry")
        await chat.type("/thinking hide")
        await chat.sees("Thinking blocks: hidden")

    run_chat(act)


def test_work_that_the_end_of_the_chat_overtakes_is_closed() -> None:
    started = []

    async def work() -> None:
        started.append(True)

    flow = work()

    async def act(chat: ChatPilot) -> None:
        chat.chat.run_flow(flow)
        chat.app.workers.cancel_all()

    run_chat(act)
    assert not started
    assert inspect.getcoroutinestate(flow) == inspect.CORO_CLOSED


@pytest.mark.parametrize(
    ("locale", "known", "unknown"),
    [
        (
            "en-US",
            "1,234 + 56 tokens · $0.00123 · 1% of context",
            "tokens unknown · cost unknown · context unknown",
        ),
        (
            "pt-BR",
            "1.234 + 56 tokens · US$ 0,00123 · 1% do contexto",
            "tokens desconhecidos · custo desconhecido · contexto desconhecido",
        ),
    ],
)
def test_line_below_tells_tokens_cost_and_share_of_the_context(locale: str, known: str, unknown: str) -> None:
    backend = MemoryBackend()
    first = backend.add_session("First", [("q", "t", "Answer one")]).id
    second = backend.add_session("Second", [("q", "t", "Answer two")]).id
    backend.costs[backend.turns_by_session[first][0].id] = TurnCost(
        input_tokens=1234, output_tokens=56, usd="0.00123", context_tokens=1290, context_window=128_000
    )

    async def act(chat: ChatPilot) -> None:
        await chat.sees("Answer one", known)
        await chat.chat.open_session(second)
        await chat.sees("Answer two", unknown)

    run_chat(act, backend=backend, options=ChatOptions(session=first, language=locale))


def test_list_of_sessions_tells_the_time_and_who_answers() -> None:
    backend = MemoryBackend()
    now_ms = int(time.time() * 1000)
    days = {"Today": now_ms, "Long ago": 1_000_000_000_000}
    for title, updated_ms in days.items():
        info = backend.add_session(title, [("q", "t", "a")])
        backend.rows[info.id] = msgspec.structs.replace(info, updated_ms=updated_ms, model="qwen")

    async def act(chat: ChatPilot) -> None:
        clock = time.strftime("%H:%M", time.localtime(now_ms / 1000))
        await chat.sees("Today", f"{clock} · qwen", "Long ago", "2001-09-09 · qwen")

    run_chat(act, backend=backend, size=(120, 30))
