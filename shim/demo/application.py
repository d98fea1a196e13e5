"""The application of the demonstration, as a program of its own.

An ordinary user of `RealtimeRunner`. It reads commands from stdin and answers them on stdout,
a JSON object per line, and exits at the end of its input. It imports nothing of the shim: whether
that is active has been settled by whoever started this process.

Commands: ``open`` (url), ``close``, ``interrupt``, ``say`` (message), ``sync`` (marker) and
``report``, each with a number that the answer repeats. A command that fails is answered with
``{"failed": REASON}``; an answer with the number 0 says that the application is ready.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from typing import Any, TextIO

from agents.realtime import RealtimeAgent, RealtimeRunner
from agents.realtime.model_inputs import RealtimeModelSendRawMessage

Fields = dict[str, Any]


class Conversation:
    """One session, and what the application sees of it."""

    def __init__(self, session: Any) -> None:
        self.session = session
        self.events: Counter[str] = Counter()
        self.errors: list[str] = []
        self._named: set[str] = set()
        self._changed = asyncio.Event()
        self._listening = asyncio.create_task(self._listen())

    async def _listen(self) -> None:
        try:
            async for event in self.session:
                self._note(event)
                self._changed.set()
        except Exception as error:
            self.errors.append(f"exception: {describe(error)}")
        finally:
            self._changed.set()

    def _note(self, event: Any) -> None:
        if event.type == "raw_model_event":
            self._named.add(getattr(event.data, "item_id", ""))
        elif event.type == "error":
            self.errors.append(f"error: {describe(event.error)}")
        elif not event.type.startswith("history_"):  # the history is reported itself
            self.events[event.type] += 1

    async def sync(self, marker: str) -> Fields:
        """Wait until the event that names ``marker`` is handled, then send a harmless frame.

        Everything that the server sent before the event has been handled by then. Answers
        ``{"ended": True}`` if the session has ended instead.
        """
        while marker not in self._named:
            if self._listening.done():
                return {"ended": True}
            self._changed.clear()
            await self._changed.wait()
        message: Any = {"type": "input_audio_buffer.clear"}
        # 0.2.0 has no public name for it.
        await self.session._model.send_event(RealtimeModelSendRawMessage(message=message))
        return {}

    async def close(self) -> None:
        await self.session.close()
        self._listening.cancel()
        await asyncio.wait({self._listening})

    def report(self) -> Fields:
        history = [as_dict(item) for item in self.session._history]
        return {"events": self.events, "errors": self.errors, "history": history}


def describe(error: Any) -> str:
    """Return an exception or an error of the server in one line."""
    if isinstance(error, Exception):
        return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    return str(getattr(error, "message", None) or error)


def as_dict(item: Any) -> Fields:
    """Return what the demonstration shows of a history item."""
    return {
        "id": item.item_id,
        "role": getattr(item, "role", item.type),
        "status": getattr(item, "status", None),
        "previous": item.previous_item_id,
        "parts": [as_pair(part) for part in getattr(item, "content", [])],
    }


def as_pair(part: Any) -> tuple[str, str | None]:
    """Return the kind of a content part and its words or URL."""
    kind = part.type.removeprefix("input_")
    field = {"text": "text", "audio": "transcript", "image": "image_url"}[kind]
    return kind, getattr(part, field)


class Application:
    """Carries out the commands."""

    def __init__(self) -> None:
        self._runner = RealtimeRunner(RealtimeAgent(name="assistant"))
        self._conversations: list[Conversation] = []

    async def serve(self, commands: TextIO, answers: TextIO) -> None:
        """Answer the commands until there are no more."""
        answer: Fields = {"number": 0, "shim": shim_status()}
        while True:
            answers.write(json.dumps(answer) + "\n")
            answers.flush()
            line = await asyncio.to_thread(commands.readline)
            if not line:
                return
            command = json.loads(line)
            number = command.pop("number")
            try:
                answer = {"number": number, **await self._carry_out(**command)}
            except Exception as error:
                answer = {"number": number, "failed": describe(error)}

    async def _carry_out(self, *, do: str, **fields: Any) -> Fields:
        if do == "open":
            config: Any = {"url": fields["url"], "api_key": "none"}
            session = await self._runner.run(model_config=config)
            await session.enter()
            self._conversations.append(Conversation(session))
        elif do == "close":
            await self._conversations[-1].close()
        elif do == "interrupt":
            await self._conversations[-1].session.interrupt()
        elif do == "say":
            await self._conversations[-1].session.send_message(fields["message"])
        elif do == "sync":
            return await self._conversations[-1].sync(fields["marker"])
        elif do == "report":
            return {"sessions": [each.report() for each in self._conversations]}
        return {}


def shim_status() -> Fields | None:
    """Return what the shim did in this process; None if it was never imported."""
    shim = sys.modules.get("shim")
    return shim.status().as_dict() if shim else None


def main() -> None:
    """Serve the commands on stdin; whatever else prints is sent to stderr."""
    answers, sys.stdout = sys.stdout, sys.stderr
    asyncio.run(Application().serve(sys.stdin, answers))


if __name__ == "__main__":
    main()
