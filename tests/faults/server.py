"""The loopback server, with the faults that it does not have of its own."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import wire
from loading import loopback


class Server(loopback.LoopbackServer):  # type: ignore[misc]
    """A server that may keep its clients waiting for ``session.created``.

    ``greeting`` is set at first; while it is not, a connection stays without its first event.
    ``sockets`` are the server's ends of all connections, in the order in which they came.
    """

    def __init__(self) -> None:
        super().__init__(protocol=wire.PROTOCOL)
        self.greeting = asyncio.Event()
        self.greeting.set()
        self.sockets: list[Any] = []

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self._port)

    def stop_reading(self) -> None:
        """Read nothing more from the newest connection: it never answers a closing handshake."""
        transport = self.sockets[-1].transport
        transport.pause_reading()
        # The kernel would still take megabytes for it.
        _set_receive_buffer(transport, 4096)

    def read_again(self) -> None:
        """Read from all connections again."""
        for each in self.sockets:
            if not each.transport.is_closing():
                _set_receive_buffer(each.transport, 2**20)
                each.transport.resume_reading()

    async def _serve(self, websocket: Any) -> None:
        self.sockets.append(websocket)
        waits = {
            asyncio.ensure_future(self.greeting.wait()),
            asyncio.ensure_future(websocket.wait_closed()),
        }
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waits:
                each.cancel()
        await super()._serve(websocket)


def _set_receive_buffer(transport: Any, size: int) -> None:
    transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, size)
