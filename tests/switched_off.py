"""A pytest plugin: the fixes are taken off where somebody else has wrapped on top of them.

So they are still called, and have to do nothing. To be loaded before the SDK: ``-p switched_off``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import agents.realtime  # noqa: F401, for the modules
import wrapt

import shim
from shim.activation import FIXES


def _pass_on(
    wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    return wrapped(*args, **kwargs)


def _wrap_on_top() -> None:
    wraps = {
        (wrap.module, wrap.class_name, wrap.method_name) for fix in FIXES for wrap in fix.wraps
    }
    for module, class_name, method in sorted(wraps):
        class_ = getattr(sys.modules[module], class_name)
        if method in vars(class_):
            setattr(class_, method, wrapt.FunctionWrapper(vars(class_)[method], _pass_on))


_wrap_on_top()
shim.revert()
assert {fix.state for fix in shim.status().fixes.values()} == {"reverted"}
