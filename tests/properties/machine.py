"""The state machine: hypothesis says what the server does, and every event is checked."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from . import server
from .client import Client, ClientError, Stage, answer, name_of, view_of
from .conversation import Conversation
from .findings import Findings
from .handed import HandedOut, same
from .invariants import Problem, differences, is_repeatable, problems_of_loss, touched_id
from .knowledge import Message, View
from .situations import TOOL_RETURNS, Situations
from .wire import Event, session_created

_MOST_CALLS = 3


def output_of(arguments: str) -> str:
    """Return what the tool answers to these arguments of a call."""
    return answer(json.loads(arguments)["place"])


class ConversationMachine(RuleBasedStateMachine):
    """Plays the server to a session, and holds its history against what has to be known."""

    def __init__(
        self,
        stage: Stage,
        *,
        situations: Situations,
        findings: Findings | None = None,
    ) -> None:
        """Begin a conversation.

        With ``findings`` a conversation that breaks a property ends there, and does not fail.
        """
        super().__init__()
        self._client = Client(stage)
        self._expected = Conversation(answer=output_of)
        self._history: list[View] = []
        self._handed_out = HandedOut(self._client.history)
        self._events: list[Event] = []
        self._calls = 0
        self._is_over = False
        self._situations, self._findings = situations, findings
        situations.begin()
        if findings is not None:
            findings.begin()

    # What the server does, and the tools.

    @initialize()
    def session_begins(self) -> None:
        self._receive(session_created())

    @rule(event=server.snapshots())
    def snapshot(self, event: Event) -> None:
        self._receive(event)

    @rule(event=server.outputs())
    def output(self, event: Event) -> None:
        self._receive(event)

    @precondition(lambda self: self._messages())
    @rule(data=st.data())
    def restatement(self, data: st.DataObject) -> None:
        known = data.draw(st.sampled_from(self._messages()))
        self._receive(data.draw(server.restatements(known)))

    @precondition(lambda self: self._messages(parts=2))
    @rule(data=st.data())
    def restatement_of_several_parts(self, data: st.DataObject) -> None:
        known = data.draw(st.sampled_from(self._messages(parts=2)))
        self._receive(data.draw(server.restatements(known)))

    @precondition(lambda self: is_repeatable(self._events[-1]))
    @rule()
    def again(self) -> None:
        self._receive(self._events[-1])

    @rule(event=server.transcript_deltas())
    def transcript_delta(self, event: Event) -> None:
        self._receive(event)

    @rule(event=server.transcriptions())
    def transcription(self, event: Event) -> None:
        self._receive(event)

    @rule(event=st.one_of(server.responses(), server.deletions(), server.asides()))
    def other_event(self, event: Event) -> None:
        self._receive(event)

    @precondition(lambda self: self._calls < _MOST_CALLS)
    @rule(data=st.data())
    def call(self, data: st.DataObject) -> None:
        self._calls += 1
        self._receive(data.draw(server.calls(self._calls)))

    @precondition(lambda self: self._expected.calls)
    @rule(data=st.data())
    def tool_returns(self, data: st.DataObject) -> None:
        call_id = data.draw(st.sampled_from(list(self._expected.calls)))
        item_id = self._expected.calls[call_id].item_id
        self._check(
            {"type": TOOL_RETURNS, "item_id": item_id},
            act=lambda: self._client.let_return(call_id),
            expect=lambda: self._expected.returned(call_id),
        )

    def teardown(self) -> None:
        self._client.close()
        self._situations.end()
        if not self._is_over and (problem := self._handed_out.problem()) is not None:
            self._report(problem)

    # What is checked.

    def _messages(self, *, parts: int = 0) -> list[Message]:
        """Return the messages that are known with so many parts or more."""
        messages = (item for item in self._expected.items if isinstance(item, Message))
        return [message for message in messages if len(message.parts) >= parts]

    def _receive(self, event: Event) -> None:
        self._check(
            event,
            act=lambda: self._client.receive(event),
            expect=lambda: self._expected.receive(event),
        )

    def _check(
        self, event: Event, *, act: Callable[[], list[Any]], expect: Callable[[], list[str]]
    ) -> None:
        """Let something happen, and report what is not as it has to be then."""
        if self._is_over:
            return
        self._situations.note(event, self._expected, previous=self._events)
        self._events.append(event)
        expected = expect()
        before = self._history
        try:
            told = act()
        except ClientError as error:
            self._report(Problem("3.12", str(error)))
            return
        self._history = [view_of(item) for item in self._client.history]
        problems = itertools.chain(
            self._problems_of_history(event, before),
            self._problems_of_told(told, expected),
        )
        if (problem := next(problems, None)) is not None:
            self._report(problem)

    def _problems_of_history(self, event: Event, before: list[View]) -> Iterator[Problem]:
        yield from self._handed_out.problems(self._client.history, touched=touched_id(event))
        yield from problems_of_loss(before, self._history, event)
        is_again = len(self._events) > 1 and event is self._events[-2]
        if is_again and is_repeatable(event) and self._history != before:
            yield Problem("3.11", f"the same event twice has changed {before}")
        yield from differences(self._history, self._expected.view())

    def _problems_of_told(self, told: list[Any], expected: list[str]) -> Iterator[Problem]:
        names = [name_of(each) for each in told]
        if names != expected:
            yield Problem("3.13", f"the session events are {names}, and not {expected}")
        history = self._client.history
        # The one before is about the call of a tool, and this one about its output.
        for each in [each for each in told if each.type.startswith("history_")][-1:]:
            if each.type == "history_updated" and not same(each.history, history):
                yield Problem("3.13", "history_updated carries another history")
            if each.type == "history_added" and all(each.item is not item for item in history):
                yield Problem("3.13", "history_added carries an item that is not in the history")

    def _report(self, problem: Problem) -> None:
        self._is_over = True
        if self._findings is not None:
            self._findings.add(problem)
            return
        lines = [str(problem), "after these events of the server:"]
        lines += [f"    {event}," for event in self._events]
        raise AssertionError("\n".join(lines))
