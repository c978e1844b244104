"""Notes in the place of images, PDF files and recordings that a model does not take."""

from thinkaloud.core.canon.requests import File
from thinkaloud.core.catalog.rows import InputKind

_INPUT_NAMES = {
    InputKind.IMAGE: ("An image", "images"),
    InputKind.PDF: ("A PDF file", "PDF files"),
    InputKind.AUDIO: ("A recording", "recordings"),
}
INPUT_CODES = {InputKind.IMAGE: "no_images", InputKind.PDF: "no_files", InputKind.AUDIO: "no_audio"}
"""The reason code of the report for each kind."""


def input_kind(file: File) -> InputKind:
    """Return what a model must take to read this file."""
    return InputKind.AUDIO if file.media_type.startswith("audio/") else InputKind.PDF


def input_note(kind: InputKind, count: int) -> str:
    """Return the note that takes the place of images or files which the model cannot take."""
    return f"({_counted(kind, count)} attached here, which this model does not take.)"


def result_note(count: int) -> str:
    """Return the note that takes the place of images in a tool result."""
    return f"({_counted(InputKind.IMAGE, count)} returned here, which cannot be sent as a tool result.)"


def replaced_result_note(provider: str, count: int) -> str:
    """Return the sentence for the report that says what of tool results was replaced."""
    counted = _counted(InputKind.IMAGE, count)
    sentence = f"{provider} takes no images in tool results, so {counted[0].lower()}{counted[1:]}"
    return f"{sentence} replaced by a note in the text."


def replaced_note(model: str, kind: InputKind, count: int) -> str:
    """Return the sentence for the report that says what was replaced."""
    counted = _counted(kind, count)
    return (
        f"{model} takes no {_INPUT_NAMES[kind][1]}, so {counted[0].lower()}{counted[1:]} replaced by a note "
        "in the text."
    )


def _counted(kind: InputKind, count: int) -> str:
    one, many = _INPUT_NAMES[kind]
    return f"{one} was" if count == 1 else f"{count} {many} were"
