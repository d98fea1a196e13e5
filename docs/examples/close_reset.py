"""close-reset: what a second session on the same runner hears of the first one.

For openai-agents 0.3.0 and later with the voice extra. It needs no API key: the server is on
127.0.0.1. Prints the frames that the server gets, but for session.update, and, indented, some of
the session events.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from agents.realtime import RealtimeAgent, RealtimeRunner
from websockets.asyncio.server import ServerConnection, serve

PCM = {"output": {"format": {"type": "audio/pcm", "rate": 24000}}}
SESSION = {"type": "realtime", "model": "gpt-realtime", "audio": PCM}
# Ten seconds of silence, so that it is still playing when the second session begins.
SPEECH = {"item_id": "answer", "content_index": 0, "delta": "AAAA" * 160_000}
ITEM_FRAMES = ("conversation.item.truncate", "conversation.item.retrieve")
connections: list[ServerConnection] = []


async def server(socket: ServerConnection) -> None:
    async def send(event_type: str, **fields: Any) -> None:
        await socket.send(json.dumps({"type": event_type, "event_id": "event_1", **fields}))

    connections.append(socket)
    await socket.recv()
    await send("session.created", session=SESSION)
    if len(connections) == 1:
        # The assistant speaks.
        await send("response.output_audio.delta", response_id="r", output_index=0, **SPEECH)
    else:
        # The user speaks first.
        await send("input_audio_buffer.speech_started", item_id="hello", audio_start_ms=0)
        await send("input_audio_buffer.speech_stopped", item_id="hello", audio_end_ms=500)
    async for text in socket:
        frame = json.loads(text)
        if frame["type"] != "session.update":
            print(" ".join([frame["type"], frame.get("item_id", "")]).strip())
        if frame["type"] in ITEM_FRAMES:
            error = {"type": "invalid_request_error", "message": "Item not found: answer"}
            await send("error", error=error)
        elif frame["type"] == "input_audio_buffer.commit":
            # The application is done.
            await socket.close()


async def play(runner: RealtimeRunner, port: int, *, last: str) -> None:
    """Open a session, and show its events up to the raw server event ``last``."""
    config: Any = {"url": f"ws://127.0.0.1:{port}", "api_key": "none"}
    async with await runner.run(model_config=config) as session:
        async for event in session:
            data: Any = getattr(event, "data", None)
            if event.type == "error":
                print(f"    error: {event.error.message}")
            elif event.type in ("audio", "audio_interrupted"):
                print(f"    {event.type}")
            if getattr(data, "type", None) == "raw_server_event" and data.data["type"] == last:
                if len(connections) == 1:
                    break
                await session.send_audio(b"", commit=True)


async def main() -> None:
    async with serve(server, "127.0.0.1", 0) as listening:
        port = next(iter(listening.sockets)).getsockname()[1]
        runner = RealtimeRunner(RealtimeAgent(name="assistant"))
        print("first session")
        await play(runner, port, last="response.output_audio.delta")
        print("second session")
        await play(runner, port, last="input_audio_buffer.speech_stopped")


asyncio.run(asyncio.wait_for(main(), timeout=30))
