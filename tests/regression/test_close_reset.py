"""close-reset: rules 2.1 to 2.6 of docs/contract.md, over a real WebSocket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any

import agents.realtime
import pytest
import pytest_asyncio
import wire
from agents.realtime import model_events
from agents.realtime.model import RealtimeModelListener
from agents.realtime.model_inputs import RealtimeModelSendInterrupt, RealtimeModelSendRawMessage
from agents.realtime.openai_realtime import OpenAIRealtimeWebSocketModel
from loading import PATIENCE, loopback

# What __init__ sets and close() may leave: configuration, and what connect() sets again.
KEPT = {
    "model",
    "_listeners",
    "_server_event_type_adapter",
    "_transport_config",
    "_call_id",
    "_close_requested",
    "_connection_attempt_active",
    "_playback_tracker",
    "_tracing_config",
    "_websocket",
    "_websocket_task",
}
FORBIDDEN = {"conversation.item.truncate", "conversation.item.retrieve", "response.cancel"}


class Recorder(RealtimeModelListener):
    """Keeps the events of a model."""

    def __init__(self) -> None:
        self.events: list[Any] = []
        self.settled = asyncio.Event()

    async def on_event(self, event: Any) -> None:
        self.events.append(event)
        if event.type == "raw_server_event" and event.data["type"] == "input_audio_buffer.cleared":
            self.settled.set()

    def types(self) -> list[str]:
        return [event.type for event in self.events]


class Line:
    """One model instance, and the server that it connects to again and again."""

    def __init__(self, server: Any) -> None:
        self.server = server
        self.connection: Any = None
        self.model: Any = OpenAIRealtimeWebSocketModel()
        self.recorder = Recorder()
        self.model.add_listener(self.recorder)
        self.released = asyncio.Event()

    async def connect(self, **config: Any) -> Any:
        """Connect and return the connection as the server sees it, once it is set up."""
        number = len(self.server.connections) + 1
        settings = {"api_key": "test", "url": self.server.url, "initial_model_settings": {}}
        await self.model.connect({**settings, **config})
        self.connection = await self.server.connection(number)
        # The session's settings, and the tracing that follows session.created.
        await self.connection.wait_for("session.update", count=2, timeout=PATIENCE)
        await self.settle()
        return self.connection

    async def settle(self) -> None:
        """Wait until the server has everything, and the model what it answered to that."""
        barrier = "input_audio_buffer.clear"
        number = sum(frame["type"] == barrier for frame in self.connection.received) + 1
        self.recorder.settled.clear()
        message: Any = {"type": barrier}
        await self.model.send_event(RealtimeModelSendRawMessage(message=message))
        await self.connection.wait_for(barrier, count=number, timeout=PATIENCE)
        if hasattr(model_events, "RealtimeModelRawServerEvent"):
            await asyncio.wait_for(self.recorder.settled.wait(), timeout=PATIENCE)

    async def receive(self, *events: wire.Event) -> None:
        """Let the model handle server events, as its listener task does."""
        for event in events:
            await self.model._handle_ws_event({"event_id": "event_1", **event})

    async def speak(self) -> None:
        """Let the assistant be in the middle of a response, with audio that lasts.

        Until 0.2.3 only audio that would still be playing is interrupted.
        """
        await self.receive(
            wire.session_created(),
            wire.response_created("resp_old"),
            wire.audio_delta("item_old", response_id="resp_old", ms=30_000),
        )
        await self.settle()

    async def frames(self, connection: Any) -> set[str]:
        """The types of all frames that the model has sent on its connection until now."""
        assert connection is self.connection
        await self.settle()
        return {frame["type"] for frame in connection.received}


@pytest_asyncio.fixture
async def line() -> AsyncIterator[Line]:
    async with loopback.LoopbackServer(protocol=wire.PROTOCOL) as server:
        line = Line(server)
        yield line
        line.released.set()
        # A bare release may be left in a state in which it cannot.
        with suppress(Exception):
            await asyncio.wait_for(line.model.close(), timeout=5)


def state(value: Any) -> Any:
    """A value as something that can be compared; what is None is left out of objects."""
    if isinstance(value, asyncio.Lock | asyncio.Condition):
        return value.locked()
    if isinstance(value, set | dict | list):
        return repr(value)
    attributes = getattr(value, "__dict__", None)
    if attributes is None:
        return value
    return {name: state(each) for name, each in attributes.items() if each is not None}


def connection_state(model: Any) -> dict[str, Any]:
    """What a model keeps of a connection, except for what it may keep after close()."""
    return {name: state(each) for name, each in vars(model).items() if name not in KEPT}


def new_state() -> dict[str, Any]:
    return connection_state(OpenAIRealtimeWebSocketModel())


@pytest.mark.asyncio
async def test_2_1_a_close_in_mid_response_leaves_a_model_as_new(line: Line) -> None:
    await line.connect()
    await line.speak()
    await line.model.close()
    assert connection_state(line.model) == new_state()


@pytest.mark.asyncio
async def test_2_1_a_close_after_a_response_leaves_a_model_as_new(line: Line) -> None:
    await line.connect()
    await line.speak()
    await line.receive(wire.response_done("resp_old"))
    await line.model.close()
    assert connection_state(line.model) == new_state()


@pytest.mark.asyncio
async def test_2_1_a_close_after_an_interruption_leaves_a_model_as_new(line: Line) -> None:
    await line.connect()
    await line.speak()
    await line.model.send_event(RealtimeModelSendInterrupt())
    await line.model.close()
    assert connection_state(line.model) == new_state()


@pytest.mark.asyncio
@pytest.mark.skipif(not wire.since("0.13.1"), reason="the sequencer came with 0.13.1")
async def test_2_1_the_sequencer_ends_up_idle(line: Line) -> None:
    await line.connect()
    await line.receive(wire.response_created("resp_old"))
    message: Any = {"type": "response.create"}
    # Waits until the response is done, which it never is.
    await line.model.send_event(RealtimeModelSendRawMessage(message=message))
    await line.model.close()
    assert connection_state(line.model) == new_state()
    assert not line.model._ongoing_response


@pytest.mark.asyncio
async def test_2_1_no_attribute_names_the_closed_connection(line: Line) -> None:
    await line.connect()
    await line.speak()
    await line.model.close()
    assert "_old" not in str(connection_state(line.model))


async def interrupt(line: Line) -> None:
    await line.model.send_event(RealtimeModelSendInterrupt())


def receiving(event: wire.Event) -> Callable[[Line], Awaitable[None]]:
    async def receive(line: Line) -> None:
        await line.receive(event)

    return receive


TRIGGERS = [
    pytest.param(receiving(wire.speech_started("item_new")), id="speech_started"),
    pytest.param(receiving(wire.transcribed("item_new", "Hello")), id="transcribed"),
    pytest.param(receiving(wire.truncated("item_new")), id="truncated"),
    pytest.param(interrupt, id="interrupt"),
]


@pytest.mark.asyncio
@pytest.mark.parametrize("ended", [False, True], ids=["mid-response", "after-response"])
@pytest.mark.parametrize("trigger", TRIGGERS)
async def test_2_2_the_next_connection_does_not_touch_the_old_items(
    line: Line, trigger: Callable[[Line], Awaitable[None]], ended: bool
) -> None:
    await line.connect()
    await line.speak()
    if ended:
        await line.receive(wire.response_done("resp_old"))
    await line.model.close()
    line.recorder.events.clear()

    connection = await line.connect()
    await trigger(line)
    assert not FORBIDDEN & await line.frames(connection)
    assert "audio_interrupted" not in line.recorder.types()


@pytest.mark.asyncio
@pytest.mark.parametrize("trigger", TRIGGERS)
async def test_2_2_nor_before_it_knows_its_session(
    line: Line, trigger: Callable[[Line], Awaitable[None]]
) -> None:
    """An old `_ongoing_response` would be cancelled as soon as the old session is forgotten."""
    await line.connect()
    await line.speak()
    await line.model.close()
    line.recorder.events.clear()

    connection = await line.connect()
    if hasattr(line.model, "_created_session"):
        line.model._created_session = None
    await trigger(line)
    assert not FORBIDDEN & await line.frames(connection)
    assert "audio_interrupted" not in line.recorder.types()


@pytest.mark.asyncio
@wire.needs_playback_tracker
async def test_2_3_the_playback_tracker_forgets_the_old_item(line: Line) -> None:
    tracker: Any = agents.realtime.RealtimePlaybackTracker()
    await line.connect(playback_tracker=tracker)
    await line.speak()
    tracker.on_play_ms("item_old", 0, 50)
    await line.model.close()
    assert tracker.get_state()["current_item_id"] is None


@pytest.mark.asyncio
@wire.needs_playback_tracker
async def test_2_3_the_playback_tracker_stays_the_applications(line: Line) -> None:
    class Tracker(agents.realtime.RealtimePlaybackTracker):  # type: ignore[misc, unused-ignore]
        interruptions = 0

        def on_interrupted(self) -> None:
            super().on_interrupted()
            self.interruptions += 1

    tracker: Any = Tracker()
    await line.connect(playback_tracker=tracker)
    await line.speak()
    tracker.on_play_ms("item_old", 0, 50)
    await line.model.close()
    assert tracker.interruptions == 1

    connection = await line.connect(playback_tracker=tracker)
    await interrupt(line)
    assert not FORBIDDEN & await line.frames(connection)


class SocketError(Exception):
    pass


@pytest.mark.asyncio
async def test_2_4_a_socket_that_fails_to_close(line: Line) -> None:
    await line.connect()
    await line.speak()
    socket = line.model._websocket
    close = socket.close

    async def fail() -> None:
        await close()
        raise SocketError

    socket.close = fail
    with pytest.raises(SocketError):
        await line.model.close()
    socket.close = close
    assert connection_state(line.model) == new_state()
    await line.connect()


@pytest.mark.asyncio
async def test_2_4_a_close_that_is_cancelled_in_the_teardown(line: Line) -> None:
    await line.connect()
    await line.speak()
    socket = line.model._websocket
    close = socket.close
    closing = asyncio.Event()

    async def hang() -> None:
        closing.set()
        await asyncio.Event().wait()

    socket.close = hang
    task = asyncio.create_task(line.model.close())
    await closing.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    socket.close = close
    await close()
    assert connection_state(line.model) == new_state()
    await line.connect()


@pytest.mark.asyncio
async def test_2_4_a_close_before_any_connect() -> None:
    model: Any = OpenAIRealtimeWebSocketModel()
    await model.close()
    assert connection_state(model) == new_state()


@pytest.mark.asyncio
async def test_2_4_a_second_close(line: Line) -> None:
    await line.connect()
    await line.speak()
    await line.model.close()
    await line.model.close()
    assert connection_state(line.model) == new_state()


@pytest.mark.asyncio
async def test_2_4_a_close_that_is_cancelled_before_it_runs(line: Line) -> None:
    await line.connect()
    await line.speak()
    before = connection_state(line.model)
    task = asyncio.create_task(line.model.close())
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert connection_state(line.model) == before


@pytest.mark.asyncio
@pytest.mark.skipif(not wire.since("0.13.1"), reason="the teardown began at once until 0.13.0")
async def test_2_4_a_close_that_is_cancelled_before_the_teardown(line: Line) -> None:
    connection = await line.connect()
    await line.speak()
    if hasattr(line.model, "_interrupted_audio_response_ids"):
        line.model._interrupted_audio_response_ids.add("resp_interrupted")
    before = connection_state(line.model)
    started = asyncio.Event()

    async def hang() -> None:
        started.set()
        await asyncio.Event().wait()

    line.model._cancel_response_create_tasks = hang
    task = asyncio.create_task(line.model.close())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    del line.model._cancel_response_create_tasks
    assert connection_state(line.model) == before
    await line.frames(connection)


class Stubborn(RealtimeModelListener):
    """Holds the handler of the first event with an old id, whatever cancels it, until released."""

    def __init__(self, line: Line, *, close: bool = False) -> None:
        self._line = line
        self._close = close
        self.holding = asyncio.Event()
        self.done = asyncio.Event()

    async def on_event(self, event: Any) -> None:
        if self.holding.is_set() or "_old" not in str(event):
            return
        if self._close:
            # From 0.4.1 close() waits for the very task that it runs in here, and takes the
            # cancellation of that task for the end of it.
            await self._line.model.close()
        self.holding.set()
        while not self._line.released.is_set():
            with suppress(asyncio.CancelledError):
                await self._line.released.wait()
        self.done.set()


async def speak_on_the_wire(connection: Any) -> None:
    """The same as `Line.speak`, by way of the listener task, with more to come."""
    await connection.send(wire.response_created("resp_old"))
    for _ in range(3):
        await connection.send(wire.audio_delta("item_old", response_id="resp_old"))


async def check_nothing_old(line: Line, stubborn: Stubborn) -> None:
    """Connect again, let the old handler go on, and look for what it may have left."""
    line.recorder.events.clear()
    connection = await line.connect()
    line.released.set()
    await stubborn.done.wait()
    await line.frames(connection)
    assert "_old" not in str(connection_state(line.model))
    await interrupt(line)
    await line.receive(wire.transcribed("item_new", "Hello"))
    line.model.remove_listener(stubborn)
    assert "audio" not in line.recorder.types()
    assert not FORBIDDEN & {frame["type"] for frame in connection.received}


@pytest.mark.asyncio
@pytest.mark.skipif(wire.since("0.4.1"), reason="close() waits for the listener task from 0.4.1")
async def test_2_5_a_handler_that_outlives_close(line: Line) -> None:
    connection = await line.connect()
    stubborn = Stubborn(line)
    line.model.add_listener(stubborn)
    await speak_on_the_wire(connection)
    await stubborn.holding.wait()
    await line.model.close()
    await check_nothing_old(line, stubborn)


@pytest.mark.asyncio
async def test_2_5_a_handler_that_closes_the_connection_itself(line: Line) -> None:
    connection = await line.connect()
    stubborn = Stubborn(line, close=True)
    line.model.add_listener(stubborn)
    await speak_on_the_wire(connection)
    await stubborn.holding.wait()
    await check_nothing_old(line, stubborn)


@pytest.mark.asyncio
async def test_2_5_a_handler_of_the_old_connection_sends_nothing_on_the_next(line: Line) -> None:
    """As a tool does that runs in the listener's task and finishes late (to 0.4.0)."""

    class Sending(Stubborn):
        async def on_event(self, event: Any) -> None:
            old = not self.holding.is_set() and "_old" in str(event)
            await super().on_event(event)
            if old:
                message: Any = {"type": "conversation.item.delete"}
                message["other_data"] = {"item_id": "item_old"}
                await line.model.send_event(RealtimeModelSendRawMessage(message=message))

    connection = await line.connect()
    stubborn = Sending(line, close=True)
    line.model.add_listener(stubborn)
    await speak_on_the_wire(connection)
    await stubborn.holding.wait()
    connection = await line.connect()
    line.released.set()
    await stubborn.done.wait()
    assert "conversation.item.delete" not in await line.frames(connection)


class Reconnecting(RealtimeModelListener):
    """Does something with its model when it first hears audio, and keeps what comes of it."""

    def __init__(self, action: Callable[[], Awaitable[None]]) -> None:
        self._action = action
        self.outcome: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def on_event(self, event: Any) -> None:
        if event.type != "audio" or self.outcome.done():
            return
        try:
            await self._action()
        except BaseException as error:
            self.outcome.set_exception(AssertionError(f"the listener is stopped: {error!r}"))
        else:
            self.outcome.set_result(None)


needs_a_close_that_waits = pytest.mark.skipif(
    not wire.since("0.4.1"), reason="to 0.4.0 a close() in a handler cancels the handler"
)


@pytest.mark.asyncio
@needs_a_close_that_waits
@pytest.mark.parametrize("failover", [False, True], ids=["same model", "another model"])
async def test_2_5_a_handler_may_close_and_connect_itself(line: Line, failover: bool) -> None:
    connection = await line.connect()
    model: Any = OpenAIRealtimeWebSocketModel() if failover else line.model
    settings: Any = {"api_key": "test", "url": line.server.url, "initial_model_settings": {}}
    message: Any = {"type": "input_audio_buffer.clear"}

    async def reconnect() -> None:
        await line.model.close()
        await line.model.close()
        await model.connect(settings)
        await model.send_event(RealtimeModelSendRawMessage(message=message))

    listener = Reconnecting(reconnect)
    line.model.add_listener(listener)
    await connection.send(wire.audio_delta("item_old"))
    await asyncio.wait_for(listener.outcome, timeout=PATIENCE)
    connection = await line.server.connection(2)
    await connection.wait_for("input_audio_buffer.clear", timeout=PATIENCE)
    await model.close()


@pytest.mark.asyncio
@pytest.mark.skipif(not wire.since("0.13.1"), reason="the sequencer came with 0.13.1")
async def test_2_1_no_response_create_waits_for_the_closed_connection(line: Line) -> None:
    connection = await line.connect()
    stubborn = Stubborn(line, close=True)
    line.model.add_listener(stubborn)
    await line.receive(wire.response_created("resp_new"))
    socket = line.model._websocket
    close = socket.close

    async def close_late() -> None:
        message: Any = {"type": "response.create"}
        await line.model.send_event(RealtimeModelSendRawMessage(message=message))
        await close()

    socket.close = close_late
    await connection.send(wire.audio_delta("item_old"))
    await stubborn.holding.wait()
    tasks = list(line.model._response_create_tasks)
    line.released.set()
    await stubborn.done.wait()
    assert tasks == [] or not (await asyncio.wait(tasks, timeout=1))[1]


@pytest.mark.asyncio
@pytest.mark.skipif(not wire.since("0.13.1"), reason="the sequencer came with 0.13.1")
async def test_2_5_the_end_of_the_old_listener_leaves_the_next_connection_alone(line: Line) -> None:
    """On its way out a listener task cancels the response.create that wait."""
    connection = await line.connect()
    stubborn = Stubborn(line, close=True)
    line.model.add_listener(stubborn)
    await speak_on_the_wire(connection)
    await stubborn.holding.wait()

    connection = await line.connect()
    line.model.remove_listener(stubborn)
    await line.receive(wire.response_created("resp_new"))
    message: Any = {"type": "response.create"}
    await line.model.send_event(RealtimeModelSendRawMessage(message=message))
    line.released.set()
    await stubborn.done.wait()
    await line.frames(connection)
    assert line.model._ongoing_response
    await line.receive(wire.response_done("resp_new"))
    await connection.wait_for("response.create", timeout=PATIENCE)


@pytest.mark.asyncio
async def test_2_6_audio_that_comes_before_the_session_of_the_next_connection(line: Line) -> None:
    await line.connect()
    await line.speak()
    await line.model.close()
    line.recorder.events.clear()
    await line.receive(wire.audio_delta("item_new", response_id="resp_new"))
    assert "audio" in line.recorder.types()


@pytest.mark.asyncio
async def test_2_6_audio_that_comes_before_the_session_of_the_first_connection(line: Line) -> None:
    try:
        await line.receive(wire.audio_delta("item_new", response_id="resp_new"))
    except AttributeError as error:
        raise AssertionError(f"the audio is not handled: {error}") from error
    assert "audio" in line.recorder.types()
