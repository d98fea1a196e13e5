"""The loopback server, seen by a raw WebSocket client: in both protocols, event by event."""

from __future__ import annotations

import asyncio
import base64
import importlib.util
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, ConnectionClosedError

PATH = Path(__file__).resolve().parent.parent / "shim" / "loopback.py"

if TYPE_CHECKING:
    from shim import loopback
else:  # importing `shim` would activate it

    def load() -> Any:
        spec = importlib.util.spec_from_file_location("loopback", PATH)
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        return module

    loopback = load()

Turn = loopback.Turn
Event = dict[str, Any]

HELLO = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hello"}]}
TIMEOUT = 5.0  # seconds; only a failing test takes so long


def validator(protocol: loopback.Protocol) -> Callable[[Event], object]:
    """Return a check of an event against the openai package's types, as the SDK does it."""
    pydantic = pytest.importorskip("pydantic")
    if protocol == "ga":
        pytest.importorskip("openai", minversion="1.107")  # earlier GA types were a draft
        types = pytest.importorskip("openai.types.realtime.realtime_server_event")
    else:
        types = pytest.importorskip("openai.types.beta.realtime.realtime_server_event")
    adapter = pydantic.TypeAdapter(types.RealtimeServerEvent)

    def check(event: Event) -> object:
        if event.get("previous_item_id", "") is None:
            event = {**event, "previous_item_id": ""}
        return adapter.validate_python(event)

    return check


class Client:
    """A raw client that validates every event that it receives."""

    def __init__(self, socket: ClientConnection, protocol: loopback.Protocol) -> None:
        self.socket = socket
        self.ga = protocol == "ga"
        self.check = validator(protocol)
        self.announced = (
            ["conversation.item.added", "conversation.item.done"]
            if self.ga
            else ["conversation.item.created"]
        )
        self.audio = "response.output_audio" if self.ga else "response.audio"
        self.text = "response.output_text" if self.ga else "response.text"
        self.part = {kind: f"output_{kind}" if self.ga else kind for kind in ("audio", "text")}

    async def send(self, frame_type: str, **fields: Any) -> None:
        await self.socket.send(json.dumps({"type": frame_type, **fields}))

    async def receive(self) -> Event:
        event: Event = json.loads(await asyncio.wait_for(self.socket.recv(), TIMEOUT))
        assert event["event_id"]
        self.check(event)
        return event

    async def until(self, event_type: str) -> list[Event]:
        """Receive up to and with the next event of this type."""
        events = [await self.receive()]
        while events[-1]["type"] != event_type:
            events.append(await self.receive())
        return events

    async def next(self, event_type: str) -> Event:
        return (await self.until(event_type))[-1]

    async def ask(self, frame_type: str, **fields: Any) -> Event:
        await self.send(frame_type, **fields)
        return await self.receive()

    async def error(self, frame_type: str, **fields: Any) -> Event:
        event = await self.ask(frame_type, **fields)
        assert event["type"] == "error", event
        error: Event = event["error"]
        assert error["type"] == "invalid_request_error"
        return error

    async def create(self, item: Event = HELLO, **fields: Any) -> Event:
        """Create an item; return its last announcement."""
        await self.send("conversation.item.create", item=item, **fields)
        return await self.next(self.announced[-1])

    async def respond(self) -> list[Event]:
        await self.send("response.create")
        return await self.until("response.done")


@asynccontextmanager
async def connected(
    server: loopback.LoopbackServer, number: int = 1
) -> AsyncIterator[tuple[Client, loopback.Connection]]:
    async with connect(server.url) as socket:
        client = Client(socket, server.protocol)
        assert (await client.receive())["type"] == "session.created"
        yield client, await server.connection(number)


@asynccontextmanager
async def pair(
    protocol: loopback.Protocol, **options: Any
) -> AsyncIterator[tuple[Client, loopback.Connection, loopback.LoopbackServer]]:
    async with (
        loopback.LoopbackServer(protocol=protocol, **options) as server,
        connected(server) as (client, connection),
    ):
        yield client, connection, server


def types(events: list[Event]) -> list[str]:
    return [event["type"] for event in events]


def of(events: list[Event], event_type: str) -> Event:
    [event] = [event for event in events if event["type"] == event_type]
    return event


def joined(events: list[Event], event_type: str) -> str:
    return "".join(event["delta"] for event in events if event["type"] == event_type)


@pytest.fixture(params=["ga", "beta"])
def protocol(request: pytest.FixtureRequest) -> Any:
    return request.param


# The module


def test_it_is_self_contained() -> None:
    code = (
        "import importlib.util, sys\n"
        f"spec = importlib.util.spec_from_file_location('loopback', {str(PATH)!r})\n"
        "module = importlib.util.module_from_spec(spec)\n"
        "sys.modules['loopback'] = module\n"
        "spec.loader.exec_module(module)\n"
        "print([name for name in ('shim', 'agents', 'openai') if name in sys.modules])\n"
    )
    command = [sys.executable, "-I", "-c", code]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == "[]\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"omit": frozenset({"words"})}, "words"),
        ({"null": frozenset({"role@conversation.item.added"})}, "role"),
        ({"empty": frozenset({"status"})}, "status"),
        ({"delay": -1.0}, "delay"),
    ],
)
def test_a_behaviour_refuses_what_it_cannot_do(options: Event, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        loopback.Behaviour(**options)


@pytest.mark.parametrize(
    "options",
    [{"audio_ms": -1}, {"hold_after_deltas": -1}, {"transcript": ""}],
)
def test_a_turn_refuses_what_it_cannot_play(options: Event) -> None:
    with pytest.raises(ValueError, match=r"turn|negative"):
        Turn(**options)


# The server


@pytest.mark.asyncio
async def test_a_port_in_use_is_named() -> None:
    async with loopback.LoopbackServer() as server:
        port = int(server.url.split(":")[2].partition("/")[0])
        with pytest.raises(OSError, match=rf"127\.0\.0\.1:{port}"):
            await loopback.LoopbackServer(port=port).__aenter__()


def test_the_url_is_there_only_once_started() -> None:
    with pytest.raises(RuntimeError, match="not started"):
        _ = loopback.LoopbackServer().url


@pytest.mark.asyncio
async def test_closing_leaves_nothing_behind(protocol: loopback.Protocol) -> None:
    before = asyncio.all_tasks()
    server = loopback.LoopbackServer(protocol=protocol)
    async with server:
        url = server.url
        socket = await connect(url)
        connection = await server.connection()
        await connection.respond(Turn(hold_after_deltas=1))
    await asyncio.wait_for(socket.wait_closed(), TIMEOUT)
    assert socket.close_code == 1001
    assert asyncio.all_tasks() == before
    with pytest.raises(OSError, match=r"[Cc]onnect"):
        await connect(url)


@pytest.mark.asyncio
async def test_closing_does_not_wait_for_a_delayed_event(protocol: loopback.Protocol) -> None:
    async with pair(protocol) as (client, connection, server):
        server.behaviour = loopback.Behaviour(delay=600)
        await client.send("input_audio_buffer.clear")
        await connection.wait_for("input_audio_buffer.clear")
        await asyncio.wait_for(server.__aexit__(None, None, None), TIMEOUT)
        assert types(connection.sent) == ["session.created"]


@pytest.mark.asyncio
async def test_connections_share_the_script_and_nothing_else(protocol: loopback.Protocol) -> None:
    turns = [Turn(transcript="First."), Turn(transcript="Second.")]
    async with pair(protocol, turns=turns) as (client, connection, server):
        with pytest.raises(TimeoutError, match="number 2"):
            await server.connection(2, timeout=0)
        await client.respond()
        async with connected(server, 2) as (other, second):
            assert joined(await other.respond(), f"{other.audio}_transcript.delta") == "Second."
            assert server.connections == [connection, second]
            assert not connection.items.keys() & second.items.keys()


# The session


@pytest.mark.asyncio
async def test_a_session_starts_with_voice_detection(protocol: loopback.Protocol) -> None:
    async with pair(protocol) as (_, connection, _):
        session = connection.sent[0]["session"]
        source = session["audio"]["input"] if protocol == "ga" else session
        assert source["turn_detection"]["type"] == "server_vad"
        assert source["turn_detection"]["create_response"] is True
        assert source["turn_detection"]["interrupt_response"] is True
        if protocol == "ga":
            pcm = {"type": "audio/pcm", "rate": 24000}
            assert source["format"] == session["audio"]["output"]["format"] == pcm
        else:
            assert session["input_audio_format"] == session["output_audio_format"] == "pcm16"


@pytest.mark.asyncio
async def test_a_session_update_is_merged(protocol: loopback.Protocol) -> None:
    async with pair(protocol) as (client, connection, _):
        detection: Event = {"turn_detection": {"type": "semantic_vad", "eagerness": "low"}}
        more: Event = {"turn_detection": {"interrupt_response": False}}
        if client.ga:
            detection, more = ({"audio": {"input": part}} for part in (detection, more))
        await client.ask("session.update", session={"instructions": "Be brief.", **detection})
        updated = await client.ask("session.update", session={"id": "mine", **more})
        session = updated["session"]
        assert updated["type"] == "session.updated"
        assert session["instructions"] == "Be brief."
        assert session["id"] == connection.sent[0]["session"]["id"]
        source = session["audio"]["input"] if client.ga else session
        assert source["turn_detection"] == {
            "type": "semantic_vad",
            "eagerness": "low",
            "create_response": True,
            "interrupt_response": False,
        }
        assert ("format" if client.ga else "input_audio_format") in source


@pytest.mark.asyncio
@pytest.mark.parametrize("session", [None, [], {"turn_detection": "none"}, {"audio": 1}])
async def test_a_bad_session_update_changes_nothing(
    protocol: loopback.Protocol, session: object
) -> None:
    async with pair(protocol) as (client, connection, _):
        error = await client.error("session.update", session=session)
        assert error["param"].startswith("session")
        assert connection.session == connection.sent[0]["session"]


# Items


@pytest.mark.asyncio
async def test_items_are_announced_in_their_place(protocol: loopback.Protocol) -> None:
    async with pair(protocol) as (client, connection, _):
        await client.send("conversation.item.create", item=HELLO)
        events = [await client.receive() for _ in client.announced]
        first = events[0]["item"]
        assert types(events) == client.announced
        assert all(event["previous_item_id"] is None for event in events)
        assert first["status"] == "completed"
        assert first["content"] == HELLO["content"]
        second = await client.create({**HELLO, "id": "mine"})
        assert (second["previous_item_id"], second["item"]["id"]) == (first["id"], "mine")
        between = await client.create(previous_item_id=first["id"])
        assert between["previous_item_id"] == first["id"]
        root = await client.create(previous_item_id="root")
        assert root["previous_item_id"] is None
        ids = [root["item"]["id"], first["id"], between["item"]["id"], "mine"]
        assert list(connection.items) == ids


@pytest.mark.asyncio
async def test_content_is_kept_as_sent(protocol: loopback.Protocol) -> None:
    audio = base64.b64encode(bytes(480)).decode()
    content: list[Event] = [
        {"type": "input_text", "text": "Look"},
        {"type": "input_audio", "audio": audio},
    ]
    if protocol == "ga":
        image = {"type": "input_image", "image_url": "data:image/png;base64,AA==", "detail": "low"}
        content.append(image)
    async with pair(protocol) as (client, _, _):
        item = (await client.create({**HELLO, "content": content}))["item"]
        assert item["content"] == [content[0], {"type": "input_audio"}, *content[2:]]
        # The service gives audio back in answer to this frame only.
        retrieved = await client.ask("conversation.item.retrieve", item_id=item["id"])
        assert retrieved["type"] == "conversation.item.retrieved"
        assert retrieved["item"]["content"] == content
        for role, kind in (("system", "input_text"), ("assistant", client.part["text"])):
            parts = [{"type": kind, "text": "Hi"}]
            message = {"type": "message", "role": role, "content": parts}
            assert (await client.create(message))["item"]["content"] == parts


@pytest.mark.asyncio
async def test_tool_items_are_accepted(protocol: loopback.Protocol) -> None:
    call = {"type": "function_call", "call_id": "c", "name": "clock", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "c", "output": "noon"}
    async with pair(protocol) as (client, connection, _):
        for item in (call, output):
            announced = (await client.create(item))["item"]
            assert item.items() <= announced.items()
            assert connection.items[announced["id"]] == announced


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("item", "param"),
    [
        (None, "item"),
        ({"type": "song"}, "item.type"),
        ({**HELLO, "id": 1}, "item.id"),
        ({**HELLO, "role": "owner"}, "item.role"),
        ({**HELLO, "content": "Hello"}, "item.content"),
        ({**HELLO, "content": [{"type": []}]}, "item.content[0]"),
        ({**HELLO, "content": [{"type": "input_text", "text": 1}]}, "item.content[0].text"),
        ({**HELLO, "content": [{"type": "input_text", "detail": 1}]}, "item.content[0].detail"),
        ({"type": "function_call", "name": "clock"}, "item.call_id"),
        ({"type": "function_call_output", "call_id": "c", "output": None}, "item.output"),
    ],
)
async def test_bad_items_are_refused(protocol: loopback.Protocol, item: object, param: str) -> None:
    async with pair(protocol) as (client, connection, _):
        error = await client.error("conversation.item.create", item=item, event_id="mine")
        assert (error["param"], error["event_id"]) == (param, "mine")
        assert not connection.items


@pytest.mark.asyncio
async def test_items_are_refused_where_they_have_no_place(protocol: loopback.Protocol) -> None:
    async with pair(protocol) as (client, connection, _):
        await client.create({**HELLO, "id": "mine"})
        again = await client.error("conversation.item.create", item={**HELLO, "id": "mine"})
        assert again["code"] == "item_create_duplicate_item_id"
        lost = await client.error("conversation.item.create", item=HELLO, previous_item_id="x")
        assert lost["code"] == "item_create_invalid_previous_item_id"
        assert list(connection.items) == ["mine"]


@pytest.mark.asyncio
@pytest.mark.parametrize("action", ["retrieve", "truncate", "delete"])
@pytest.mark.parametrize("item_id", ["item_gone", None, ["item_gone"]])
async def test_an_unknown_id_is_an_error(
    protocol: loopback.Protocol, action: str, item_id: object
) -> None:
    async with pair(protocol) as (client, connection, _):
        frame = f"conversation.item.{action}"
        error = await client.error(frame, item_id=item_id, content_index=0, audio_end_ms=0)
        assert error["code"] == f"item_{action}_invalid_item_id"
        assert str(item_id) in error["message"]
        assert error["event_id"] is None
        named = await client.error(frame, item_id=item_id, event_id="event_mine")
        assert named["event_id"] == "event_mine"
        assert [event["error"] for event in connection.errors] == [error, named]


@pytest.mark.asyncio
async def test_a_deleted_item_is_gone(protocol: loopback.Protocol) -> None:
    async with pair(protocol) as (client, connection, _):
        item_id = (await client.create())["item"]["id"]
        deleted = await client.ask("conversation.item.delete", item_id=item_id)
        assert (deleted["type"], deleted["item_id"]) == ("conversation.item.deleted", item_id)
        assert not connection.items
        error = await client.error("conversation.item.retrieve", item_id=item_id)
        assert error["code"] == "item_retrieve_invalid_item_id"


# Responses


@pytest.mark.asyncio
async def test_a_response_comes_with_every_event(protocol: loopback.Protocol) -> None:
    turns = [Turn(transcript="Good morning  to you.\n", audio_ms=120)]
    async with pair(protocol, turns=turns) as (client, connection, _):
        user_id = (await client.create())["item"]["id"]
        events = await client.respond()
        delta, transcript = f"{client.audio}.delta", f"{client.audio}_transcript"
        interleaved = [f"{transcript}.delta", delta] * 3 + [f"{transcript}.delta"] * 2
        assert types(events) == [
            "response.created",
            "response.output_item.added",
            client.announced[0],
            "response.content_part.added",
            *interleaved,
            f"{client.audio}.done",
            f"{transcript}.done",
            "response.content_part.done",
            "response.output_item.done",
            *client.announced[1:],
            "response.done",
        ]
        assert joined(events, f"{transcript}.delta") == turns[0].transcript
        assert of(events, f"{transcript}.done")["transcript"] == turns[0].transcript
        chunks = [base64.b64decode(e["delta"]) for e in events if e["type"] == delta]
        assert sum(map(len, chunks)) == 120 * 48
        added = of(events, "response.output_item.added")["item"]
        assert (added["status"], added["content"]) == ("in_progress", [])
        assert of(events, client.announced[0])["previous_item_id"] == user_id
        done = of(events, "response.output_item.done")["item"]
        assert done["status"] == "completed"
        part = {"type": client.part["audio"], "transcript": turns[0].transcript}
        assert done["content"] == [part]
        response = events[-1]["response"]
        assert (response["status"], response["output"]) == ("completed", [done])
        usage = response["usage"]
        assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"] > 0
        retrieved = await client.ask("conversation.item.retrieve", item_id=done["id"])
        audio = base64.b64decode(retrieved["item"]["content"][0]["audio"])
        assert audio == b"".join(chunks)
        assert list(connection.items) == [user_id, done["id"]]


@pytest.mark.asyncio
async def test_after_the_script_a_default_turn_is_played(protocol: loopback.Protocol) -> None:
    async with pair(protocol, turns=[Turn(transcript="", text="On paper.")]) as (client, _, _):
        events = await client.respond()
        assert joined(events, f"{client.text}.delta") == "On paper."
        assert of(events, f"{client.text}.done")["text"] == "On paper."
        assert f"{client.audio}.delta" not in types(events)
        content = of(events, "response.output_item.done")["item"]["content"]
        assert content == [{"type": client.part["text"], "text": "On paper."}]
        again = await client.respond()
        assert joined(again, f"{client.audio}_transcript.delta") == Turn().transcript


@pytest.mark.asyncio
async def test_a_turn_may_have_everything(protocol: loopback.Protocol) -> None:
    call = loopback.FunctionCall(name="clock", arguments='{"place": "Rome"}')
    turn = Turn(transcript="One moment.", text="Wait", function_call=call)
    async with pair(protocol, turns=[turn]) as (client, _, _):
        events = await client.respond()
        message, tool = events[-1]["response"]["output"]
        assert [part["type"] for part in message["content"]] == [*client.part.values()]
        places = [e["content_index"] for e in events if e["type"] == "response.content_part.done"]
        assert places == [0, 1]
        assert (tool["status"], tool["name"]) == ("completed", "clock")
        assert joined(events, "response.function_call_arguments.delta") == call.arguments
        done = of(events, "response.function_call_arguments.done")
        assert (done["arguments"], done["call_id"]) == (call.arguments, tool["call_id"])
        assert done["output_index"] == 1


@pytest.mark.asyncio
async def test_a_function_call_may_come_alone(protocol: loopback.Protocol) -> None:
    turn = Turn(transcript="", function_call=loopback.FunctionCall(name="clock"))
    async with pair(protocol) as (client, connection, _):
        item_id = await connection.respond(turn)
        events = await client.until("response.done")
        [tool] = events[-1]["response"]["output"]
        assert (tool["id"], tool["type"], tool["arguments"]) == (item_id, "function_call", "{}")


@pytest.mark.asyncio
async def test_one_response_at_a_time(protocol: loopback.Protocol) -> None:
    async with pair(protocol, turns=[Turn(hold_after_deltas=1)]) as (client, connection, _):
        await client.send("response.create")
        item_id = await connection.wait_until_held()
        await client.next(f"{client.audio}_transcript.delta")
        error = await client.error("response.create", event_id="mine")
        assert error["code"] == "conversation_already_has_active_response"
        with pytest.raises(RuntimeError, match="still in progress"):
            await connection.respond(Turn())
        # The connection keeps reading meanwhile.
        retrieved = await client.ask("conversation.item.retrieve", item_id=item_id)
        assert retrieved["item"]["status"] == "in_progress"
        assert retrieved["item"]["content"][0]["transcript"] == "Hello"
        await connection.release()
        assert (await client.until("response.done"))[-1]["response"]["status"] == "completed"
        with pytest.raises(RuntimeError, match="no response"):
            await connection.release()
        with pytest.raises(TimeoutError, match="held"):
            await connection.wait_until_held(timeout=0)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("hold", "words", "chunks"), [(0, None, 0), (3, "One two", 1), (99, "One two three", 4)]
)
async def test_a_cancelled_response_is_incomplete(
    protocol: loopback.Protocol, hold: int, words: str | None, chunks: int
) -> None:
    async with pair(protocol) as (client, connection, _):
        item_id = await connection.respond(Turn(transcript="One two three", hold_after_deltas=hold))
        await client.send("response.cancel")
        events = await client.until("response.done")
        assert joined(events, f"{client.audio}_transcript.delta") == (words or "")
        assert types(events).count(f"{client.audio}.delta") == chunks
        done = of(events, "response.output_item.done")["item"]
        part = {"type": client.part["audio"], "transcript": words}
        assert (done["id"], done["status"]) == (item_id, "incomplete")
        assert done["content"] == ([] if words is None else [part])
        response = events[-1]["response"]
        assert (response["status"], response["output"]) == ("cancelled", [done])
        details = {"type": "cancelled", "reason": "client_cancelled"}
        assert response["status_details"] == details
        error = await client.error("response.cancel")
        assert error["code"] == "response_cancel_not_active"
        assert (await client.respond())[-1]["response"]["status"] == "completed"


@pytest.mark.asyncio
async def test_a_running_response_can_be_cancelled(protocol: loopback.Protocol) -> None:
    turn = Turn(transcript="word " * 2000, audio_ms=0)
    async with pair(protocol, turns=[turn]) as (client, _, _):
        await client.send("response.create")
        created = (await client.receive())["response"]
        await client.send("response.cancel", response_id="resp_other")
        await client.send("response.cancel", response_id=created["id"])
        events = await client.until("response.done")
        assert of(events, "error")["error"]["code"] == "response_cancel_not_active"
        assert events[-1]["response"]["status"] == "cancelled"
        assert len(events) < 2000


@pytest.mark.asyncio
async def test_a_cancelled_message_is_not_followed_by_its_call(
    protocol: loopback.Protocol,
) -> None:
    call = loopback.FunctionCall(name="clock")
    async with pair(protocol) as (client, connection, _):
        await connection.respond(Turn(text="Wait", function_call=call, hold_after_deltas=2))
        await client.send("response.cancel")
        [message] = (await client.until("response.done"))[-1]["response"]["output"]
        assert [part["type"] for part in message["content"]] == [client.part["audio"]]
        await connection.respond(Turn(transcript="", function_call=call, hold_after_deltas=0))
        await client.send("response.cancel")
        [tool] = (await client.until("response.done"))[-1]["response"]["output"]
        assert (tool["status"], tool["arguments"]) == ("incomplete", "")


@pytest.mark.asyncio
async def test_truncating_takes_the_words_away(protocol: loopback.Protocol) -> None:
    async with pair(protocol) as (client, connection, _):
        item_id = await connection.respond(Turn(text="Kept", audio_ms=200))
        await client.until("response.done")
        place = {"item_id": item_id, "content_index": 0}
        # SDK 0.2.0 sends a fraction.
        answer = await client.ask("conversation.item.truncate", **place, audio_end_ms=50.7)
        assert answer.pop("event_id")
        assert answer == {"type": "conversation.item.truncated", **place, "audio_end_ms": 50}
        retrieved = await client.ask("conversation.item.retrieve", item_id=item_id)
        audio, text = retrieved["item"]["content"]
        assert audio["transcript"] == ""
        assert len(base64.b64decode(audio["audio"])) == 50 * 48
        assert text["text"] == "Kept"
        assert retrieved["item"]["status"] == "completed"


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"content_index": 1, "audio_end_ms": 0}, "content_index"),
        ({"content_index": 9, "audio_end_ms": 0}, "content_index"),
        ({"content_index": None, "audio_end_ms": 0}, "content_index"),
        ({"content_index": 0}, "audio_end_ms"),
        ({"content_index": 0, "audio_end_ms": -1}, "audio_end_ms"),
        ({"content_index": 0, "audio_end_ms": float("inf")}, "audio_end_ms"),
        ({"content_index": 0, "audio_end_ms": True}, "audio_end_ms"),
    ],
)
async def test_only_output_audio_is_truncated(
    protocol: loopback.Protocol, fields: Event, param: str
) -> None:
    async with pair(protocol) as (client, connection, _):
        item_id = await connection.respond(Turn(text="Kept"))
        await client.until("response.done")
        error = await client.error("conversation.item.truncate", item_id=item_id, **fields)
        assert error["param"] == param


@pytest.mark.asyncio
@pytest.mark.parametrize("action", ["truncate", "delete"])
async def test_an_item_in_the_making_is_ended_first(
    protocol: loopback.Protocol, action: str
) -> None:
    async with pair(protocol) as (client, connection, _):
        item_id = await connection.respond(Turn(hold_after_deltas=2))
        frame = {"item_id": item_id, "content_index": 0, "audio_end_ms": 10}
        await client.send(f"conversation.item.{action}", **frame)
        events = await client.until(f"conversation.item.{action}d")
        assert types(events)[-2:] == ["response.done", f"conversation.item.{action}d"]
        assert events[-2]["response"]["status"] == "cancelled"
        assert (item_id in connection.items) == (action == "truncate")


# Audio from the user


@pytest.mark.asyncio
@pytest.mark.parametrize("transcribed", [True, False])
async def test_committed_audio_becomes_an_item(
    protocol: loopback.Protocol, transcribed: bool
) -> None:
    async with pair(protocol, heard="It rains.") as (client, connection, _):
        if transcribed:
            model = {"model": "gpt-4o-mini-transcribe"}
            session: Event = {"input_audio_transcription": model}
            if client.ga:
                session = {"audio": {"input": {"transcription": model}}}
            await client.ask("session.update", session=session)
        chunk = base64.b64encode(bytes(4800)).decode()
        await client.send("input_audio_buffer.append", audio=chunk)
        await client.send("input_audio_buffer.append", audio=chunk)
        await client.send("input_audio_buffer.commit")
        await client.send("session.update", session={})
        events = await client.until("session.updated")
        completed = "conversation.item.input_audio_transcription.completed"
        expected = ["input_audio_buffer.committed", *client.announced]
        expected += [completed] if transcribed else []
        assert types(events)[:-1] == expected
        assert events[0]["previous_item_id"] is None
        assert events[1]["item"]["content"] == [{"type": "input_audio", "transcript": None}]
        assert events[1]["item"]["status"] == "completed"
        if transcribed:
            assert of(events, completed)["transcript"] == "It rains."
            assert of(events, completed)["usage"]["seconds"] == pytest.approx(0.2)
        [item] = connection.items.values()
        assert item["id"] == events[0]["item_id"]
        assert item["content"][0]["transcript"] == ("It rains." if transcribed else None)
        assert len(base64.b64decode(item["content"][0]["audio"])) == 9600
        again = await client.error("input_audio_buffer.commit")
        assert again["code"] == "input_audio_buffer_commit_empty"


@pytest.mark.asyncio
async def test_an_empty_buffer_is_not_committed(protocol: loopback.Protocol) -> None:
    async with pair(protocol) as (client, connection, _):
        await client.send("input_audio_buffer.append", audio="AAAA")
        cleared = await client.ask("input_audio_buffer.clear")
        assert cleared["type"] == "input_audio_buffer.cleared"
        error = await client.error("input_audio_buffer.commit")
        assert error["code"] == "input_audio_buffer_commit_empty"
        assert not connection.items


@pytest.mark.asyncio
@pytest.mark.parametrize("fields", [{}, {"audio": 1}, {"audio": "?"}, {"audio": "é"}])
async def test_appended_audio_is_base64(protocol: loopback.Protocol, fields: Event) -> None:
    async with pair(protocol) as (client, _, _):
        error = await client.error("input_audio_buffer.append", **fields)
        assert error["param"] == "audio"


@pytest.mark.asyncio
async def test_a_user_speaks(protocol: loopback.Protocol) -> None:
    async with pair(protocol) as (client, connection, _):
        await client.create({**HELLO, "id": "earlier"})
        item_id = await connection.user_speaks("Stop it.", audio_ms=300)
        completed = "conversation.item.input_audio_transcription.completed"
        events = await client.until(completed)
        assert types(events) == [
            "input_audio_buffer.speech_started",
            "input_audio_buffer.speech_stopped",
            "input_audio_buffer.committed",
            *client.announced,
            completed,
        ]
        assert (events[0]["audio_start_ms"], events[1]["audio_end_ms"]) == (0, 300)
        assert {e["item_id"] for e in events if "item_id" in e} == {item_id}
        assert events[2]["previous_item_id"] == events[3]["previous_item_id"] == "earlier"
        assert events[-1]["transcript"] == "Stop it."
        await connection.user_speaks("Now.")
        assert (await client.receive())["audio_start_ms"] == 300


@pytest.mark.asyncio
@pytest.mark.parametrize("detection", [{"interrupt_response": False}, None, {}])
async def test_speech_interrupts_if_the_session_says_so(
    protocol: loopback.Protocol, detection: Event | None
) -> None:
    async with pair(protocol) as (client, connection, _):
        session: Event = {"turn_detection": detection}
        if client.ga:
            session = {"audio": {"input": session}}
        await client.ask("session.update", session=session)
        await connection.respond(Turn(hold_after_deltas=1))
        await connection.speech_started()
        await client.next("input_audio_buffer.speech_started")
        if detection == {}:
            response = (await client.next("response.done"))["response"]
            assert response["status"] == "cancelled"
            assert response["status_details"]["reason"] == "turn_detected"
        else:
            await connection.release()
            assert (await client.next("response.done"))["response"]["status"] == "completed"


# Bad input


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "message",
    [
        "",
        "{",
        "1",
        "[]",
        "null",
        "[" * 100_000,
        "9" * 10_000,
        b"\xff\xfe",
        "{}",
        '{"type": null}',
        '{"type": []}',
        '{"type": "session.destroy"}',
        '{"type": "session.destroy", "event_id": {}}',
    ],
)
async def test_the_server_survives_nonsense(
    protocol: loopback.Protocol, message: str | bytes
) -> None:
    async with pair(protocol) as (client, connection, _):
        await client.socket.send(message)
        event = await client.receive()
        assert event["type"] == "error"
        assert event["error"]["code"] in ("invalid_json", "invalid_value")
        assert connection.errors == [event]
        assert (await client.create())["item"]["content"] == HELLO["content"]


# Behaviour


async def snapshots(client: Client, connection: loopback.Connection) -> dict[str, Event]:
    """Have the server send items; return the last one in each type of event."""
    item_id = await connection.respond(Turn(text="Written"))
    events = await client.until("response.done")
    events.append(await client.ask("conversation.item.retrieve", item_id=item_id))
    output = {"response.done": events[-2]["response"]["output"][0]}
    return {event["type"]: event["item"] for event in events if "item" in event} | output


@pytest.mark.asyncio
async def test_fields_are_left_out(protocol: loopback.Protocol) -> None:
    fields = frozenset({"status", "transcript", "text", "audio"})
    behaviour = loopback.Behaviour(omit=fields)
    async with pair(protocol, behaviour=behaviour) as (client, connection, server):
        found = await snapshots(client, connection)
        assert len(found) >= 5
        for item in found.values():
            assert "status" not in item
            assert item["content"] in ([], [{"type": name} for name in client.part.values()])
        [item] = connection.items.values()
        assert item["status"] == "completed"
        server.behaviour = loopback.Behaviour()
        assert (await snapshots(client, connection))["response.done"]["status"] == "completed"


@pytest.mark.asyncio
@pytest.mark.parametrize(("name", "value"), [("null", None), ("empty", "")])
async def test_fields_are_blanked(
    protocol: loopback.Protocol, name: str, value: str | None
) -> None:
    fields = {"transcript", "text", "audio"} | ({"status"} if value is None else set())
    behaviour = loopback.Behaviour(**{name: frozenset(fields)})  # type: ignore[arg-type]
    async with pair(protocol, behaviour=behaviour) as (client, connection, _):
        item = (await snapshots(client, connection))["response.output_item.done"]
        assert item["status"] == (None if name == "null" else "completed")
        assert item["content"] == [
            {"type": client.part["audio"], "transcript": value, "audio": value},
            {"type": client.part["text"], "text": value},
        ]


@pytest.mark.asyncio
async def test_fields_are_left_out_of_one_event_only(protocol: loopback.Protocol) -> None:
    rules = frozenset({"status@conversation.item.retrieved", "transcript@response.done"})
    async with pair(protocol, behaviour=loopback.Behaviour(omit=rules)) as (client, connection, _):
        for event_type, item in (await snapshots(client, connection)).items():
            assert ("status" in item) == (event_type != "conversation.item.retrieved")
            if item["content"]:
                assert ("transcript" in item["content"][0]) == (event_type != "response.done")


@pytest.mark.asyncio
async def test_image_urls_are_blanked() -> None:
    image = {"type": "input_image", "image_url": "data:image/png;base64,AA=="}
    expected: list[tuple[Event, Event]] = [
        ({"omit": frozenset({"image_url"})}, {"type": "input_image"}),
        ({"null": frozenset({"image_url"})}, {"type": "input_image", "image_url": None}),
        ({"empty": frozenset({"image_url"})}, {"type": "input_image", "image_url": ""}),
    ]
    async with pair("ga") as (client, _, server):
        for options, part in expected:
            server.behaviour = loopback.Behaviour(**options)
            assert (await client.create({**HELLO, "content": [image]}))["item"]["content"] == [part]


@pytest.mark.asyncio
async def test_events_are_delayed(protocol: loopback.Protocol) -> None:
    async with pair(protocol, behaviour=loopback.Behaviour(delay=0.02)) as (client, _, _):
        loop = asyncio.get_running_loop()
        start = loop.time()
        events = await client.respond()
        assert loop.time() - start >= 0.02 * len(events)


@pytest.mark.asyncio
async def test_the_connection_is_cut_after_an_event(protocol: loopback.Protocol) -> None:
    cut = "response.content_part.added"
    behaviour = loopback.Behaviour(cut_after=cut)
    async with pair(protocol, behaviour=behaviour) as (client, connection, server):
        with pytest.raises(ConnectionError, match="lost"):
            await connection.respond(Turn())
        assert types(await client.until(cut))[-1] == cut
        with pytest.raises(ConnectionClosedError) as closed:
            await client.socket.recv()
        assert closed.value.rcvd is None
        assert connection.sent[-1]["type"] == cut
        async with connected(server, 2):
            pass


@pytest.mark.asyncio
async def test_a_cut_loses_nothing_of_a_large_event(protocol: loopback.Protocol) -> None:
    event = {"type": "input_audio_buffer.cleared", "padding": "x" * 8_000_000}
    async with pair(protocol) as (_, _, server), connect(server.url, max_size=None) as socket:
        await socket.recv()
        connection = await server.connection(2)
        server.behaviour = loopback.Behaviour(cut_after=event["type"])
        sending = asyncio.ensure_future(connection.send(event))
        assert event.items() <= json.loads(await asyncio.wait_for(socket.recv(), TIMEOUT)).items()
        await sending


# What a test drives


@pytest.mark.asyncio
async def test_raw_events_are_sent_as_they_are(protocol: loopback.Protocol) -> None:
    behaviour = loopback.Behaviour(omit=frozenset({"status"}))
    item = {**HELLO, "id": "mine", "status": "completed"}
    async with pair(protocol, behaviour=behaviour) as (client, connection, _):
        await connection.send({"type": "conversation.item.retrieved", "item": item})
        event = await client.receive()
        assert event["item"] == item
        assert event == connection.sent[-1]
        await connection.send({"type": "input_audio_buffer.cleared", "event_id": "mine"})
        assert (await client.receive())["event_id"] == "mine"


@pytest.mark.asyncio
async def test_waiting_for_a_frame(protocol: loopback.Protocol) -> None:
    async with pair(protocol) as (client, connection, _):
        waiting = asyncio.ensure_future(connection.wait_for("conversation.item.create", count=2))
        await client.send("conversation.item.create", item={**HELLO, "id": "a"})
        await client.send("conversation.item.create", item={**HELLO, "id": "b"})
        assert (await waiting)["item"]["id"] == "b"
        assert list(connection.items) == ["a", "b"]
        with pytest.raises(TimeoutError, match=r"'response\.create' number 1") as error:
            await connection.wait_for("response.create", timeout=0.01)
        assert "conversation.item.create" in str(error.value)
        assert "Hello" not in str(error.value)


@pytest.mark.asyncio
async def test_the_server_closes_or_aborts(protocol: loopback.Protocol) -> None:
    async with pair(protocol) as (client, connection, server):
        await connection.close(4000)
        with pytest.raises(ConnectionClosedError):
            await client.receive()
        assert client.socket.close_code == 4000
        with pytest.raises(ConnectionClosed):
            await connection.send({"type": "input_audio_buffer.cleared"})
        assert types(connection.sent) == ["session.created"]
        async with connected(server, 2) as (other, second):
            second.abort()
            with pytest.raises(ConnectionClosedError) as closed:
                await other.receive()
            assert closed.value.rcvd is None


@pytest.mark.asyncio
async def test_a_client_that_leaves_ends_its_response(protocol: loopback.Protocol) -> None:
    behaviour = loopback.Behaviour(delay=600)
    async with pair(protocol) as (client, connection, server):
        await connection.respond(Turn(hold_after_deltas=1))
        server.behaviour = behaviour
        releasing = asyncio.ensure_future(connection.release())
        await client.socket.close()
        with pytest.raises(ConnectionError, match="lost"):
            await asyncio.wait_for(releasing, TIMEOUT)
        with pytest.raises(RuntimeError, match="no response"):
            await connection.release()
