"""Copies of the SDK in one process: one as published, another with the fixes.

Each copy is a set of modules of its own, so that nothing has to be switched on and off between
two steps of a comparison.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FIXES = ("converter-status", "close-reset", "history-merge")

_MODULES = ("model_events", "items", "session", "openai_realtime", "agent")


class SdkError(Exception):
    """There is nothing to compare, for the reason given."""


class Sdk:
    """One copy of the SDK.

    Attributes:
        name: What to call it in messages.
        model_type: Its `OpenAIRealtimeWebSocketModel`.
        session_type: Its `RealtimeSession`.
    """

    def __init__(self, name: str, modules: dict[str, Any], agents: Any) -> None:
        self.name = name
        self.model_type: Any = modules["openai_realtime"].OpenAIRealtimeWebSocketModel
        self.session_type: Any = modules["session"].RealtimeSession
        self._items = modules["items"]
        self._events = modules["model_events"]
        self.agent: Any = modules["agent"].RealtimeAgent(
            name="assistant", tools=[agents.function_tool(look_up)]
        )
        _remember_adapters(modules["openai_realtime"])

    def has(self, name: str) -> bool:
        """Tell whether the release has an item, a part or a model event of that name."""
        return hasattr(self._items, name) or hasattr(self._events, name)

    def named(self, name: str) -> Any:
        """Return the class of that name of an item, a part or a model event."""
        return getattr(self._items, name, None) or getattr(self._events, name)


async def look_up(word: str) -> str:
    """Look a word up; the tool that the agent has."""
    return f"what {word} means"


def bare() -> Sdk:
    """Return the installed release as it was published."""
    shim = sys.modules.get("shim")
    if shim is not None:
        shim.revert()
    return _loaded("bare")


def shimmed() -> Sdk:
    """Return the installed release with the shim; raises SdkError if a fix does not go on."""
    shim = importlib.import_module("shim")
    sdk = _loaded("shimmed")
    shim.apply()
    states = {name: fix.state for name, fix in shim.status().fixes.items()}
    if states != dict.fromkeys(FIXES, "applied"):
        raise SdkError(f"the shim does not apply its fixes: {states}")
    return sdk


def patched(tree: Path) -> Sdk:
    """Return the SDK in a source tree, the root of the repository or its ``src``."""
    source = next((each for each in (tree / "src", tree) if (each / "agents").is_dir()), None)
    if source is None:
        raise SdkError(f"no agents in {tree} or {tree / 'src'}")
    sys.path.insert(0, str(source.resolve()))
    try:
        sdk = _loaded("patched")
    finally:
        sys.path.pop(0)
    return sdk


def _loaded(name: str) -> Sdk:
    for each in [*sys.modules]:
        if each.partition(".")[0] == "agents":
            del sys.modules[each]
    importlib.invalidate_caches()
    modules = {each: importlib.import_module(f"agents.realtime.{each}") for each in _MODULES}
    return Sdk(name, modules, importlib.import_module("agents"))


def _remember_adapters(module: Any) -> None:
    """Let 0.2.x build the parser of server events once, and not for each event (20 ms)."""
    original: Callable[[Any], Any] = module.TypeAdapter
    known: dict[int, tuple[Any, Any]] = {}

    def type_adapter(of: Any) -> Any:
        # By its id: not all of them can be hashed. It stays alive in here.
        if id(of) not in known:
            known[id(of)] = of, original(of)
        return known[id(of)][1]

    module.TypeAdapter = type_adapter


@contextmanager
def replaced(sdk: Sdk, method: str, replacement: Any) -> Iterator[None]:
    """Let the session of a copy have another method for a while."""
    before = vars(sdk.session_type)[method]
    setattr(sdk.session_type, method, replacement)
    try:
        yield
    finally:
        setattr(sdk.session_type, method, before)
