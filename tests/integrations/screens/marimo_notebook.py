"""A notebook of marimo that shows a stream."""

import marimo

app = marimo.App()


@app.cell
def _() -> None:
    from tests.integrations.screen_stream import open_stream

    from thinkaloud.integrations.notebook import show

    stream = open_stream()
    show(stream.entries, policy=stream.policy, lang=stream.lang)


if __name__ == "__main__":
    app.run()
