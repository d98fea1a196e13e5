"""The application: an ordinary user of `RealtimeRunner`, led by the server's cues.

It imports the SDK, and nothing of the shim: whether that is active is settled before.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Any

from agents import RunContextWrapper, function_tool
from agents.realtime import RealtimeAgent, RealtimeRunner
from agents.realtime.model_inputs import RealtimeModelSendRawMessage
from agents.realtime.openai_realtime import OpenAIRealtimeWebSocketModel

from tools.soak.cues import BARRIER, is_cue, read_cue
from tools.soak.judge import UNFINISHED, HistoryRow, Outcome
from tools.soak.plan import found


@function_tool
def lookup(context: RunContextWrapper[str], word: str) -> str:
    """Look a word up."""
    return found(context.context, word)


def _instructions(context: RunContextWrapper[str], agent: RealtimeAgent[str]) -> str:
    return context.context


class Application:
    """A model, and the runner that uses it for all its sessions."""

    def __init__(self) -> None:
        agent = RealtimeAgent[str](name="assistant", instructions=_instructions, tools=[lookup])
        self._model: Any = OpenAIRealtimeWebSocketModel()
        self._runner: Any = RealtimeRunner(agent, model=self._model)

    async def converse(self, *, url: str, tag: str, patience: float) -> Outcome:
        """Hold a conversation, until the server's cue to close the session; tell what was seen.

        The tag is the session's context, and so becomes the agent's instructions. Never raises
        for what the SDK does; to take longer than ``patience`` seconds is a problem as well.
        """
        outcome = Outcome()
        session = await self._runner.run(context=tag, model_config={"url": url, "api_key": "none"})
        try:
            await asyncio.wait_for(self._follow(session, outcome), patience)
        except asyncio.TimeoutError:
            outcome.problems.append(f"{UNFINISHED}: it took more than {patience:g} seconds")
        except Exception as error:
            outcome.problems.append(f"{UNFINISHED}: {type(error).__name__}: {error}")
        try:
            await session.close()
        except Exception as error:
            outcome.problems.append(f"close() raises: {type(error).__name__}: {error}")
        outcome.history = [as_row(item) for item in session._history]
        outcome.ids = [item.item_id for item in session._history]
        return outcome

    async def _follow(self, session: Any, outcome: Outcome) -> None:
        """Do what the cues ask for, until the one to close."""
        await session.enter()
        # Else the iterator is left to the garbage collector, and to a task of the event loop.
        async with aclosing(aiter(session)) as events:
            async for event in events:
                _note(event, outcome)
                item_id = str(getattr(getattr(event, "data", None), "item_id", ""))
                if event.type != "raw_model_event" or not is_cue(item_id):
                    continue
                act, words = read_cue(item_id)
                if act == "close":
                    return
                await self._act(session, act, words)
        outcome.problems.append(f"{UNFINISHED}: the session's events ended")

    async def _act(self, session: Any, act: str, words: str) -> None:
        if act == "type":
            await session.send_message(words)
        elif act == "interrupt":
            await session.interrupt()
        elif act == "sync":
            message: Any = {"type": BARRIER}
            await self._model.send_event(RealtimeModelSendRawMessage(message=message))


def _note(event: Any, outcome: Outcome) -> None:
    """Note what a session event is about; the history is looked at in the end."""
    about = event
    if event.type == "error":
        outcome.problems.append(f"error event: {event.error}")
    elif event.type == "raw_model_event":
        about = event.data
        if about.type == "raw_server_event":
            outcome.events += 1
        elif about.type == "exception":
            outcome.problems.append(f"exception event: {about.exception!r}")
    if hasattr(about, "item_id"):
        outcome.named.add(about.item_id)


def as_row(item: Any) -> HistoryRow:
    """Return an item of the history as kind, status and parts."""
    if item.type == "function_call":
        parts: Any = (("arguments", item.arguments), ("output", item.output))
        return item.type, item.status, parts
    parts = tuple(_as_part(part) for part in item.content)
    return item.role, getattr(item, "status", None), parts


def _as_part(part: Any) -> tuple[str, str]:
    kind = part.type.removeprefix("input_")
    return kind, getattr(part, "text" if kind == "text" else "transcript")
