"""A model and a session of the SDK, joined as the runner joins them, without a socket."""

from __future__ import annotations

import copy
import json
from typing import Any

import wire
from agents.realtime import RealtimeAgent, RealtimeSession
from agents.realtime.openai_realtime import OpenAIRealtimeWebSocketModel

Part = tuple[str, str | None]


class RecordingSocket:
    """Stands in for the client's WebSocket, and keeps what is sent."""

    def __init__(self) -> None:
        self.frames: list[wire.Event] = []

    async def send(self, payload: str) -> None:
        self.frames.append(json.loads(payload))

    async def close(self) -> None:
        pass


class Call:
    """One conversation: server events go in, history, session events and frames come out."""

    model: Any
    session: Any

    def __init__(self, *, session_type: Any = RealtimeSession) -> None:
        self.model = OpenAIRealtimeWebSocketModel()
        self.session = session_type(self.model, RealtimeAgent(name="assistant"), None)
        self.socket = RecordingSocket()
        self.model._websocket = self.socket
        self.model.add_listener(self.session)

    async def receive(self, *events: wire.Event) -> None:
        """Let the model handle server events; one that the SDK rejects fails the test."""
        for event in events:
            # The SDK may change what it is given.
            payload = {"event_id": "event_1", **copy.deepcopy(event)}
            try:
                await self.model._handle_ws_event(payload)
            except Exception as error:
                raise AssertionError(f"the SDK fails on {event['type']}: {error!r}") from error
            self._check_no_error(event)

    def _check_no_error(self, event: wire.Event) -> None:
        for queued in self.queued():
            data = getattr(queued, "data", None)
            if queued.type == "error" or getattr(data, "type", None) in ("error", "exception"):
                raise AssertionError(f"the SDK answers {event['type']} with {data or queued}")

    def queued(self) -> list[Any]:
        """The session events on the queue, oldest first; they stay there."""
        return list(self.session._event_queue._queue)

    @property
    def history(self) -> list[Any]:
        return list(self.session._history)

    def item(self, item_id: str) -> Any:
        """The one history item of that id."""
        (item,) = [item for item in self.history if item.item_id == item_id]
        return item

    def status(self, item_id: str) -> str | None:
        return getattr(self.item(item_id), "status", None)

    def parts(self, item_id: str) -> list[Part]:
        """The content of an item: ("text", words), ("audio", transcript) or ("image", URL)."""
        return parts(self.item(item_id))


def parts(item: Any) -> list[Part]:
    """The content of a history item: ("text", words), ("audio", transcript), ("image", URL)."""
    fields = {"text": "text", "audio": "transcript", "image": "image_url"}
    content = []
    for part in item.content:
        kind = part.type.removeprefix("input_")
        content.append((kind, getattr(part, fields[kind])))
    return content


def updated(history: list[Any], update: Any) -> list[Any]:
    """What the session makes of a history and the update of an item.

    An exception on the way fails the test as an assertion does.
    """
    try:
        return list(RealtimeSession._get_new_history(history, update))
    except Exception as error:
        raise AssertionError(f"the merge raises {error!r}") from error
