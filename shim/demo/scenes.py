"""The three scenes: what is played, and what has to come of it for a side to be clean."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from ..loopback import Behaviour, Connection, Turn
from .setting import Setting
from .stage import Item, Session, Stage, in_words

_BIRD = "https://example.com/bird.png"


@dataclass(frozen=True, kw_only=True)
class Scene:
    """One scene.

    Attributes:
        fix: Name of the fix that it is about.
        title: A headline.
        happens: A sentence on what happens in it, for the SDK at hand.
        expected: A sentence on what is to be seen.
        play: Plays it.
        judge: Returns what is wrong with the outcome, in words; nothing for a clean one.
    """

    fix: str
    title: str
    happens: Callable[[Setting], str]
    expected: str
    play: Callable[[Stage], Awaitable[None]]
    judge: Callable[[Stage], list[str]]


def problems(scene: Scene, stage: Stage) -> list[str]:
    """Return everything that keeps a side of a scene from being clean, in words."""
    if stage.failure is not None:
        return [stage.failure, *_errors(stage)]
    return scene.judge(stage) + _errors(stage)


def _errors(stage: Stage) -> list[str]:
    found = []
    if refused := sum(session.refused for session in stage.sessions):
        found.append(f"the server answered with {_count(refused, 'error')}")
    if errors := sum(len(session.errors) for session in stage.sessions):
        found.append(f"the application saw {_count(errors, 'error')}")
    return found


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _history_problems(
    history: list[Item], label: str, *, when: str = "", **expected: object
) -> list[str]:
    """Compare fields of one item of a history with what they have to be."""
    moment = f" {when}" if when else ""
    item = next((each for each in history if each.label == label), None)
    if item is None:
        return [f"<{label}> was missing from the history{moment}"]
    return [
        _difference(f"<{label}>", name, getattr(item, name), value) + moment
        for name, value in expected.items()
        if getattr(item, name) != value
    ]


def _difference(item: str, field: str, found: Any, expected: Any) -> str:
    """Say what is wrong with a field of an item."""
    if field == "status":
        return f"{item} was {found or 'without a status'} instead of {expected}"
    if field == "previous":
        return f"{item} no longer followed <{expected}>"
    if lost := [part for part in expected if part not in found]:
        nouns = ("image" if kind == "image" else "words" for kind, _ in lost)
        return f"{item} lost its {' and '.join(nouns)}"
    if len(found) == len(expected):
        return f"the parts of {item} changed places"
    return f"{item} has new parts"


def _repeat_problems(session: Session, *labels: str) -> list[str]:
    """Say which items the server did not send once more."""
    return [
        f"the server did not repeat <{label}>, so this scene shows nothing"
        for label in labels
        if not any(f"item.retrieved <{label}>" in answer for answer in session.answers)
    ]


# converter-status

_WEATHER = "It is sunny in Lisbon."


def _describe_answer(setting: Setting) -> str:
    again = (
        "That makes the SDK ask the server for the answer once more (conversation.item.retrieve); "
        "most releases also cut its audio off (truncate), and the server empties the transcript "
        "of what is cut off. The answer comes"
        if setting.retrieves
        else "The server sends the answer once more,"
    )
    return (
        f"The assistant finishes an answer, then the user says thank you. {again} without a status."
    )


async def _play_answer(stage: Stage) -> None:
    stage.server.behaviour = Behaviour(omit=frozenset({"status@conversation.item.retrieved"}))
    connection = await stage.open()
    answer = await connection.respond(stage.turn(_WEATHER))
    stage.name(answer, "answer")
    await stage.settle()
    stage.name(await connection.user_speaks("Thank you."), "thanks")
    await stage.settle()
    if not stage.setting.retrieves:
        await stage.snapshot(answer, connection.items[answer]["content"])


def _judge_answer(stage: Stage) -> list[str]:
    (session,) = stage.sessions
    found = _history_problems(
        session.history,
        "answer",
        status="completed",
        parts=((_kind(stage), _WEATHER),),
    )
    found += _history_problems(session.history, "thanks", parts=(("audio", "Thank you."),))
    return found + _repeat_problems(session, "answer")


def _kind(stage: Stage) -> str:
    return "audio" if stage.setting.spoken else "text"


# close-reset


def _describe_two_sessions(setting: Setting) -> str:
    return (
        "An application uses one runner for two sessions, and closes the first one while the "
        "assistant speaks. In the second one, before the assistant has said anything, the user "
        "speaks, and then the application calls interrupt()."
    )


async def _play_two_sessions(stage: Stage) -> None:
    stage.server.behaviour = Behaviour()
    connection = await stage.open()
    # Spoken in every release: what 0.2.0 rejects is the finished item. Long enough to be still
    # playing when the second session begins, or the SDK would not truncate it.
    turn = Turn(transcript="Once upon a time.", audio_ms=20_000, hold_after_deltas=200)
    stage.name(await connection.respond(turn), "answer of the first session")
    await stage.settle()
    await stage.child.ask("close")

    connection = await stage.open()
    stage.name(await connection.user_speaks("Hello?"), "hello")
    await stage.settle()
    await stage.child.ask("interrupt")
    await stage.settle()


def _judge_two_sessions(stage: Stage) -> list[str]:
    first, second = stage.sessions
    found = []
    if not first.events.get("audio"):
        found.append("the first session played no audio, so this scene shows nothing")
    if unknown := [frame for frame in second.frames if frame.startswith("conversation.item.")]:
        found.append(
            "the second server was asked about an item that it had never seen "
            f"({_count(len(unknown), 'frame')})"
        )
    if "response.cancel" in second.frames:
        found.append("the second server was asked to cancel a response, and there was none")
    if second.events.get("audio_interrupted"):
        found.append("the application was told audio_interrupted, and there was no audio")
    if [item.label for item in second.history] != ["hello"]:
        found.append("the second history holds something else than the user's words")
    return found


# history-merge

_HOURS = "The museum is open from ten to six."
_QUESTION = "Which bird is this?"
_HERON = "It is a grey heron."
_DURING = "while it was coming in"


def _describe_merge(setting: Setting) -> str:
    answer = (
        "The application interrupts an answer, whereupon the server empties the transcript and "
        "the SDK asks for the item once more."
        if setting.retrieves
        else "An answer is interrupted, and the server sends it once more, without its words."
    )
    question = (
        "The user asks about an image. A second answer comes in word by word. Then the server "
        "sends the question once more, without its words and without the image."
        if setting.images
        else "The user asks aloud. A second answer comes in word by word. Then the server sends "
        "the question once more, without its transcript."
    )
    return f"{answer} {question} What the server sends once more has no status."


async def _play_merge(stage: Stage) -> None:
    stage.server.behaviour = Behaviour(omit=frozenset({"status@conversation.item.retrieved"}))
    connection = await stage.open()
    await _interrupt_an_answer(stage, connection)
    question = await _ask_and_listen(stage, connection)
    part = {"type": "input_text", "text": ""} if stage.setting.images else {"type": "input_audio"}
    await stage.snapshot(question, [part])


async def _interrupt_an_answer(stage: Stage, connection: Connection) -> None:
    # All its words have come, and most of its audio is still to be played.
    turn = stage.turn(_HOURS, audio_ms=10_000, hold=10_000)
    answer = await connection.respond(turn)
    stage.name(answer, "first answer")
    await stage.settle()
    if stage.setting.spoken:
        await stage.child.ask("interrupt")
        await stage.settle()
    else:  # interrupt() is about audio
        await connection.speech_started()
        await stage.settle()
    if not stage.setting.retrieves:
        empty = {"transcript": ""} if stage.setting.spoken else {"text": ""}
        await stage.snapshot(answer, [{"type": _kind(stage), **empty}])


async def _ask_and_listen(stage: Stage, connection: Connection) -> str:
    """Play the question and the second answer; return the id of the question's item."""
    turn = stage.turn(_HERON, hold=4)
    if stage.setting.images:
        stage.server.turns.append(turn)
        words = {"type": "input_text", "text": _QUESTION}
        image = {"type": "input_image", "image_url": _BIRD}
        message = {"type": "message", "role": "user", "content": [words, image]}
        await stage.child.ask("say", message=message)
        answer = await in_words(connection.wait_until_held())
        question = next(key for key, item in connection.items.items() if item["role"] == "user")
    else:
        question = await connection.user_speaks(_QUESTION)
        answer = await connection.respond(turn)
    stage.name(question, "question")
    stage.name(answer, "second answer")
    await stage.settle()
    await stage.look(_DURING, "second answer")
    await connection.release()
    await stage.settle()
    return question


def _judge_merge(stage: Stage) -> list[str]:
    (session,) = stage.sessions
    kind = _kind(stage)
    asked = (("text", _QUESTION), ("image", _BIRD))
    # The releases take it from conversation.item.created alone, which GA does not have.
    follows = "question" if stage.setting.protocol == "beta" else None
    found = _history_problems(
        stage.looks[_DURING],
        "second answer",
        when=_DURING,
        status="in_progress",
        previous=follows,
    )
    found += _history_problems(
        session.history, "first answer", status="incomplete", parts=((kind, _HOURS),)
    )
    found += _history_problems(
        session.history,
        "question",
        status="completed",
        parts=asked if stage.setting.images else (("audio", _QUESTION),),
    )
    found += _history_problems(
        session.history,
        "second answer",
        status="completed",
        previous=follows,
        parts=((kind, _HERON),),
    )
    return found + _repeat_problems(session, "first answer", "question")


SCENES = (
    Scene(
        fix="converter-status",
        title="A finished answer is taken back (upstream issue #4597)",
        happens=_describe_answer,
        expected="The answer was finished, so it stays completed in the history, with its words.",
        play=_play_answer,
        judge=_judge_answer,
    ),
    Scene(
        fix="close-reset",
        title="A second session hears of the first one (upstream issue #5068)",
        happens=_describe_two_sessions,
        expected=(
            "The second server is asked about nothing that belongs to the first session, answers "
            "with no error, and the application is told of no interrupted audio."
        ),
        play=_play_two_sessions,
        judge=_judge_two_sessions,
    ),
    Scene(
        fix="history-merge",
        title="A history loses what it knew (upstream issue #4050)",
        happens=_describe_merge,
        expected=(
            "What the server leaves out is not news: the history keeps every word and image, all "
            "in their places, and every status."
        ),
        play=_play_merge,
        judge=_judge_merge,
    ),
)
"""The scenes, in the order in which they are played."""
