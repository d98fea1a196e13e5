"""The pieces of `nox -s pin`, `pin-again` and `watch`; the whole is `nox -s pin-again`."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tools import pin, pin_again, watch
from tools.matrix import MatrixResult
from tools.pin import failures, with_release
from tools.pin_pages import page_of, update_pages, updated
from tools.release_table import dump_table, insert
from tools.releases import RECORD, TABLE, UserError, load_table
from tools.series import INDEX, PATCHES, Series, dump_series, load_series
from tools.suite import SuiteRun

ORDER = ["0.2.0", "0.2.1", "0.9.0", "0.10.0", "0.10.1"]


def series(*releases: str) -> Series:
    return Series(folder=Path("patches") / releases[0], releases=releases)


def test_the_files_are_written_as_they_are_committed() -> None:
    table = load_table()
    assert dump_table(table) == TABLE.read_text(encoding="utf-8")
    committed = (PATCHES / INDEX).read_text(encoding="utf-8")
    assert dump_series(load_series(PATCHES, table)) == committed


def test_a_release_goes_to_its_place_in_the_table() -> None:
    table = {name: {"old": True} for name in ORDER if name != "0.10.0"}
    extended = insert(table, "0.10.0", {"old": False})
    assert list(extended) == ORDER
    assert extended["0.10.0"] == {"old": False}
    assert insert(table, "0.2.1", {"old": False})["0.2.1"] == {"old": False}


@pytest.mark.parametrize(
    ("own", "release", "expected"),
    [
        (series("0.2.0"), "0.2.1", [("0.2.0", "0.2.1"), ("0.10.0",)]),
        (series("0.10.0"), "0.10.1", [("0.2.0",), ("0.10.0", "0.10.1")]),
        (series("0.9.0"), "0.9.0", [("0.2.0",), ("0.9.0",), ("0.10.0",)]),
    ],
)
def test_a_release_goes_to_its_series(
    own: Series, release: str, expected: list[tuple[str, ...]]
) -> None:
    extended = with_release([series("0.2.0"), series("0.10.0")], own, release, ORDER)
    assert [each.releases for each in extended] == expected


def test_what_needs_a_human_is_named_by_rule_side_and_test() -> None:
    runs = {
        "bare": SuiteRun("bare", 1, "", {"test_a.py::test_1_1_x": "failed"}),
        "shimmed": SuiteRun(
            "shimmed",
            1,
            "",
            {
                "test_a.py::test_3_9_x": "failed",
                "test_a.py::test_3_9_y": "error",
                "test_a.py::test_2_1_z": "passed",
            },
        ),
        "patched": SuiteRun("patched", 1, "", {"test_a.py::test_2_1_z": "failed"}),
    }
    result = MatrixResult(
        release="0.25.0", words="", problems=("shimmed: it fails",), python="3.11", runs=runs
    )
    assert failures(result).splitlines() == [
        "0.25.0 needs a human:",
        "rule 3.9 fails shimmed: test_a.py::test_3_9_x, test_a.py::test_3_9_y",
        "rule 2.1 fails patched: test_a.py::test_2_1_z",
        "shimmed: it fails",
    ]


@pytest.mark.parametrize("release", ["nonsense", "0.25.0rc1", "0.25.*", ""])
def test_only_a_final_release_can_be_pinned(
    release: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert pin.main([release]) == 1
    assert "is not a final release, such as 0.25.0" in capsys.readouterr().err


def test_the_record_without_some_releases() -> None:
    record = {"a": ["0.2.0-0.10.1"], "b": ["0.2.1", "0.10.0"], "c": ["0.9.0"], "d": []}
    assert pin_again.without(record, {"0.9.0", "0.10.0"}, ORDER) == {
        "a": ["0.2.0-0.10.1"],
        "b": ["0.2.1"],
        "c": [],
        "d": [],
    }


def test_what_is_not_pinned_cannot_be_forgotten(capsys: pytest.CaptureFixture[str]) -> None:
    before = RECORD.read_bytes()
    assert pin_again.main(["--forget", "99.0.0", "0.24.0"]) == 1
    assert "not pinned: 99.0.0" in capsys.readouterr().err
    assert RECORD.read_bytes() == before


def test_which_published_releases_are_not_pinned() -> None:
    published = ["0.1.0", "0.2.0", "0.10.2", "0.10.1", "0.9.0", "0.9.0.post1", "0.2.1", "0.10.0"]
    assert watch.unpinned(published, ORDER) == ["0.9.0.post1", "0.10.2"]
    assert watch.unpinned(ORDER, ORDER) == []


def table_of(**fixes: str) -> dict[str, dict[str, dict[str, str]]]:
    """A table of four releases, the newest of which breaks these rules."""
    old = {"fixes": {"close-reset": "2.1 2.4", "history-merge": "3.1"}}
    new = {"fixes": {name.replace("_", "-"): rules for name, rules in fixes.items()}}
    return {"0.2.0": old, "0.2.1": old, "0.9.0": old, "0.10.0": new}


PAGE = "| 0.2.0 | all |\n| 0.2.1 to 0.9.0 | some |\nsince 0.9.0\n"


@pytest.mark.parametrize(
    ("page", "text", "expected"),
    [
        (
            "README.md",
            "`openai-agents` 0.2.0 to 0.9.0. All 3 releases. 0.9.0 is one.",
            "`openai-agents` 0.2.0 to 0.10.0. All 4 releases. 0.9.0 is one.",
        ),
        ("docs/close-reset.md", PAGE, PAGE.replace("0.9.0 |", "0.10.0 |")),
        ("docs/close-reset.md", "| 0.9.0 | some |", "| 0.9.0 to 0.10.0 | some |"),
        ("docs/history-merge.md", PAGE, PAGE),
        ("docs/converter-status.md", PAGE, PAGE.replace("0.9.0 |", "0.10.0 |")),
    ],
)
def test_the_pages_go_on_to_the_newest_release(page: str, text: str, expected: str) -> None:
    table = table_of(close_reset="2.1 2.4", history_merge="3.1 3.2")
    once = updated(text, page=page, release="0.10.0", table=table)
    assert once == expected
    assert updated(once, page=page, release="0.10.0", table=table) == expected


def test_the_pages_that_are_left_to_people_are_named(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    names = ("close-reset", "converter-status", "history-merge")
    pages = ["README.md", *map(page_of, names)]
    for page in pages:
        (tmp_path / page).write_text("0.2.0 to 0.9.0 |")
    table = table_of(history_merge="3.1")
    assert update_pages("0.10.0", table, root=tmp_path) == ["docs/close-reset.md"]
    assert [(tmp_path / page).read_text() for page in pages] == [
        "0.2.0 to 0.10.0 |",
        "0.2.0 to 0.9.0 |",
        "0.2.0 to 0.10.0 |",
        "0.2.0 to 0.10.0 |",
    ]
    assert update_pages("0.9.0", table, root=tmp_path) == []


class Index:
    """Stands for the package index, as pip answers for it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.answer = subprocess.CompletedProcess[str]([], 0, "", "")
        self.asked: list[str] = []
        monkeypatch.setattr(subprocess, "run", self._run)

    def _run(self, command: list[str], **options: object) -> subprocess.CompletedProcess[str]:
        self.asked = command
        return self.answer

    def has(self, *versions: str) -> None:
        text = json.dumps({"name": "openai-agents", "versions": versions})
        self.answer = subprocess.CompletedProcess([], 0, text, "")


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> Index:
    return Index(monkeypatch)


def test_the_watch_is_silent_while_all_is_pinned(
    index: Index, capsys: pytest.CaptureFixture[str]
) -> None:
    index.has("0.1.0", *load_table())
    assert watch.main() == 0
    assert f"up to {list(load_table())[-1]}, the newest, are pinned" in capsys.readouterr().out
    assert index.asked[-1] == "openai-agents"


def test_the_watch_fails_for_a_new_release(
    index: Index, capsys: pytest.CaptureFixture[str]
) -> None:
    index.has("99.0.0", "99.1.0", *load_table())
    assert watch.main() == 1
    assert capsys.readouterr().out.splitlines() == [
        "openai-agents 99.0.0 is not pinned: nox -s pin -- 99.0.0",
        "openai-agents 99.1.0 is not pinned: nox -s pin -- 99.1.0",
    ]


def test_the_watch_fails_where_the_index_is_silent(
    index: Index, capsys: pytest.CaptureFixture[str]
) -> None:
    index.answer = subprocess.CompletedProcess([], 1, "", "no network\n")
    assert watch.main() == 1
    assert "cannot ask the index for openai-agents:\nno network" in capsys.readouterr().err
    with pytest.raises(UserError):
        watch.published_releases()
