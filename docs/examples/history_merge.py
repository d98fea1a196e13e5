"""history-merge: what the history loses when the server sends an item again.

For openai-agents 0.3.0 and later with the voice extra. It needs no API key: the server is on
127.0.0.1. Prints what the server sends and, indented, the history that comes of it.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from agents.realtime import RealtimeAgent, RealtimeRunner
from websockets.asyncio.server import ServerConnection, serve

WORDS = {"type": "input_text", "text": "Which bird is this?"}
IMAGE = {"type": "input_image", "image_url": "https://example.com/bird.png"}
QUESTION = {"id": "question", "type": "message", "role": "user", "status": "completed"}
ANSWER = {"id": "answer", "type": "message", "role": "assistant"}


async def server(socket: ServerConnection) -> None:
    async def send(event_type: str, **fields: Any) -> None:
        await socket.send(json.dumps({"type": event_type, "event_id": "event_1", **fields}))

    async def deltas(words: str) -> None:
        place = {"response_id": "resp_1", "output_index": 0, "item_id": "answer"}
        for word in words.split():
            delta = {"content_index": 0, "delta": f"{word} "}
            await send("response.output_audio_transcript.delta", **place, **delta)

    while json.loads(await socket.recv())["type"] != "session.update":
        pass
    # The user asks about an image, and the assistant answers.
    await send("conversation.item.added", item={**QUESTION, "content": [WORDS, IMAGE]})
    await deltas("It is a")
    # The server sends the question again without its words, and the answer without its content.
    retrieved = {**QUESTION, "content": [{"type": "input_text", "text": ""}]}
    await send("conversation.item.retrieved", item=retrieved)
    await send(
        "conversation.item.retrieved", item={**ANSWER, "status": "incomplete", "content": []}
    )


def show(event: Any) -> None:
    if event.type == "raw_model_event" and event.data.type == "raw_server_event":
        print(event.data.data["type"])
    elif event.type in ("history_added", "history_updated"):
        for item in event.history if event.type == "history_updated" else [event.item]:
            print(f"    {item.item_id} ({item.status}): {', '.join(map(describe, item.content))}")


def describe(part: Any) -> str:
    fields = {"text": "text", "input_text": "text", "input_image": "image_url"}
    return f"{part.type} {getattr(part, fields.get(part.type, 'transcript'))!r}"


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
