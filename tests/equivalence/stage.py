"""One conversation: a model instance, the sessions and connections that it has one after another.

The SDK's own ``connect()``, listener task and ``close()`` run; only the connection underneath, the
clock and what waits are ours. Nothing here knows whether the SDK is shimmed, patched or bare.
"""

from __future__ import annotations

import asyncio
import base64
import json
import sys
from types import SimpleNamespace
from typing import Any

import agents.realtime
import websockets.exceptions
from agents import GuardrailFunctionOutput, OutputGuardrail, function_tool
from agents.realtime import RealtimeAgent, RealtimeSession, openai_realtime
from agents.realtime.model_inputs import RealtimeModelSendInterrupt, RealtimeModelSendRawMessage
from agents.realtime.openai_realtime import OpenAIRealtimeWebSocketModel

from .clock import Clock
from .connection import Connection
from .earlier import Earlier
from .listeners import Holder, RaisingTracker, Recorder
from .loop import PatientLoop
from .plain import Json, error, item, plain
from .sequence import Step

# The modules that measure audio; the second came with 0.2.4.
_TIMED = ("agents.realtime.openai_realtime", "agents.realtime._default_tracker")

_BYTES_PER_MS = 48  # PCM16 at 24 kHz
_STEP_MS = 10


def _outcome(task: asyncio.Task[Any]) -> Json:
    if task.cancelled():
        return "cancelled"
    raised = task.exception()
    return "done" if raised is None else error(raised)


class Stage:
    """Plays the steps of a sequence and tells after each of them what came of it."""

    def __init__(self, loop: PatientLoop, setup: dict[str, Any]) -> None:
        self._loop = loop
        self._setup = setup
        self._clock = Clock()
        for name in _TIMED:
            if name in sys.modules:
                self._clock.install(sys.modules[name])
        module: Any = openai_realtime
        module.websockets = SimpleNamespace(connect=self._connect, exceptions=websockets.exceptions)
        loop.set_exception_handler(self._on_loop_error)

        self.released = asyncio.Event()
        self._recorded: dict[str, list[Json]] = {}
        self._pending: list[tuple[str, asyncio.Task[Any]]] = []
        self._readers: list[asyncio.Task[None]] = []
        self._sessions: list[Any] = []
        self._histories: list[Json] = []
        self._connections: list[Connection] = []
        self._refused: str | None = None
        self._tracker = self._new_tracker()

        self.model: Any = OpenAIRealtimeWebSocketModel()
        self._front, self._back = Holder(self), Holder(self)
        self.model.add_listener(Recorder(self))
        self.model.add_listener(self._front)

    def _new_tracker(self) -> Any:
        tracker = self._setup.get("tracker")
        if tracker is None or not hasattr(agents.realtime, "RealtimePlaybackTracker"):
            return None
        return (
            RaisingTracker() if tracker == "raises" else agents.realtime.RealtimePlaybackTracker()
        )

    def record(self, kind: str, entry: Json) -> None:
        self._recorded.setdefault(kind, []).append(entry)

    def owner(self, name: str) -> Any:
        return self.model if name == "model" else self._sessions[-1]

    async def wait(self, *, stubborn: bool = False) -> None:
        """Wait for the next release, even if cancelled when ``stubborn``."""
        released = self.released
        while not released.is_set():
            try:
                await released.wait()
            except asyncio.CancelledError:
                if not stubborn:
                    raise

    async def play(self, step: Step) -> Json:
        """Play one step until nothing moves any more, and return what it caused."""
        self._recorded = {}
        self._clock.advance(step.get("after", _STEP_MS))
        earlier = self._earlier()
        await getattr(self, f"_do_{step['do']}")(step)
        await self._settle()
        if earlier is not None and earlier.session is self._sessions[-1]:
            for problem in earlier.problems(step):
                self.record("problems", problem)
        self._record_state()
        return self._recorded

    def _earlier(self) -> Earlier | None:
        if not self._histories:
            return None
        return Earlier(self._sessions[-1], self._histories[-1])

    async def end(self) -> None:
        """Let go of everything that is still there, without telling."""
        self._recorded = {}
        self.released.set()
        self.model._listeners.clear()
        for connection in self._connections:
            connection.closing, connection.refuses_frames = "plain", False
            connection.break_off()
        for _ in range(3):
            tasks = asyncio.all_tasks() - {asyncio.current_task()}
            for task in tasks:
                task.cancel()
            await self._loop.settle()

    async def _settle(self) -> None:
        await self._loop.settle()
        for name, task in [*self._pending]:
            if task.done():
                self._pending.remove((name, task))
                self.record("outcomes", [name, _outcome(task)])
        for name, _ in self._pending:
            self.record("outcomes", [name, "hangs"])

    def _record_state(self) -> None:
        for number, session in enumerate(self._sessions):
            if not self._setup.get("iterate"):
                queue = session._event_queue
                while not queue.empty():
                    self.record("session", [number, plain(queue.get_nowait())])
            history = [item(each) for each in session._history]
            if number == len(self._histories):
                self._histories.append([])
            if history != self._histories[number]:
                self._histories[number] = history
                self.record("history", [number, history])
            if session._stored_exception is not None:
                self.record("exception", [number, error(session._stored_exception)])
        if self._tracker is not None:
            self.record("tracker", plain(self._tracker.get_state()))

    def _on_loop_error(self, loop: Any, context: dict[str, Any]) -> None:
        # When an exception that nobody asked for is reported depends on the garbage collector.
        if "never retrieved" not in context["message"]:
            self.record("loop", [context["message"], plain(context.get("exception"))])

    def _act(self, name: str, coroutine: Any) -> asyncio.Task[Any]:
        """Start what the application does; what came of it is told once it is done."""
        task: asyncio.Task[Any] = asyncio.ensure_future(coroutine)
        self._pending.append((name, task))
        return task

    # The steps.

    async def _do_wait(self, step: Step) -> None:
        """Only the time passes."""

    async def _do_connect(self, step: Step) -> None:
        self._refused = step.get("line")
        model_config: Any = {"api_key": "key"}
        if self._tracker is not None:
            model_config["playback_tracker"] = self._tracker
        session = RealtimeSession(self.model, self._agent(), None, model_config, self._run_config())
        self._sessions.append(session)
        if self._setup.get("iterate"):
            number = len(self._sessions) - 1
            self._readers.append(asyncio.ensure_future(self._read(number, session)))
        self._act("connect", session.enter())

    async def _do_receive(self, step: Step) -> None:
        if "text" in step:
            self._connections[-1].receive(step["text"])
            return
        event = {"event_id": "event_1", **step["event"]}
        if "audio_ms" in step:
            sound = bytes(step["audio_ms"] * _BYTES_PER_MS)
            event["delta"] = base64.b64encode(sound).decode()
        self._connections[-1].receive(json.dumps(event))

    async def _do_end_of_line(self, step: Step) -> None:
        if step["how"] == "normal":
            self._connections[-1].end()
        else:
            self._connections[-1].break_off()

    async def _do_send_message(self, step: Step) -> None:
        self._act("send_message", self._sessions[-1].send_message(step["message"]))

    async def _do_send_audio(self, step: Step) -> None:
        sending = self._sessions[-1].send_audio(b"\0\1", commit=step["commit"])
        self._act("send_audio", sending)

    async def _do_interrupt(self, step: Step) -> None:
        event = RealtimeModelSendInterrupt()
        if step.get("force") and hasattr(event, "force_response_cancel"):
            event.force_response_cancel = True
        self._act("interrupt", self.model.send_event(event))

    async def _do_send_raw(self, step: Step) -> None:
        event = RealtimeModelSendRawMessage(message=step["message"])
        self._act("send_raw", self.model.send_event(event))

    async def _do_played(self, step: Step) -> None:
        if self._tracker is not None:
            self._tracker.on_play_ms(step["item_id"], 0, step["ms"])

    async def _do_close(self, step: Step) -> None:
        self._connections[-1].closing = step.get("line", "plain")
        task = self._act("close", self.owner(step.get("owner", "session")).close())
        if step.get("cancel") == "before":
            task.cancel()
        elif step.get("cancel") == "during":
            await self._loop.settle()
            task.cancel()

    async def _do_hold(self, step: Step) -> None:
        holder = self._front if step.get("first") else self._back
        if holder is self._back:
            # Behind the session, which is added when it connects.
            self.model.remove_listener(holder)
            self.model.add_listener(holder)
        holder.kinds, holder.closes = step["kinds"], step.get("closes")

    async def _do_hold_response_create(self, step: Step) -> None:
        self._connections[-1].holds_response_create = True

    async def _do_release(self, step: Step) -> None:
        self.released.set()
        self.released = asyncio.Event()
        for holder in (self._front, self._back):
            holder.kinds = []

    # What the SDK calls.

    async def _connect(self, url: str, **options: Any) -> Connection:
        number = len(self._connections)
        if self._refused == "refused":
            raise OSError("nobody listens")
        connection = Connection(
            record=lambda entry: self.record("wire", ["connection", number, plain(entry)]),
            wait=self.wait,
        )
        connection.refuses_frames = self._refused == "mute"
        self._connections.append(connection)
        return connection

    async def _read(self, number: int, session: Any) -> None:
        try:
            async for event in session:
                self.record("session", [number, plain(event)])
        except Exception as raised:
            self.record("session", [number, error(raised)])
        else:
            self.record("session", [number, "ended"])

    def _agent(self) -> Any:
        @function_tool
        async def weather() -> str:
            return "sunny"

        @function_tool
        async def forecast() -> str:
            await self.wait()
            return "rain"

        @function_tool
        async def almanac() -> str:
            await self.wait(stubborn=True)
            return "snow"

        @function_tool
        async def broken() -> str:
            raise ValueError("no weather")

        return RealtimeAgent(name="assistant", tools=[weather, forecast, almanac, broken])

    def _run_config(self) -> Any:
        config: dict[str, Any] = {"async_tool_calls": self._setup.get("async_tools", True)}
        if self._setup.get("guardrail"):

            async def check(context: Any, agent: Any, output: Any) -> GuardrailFunctionOutput:
                return GuardrailFunctionOutput(
                    output_info=output, tripwire_triggered="there" in str(output)
                )

            config["output_guardrails"] = [OutputGuardrail(guardrail_function=check, name="check")]
            config["guardrails_settings"] = {"debounce_text_length": 4}
        return config
