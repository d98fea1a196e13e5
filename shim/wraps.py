"""Wrapping methods in place, and taking the wrappers off again.

The attribute in the class's ``__dict__`` is replaced, so names taken earlier
(``from agents.realtime import RealtimeSession``), instances and subclasses that call ``super()``
all get the wrapped behaviour. What replaces it is a plain function: several run for every event,
and calling a proxy object, such as wrapt's, takes longer than what most of them do.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from types import FunctionType, ModuleType
from typing import Any

Method = Callable[..., Any]
"""A method as a function: its first argument is the instance, of a class method the class."""


class Switch:
    """Whether a wrap is on; one that is off only passes calls on to the original method."""

    __slots__ = ("on",)

    def __init__(self) -> None:
        self.on = True


Decorator = Callable[[Method, Switch], Method]
"""Returns a method that takes the place of the given one, with the same parameters.

A coroutine function takes the place of a coroutine function.
"""

# Deeper chains than this are cycles.
_CHAIN_LIMIT = 64


def release_key(release: str) -> tuple[int, ...]:
    """Return the sort key of a pinned release, e.g. ``(0, 22, 3)`` for ``"0.22.3"``."""
    return tuple(int(part) for part in release.split("."))


@dataclass(frozen=True, kw_only=True)
class Wrap:
    """One class attribute of the SDK that a fix wraps.

    Attributes:
        module: Full name of the SDK's module.
        attribute: ``Class.method`` in that module.
        decorator: Makes the method that takes its place.
        first: The first release that needs this wrap; the oldest when omitted.
        last: The last release that needs it; the newest when omitted.
        only_watches: The new method needs to know of calls, not what they do. Then a change of the
            method does not make a release one to test of its own.
    """

    module: str
    attribute: str
    decorator: Decorator
    first: str | None = None
    last: str | None = None
    only_watches: bool = False

    def applies_to(self, release: str) -> bool:
        """Tell whether ``release`` (a pinned one) is in this wrap's range."""
        key = release_key(release)
        return (self.first is None or release_key(self.first) <= key) and (
            self.last is None or key <= release_key(self.last)
        )

    @property
    def class_name(self) -> str:
        return self.attribute.partition(".")[0]

    @property
    def method_name(self) -> str:
        return self.attribute.partition(".")[2]


@dataclass(frozen=True, kw_only=True)
class Fix:
    """One of the three fixes: its name, where it was reported, and what it wraps."""

    name: str
    issues: tuple[str, ...]
    wraps: tuple[Wrap, ...]

    def wraps_in(self, module: str) -> tuple[Wrap, ...]:
        """Return the wraps in ``module``, of all releases, in the order in which they go on."""
        return tuple(wrap for wrap in self.wraps if wrap.module == module)


class InstalledWrap:
    """A wrap that has been put on a class, with what it takes to put the original back."""

    def __init__(self, wrap: Wrap, module: ModuleType) -> None:
        """Put ``wrap`` on its class in ``module``.

        Raises AttributeError if the module has no such class, KeyError if that has no such method.
        """
        self.wrap = wrap
        self._class: type = getattr(module, wrap.class_name)
        self._switch = Switch()
        # From __dict__ and not by getattr, which would bind a class method.
        self._original: Any = vars(self._class)[wrap.method_name]
        method = _as_function(self._original)
        self._function: Any = wraps(method)(wrap.decorator(method, self._switch))
        is_class_method = isinstance(self._original, classmethod)
        self._wrapper: Any = classmethod(self._function) if is_class_method else self._function
        setattr(self._class, wrap.method_name, self._wrapper)

    def remove(self) -> None:
        """Put the original object back into the class.

        Where somebody else has wrapped on top since, their wrapper stays, and this one is
        switched off beneath it.
        """
        self._switch.on = False
        if vars(self._class).get(self.wrap.method_name) is self._wrapper:
            setattr(self._class, self.wrap.method_name, self._original)

    def restore(self) -> bool:
        """Switch a removed wrap on again if it is still under somebody else's wrapper.

        Returns False when it is not there any more: then a new one has to be installed.
        """
        self._switch.on = self.is_in_place()
        return self._switch.on

    def is_in_place(self) -> bool:
        """Tell whether the wrapper is found on the class that the module has now.

        It is not where the module was loaded again, or somebody has put the original back; nor
        can it be found under a wrapper that does not say what it wraps.
        """
        module = sys.modules.get(self.wrap.module)
        if getattr(module, self.wrap.class_name, None) is not self._class:
            return False
        link = vars(self._class).get(self.wrap.method_name)
        for _ in range(_CHAIN_LIMIT):
            # Class methods, and methods that are bound to their class, hold the function.
            if getattr(link, "__func__", link) is self._function:
                return True
            link = getattr(link, "__wrapped__", None)
        return False


def _as_function(attribute: Any) -> Method:
    """Return what a class has in its ``__dict__`` as a function of the instance or the class."""
    function = attribute.__func__ if type(attribute) is classmethod else attribute
    if type(function) is FunctionType:
        return function

    # Somebody else's wrapper, which may need to be bound to find out what it is called on.
    def call(first: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(attribute, classmethod):
            return attribute.__get__(None, first)(*args, **kwargs)
        return attribute.__get__(first, type(first))(*args, **kwargs)

    return wraps(attribute)(call)
