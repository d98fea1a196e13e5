"""The soak test: what it notices, what it does not mind, and a small one on this release."""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary, ref

import pytest
from children import Child, python

from tools.soak import memory
from tools.soak.crossing import crossed
from tools.soak.cues import cue, is_cue, read_cue
from tools.soak.judge import Outcome, problems
from tools.soak.plan import COURSES, Plan, Protocol, tag

PROTOCOLS: tuple[Protocol, ...] = ("ga", "beta")
SMALL = "--cycles 20 --sessions 10 --seconds 2 --patience 30"


def soak(arguments: str, sabotage: str = "") -> Child:
    """Run the soak test in a process of its own, ``sabotage`` being done before."""
    main = "from tools.soak.__main__ import main"
    return python(f"import sys\n{main}\n{sabotage}\nsys.exit(main({arguments.split()!r}))")


def test_a_small_soak_of_the_shimmed_release_is_clean() -> None:
    child = soak(SMALL)
    assert child.returncode == 0, child.stdout + child.stderr
    lines = child.stdout.splitlines()
    assert "shimmed" in lines[0]
    assert [line.strip() for line in lines].count("all as it should be") == 2
    assert "20 conversations on one model: 20 conversations" in child.stdout
    assert "at most 10 connections at once" in child.stdout


def test_the_bare_release_is_not() -> None:
    child = soak(f"--cycles {COURSES} --sessions 0 --bare --patience 10")
    assert child.returncode == 1, child.stderr
    assert "bare" in child.stdout.splitlines()[0]
    assert " x wrong history: " in child.stdout


# What a client process does wrong, and what the soak test has to say about it.
SABOTAGES = {
    "left in memory": """
import shim
from tools.soak import application
kept, as_row = [], application.as_row
application.as_row = lambda item: kept.append(item) or as_row(item)
""",
    "left behind": """
import shim, asyncio
from tools.soak import application
kept, note = set(), application._note
def lingering(event, outcome):
    if event.type == "agent_start":
        kept.add(asyncio.create_task(asyncio.sleep(60)))
    note(event, outcome)
application._note = lingering
""",
    "left in the shim": """
import shim
from tools.soak import application
from weakref import WeakKeyDictionary, ref
shim.everything = WeakKeyDictionary()
original = application.Application.__init__
def remembered(self):
    original(self)
    shim.everything[self] = 1
application.Application.__init__ = remembered
""",
    "cross-talk": """
import shim
from tools.soak import application
application.found = lambda tag, word: "<5.5> found another conversation's word"
""",
    "wrong history": """
import shim
from tools.soak import application
application.found = lambda tag, word: f"{tag} found something else"
""",
    "other items": """
import shim
from agents.realtime import RealtimeSession
on_event = RealtimeSession.on_event
async def forgetful(self, event):
    await on_event(self, event)
    self._history = self._history[-1:]
RealtimeSession.on_event = forgetful
""",
    "server error": """
import shim
from tools.soak import application
from agents.realtime.model_inputs import RealtimeModelSendRawMessage
act = application.Application._act
async def asks_too_much(self, session, asked, words):
    if not hasattr(self, "asked_too_much"):
        self.asked_too_much = True
        message = {"type": "conversation.item.delete", "other_data": {"item_id": "nobody_s"}}
        await self._model.send_event(RealtimeModelSendRawMessage(message=message))
    await act(self, session, asked, words)
application.Application._act = asks_too_much
""",
    "not played to its end": """
import shim
from tools.soak import application
async def does_nothing(self, session, act, words):
    pass
application.Application._act = does_nothing
""",
}


@pytest.mark.parametrize("kind", SABOTAGES)
def test_a_defect_is_noticed(kind: str) -> None:
    # Long enough for a busy machine, but where all of it is waited for.
    patience = 3 if kind == "not played to its end" else 20
    child = soak(f"--cycles {COURSES} --sessions 0 --patience {patience}", SABOTAGES[kind])
    assert child.returncode == 1, child.stdout + child.stderr
    assert f" x {kind}: " in child.stdout, child.stdout


def test_the_defect_of_one_among_many_is_noticed() -> None:
    child = soak("--cycles 0 --sessions 3 --seconds 1 --patience 10", SABOTAGES["left in memory"])
    assert child.returncode == 1, child.stdout + child.stderr
    assert " x left in memory: " in child.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("--cycles -1", "'-1' is not a number"),
        ("--sessions many", "'many' is not a number"),
        ("--seconds 0", "'0' is not a number of seconds"),
        ("--bare --agents-from somewhere", "not allowed with"),
    ],
)
def test_wrong_arguments(arguments: str, words: str) -> None:
    child = soak(arguments)
    assert (child.returncode, child.stdout) == (2, "")
    assert words in child.stderr


def test_an_sdk_that_is_not_where_it_should_be(tmp_path: Any) -> None:
    child = soak(f"--agents-from {tmp_path}")
    assert "and not in" in child.error


# Plans


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("number", range(COURSES))
def test_every_text_of_a_plan_carries_its_tag(number: int, protocol: Protocol) -> None:
    plan = Plan.of(tag(0, number))
    texts = [words for row in plan.rows(protocol) for _, words in row.parts]
    assert len(texts) >= 3
    assert all("<0." + str(number) + ">" in text for text in texts)


def test_clients_take_different_courses_at_the_same_time() -> None:
    courses = {tuple(step.act for step in Plan.of(tag(each, 0)).steps) for each in range(COURSES)}
    assert len(courses) == COURSES
    assert {acts[-1] for acts in courses} == {"close", "close-held", "close-busy"}
    assert all(act in {each for acts in courses for each in acts} for act in ("call", "barge-in"))


@pytest.mark.parametrize("name", ["", "<0>", "<0.1> ", "assistant"])
def test_a_name_that_is_no_tag(name: str) -> None:
    with pytest.raises(ValueError, match="not the tag"):
        Plan.of(name)


@pytest.mark.parametrize("words", ["", "<0.1> with: colons"])
def test_cues_are_read_as_they_were_written(words: str) -> None:
    item_id = cue("type", words)["item_id"]
    assert is_cue(item_id)
    assert read_cue(item_id) == ("type", words)


# Judging a conversation

CUT = next(
    plan
    for plan in (Plan.of(tag(0, number)) for number in range(COURSES))
    if plan.rows("ga")[-1].cut
)


def flawless(plan: Plan, protocol: Protocol = "ga") -> tuple[Outcome, dict[str, Any]]:
    """The application's outcome and the server's report of a conversation that went well."""
    history = [row.whole for row in plan.rows(protocol)]
    ids = [f"item_{number}" for number in range(len(history))]
    items = [
        [item_id, "function_call" if kind == "function_call" else "message", status]
        for item_id, (kind, status, _) in zip(ids, history, strict=True)
    ]
    items.insert(1, ["item_output", "function_call_output", "completed"])
    outcome = Outcome(history=history, ids=ids, named={*ids, cue("sync")["item_id"]})
    return outcome, {"tag": plan.tag, "items": items, "problems": []}


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("number", range(COURSES))
def test_a_flawless_conversation(number: int, protocol: Protocol) -> None:
    plan = Plan.of(tag(3, number))
    assert problems(plan, protocol, *flawless(plan, protocol)) == []


@pytest.mark.parametrize("content", [(), (("audio", CUT.tag),)], ids=["no word", "a word"])
def test_nobody_knows_how_much_is_heard_of_an_answer_that_is_cut(content: Any) -> None:
    outcome, report = flawless(CUT)
    kind, status, _ = outcome.history[-1]
    outcome.history[-1] = (kind, status, content)
    assert problems(CUT, "ga", outcome, report) == []


def test_an_answer_that_is_cut_may_be_missing() -> None:
    outcome, report = flawless(CUT)
    del outcome.history[-1], outcome.ids[-1]
    assert problems(CUT, "ga", outcome, report) == []


def broken() -> Iterator[tuple[str, Outcome, dict[str, Any] | None]]:
    """Yield the kind of a problem with an outcome and a report that have it; of `CUT`."""
    outcome, report = flawless(CUT)
    yield "error event: x", replace(outcome, problems=["error event: x"]), report
    yield "server error: x", outcome, {**report, "problems": ["server error: x"]}
    yield "not played to its end", outcome, None
    yield "cross-talk", replace(outcome, named={"item_of_another"}), report
    yield "other items", replace(outcome, ids=["item_of_another", *outcome.ids[1:]]), report
    yield "wrong history", replace(outcome, history=[*outcome.history, outcome.history[0]]), report
    for position, (kind, status, parts) in enumerate(outcome.history):
        for changed in (
            ("system", status, parts),
            (kind, "incomplete", parts),
            (kind, status, (("audio", "<9.9> of another"),)),
        ):
            history = [*outcome.history]
            history[position] = changed
            yield "wrong history", replace(outcome, history=history), report
    items = [[item_id, kind, "incomplete"] for item_id, kind, _ in report["items"]]
    yield "other statuses", outcome, {**report, "items": items}


@pytest.mark.parametrize(("kind", "outcome", "report"), list(broken()))
def test_a_conversation_with_a_problem(kind: str, outcome: Outcome, report: Any) -> None:
    assert any(each.startswith(kind) for each in problems(CUT, "ga", outcome, report))


SENT = [
    {"type": "session.created", "session": {"id": "sess_1"}},
    {"type": "response.created", "response": {"id": "resp_1", "output": [{"id": "item_1"}]}},
    {"type": "response.output_item.done", "item": {"id": "item_2", "call_id": "call_1"}},
]


@pytest.mark.parametrize(
    "frame",
    [
        {"type": "conversation.item.retrieve", "item_id": "item_1"},
        {"type": "response.cancel", "response_id": "resp_1"},
        {"type": "response.cancel", "response_id": None},
        {"previous_item_id": "root", "item": {"call_id": "call_1", "output": "<0.1> found"}},
        {"item": {"content": [{"type": "input_text", "text": "<0.1> typed"}]}},
        {"session": {"instructions": "<0.1>", "tools": []}},
        {"item": {"content": [{"type": "input_text", "text": ""}]}},
    ],
)
def test_a_frame_of_the_conversation(frame: dict[str, Any]) -> None:
    assert crossed([frame], SENT, "<0.1>") == []


@pytest.mark.parametrize(
    "frame",
    [
        {"type": "conversation.item.retrieve", "item_id": "item_3"},
        {"type": "response.cancel", "response_id": "resp_2"},
        {"previous_item_id": "item_3", "item": {"content": []}},
        {"item": {"call_id": "call_2", "output": "<0.1> found"}},
        {"item": {"call_id": "call_1", "output": "<10.1> found"}},
        {"item": {"content": [{"type": "input_text", "text": "typed"}]}},
        {"session": {"instructions": "<0.10>"}},
    ],
)
def test_a_frame_of_another_conversation(frame: dict[str, Any]) -> None:
    (problem,) = crossed([frame], SENT, "<0.1>")
    assert problem.startswith("cross-talk: ")


# Memory


def test_a_leak_has_a_slope_and_a_step_has_none() -> None:
    assert memory.slope([(x, 5 + 3 * x) for x in range(10)]) == 3
    assert memory.slope([(x, 0 if x < 2 else 2**20) for x in range(10)]) == 0
    assert memory.slope([(1, 5), (1, 9)]) == 0
    assert memory.slope([]) == 0


def test_growth_is_judged_where_there_is_enough_of_it() -> None:
    little, much = memory.ENOUGH - 1, memory.ENOUGH
    assert memory.growth_problems(rss=5000, objects=5, conversations=little) == []
    assert memory.growth_problems(rss=1000, objects=0.2, conversations=much) == []
    (rss,) = memory.growth_problems(rss=5000, objects=0, conversations=much)
    (objects,) = memory.growth_problems(rss=0, objects=1, conversations=much)
    assert rss.startswith("resident memory: ")
    assert objects.startswith("objects: ")


def test_instances_that_stay_are_named() -> None:
    async def scenario() -> tuple[memory.Sample, memory.Sample]:
        first = memory.sample(1)
        kept = [asyncio.get_running_loop().create_future() for _ in range(1000)]
        return first, memory.sample(len(kept))

    first, last = asyncio.run(scenario())
    assert first.rss > 2**20
    assert last.objects > first.objects
    assert memory.more_instances(first, last) == ["left in memory: 1000 more of _asyncio.Future"]
    assert memory.more_instances(first, replace(first, instances=Counter())) == []


def test_weak_dictionaries_of_the_shim_that_are_not_empty() -> None:
    class Key:
        pass

    module, other, key = ModuleType("shim.some"), ModuleType("some"), Key()
    for each in (module, other):
        vars(each).update(empty=WeakKeyDictionary(), used=WeakKeyDictionary({key: 1}))
        vars(each).update(plain={"key": key, "other": 1}, by_reference={})
        vars(each)["by_reference"][ref(key, vars(each)["by_reference"].pop)] = 1
    modules = {"shim.some": module, "some": other}
    assert memory.remembered(modules) == ["shim.some.used", "shim.some.by_reference"]
    del key
    vars(module)["plain"].clear()
    vars(other)["plain"].clear()
    assert memory.remembered(modules) == []


def test_a_task_and_a_socket_that_are_left_behind() -> None:
    async def scenario() -> list[list[str]]:
        own = asyncio.all_tasks()
        nothing = await memory.left_behind(own, patience=0.1)
        lingering = asyncio.create_task(asyncio.sleep(60))
        with socket.create_server(("127.0.0.1", 0)):
            both = await memory.left_behind(own, patience=0.1)
        lingering.cancel()
        return [nothing, both]

    nothing, both = asyncio.run(scenario())
    assert nothing == []
    assert [each.split()[2] for each in both] == ["task", "socket"]


def test_what_ends_in_time_is_not_left_behind() -> None:
    async def scenario() -> list[str]:
        own = asyncio.all_tasks()
        ending = asyncio.create_task(asyncio.sleep(0.05))
        return await memory.left_behind(own) if not ending.done() else ["it ended at once"]

    assert asyncio.run(scenario()) == []
