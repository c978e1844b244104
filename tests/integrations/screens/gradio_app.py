"""Shows the stream of the test in a chat of Gradio."""

import sys
from collections.abc import Iterator

import gradio as gr
from tests.integrations.screen_stream import open_stream

from thinkaloud.integrations.gradio import show


def answer() -> Iterator[list[gr.ChatMessage]]:
    """Open the stream, and yield the chat as it grows."""
    stream = open_stream()
    for message in show(stream.entries, policy=stream.policy, lang=stream.lang):
        yield [message]


with gr.Blocks() as app:
    chat = gr.Chatbot()
    stop = gr.Button("Stop", elem_classes=["stop-button"])
    answering = app.load(answer, None, chat)
    stop.click(None, None, None, cancels=[answering])
app.launch(server_port=int(sys.argv[1]))
