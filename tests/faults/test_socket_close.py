"""The socket's own ``close()`` raises, or never comes back."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable

import pytest
from websockets.exceptions import ConnectionClosedError

from .caller import calling
from .clean import check_response, check_untouched, converse
from .leftovers import no_client_sockets
from .phases import Phase, find_phase, in_phases
from .waiting import outcome, within_patience


class NotAnException(BaseException):
    """Something that no handler of exceptions catches."""


RAISED: dict[str, Callable[[], BaseException]] = {
    "OSError": lambda: ConnectionResetError(104, "Connection reset by peer"),
    "SSLError": lambda: ssl.SSLError(1, "application data after close notify"),
    "ConnectionClosed": lambda: ConnectionClosedError(None, None),
    "TimeoutError": TimeoutError,
    "RuntimeError": lambda: RuntimeError("unable to perform operation on <TCPTransport closed>"),
    "CancelledError": asyncio.CancelledError,
    "BaseException": NotAnException,
}


@pytest.mark.asyncio
@pytest.mark.parametrize("make", RAISED.values(), ids=RAISED)
async def test_2_4_a_socket_that_cannot_be_closed(make: Callable[[], BaseException]) -> None:
    async with calling() as caller:
        await find_phase("audio").reach(caller)
        websocket, raised = caller.model._websocket, make()

        async def close() -> None:
            websocket.transport.abort()
            raise raised

        websocket.close = close
        error = await outcome(caller.model.close())
        assert type(error) is type(raised)
        caller.check_new()
        await caller.hang_up()
        await converse(caller)


@pytest.mark.asyncio
@in_phases("session.created", "audio", "tool", "retrieve unanswered")
async def test_2_4_a_server_that_never_answers_the_closing_handshake(phase: Phase) -> None:
    """The application does not wait for it, and calls again."""
    async with calling() as caller:
        await phase.reach(caller)
        silent = caller.server.sockets[-1]
        caller.server.stop_reading()
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(caller.model.close(), timeout=0.02)
        phase.leave(caller)
        caller.check_new()
        await outcome(caller.session.close())

        caller.recorder.events.clear()
        await caller.call()
        await check_untouched(caller)
        await check_response(caller)
        # In the middle of the next conversation the server finds the old connection's frames.
        caller.server.read_again()
        await within_patience(silent.wait_closed(), "the old connection stays")
        await check_response(caller)
        await caller.hang_up()
        caller.check_new()


@pytest.mark.asyncio
async def test_2_4_no_socket_is_left_when_the_server_never_answers() -> None:
    async with calling() as caller:
        await find_phase("audio").reach(caller)
        caller.server.stop_reading()
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(caller.model.close(), timeout=0.02)
        # Long before the keepalive of websockets finds out, which need not be on.
        await no_client_sockets(caller.server.port, patience=2)
        caller.server.read_again()
        await caller.hang_up()


@pytest.mark.asyncio
async def test_2_1_a_message_that_is_stuck_does_not_hold_up_the_next_connection() -> None:
    async with calling() as caller:
        await find_phase("audio").reach(caller)
        message = await caller.send_stuck_message()
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(caller.model.close(), timeout=0.02)
        await outcome(caller.session.close())

        caller.recorder.events.clear()
        await caller.call()
        await check_untouched(caller)
        await check_response(caller, patience=5)
        caller.server.sockets[0].transport.abort()
        await outcome(message)
        await caller.hang_up()
