"""converter-status: what an application sees of the status of messages.

For openai-agents 0.3.0 and later with the voice extra. It needs no API key: the server is on
127.0.0.1. Prints what the server sends and, indented, the session events that come of it.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from agents.realtime import RealtimeAgent, RealtimeRunner
from websockets.asyncio.server import ServerConnection, serve

PCM = {"output": {"format": {"type": "audio/pcm", "rate": 24000}}}
SESSION = {"type": "realtime", "model": "gpt-realtime", "audio": PCM}
ANSWER: dict[str, Any] = {"id": "answer", "type": "message", "role": "assistant"}
ANSWER |= {"content": [{"type": "output_audio", "transcript": "It is sunny in Lisbon."}]}
THANKS = {"id": "thanks", "type": "message", "role": "user", "content": [{"type": "input_audio"}]}


async def server(socket: ServerConnection) -> None:
    async def send(event_type: str, **fields: Any) -> None:
        await socket.send(json.dumps({"type": event_type, "event_id": "event_1", **fields}))

    async def receive(event_type: str) -> None:
        while json.loads(await socket.recv())["type"] != event_type:
            pass

    place = {"response_id": "resp_1", "output_index": 0}
    audio = {"item_id": "answer", "content_index": 0, "delta": "AAAAAAAA"}
    heard = {"transcript": "Thank you.", "usage": {"type": "duration", "seconds": 1.0}}
    await receive("session.update")
    await send("session.created", session=SESSION)
    # The assistant speaks, and is done.
    await send("response.output_audio.delta", **place, **audio)
    await send("response.output_item.done", **place, item={**ANSWER, "status": "completed"})
    await send("conversation.item.done", item={**ANSWER, "status": "completed"})
    # The user says thank you. When that is transcribed, the SDK asks for the answer again.
    await send("conversation.item.added", item={**THANKS, "status": "completed"})
    await send(
        "conversation.item.input_audio_transcription.completed",
        **{"item_id": "thanks", "content_index": 0, **heard},
    )
    await receive("conversation.item.retrieve")
    # The answer comes without a status, as the protocol allows.
    await send("conversation.item.retrieved", item=ANSWER)


def show(event: Any) -> None:
    if event.type == "raw_model_event" and event.data.type == "raw_server_event":
        print(event.data.data["type"])
    elif event.type in ("history_added", "history_updated"):
        items = event.history if event.type == "history_updated" else [event.item]
        states = [f"{item.item_id} {getattr(item, 'status', None)}" for item in items]
        print(f"    {event.type}: {', '.join(states) or 'nothing'}")


async def main() -> None:
    async with serve(server, "127.0.0.1", 0) as listening:
        port = next(iter(listening.sockets)).getsockname()[1]
        runner = RealtimeRunner(RealtimeAgent(name="assistant"))
        config: Any = {"url": f"ws://127.0.0.1:{port}", "api_key": "none"}
        async with await runner.run(model_config=config) as session:
            # The iteration ends when the server closes the connection.
            async for event in session:
                show(event)


asyncio.run(asyncio.wait_for(main(), timeout=30))
