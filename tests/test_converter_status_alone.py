"""converter-status without history-merge, which else comes before it: the release merges."""

from __future__ import annotations

import pytest
from children import python

USER_ITEMS = """
import shim
from agents.realtime import RealtimeSession
from agents.realtime.items import InputAudio, UserMessageItem
from agents.realtime.model_events import RealtimeModelInputAudioTranscriptionCompletedEvent
sent = UserMessageItem(item_id="i", content=[InputAudio()], status="in_progress")
unsent = sent.model_copy()
unsent.model_fields_set.discard("status")
transcription = RealtimeModelInputAudioTranscriptionCompletedEvent(item_id="i", transcript="Hello")
"""
TOOL_CALLS = """
import shim
from agents.realtime import RealtimeSession
from agents.realtime.items import InputText, RealtimeToolCallItem, UserMessageItem
fields = dict(
    item_id="i", previous_item_id=None, call_id="c", type="function_call", name="n", arguments=""
)
known = RealtimeToolCallItem(status="in_progress", output=None, **fields)
"""


def printed(code: str) -> str:
    """What the code prints with converter-status and close-reset alone."""
    child = python(code, environment={"OPENAI_AGENTS_SHIM_SKIP": "history-merge"})
    assert child.returncode == 0, child.stderr
    return child.stdout.strip()


@pytest.mark.parametrize(
    ("known", "status"),
    [
        pytest.param("unsent", "completed", id="unsent"),
        pytest.param("sent", "in_progress", id="sent, and the same as the default"),
    ],
)
def test_1_3_an_update_keeps_in_mind_whether_a_status_was_sent(known: str, status: str) -> None:
    code = f"""{USER_ITEMS}
history = RealtimeSession._get_new_history([{known}], unsent.model_copy())
(item,) = RealtimeSession._get_new_history(history, transcription)
print(item.status)
"""
    assert printed(code) == status


def test_1_2_an_unsent_status_stays_where_none_is_known() -> None:
    code = f"""{USER_ITEMS}
known = UserMessageItem(item_id="i", content=[InputAudio()])
(item,) = RealtimeSession._get_new_history([known], unsent)
print(item.status)
"""
    assert printed(code) == "in_progress"


def test_3_9_a_tool_call_gets_the_status_of_its_update() -> None:
    code = f"""{TOOL_CALLS}
done = RealtimeToolCallItem(status="completed", output="found", **fields)
(item,) = RealtimeSession._get_new_history([known], done)
print(item.status, item.output)
"""
    assert printed(code) == "completed found"


def test_3_9_a_tool_call_does_not_get_the_status_of_a_message() -> None:
    code = f"""{TOOL_CALLS}
message = UserMessageItem(item_id="i", content=[], status="completed")
(item,) = RealtimeSession._get_new_history([message], known)
print(item.type, item.status)
"""
    assert printed(code) == "function_call in_progress"


def test_3_9_a_message_does_not_get_the_status_of_a_tool_call() -> None:
    code = f"""{TOOL_CALLS}
message = UserMessageItem(item_id="i", content=[InputText(text="Hello")])
(item,) = RealtimeSession._get_new_history([known], message)
print(item.type, getattr(item, "status", None))
"""
    assert printed(code) == "message None"


def test_1_3_an_update_of_another_role_does_not_keep_the_status() -> None:
    """It is another item, as far as the release is concerned."""
    code = f"""{USER_ITEMS}
from agents.realtime.items import AssistantMessageItem, AssistantText
known = AssistantMessageItem(
    item_id="i", content=[AssistantText(text="Hello")], status="completed"
)
(item,) = RealtimeSession._get_new_history([known], unsent)
print(item.role, item.status)
"""
    assert printed(code) == "user in_progress"


def test_1_3_another_item_keeps_the_status_that_a_wrapper_beneath_gives_it() -> None:
    code = """
from agents.realtime import RealtimeSession
from agents.realtime.items import InputAudio, UserMessageItem
from agents.realtime.model_events import RealtimeModelInputAudioTranscriptionCompletedEvent
merge = RealtimeSession._get_new_history.__func__

def complete_all(cls, old_history, event):
    history = merge(cls, old_history, event)
    return [item.model_copy(update={"status": "completed"}) for item in history]

RealtimeSession._get_new_history = classmethod(complete_all)
import shim
history = [
    UserMessageItem(item_id=item_id, content=[InputAudio()], status="in_progress")
    for item_id in ("i", "j")
]
event = RealtimeModelInputAudioTranscriptionCompletedEvent(item_id="i", transcript="Hello")
print(*(item.status for item in RealtimeSession._get_new_history(history, event)))
"""
    assert printed(code) == "in_progress completed"
