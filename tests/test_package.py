"""What is shipped."""

from __future__ import annotations

import zipfile
from pathlib import Path
from weakref import ref

import pytest

from shim import close_reset

ROOT = Path(__file__).parents[1]


def test_the_wheel_holds_the_package_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build = pytest.importorskip("hatchling.build")
    monkeypatch.chdir(ROOT)
    name = build.build_wheel(str(tmp_path))
    files = zipfile.ZipFile(tmp_path / name).namelist()
    packages = {file.partition("/")[0] for file in files if ".dist-info/" not in file}
    assert packages == {"shim"}
    assert {"shim/py.typed", "shim/releases.json", "shim/demo/__init__.py"} <= set(files)


def test_a_playback_tracker_that_raises_is_logged_without_its_words(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Tracker:
        def on_interrupted(self) -> None:
            raise ValueError("my card is 4242")

    close_reset._tell_playback_tracker(Tracker())
    assert "ValueError" in caplog.text
    assert "4242" not in caplog.text


def test_a_handler_that_is_driven_without_an_event_loop() -> None:
    class Object:
        pass

    task, model = Object(), Object()
    close_reset._retired[ref(task)] = ref(model)
    assert not close_reset._is_retired(model)
    close_reset._retired.pop(ref(task))
