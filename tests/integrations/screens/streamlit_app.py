"""Shows the stream of the test in Streamlit, and in every later run of the session its turn again."""

import streamlit as st
from tests.integrations.screen_stream import open_stream

from thinkaloud.integrations.streamlit import show

st.button("Run again")
turns = st.session_state.setdefault("turns", [])
settings = st.session_state.setdefault("settings", {})
if turns:
    show(turns[0], **settings)
else:
    stream = open_stream()
    settings |= {"policy": stream.policy, "lang": stream.lang}
    show(stream.entries, keep_in=turns, **settings)
