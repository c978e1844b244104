"""The short texts of a header: label, time, counts, and the one line made of them.

A number is said only when it is known. At rest the time is part of the label ("Thought for 4.2s"),
so the header does not say it twice.
"""

from thinkaloud.transcript import Ending, Thinking, Turn
from thinkaloud.view.policy import Header
from thinkaloud.view.scene import Scene
from thinkaloud.view.standing import Standing, connection_lost
from thinkaloud.view.words import Words

ICONS = {
    Standing.THINKING: "⚙",
    Standing.DONE: "💭",
    Standing.ERROR: "⚠",
    Standing.INTERRUPTED: "💭",
}
TOOL_ICON = "🔧"


def time_text(words: Words, time: Thinking | None) -> str:
    """How long, marked when it is the best that can be said; nothing when nobody knows."""
    if time is None:
        return ""
    duration = words.duration(time.ms)
    return words.say("ai.thinking.approximate", duration=duration) if time.approximate else duration


def thought_label(scene: Scene, standing: Standing, time: Thinking | None) -> str:
    """The label of a thought, or of all of them."""
    if standing is Standing.THINKING:
        return scene.words.say("ai.thinking.streaming")
    if standing is not Standing.DONE:
        return _broken(scene, standing)
    if duration := time_text(scene.words, time):
        return scene.words.say("ai.thinking.complete", duration=duration)
    return scene.words.say("ai.thinking.complete_unknown")


def turn_label(scene: Scene) -> str:
    """The label of the whole panel: a status word where the header is a summary or nothing was thought."""
    summed_up = scene.policy.header is Header.SUMMARY
    if scene.standing is Standing.THINKING and summed_up:
        return scene.words.say("ai.thinking.status.thinking")
    if scene.standing is Standing.DONE and (summed_up or not scene.thoughts):
        return scene.words.say("ai.thinking.status.done")
    return thought_label(scene, scene.standing, scene.time)


def counted(words: Words, key: str, n: int | None) -> str:
    """A count in words; nothing for none and for unknown."""
    return words.say(key, n=n) if n else ""


def badge(words: Words, n: int) -> str:
    """How many tools were used, assistants among them."""
    return f"{TOOL_ICON} {words.say('ai.thinking.tools', n=n)}" if n else ""


def header_line(scene: Scene, facts: list[str], text: str) -> str:
    """One line for a closed panel: icon, facts and text, in the form the policy asks for."""
    icon = ICONS[scene.standing]
    said = " · ".join(fact for fact in facts if fact)
    match scene.policy.header:
        case Header.LABEL:
            return f"{icon} {said}"
        case Header.SUMMARY if text:
            return f"{icon} {text} · {facts[0]}"
        case Header.PREVIEW if text and scene.standing is Standing.DONE:
            return f"{icon} {text}"
    return f"{icon} {said} — {text}" if text else f"{icon} {said}"


def _broken(scene: Scene, standing: Standing) -> str:
    if standing is Standing.ERROR:
        return scene.words.say("ai.thinking.status.error")
    return scene.words.say(_interruption(scene.turn))


def _interruption(turn: Turn) -> str:
    if connection_lost(turn):
        return "ai.thinking.connection_lost"
    match turn.outcome.ending if turn.outcome else None:
        case Ending.CANCELLED:
            return "ai.thinking.stopped"
        case Ending.CUT_OFF:
            return "ai.thinking.cut_by_limit"
    return "ai.thinking.interrupted"
