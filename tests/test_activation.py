"""Importing the shim: order, switches, taking it off again."""

from __future__ import annotations

import pytest
from children import REPORT, python

ALL_APPLIED = {
    "converter-status": "applied",
    "close-reset": "applied",
    "history-merge": "applied",
}

# Prints whether an update without content keeps what is known: it does under history-merge only.
PROBE = """
def keeps(session_class):
    from agents.realtime.items import AssistantMessageItem, AssistantText
    known = AssistantMessageItem(item_id="i", content=[AssistantText(text="one")])
    update = AssistantMessageItem(item_id="i", content=[AssistantText(text="")])
    (item,) = session_class._get_new_history([known], update)
    return item.content[0].text == "one"
"""


def test_importing_the_shim_imports_nothing_of_the_sdk() -> None:
    child = python(
        "import sys, shim\n"
        "print(sorted({'agents', 'openai', 'pydantic', 'websockets'} & set(sys.modules)))"
    )
    assert child.stdout.strip() == "[]", child.stderr


def test_the_sdk_without_its_realtime_layer_gets_nothing() -> None:
    child = python("import shim, agents" + REPORT)
    assert set(child.states.values()) == {"pending"}
    assert child.warnings == []


@pytest.mark.parametrize(
    "code",
    [
        "import shim, agents.realtime",
        "import agents.realtime, shim",
        "import agents, shim, agents.realtime",
        "import agents.realtime.openai_realtime, shim, agents.realtime.session",
        "import shim, shim, importlib; importlib.reload(shim); import agents.realtime",
        "import shim, agents.realtime; shim.apply(); shim.apply()",
        "import shim, agents.realtime; shim.revert(); shim.apply()",
        "import shim; shim.revert(); import agents.realtime; shim.apply()",
    ],
)
def test_any_order_of_imports(code: str) -> None:
    child = python(code + REPORT + PROBE + "print(keeps(agents.realtime.RealtimeSession))")
    assert child.states == ALL_APPLIED, child.stderr
    assert child.stdout.endswith("True\n")
    assert child.stderr == ""


def test_names_taken_before_the_shim() -> None:
    child = python(
        "from agents.realtime import RealtimeSession\n"
        "merge = RealtimeSession._get_new_history\n"
        "import shim\n" + PROBE + "print(keeps(RealtimeSession))"
    )
    assert child.stdout.strip() == "True", child.stderr


def test_subclasses_that_call_super() -> None:
    child = python(
        """
import shim
from agents.realtime import RealtimeSession
class Session(RealtimeSession):
    @classmethod
    def _get_new_history(cls, old_history, event):
        assert cls is Session
        return super()._get_new_history(old_history, event)
"""
        + PROBE
        + "print(keeps(Session))"
    )
    assert child.stdout.strip() == "True", child.stderr


@pytest.mark.parametrize("delay", [0.0, 0.05, 0.2, 0.5, 1.0])
def test_a_thread_that_imports_the_sdk_meanwhile(delay: float) -> None:
    child = python(
        f"""
import threading, time
def load():
    import agents.realtime
thread = threading.Thread(target=load)
thread.start()
time.sleep({delay})
import shim
thread.join()
import agents.realtime
"""
        + REPORT
    )
    assert child.states == ALL_APPLIED, child.stderr
    assert child.stderr == ""


def test_several_threads_that_import_the_shim() -> None:
    child = python(
        """
import threading
barrier = threading.Barrier(8)
def load(name):
    barrier.wait()
    __import__(name)
names = ["shim", "agents.realtime"] * 4
threads = [threading.Thread(target=load, args=[name]) for name in names]
for thread in threads: thread.start()
for thread in threads: thread.join()
import agents.realtime
wrapped = vars(agents.realtime.RealtimeSession)["on_event"]
print(hasattr(wrapped.__wrapped__, "__wrapped__"))
"""
        + REPORT
    )
    assert child.states == ALL_APPLIED, child.stderr
    assert child.stdout.startswith("False"), "wrapped twice"


def test_a_failing_import_of_the_sdk_stays_the_applications() -> None:
    child = python(
        """
import sys
sys.modules["websockets"] = None
import shim
try:
    import agents.realtime
except ImportError as error:
    print("ImportError")
"""
        + REPORT
    )
    assert child.stdout.startswith("ImportError"), child.stderr
    assert set(child.states.values()) == {"pending"}


def test_revert_puts_the_original_objects_back() -> None:
    child = python(
        """
import agents.realtime
from agents.realtime import openai_realtime, session
classes = [
    openai_realtime._ConversionHelper,
    openai_realtime.OpenAIRealtimeWebSocketModel,
    session.RealtimeSession,
]
before = [dict(vars(each)) for each in classes]
import shim
print([all(vars(each)[name] is old[name] for name in old) for each, old in zip(classes, before)])
shim.revert()
for each, old in zip(classes, before):
    assert vars(each).keys() == old.keys()
    assert all(vars(each)[name] is old[name] for name in old)
"""
        + REPORT
        + PROBE
        + "print(keeps(session.RealtimeSession))"
    )
    assert child.stdout.startswith("[False, False, False]"), child.stderr
    assert set(child.states.values()) == {"reverted"}
    assert child.stdout.endswith("False\n")


def test_nothing_is_applied_after_a_revert() -> None:
    child = python("import shim; shim.revert(); import agents.realtime" + REPORT)
    assert set(child.states.values()) == {"reverted"}


@pytest.mark.parametrize("again", [False, True])
def test_revert_leaves_the_wrapper_of_somebody_else_in_place(again: bool) -> None:
    child = python(
        """
import shim, wrapt
from agents.realtime import RealtimeSession
calls = []
def theirs(wrapped, instance, args, kwargs):
    calls.append(wrapped)
    return wrapped(*args, **kwargs)
wrapt.wrap_function_wrapper("agents.realtime.session", "RealtimeSession._get_new_history", theirs)
outermost = vars(RealtimeSession)["_get_new_history"]
"""
        + PROBE
        + f"""
assert keeps(RealtimeSession)
shim.revert()
assert vars(RealtimeSession)["_get_new_history"] is outermost
assert not keeps(RealtimeSession)
if {again}:
    shim.apply()
    assert vars(RealtimeSession)["_get_new_history"] is outermost
    assert keeps(RealtimeSession)
print(len(calls))
"""
    )
    assert child.stdout.strip() == ("3" if again else "2"), child.stderr


def test_applied_again_after_somebody_took_our_wrapper_away() -> None:
    child = python(
        """
import shim
from agents.realtime import RealtimeSession
shim.revert()
original = vars(RealtimeSession)["_get_new_history"]
shim.apply()
shim.revert()
RealtimeSession._get_new_history = original
shim.apply()
"""
        + PROBE
        + "print(keeps(RealtimeSession))"
    )
    assert child.stdout.strip() == "True", child.stderr


def test_switched_off() -> None:
    child = python(
        "import shim, agents.realtime; shim.apply()" + REPORT,
        environment={"OPENAI_AGENTS_SHIM": "off"},
    )
    assert set(child.states.values()) == {"skipped"}
    assert child.report["fixes"]["close-reset"]["reason"] == "OPENAI_AGENTS_SHIM=off"
    assert child.warnings == []


def test_fixes_left_out() -> None:
    child = python(
        "import shim, agents.realtime"
        + REPORT
        + PROBE
        + "print(keeps(agents.realtime.RealtimeSession))",
        environment={"OPENAI_AGENTS_SHIM_SKIP": " history-merge, close-reset ,"},
    )
    assert child.states == {
        "converter-status": "applied",
        "close-reset": "skipped",
        "history-merge": "skipped",
    }
    assert child.stdout.endswith("False\n")


def test_a_known_status_stays_without_history_merge() -> None:
    child = python(
        """
import shim
from agents.realtime import RealtimeSession
from agents.realtime.items import AssistantMessageItem, AssistantText
text = AssistantText(text="one")
known = AssistantMessageItem(item_id="i", content=[text], status="completed")
update = AssistantMessageItem(item_id="i", content=[text], status="in_progress")
update.model_fields_set.discard("status")
(item,) = RealtimeSession._get_new_history([known], update)
print(item.status)
""",
        environment={"OPENAI_AGENTS_SHIM_SKIP": "history-merge"},
    )
    assert child.stdout.strip() == "completed", child.stderr


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("OPENAI_AGENTS_SHIM", "disable", "off, strict or on"),
        (
            "OPENAI_AGENTS_SHIM_SKIP",
            "history_merge",
            "converter-status, close-reset, history-merge",
        ),
    ],
)
def test_a_variable_that_is_not_understood(name: str, value: str, words: str) -> None:
    child = python("import shim, agents.realtime" + REPORT, environment={name: value})
    assert child.states == ALL_APPLIED
    (warning,) = child.warnings
    assert name in warning
    assert value in warning
    assert words in warning


@pytest.mark.parametrize("name", ["websockets", "agents.realtime._default_tracker"])
def test_imported_in_the_middle_of_the_sdks_own_import(name: str) -> None:
    child = python(
        f"""
import wrapt
wrapt.register_post_import_hook(lambda module: __import__("shim"), {name!r})
import agents.realtime
"""
        + REPORT
    )
    assert child.states == ALL_APPLIED, child.stderr


@pytest.mark.parametrize(
    "load_again",
    [
        "importlib.reload(session)",
        "[sys.modules.pop(name) for name in list(sys.modules) if name.startswith('agents')]\n"
        "import agents.realtime",
    ],
    ids=["reloaded", "purged"],
)
def test_modules_that_are_loaded_again(load_again: str) -> None:
    child = python(
        f"""
import importlib, sys, shim
from agents.realtime import session
{load_again}
print(shim.status().fixes["history-merge"])
shim.apply()
import agents.realtime.session
"""
        + REPORT
        + PROBE
        + "print(keeps(agents.realtime.session.RealtimeSession))"
    )
    assert "state='pending'" in child.stdout.splitlines()[0], child.stderr
    assert "shim.apply()" in child.stdout.splitlines()[0]
    assert child.states == ALL_APPLIED, child.stderr
    assert child.stdout.endswith("True\n")


def test_modules_that_are_purged_before_they_are_imported_again() -> None:
    child = python(
        """
import sys, shim, agents.realtime
for name in list(sys.modules):
    if name.startswith("agents"):
        del sys.modules[name]
shim.apply()
import agents.realtime
"""
        + REPORT
    )
    assert child.states == ALL_APPLIED, child.stderr


def test_a_model_outlives_its_module() -> None:
    child = python(
        """
import asyncio, sys, shim
from agents.realtime.openai_realtime import OpenAIRealtimeWebSocketModel
class Model(OpenAIRealtimeWebSocketModel):
    def __init__(self, name):
        super().__init__()
model = Model("name")
model._current_item_id = "item_old"
for name in list(sys.modules):
    if name.startswith("agents"):
        del sys.modules[name]
asyncio.run(model.close())
print(model._current_item_id)
"""
    )
    assert child.stdout.strip() == "None", child.stderr


@pytest.mark.parametrize("value", ["None", "unittest.mock.MagicMock()", "types.ModuleType('x')"])
def test_odd_entries_in_sys_modules(value: str) -> None:
    child = python(
        f"""
import sys, types, unittest.mock
for name in ("agents", "agents.realtime", "agents.realtime.session"):
    sys.modules[name] = {value}
import shim
"""
        + REPORT
    )
    assert child.returncode == 0, child.stderr
    assert "applied" not in child.states.values()


def test_a_sent_status_stays_marked_without_history_merge() -> None:
    child = python(
        """
import shim
from agents.realtime import RealtimeSession
from agents.realtime.items import InputAudio, UserMessageItem
from agents.realtime.model_events import RealtimeModelInputAudioTranscriptionCompletedEvent
known = UserMessageItem(item_id="i", content=[InputAudio()], status="in_progress")
update = known.model_copy()
update.model_fields_set.discard("status")
history = RealtimeSession._get_new_history([known], update)
event = RealtimeModelInputAudioTranscriptionCompletedEvent(item_id="i", transcript="Hello")
(item,) = RealtimeSession._get_new_history(history, event)
print(item.status)
""",
        environment={"OPENAI_AGENTS_SHIM_SKIP": "history-merge"},
    )
    assert child.stdout.strip() == "in_progress", child.stderr
