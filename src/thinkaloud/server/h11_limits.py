"""uvicorn's HTTP protocol in pure Python, with a time limit for headers. Used if httptools is not installed.

h11 itself limits the size of headers, and uvicorn refuses what is larger.
"""

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from thinkaloud.server.header_timeout import HeaderTimeout


class TimedH11Protocol(HeaderTimeout, H11Protocol):
    """One client connection with a limit on the time of headers."""

    def data_received(self, data: bytes) -> None:
        """Parse the data. The timeout runs from the first byte of a request to the end of its headers."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._cancel_timeout()
        elif self._timeout is None:
            self._start_timeout()
