"""Make ``shim/releases.json`` from the published wheels, or check it against them."""

from __future__ import annotations

import argparse
import ast
import email
import hashlib
import json
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from shim.activation import FIXES as SHIM_FIXES
from shim.activation import MODULES
from shim.wraps import release_key
from tools.published import download
from tools.record import Record, load_record, recorded_failures, rule_of, subject_of
from tools.releases import (
    CACHE,
    FIXES,
    PACKAGE,
    RECORD,
    TABLE,
    Release,
    UserError,
    load_table,
    with_patched,
)

_DIGEST_LENGTH = 16
_DOWNLOADS_AT_ONCE = 4


def fetch_wheel(name: str, release: Release, *, cache: Path) -> Path:
    """Return the release's published wheel, downloaded unless the cache has it.

    Raises UserError if it cannot be had, or is not the file that the table names by its hash.
    """
    wheel = next(cache.glob(f"openai_agents-{name}-*.whl"), None)
    if wheel is None:
        with tempfile.TemporaryDirectory(dir=cache) as folder:
            downloaded = download(name, "wheel", folder=Path(folder))
            wheel = downloaded.replace(cache / downloaded.name)
    found, expected = _sha256(wheel.read_bytes()), release["wheel_sha256"]
    if found != expected:
        raise UserError(
            f"the wheel of {PACKAGE} {name} has sha256 {found}, the release table says {expected}"
        )
    return wheel


def module_sources(wheel: Path) -> dict[str, bytes]:
    """Return the source of each wrapped module, by module name, as the wheel holds it."""
    with zipfile.ZipFile(wheel) as archive:
        return {module: archive.read(f"{module.replace('.', '/')}.py") for module in MODULES}


def requires_python(wheel: Path) -> str:
    """Return the Python versions that a wheel is for, from its metadata."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = email.message_from_bytes(archive.read(name))
    return str(metadata["Requires-Python"])


def function_digest(name: str, sources: Mapping[str, bytes]) -> str:
    """Return a short sha256 over the syntax of the wrapped functions that a release has.

    Comments and layout do not count, nor does the Python version that computes it.
    """
    trees = {module: ast.parse(source) for module, source in sources.items()}
    lines = []
    wraps = [
        wrap
        for fix in SHIM_FIXES
        for wrap in fix.wraps
        if wrap.applies_to(name) and not wrap.only_watches
    ]
    # A method that is wrapped twice counts once.
    for module, attribute in dict.fromkeys((wrap.module, wrap.attribute) for wrap in wraps):
        node = _find(trees[module], attribute)
        if node is not None:
            lines.append(f"{module}:{attribute} {_canonical(node)}")
    return _sha256("\n".join(lines).encode())[:_DIGEST_LENGTH]


def _find(tree: ast.Module, attribute: str) -> ast.AST | None:
    """Return the definition that a dotted attribute names, if the module has it."""
    node: ast.AST = tree
    for part in attribute.split("."):
        found = [child for child in getattr(node, "body", []) if getattr(child, "name", "") == part]
        if not found:
            return None
        node = found[-1]
    return node


def _canonical(value: object) -> str:
    """Return a syntax tree as text; unlike ``ast.dump``'s, the same on every Python version."""
    if isinstance(value, ast.AST):
        # Newer versions of Python have more fields; they are empty in code written for older ones.
        fields = [
            (name, field) for name, field in ast.iter_fields(value) if field not in (None, [])
        ]
        return f"{type(value).__name__}({','.join(f'{k}={_canonical(v)}' for k, v in fields)})"
    if isinstance(value, list):
        return f"[{','.join(_canonical(item) for item in value)}]"
    return repr(value)


def needed_fixes(name: str, record: Record | None, order: list[str]) -> dict[str, str]:
    """Return the rules that a bare release breaks, by fix, as its regression tests are recorded.

    The rules are separated by spaces. A fix of which no test fails is not needed. Without a record
    every fix counts as needed.
    """
    if record is None:
        return dict.fromkeys(FIXES, "")
    failing = recorded_failures(record, name, order)
    broken = {
        fix: {rule for test in failing if subject_of(test) == fix and (rule := rule_of(test))}
        for fix in FIXES
    }
    return {fix: " ".join(sorted(rules, key=release_key)) for fix, rules in broken.items() if rules}


def describe(name: str, release: Release, *, cache: Path) -> Release:
    """Return the table's entry for a release, from its published wheel; fixes excluded.

    The hashes of the patched modules are taken over: `tools.patches` writes them.
    """
    wheel = fetch_wheel(name, release, cache=cache)
    sources = module_sources(wheel)
    entry = {
        "uploaded": release["uploaded"],
        "requires_python": requires_python(wheel),
        "wheel_sha256": release["wheel_sha256"],
        "modules": {module: _sha256(source) for module, source in sources.items()},
        "functions": function_digest(name, sources),
    }
    return with_patched(entry, release.get("patched"))


def make_table(table: Mapping[str, Release], record: Record | None) -> dict[str, Release]:
    """Return the whole table, oldest release first, as the wheels and the record give it."""
    order = sorted(table, key=release_key)
    cache = CACHE / "wheels"
    cache.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(_DOWNLOADS_AT_ONCE) as pool:
        entries = list(pool.map(lambda name: describe(name, table[name], cache=cache), order))
    for name, entry in zip(order, entries, strict=True):
        entry["fixes"] = needed_fixes(name, record, order)
    return dict(zip(order, entries, strict=True))


def insert(table: Mapping[str, Release], name: str, entry: Release) -> dict[str, Release]:
    """Return the table with an entry in its place, oldest release first."""
    added = {**table, name: entry}
    return {each: added[each] for each in sorted(added, key=release_key)}


def dump_table(table: Mapping[str, Release]) -> str:
    """Return the text of ``shim/releases.json`` with this table."""
    return json.dumps({"package": PACKAGE, "releases": table}, indent=2) + "\n"


def differences(committed: Mapping[str, Release], made: Mapping[str, Release]) -> list[str]:
    """Say, in one line each, which fields of the committed table are not what the wheels give."""
    return [
        f"{name}: {field} is {committed.get(name, {}).get(field)!r}, should be {value!r}"
        for name, entry in made.items()
        for field, value in entry.items()
        if committed.get(name, {}).get(field) != value
    ]


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def main(arguments: list[str] | None = None) -> int:
    """Write or check the table; return the exit code."""
    parser = argparse.ArgumentParser(prog="nox -s table --", description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing, report differences")
    options = parser.parse_args(arguments)
    try:
        committed = load_table()
        made = make_table(committed, load_record(RECORD))
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    text = dump_table(made)
    if text == TABLE.read_text(encoding="utf-8"):
        print(f"shim/releases.json is what the {len(committed)} wheels give")
        return 0
    lines = differences(committed, made) or ["order or layout of the file"]
    if options.check:
        print("shim/releases.json is not what the published wheels give; run nox -s table:")
        print("\n".join(lines))
        return 1
    TABLE.write_text(text, encoding="utf-8")
    print(f"shim/releases.json rewritten, {len(lines)} differences")
    return 0


if __name__ == "__main__":
    sys.exit(main())
