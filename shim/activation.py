"""Putting the fixes on and taking them off, and telling what came of it."""

from __future__ import annotations

import importlib
import logging
import os
import sys
import threading
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import wrapt

from . import close_reset, converter_status, guard, history_merge
from .errors import ShimError, ShimWarning
from .wraps import Fix, InstalledWrap

MODE_VARIABLE = "OPENAI_AGENTS_SHIM"
SKIP_VARIABLE = "OPENAI_AGENTS_SHIM_SKIP"

FIXES: tuple[Fix, ...] = (converter_status.FIX, close_reset.FIX, history_merge.FIX)
"""All fixes. Where two wrap the same method, the later one goes on top."""

_PACKAGE = "agents.realtime"

MODULES: tuple[str, ...] = tuple(dict.fromkeys(wrap.module for fix in FIXES for wrap in fix.wraps))

State = Literal["pending", "applied", "not-needed", "refused", "skipped", "reverted"]

_logger = logging.getLogger("shim")


@dataclass(frozen=True, kw_only=True)
class FixStatus:
    """What became of one fix, and why."""

    state: State
    reason: str


@dataclass(frozen=True, kw_only=True)
class Status:
    """What the shim did.

    Attributes:
        version: Version of the installed SDK; None without one.
        fixes: The status of each fix, by its name.
    """

    version: str | None
    fixes: dict[str, FixStatus]

    def as_dict(self) -> dict[str, Any]:
        """Return the status as plain dictionaries, ready for JSON."""
        return {
            "version": self.version,
            "fixes": {
                name: {"state": fix.state, "reason": fix.reason} for name, fix in self.fixes.items()
            },
        }


@dataclass(frozen=True, kw_only=True)
class _Settings:
    mode: Literal["on", "off", "strict"]
    skip: frozenset[str]
    problems: tuple[str, ...]


_PENDING = FixStatus(state="pending", reason="agents.realtime has not been imported yet")
_MISSING = FixStatus(
    state="pending",
    reason="the wrappers are not found on the classes any more; shim.apply() puts them on again",
)
_REVERTED = FixStatus(state="reverted", reason="taken off by shim.revert()")


class _Shim:
    """The one shim of a process: its statuses, and the wraps that it has put on."""

    def __init__(self) -> None:
        # Held while wraps go on and off, never while a module is being imported.
        self._lock = threading.RLock()
        self._active = False
        # Modules for which wrapt has a hook of ours; it forgets one that it has called.
        self._hooked: set[str] = set()
        self._registering_thread: int | None = None
        self._settings = _Settings(mode="on", skip=frozenset(), problems=())
        self._examinations: dict[Path, guard.Examination] = {}
        self._installed: dict[str, list[InstalledWrap]] = {fix.name: [] for fix in FIXES}
        self._status: dict[str, FixStatus] = {fix.name: _PENDING for fix in FIXES}

    def status(self) -> Status:
        with self._lock:
            for name, fix_status in self._status.items():
                in_place = all(each.is_in_place() for each in self._installed[name])
                if fix_status.state == "applied" and not in_place:
                    self._status[name] = _PENDING if self._hooked else _MISSING
            return Status(version=guard.installed_version(), fixes=dict(self._status))

    def apply(self) -> Status:
        with self._lock:
            self._settings = _read_settings()
            self._active = self._settings.mode != "off"
            self._examinations.clear()
            for fix in FIXES:
                if self._status[fix.name].state != "applied":
                    self._status[fix.name] = self._initial_status(fix)
        if self._active:
            self._register_hooks()
        self._complain(self._settings.problems)
        self._apply_to_imported()
        return self.status()

    def revert(self) -> Status:
        with self._lock:
            self._active = False
            # The last one first, so that each finds itself on top.
            for fix in reversed(FIXES):
                for installed in reversed(self._installed[fix.name]):
                    installed.remove()
            for name, fix_status in self._status.items():
                if fix_status.state in ("applied", "pending"):
                    self._status[name] = _REVERTED
        return self.status()

    def _initial_status(self, fix: Fix) -> FixStatus:
        if self._settings.mode == "off":
            return FixStatus(state="skipped", reason=f"{MODE_VARIABLE}=off")
        if fix.name in self._settings.skip:
            return FixStatus(state="skipped", reason=f"named in {SKIP_VARIABLE}")
        return _PENDING

    def _register_hooks(self) -> None:
        # wrapt calls the hook of a module that is in sys.modules at once, even if another thread
        # has only begun to import it; see _apply_to_imported for those.
        self._registering_thread = threading.get_ident()
        try:
            for name in MODULES:
                if name not in self._hooked:
                    self._hooked.add(name)
                    wrapt.register_post_import_hook(partial(self._on_import, name), name)
        finally:
            self._registering_thread = None

    def _on_import(self, name: str, module: ModuleType) -> None:
        """Install what goes into a module whose import has just ended; called by wrapt."""
        self._hooked.discard(name)
        if self._registering_thread == threading.get_ident():
            return
        try:
            self._install(imported=module)
        except ShimError:
            # The import fails, and may be tried again; wrapt keeps a hook only for a module that
            # is not in sys.modules.
            self._examinations.clear()
            sys.modules.pop(name, None)
            self._register_hooks()
            raise

    def _apply_to_imported(self) -> None:
        """Install what goes into modules that were imported before the hooks were there."""
        if _PACKAGE not in sys.modules or not self._active:
            return
        # Waits for a thread that is importing the package: the import system has a lock for
        # each module. Returns at once where this very thread is in the middle of importing it.
        try:
            importlib.import_module(_PACKAGE)
        except Exception:
            # Whoever imports it gets the error; there is nothing to wrap.
            return
        self._install()

    def _install(self, *, imported: ModuleType | None = None) -> None:
        """Install what goes into the modules that are there, ``imported`` having just ended.

        All of them, because wrapt calls no hook for one that was in the middle of its import
        when the hooks were registered.
        """
        complaints: list[str] = []
        with self._lock:
            for name in MODULES if self._active else ():
                try:
                    module = sys.modules.get(name)
                    # Some put other things into sys.modules.
                    if isinstance(module, ModuleType) and (
                        module is imported or not _is_partial(module)
                    ):
                        complaints += self._install_module(module)
                except Exception as error:  # A defect of ours must not fail an import either.
                    complaints += self._give_up(error)
        self._complain(complaints)

    def _install_module(self, module: ModuleType) -> list[str]:
        """Put on the wraps of ``module``; returns what there is to complain about, in words."""
        examination, is_new = self._examine(module)
        for fix in FIXES:
            if self._status[fix.name].state in ("pending", "applied"):
                self._status[fix.name] = self._install_fix(fix, module, examination)
        return self._refusals(examination) if is_new else []

    def _give_up(self, error: Exception) -> list[str]:
        reason = f"the shim itself failed with {error!r}. Please report it"
        stopped = [name for name, fix in self._status.items() if fix.state == "pending"]
        for name in stopped:
            self._status[name] = FixStatus(state="refused", reason=reason)
        return [f"not applied: {', '.join(stopped)}. Reason: {reason}."] if stopped else []

    def _examine(self, module: ModuleType) -> tuple[guard.Examination, bool]:
        folder = Path(getattr(module, "__file__", None) or "").parent
        is_new = folder not in self._examinations
        if is_new:
            self._examinations[folder] = guard.examine(folder, table=guard.release_table())
        return self._examinations[folder], is_new

    def _install_fix(
        self, fix: Fix, module: ModuleType, examination: guard.Examination
    ) -> FixStatus:
        release = examination.release
        modules = {wrap.module for wrap in fix.wraps}
        if (refusal := examination.refusal_of(modules)) is not None or release is None:
            assert refusal is not None, "without a release the package is refused"
            return FixStatus(state="refused", reason=f"{refusal.reason}. {refusal.remedy}")
        if modules <= examination.patched:
            return FixStatus(
                state="not-needed",
                reason=f"{guard.DISTRIBUTION} {release.version} has this project's patches",
            )
        if fix.name not in release.fixes:
            return FixStatus(
                state="not-needed", reason=f"{guard.DISTRIBUTION} {release.version} has no defect"
            )
        installed = self._installed[fix.name]
        for wrap in fix.wraps_in(module.__name__):
            if not wrap.applies_to(release.version):
                continue
            earlier = next((each for each in installed if each.wrap is wrap), None)
            if earlier is not None and earlier.restore():
                continue
            if earlier is not None:
                installed.remove(earlier)
            installed.append(InstalledWrap(wrap, module))
            _logger.debug("%s: wrapped %s.%s", fix.name, wrap.module, wrap.attribute)
        if modules <= {each.wrap.module for each in installed}:
            return FixStatus(state="applied", reason=f"{guard.DISTRIBUTION} {release.version}")
        return FixStatus(state="pending", reason="agents.realtime has been imported only in part")

    def _refusals(self, examination: guard.Examination) -> list[str]:
        """Return a sentence or two for each refusal, naming all the fixes that it stops."""
        stopped: dict[guard.Refusal, list[str]] = {}
        for fix in FIXES:
            refusal = examination.refusal_of({wrap.module for wrap in fix.wraps})
            if refusal is not None and self._status[fix.name].state == "refused":
                stopped.setdefault(refusal, []).append(fix.name)
        return [
            f"not applied: {', '.join(names)}. Reason: {refusal.reason}. {refusal.remedy}"
            for refusal, names in stopped.items()
        ]

    def _complain(self, complaints: Iterable[str]) -> None:
        texts = [f"openai-agents-realtime-shim: {complaint}" for complaint in complaints]
        if texts and self._settings.mode == "strict":
            raise ShimError("\n".join(texts))
        for text in texts:
            try:
                warnings.warn(text, ShimWarning, stacklevel=2)
            except ShimWarning:
                # Warnings are errors here. An import must not fail for that; strict mode can.
                _logger.warning("%s", text)


def _is_partial(module: ModuleType) -> bool:
    """Tell whether a module that is still being imported has yet to define a wrapped class."""
    classes = {wrap.class_name for fix in FIXES for wrap in fix.wraps_in(module.__name__)}
    return getattr(getattr(module, "__spec__", None), "_initializing", False) and not all(
        hasattr(module, name) for name in classes
    )


def _read_settings() -> _Settings:
    problems: list[str] = []
    mode = os.environ.get(MODE_VARIABLE, "").strip().lower() or "on"
    if mode not in ("on", "off", "strict"):
        problems.append(
            f"{MODE_VARIABLE}={mode!r} is not understood and counts as unset. "
            "It can be off, strict or on."
        )
        mode = "on"
    names = {name.strip() for name in os.environ.get(SKIP_VARIABLE, "").split(",")} - {""}
    known = {fix.name for fix in FIXES}
    if unknown := sorted(names - known):
        problems.append(
            f"{SKIP_VARIABLE} names no fix with {', '.join(map(repr, unknown))}. "
            f"The fixes are {', '.join(fix.name for fix in FIXES)}."
        )
    return _Settings(
        mode=mode,  # type: ignore[arg-type]
        skip=frozenset(names & known),
        problems=tuple(problems),
    )


_shim = _Shim()


def apply() -> Status:
    """Apply the fixes now, or as soon as the SDK's modules are imported.

    ``import shim`` does this by itself; after `revert` it puts the fixes on again. The two
    environment variables are read anew. Returns the status; refusals are warnings.

    Raises:
        ShimError: under ``OPENAI_AGENTS_SHIM=strict``, in place of a warning.
    """
    return _shim.apply()


def revert() -> Status:
    """Take every fix off again, and apply none to modules that are imported later.

    The original objects go back into the classes' ``__dict__``. Where somebody else has wrapped
    on top since, their wrapper stays and ours is switched off beneath it. Returns the status.
    """
    return _shim.revert()


def status() -> Status:
    """Return the SDK's version and, for each fix, its state and the reason for it.

    The states: ``pending`` (the SDK's modules are not imported yet, or were loaded again; see the
    reason), ``applied``, ``not-needed``, ``refused``, ``skipped`` (by an environment variable) and
    ``reverted``.
    """
    return _shim.status()
