"""close-reset: a model listener that closes the connection, and the model's next one.

For openai-agents 0.3.0 and later with the voice extra. It needs no API key: the server is on
127.0.0.1. Prints what the listener is told and, indented, the frames of the client on items.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from agents.realtime import OpenAIRealtimeWebSocketModel, RealtimeModelListener
from websockets.asyncio.server import ServerConnection, serve

PCM = {"output": {"format": {"type": "audio/pcm", "rate": 24000}}}
SESSION = {"type": "realtime", "model": "gpt-realtime", "audio": PCM}
CREATED: dict[str, Any] = {"type": "session.created", "session": SESSION}
AUDIO: dict[str, Any] = {"type": "response.output_audio.delta", "item_id": "old answer"}
AUDIO |= {"response_id": "resp_1", "output_index": 0, "content_index": 0, "delta": "AAAAAAAA"}
SPEECH: dict[str, Any] = {"type": "conversation.item.input_audio_transcription.completed"}
SPEECH |= {"item_id": "hello", "content_index": 0, "transcript": "Hello?"}
SPEECH |= {"usage": {"type": "duration", "seconds": 1.0}}
# What the server sends on each connection.
EVENTS = [[CREATED, AUDIO, AUDIO], [CREATED, SPEECH]]


async def server(socket: ServerConnection) -> None:
    for event in EVENTS.pop(0):
        await socket.send(json.dumps({"event_id": "event_1", **event}))
    async for text in socket:
        frame = json.loads(text)
        if frame["type"] != "session.update":
            print(f"    {frame['type']} {frame.get('item_id')}")


class HangUp(RealtimeModelListener):
    """Closes the model at the first event of a type, as an application does that hangs up."""

    def __init__(self, model: OpenAIRealtimeWebSocketModel, event_type: str) -> None:
        self.model = model
        self.event_type = event_type
        self.closed = asyncio.Event()

    async def on_event(self, event: Any) -> None:
        if event.type in ("audio", "input_audio_transcription_completed"):
            print(f"{event.type} {event.item_id}{' (closed)' if self.closed.is_set() else ''}")
        if event.type == self.event_type and not self.closed.is_set():
            await self.model.close()
            self.closed.set()


async def main() -> None:
    model = OpenAIRealtimeWebSocketModel()
    async with serve(server, "127.0.0.1", 0) as listening:
        port = next(iter(listening.sockets)).getsockname()[1]
        for event_type in ("audio", "input_audio_transcription_completed"):
            listener = HangUp(model, event_type)
            model.add_listener(listener)
            await model.connect({"url": f"ws://127.0.0.1:{port}", "api_key": "none"})
            await listener.closed.wait()
            model.remove_listener(listener)


asyncio.run(asyncio.wait_for(main(), timeout=30))
