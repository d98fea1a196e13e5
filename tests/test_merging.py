"""converter-status and history-merge: more of the contract's rules 1 and 3."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

# For what the regression suite has to play a server with.
sys.path.append(str(Path(__file__).parent / "regression"))

import wire
from agents.realtime import RealtimeSession, items
from agents.realtime.model_events import (
    RealtimeModelItemDeletedEvent,
    RealtimeModelItemUpdatedEvent,
)
from call import Call, parts, updated
from wire import audio, message

import shim  # noqa: F401, for the fixes


@pytest.mark.asyncio
@wire.needs_assistant_audio
@pytest.mark.parametrize(
    "event",
    [
        wire.retrieved(message("item_1", "assistant", audio())),
        wire.transcript_delta("item_1", " there"),
    ],
    ids=["snapshot", "delta"],
)
async def test_3_8_a_task_that_an_update_starts_is_not_part_of_it(event: wire.Event) -> None:
    """As a tool may be that waits, and then puts something into the history."""
    tasks: list[asyncio.Task[None]] = []
    may_merge = asyncio.Event()

    class Starting(RealtimeSession):  # type: ignore[type-arg, unused-ignore]
        async def _put_event(self, event: Any) -> Any:
            data: Any = getattr(event, "data", None)
            kind = getattr(data, "type", None)
            if self._history and kind in ("item_updated", "transcript_delta"):
                part = data.item.content[0] if kind == "item_updated" else items.AssistantAudio()
                tasks.append(asyncio.create_task(self._merge_later(part)))
            return await super()._put_event(event)

        async def _merge_later(self, part: Any) -> None:
            await may_merge.wait()
            content = [part.model_copy(update={"transcript": "Goodbye"})]
            update = items.AssistantMessageItem(item_id="item_1", content=content)
            self._history = self._get_new_history(self._history, update)

    call = Call(session_type=Starting)
    await call.receive(wire.created(message("item_1", "assistant", audio("Hello"))), event)
    may_merge.set()
    (task,) = tasks
    await task
    assert call.parts("item_1") == [("audio", "Goodbye")]


@pytest.mark.asyncio
@pytest.mark.skipif(not wire.GA, reason="0.2.x put no deltas into the history")
async def test_3_7_an_event_within_an_event_takes_nothing_from_it() -> None:
    """A subclass may handle another event before the release handles this one."""
    deleted = RealtimeModelItemDeletedEvent(item_id="item_2")
    update = items.AssistantMessageItem(item_id="item_2", content=[])

    class Nesting(RealtimeSession):  # type: ignore[type-arg, unused-ignore]
        async def _put_event(self, event: Any) -> Any:
            goes_on = await super()._put_event(event)
            if getattr(getattr(event, "data", None), "type", None) == "transcript_delta":
                await self.on_event(RealtimeModelItemUpdatedEvent(item=update))
                await self.on_event(deleted)
            return goes_on

    call = Call(session_type=Nesting)
    await call.receive(
        wire.created(message("item_1", "assistant", audio("Hello"))),
        wire.transcript_delta("item_1", " there"),
    )
    assert call.parts("item_1") == [("audio", "Hello there")]


@pytest.mark.asyncio
@pytest.mark.skipif(not wire.GA, reason="0.2.x add no items for transcriptions")
async def test_the_first_item_of_an_id_is_updated() -> None:
    """A transcription of an id that another role has adds a second item."""
    call = Call()
    await call.receive(
        wire.created(message("item_1", "assistant", wire.text("Hi"))),
        wire.transcribed("item_1", "Hello"),
        wire.retrieved(message("item_1", "assistant", wire.text("Hi!"))),
    )
    assert list(map(parts, call.history)) == [[("text", "Hi!")], [("text", "Hello")]]


# Where deltas are kept aside, and are not in the history.
keeps_deltas_aside = pytest.mark.skipif(
    not wire.since("0.2.8") or wire.GA, reason="0.2.8 to 0.2.11 alone keep deltas aside"
)


@pytest.mark.asyncio
@keeps_deltas_aside
@pytest.mark.parametrize(
    ("known", "update", "merged"),
    [
        pytest.param(
            message("item_1", "assistant", audio()),
            message("item_1", "assistant", audio()),
            [("audio", "Hello")],
            id="the same again",
        ),
        pytest.param(
            message("item_1", "assistant", wire.text("Hi")),
            message("item_1", "assistant", wire.text("Hi.")),
            [("text", "Hi.")],
            id="no audio",
        ),
        pytest.param(
            message("item_1", "user", audio()),
            message("item_1", "assistant", audio()),
            [("audio", None)],
            id="another role",
        ),
    ],
)
async def test_3_8_words_that_are_kept_aside(
    known: wire.Event, update: wire.Event, merged: list[Any]
) -> None:
    call = Call()
    await call.receive(
        wire.created(known), wire.transcript_delta("item_1", "Hello"), wire.retrieved(update)
    )
    assert call.parts("item_1") == merged


@pytest.mark.asyncio
@keeps_deltas_aside
async def test_3_8_no_words_that_are_kept_aside() -> None:
    update = wire.retrieved(message("item_1", "assistant", audio("")))
    call = Call()
    await call.receive(wire.created(message("item_1", "assistant", audio(""))), update)
    assert call.parts("item_1") == [("audio", "")]


@pytest.mark.asyncio
@pytest.mark.skipif(not wire.GA, reason="0.2.x add no items for transcriptions")
async def test_3_6_a_transcription_before_a_snapshot_without_audio() -> None:
    call = Call()
    await call.receive(
        wire.transcribed("item_1", "Hello"),
        wire.retrieved(message("item_1", "user", wire.text("Hello there"))),
    )
    assert call.parts("item_1") == [("text", "Hello there")]


@pytest.mark.asyncio
@pytest.mark.skipif(not wire.GA, reason="0.2.x add no items for transcriptions")
async def test_3_6_a_text_of_the_server_beside_a_transcription_stays_one() -> None:
    snapshot = wire.retrieved(message("item_1", "user", audio(), wire.text("and see this")))
    call = Call()
    await call.receive(wire.transcribed("item_1", "Hello"), snapshot, snapshot)
    assert call.parts("item_1") == [("audio", "Hello"), ("text", "and see this")]


@pytest.mark.parametrize("part", ["audio", "foreign"])
def test_3_6_what_is_no_transcription_stays_what_it_is(part: str) -> None:
    """An application may put items into the history that look like those of the release."""
    heard = items.InputAudio(transcript="Hello")
    heard.model_fields_set.discard("type")
    known_part = heard if part == "audio" else foreign_part(type="input_text", text="Hello")
    known = items.UserMessageItem(item_id="item_1", content=[])
    known = known.model_copy(update={"content": [known_part]})
    known.model_fields_set.discard("role")
    update = items.UserMessageItem(item_id="item_1", content=[items.InputAudio(audio="AAAA")])
    (item,) = updated([known], update)
    if part == "audio":
        assert [each.model_dump() for each in item.content] == [
            {"type": "input_audio", "audio": "AAAA", "transcript": "Hello"}
        ]
    else:
        assert known_part in item.content


@wire.needs_images
@pytest.mark.parametrize(
    ("known", "update", "merged"),
    [
        # One without a URL takes a known one that no later image is about,
        (["a", "a"], ["a", None], ["a", "a"]),
        (["a", "b"], [None, "a"], ["b", "a"]),
        (["a", "b"], [None, None], ["a", "b"]),
        # and none that a later image is about.
        (["a", "a"], ["a", None, "a"], ["a", None, "a"]),
        (["a"], [None, "a", "a"], [None, "a", "a"]),
        (["a"], [None, "a"], [None, "a"]),
        # One with a URL takes only a known one of that URL.
        (["a", None], ["b", None], ["b", "a", None]),
        ([None], ["a"], [None, "a"]),
    ],
    ids=str,
)
def test_3_2_an_image_without_url_takes_what_no_other_image_needs(
    known: list[str | None], update: list[str | None], merged: list[str | None]
) -> None:
    image: Any = items.InputImage

    def item(urls: list[str | None]) -> Any:
        content = [image(image_url=url) if url else image() for url in urls]
        return items.UserMessageItem(item_id="item_1", content=content)

    (result,) = updated([item(known)], item(update))
    assert [part.image_url for part in result.content] == merged


@wire.needs_images
def test_3_2_an_image_whose_url_is_no_string_has_none() -> None:
    image: Any = items.InputImage
    known = items.UserMessageItem(item_id="item_1", content=[image(image_url="a")])
    update = known.model_copy(update={"content": [image.model_construct(image_url=["b"])]})
    (item,) = updated([known], update)
    assert [part.image_url for part in item.content] == [["b"]]


def foreign_part(**fields: Any) -> Any:
    """A part that somebody has put together without the SDK's classes."""
    return SimpleNamespace(**fields)


def assistant_item(*content: Any, **fields: Any) -> Any:
    item = items.AssistantMessageItem(item_id="item_1", content=[], **fields)
    return item.model_copy(update={"content": list(content)})


class Rewriting(RealtimeSession):  # type: ignore[type-arg, unused-ignore]
    """An application's subclass, which hides transcripts and adds a note to each message."""

    @classmethod
    def _get_new_history(cls, old_history: Any, event: Any) -> Any:
        if event.type == "message":
            content = [part.model_copy(update={"transcript": "***"}) for part in event.content]
            content.append(items.AssistantText(text=f"checked, of {len(old_history)}"))
            event = event.model_copy(update={"content": content})
        return super()._get_new_history(old_history, event)


@pytest.mark.asyncio
@wire.needs_assistant_audio
@pytest.mark.parametrize("transcript", ["Hello there", None], ids=["known", "filled in"])
async def test_what_a_subclass_makes_of_an_update_stays(transcript: str | None) -> None:
    call = Call(session_type=Rewriting)
    await call.receive(
        wire.created(message("item_1", "assistant", audio("Hello"))),
        wire.retrieved(message("item_1", "assistant", audio(transcript))),
    )
    assert call.parts("item_1") == [("audio", "***"), ("text", "checked, of 1")]


@pytest.mark.asyncio
@pytest.mark.skipif(not wire.GA, reason="0.2.x put no deltas into the history")
async def test_what_a_subclass_makes_of_a_delta_is_merged() -> None:
    class Writing(RealtimeSession):  # type: ignore[type-arg, unused-ignore]
        @classmethod
        def _get_new_history(cls, old_history: Any, event: Any) -> Any:
            if event.type == "message" and old_history:
                content = [items.AssistantText(text=part.transcript) for part in event.content]
                event = event.model_copy(update={"content": content})
            return super()._get_new_history(old_history, event)

    call = Call(session_type=Writing)
    await call.receive(
        wire.created(message("item_1", "assistant", audio("Hello"))),
        wire.transcript_delta("item_1", "Hello there"),
    )
    assert sorted(call.parts("item_1")) == [("audio", "Hello"), ("text", "Hello there")]


@pytest.mark.asyncio
@pytest.mark.skipif(not wire.GA, reason="0.2.x put no deltas into the history")
async def test_3_7_a_delta_leaves_a_foreign_part(caplog: pytest.LogCaptureFixture) -> None:
    known = assistant_item(foreign_part(type="audio", transcript="Hello"))
    call = Call()
    call.session._history = [known]
    await call.receive(wire.transcript_delta("item_1", "Hello there"))
    assert call.item("item_1").content == known.content
    assert not [each for each in caplog.records if each.name.startswith("shim")]


@pytest.mark.asyncio
@pytest.mark.skipif(not wire.GA, reason="0.2.x put no deltas into the history")
async def test_3_7_a_delta_leaves_the_class_of_a_part() -> None:
    class Own(items.AssistantAudio):
        pass

    call = Call()
    call.session._history = [assistant_item(Own(transcript="Hello"))]
    await call.receive(wire.transcript_delta("item_1", "Hello there"))
    (part,) = call.item("item_1").content
    assert part == Own(transcript="Hello there")


@pytest.mark.asyncio
@wire.needs_assistant_audio
async def test_3_7_an_empty_delta_says_nothing() -> None:
    call = Call()
    await call.receive(
        wire.created(message("item_1", "assistant", audio())), wire.transcript_delta("item_1", "")
    )
    assert call.parts("item_1") == [("audio", None)]


@pytest.mark.asyncio
@wire.needs_assistant_audio
async def test_3_5_an_update_whose_content_is_null_says_the_rest() -> None:
    call = Call()
    known = assistant_item(items.AssistantText(text="Hello"), status="in_progress")
    call.session._history = [known]
    update = known.model_copy(update={"content": None, "status": "completed"})
    await call.session.on_event(RealtimeModelItemUpdatedEvent(item=update))
    assert call.parts("item_1") == [("text", "Hello")]
    assert call.status("item_1") == "completed"


@pytest.mark.asyncio
@wire.needs_assistant_audio
async def test_3_5_an_item_whose_content_is_null_is_updated() -> None:
    known = assistant_item().model_copy(update={"content": None})
    call = Call()
    call.session._history = [known]
    await call.session.on_event(
        RealtimeModelItemUpdatedEvent(item=assistant_item(items.AssistantText(text="Hello")))
    )
    assert call.parts("item_1") == [("text", "Hello")]


@pytest.mark.asyncio
@pytest.mark.skipif(not wire.GA, reason="0.2.x put no deltas into the history")
async def test_3_7_an_item_whose_content_is_null_gets_a_delta() -> None:
    call = Call()
    call.session._history = [assistant_item().model_copy(update={"content": None})]
    await call.receive(wire.transcript_delta("item_1", "Hello"))
    assert call.parts("item_1") == [("audio", "Hello")]


@pytest.mark.asyncio
@wire.needs_assistant_audio
async def test_3_12_a_foreign_part_beside_one_whose_transcript_is_missing() -> None:
    call = Call()
    call.session._history = [assistant_item(items.AssistantAudio(transcript="Hello"))]
    update = assistant_item(items.AssistantAudio(), foreign_part(type="text", text="Hi"))
    await call.session.on_event(RealtimeModelItemUpdatedEvent(item=update))
    assert call.parts("item_1") == [("audio", "Hello"), ("text", "Hi")]


@wire.needs_assistant_audio
def test_3_12_a_foreign_part_is_replaced_as_a_whole() -> None:
    known = foreign_part(type="audio", transcript="Hello")
    news = items.AssistantAudio(transcript="Goodbye")
    (item,) = updated([assistant_item(known)], assistant_item(news))
    assert item.content == [news]
    (item,) = updated([assistant_item(known)], assistant_item(items.AssistantAudio(transcript="")))
    assert item.content == [known]
    (item,) = updated([assistant_item(news)], assistant_item(known))
    assert item.content == [news]


def test_3_12_what_cannot_be_merged_keeps_what_is_known(caplog: pytest.LogCaptureFixture) -> None:
    known = assistant_item(items.AssistantText(text="Hello"))
    other = items.UserMessageItem(item_id="item_2", content=[])
    update = known.model_copy(update={"content": 17})
    history = updated([known, other], update)
    assert history[0] is known
    assert history[1] is other
    (record,) = [each for each in caplog.records if each.name.startswith("shim")]
    assert record.getMessage() == "an update of a history item raised TypeError"
