"""The release table, and what the documents say of it."""

from __future__ import annotations

import json
from pathlib import Path

from shim.activation import FIXES, MODULES
from shim.guard import release_table
from shim.wraps import release_key

ROOT = Path(__file__).parents[1]


def test_the_table_pins_every_wrapped_module_of_every_release() -> None:
    table = release_table()
    assert list(table) == sorted(table, key=release_key)
    assert len(table) == 104
    for release in table.values():
        assert set(release.modules) == set(MODULES)
        assert all(len(digest) == 64 for digest in release.modules.values())
        assert set(release.fixes) <= {fix.name for fix in FIXES}


def test_the_readme_says_which_releases_need_which_fix() -> None:
    needed = {fix.name for fix in FIXES}
    assert all(set(release.fixes) == needed for release in release_table().values())
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "All 104 releases need all three" in readme


def test_the_record_names_tests_that_exist() -> None:
    folder = ROOT / "tests" / "regression"
    record = json.loads((folder / "bare.json").read_text(encoding="utf-8"))
    for test in record:
        file, _, name = test.partition("::")
        assert f"def {name.partition('[')[0]}(" in (folder / file).read_text(encoding="utf-8")
