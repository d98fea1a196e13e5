"""The compatibility pages: counting and merging results, states, the pages, and what is stale."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tools import matrix
from tools.checkout import Sources
from tools.compatibility.check import defects, stale
from tools.compatibility.pages import HTML, MARKDOWN, make_pages
from tools.compatibility.project import find_defects
from tools.compatibility.results import (
    BARE,
    OTHER,
    PATCHED,
    SHIMMED,
    Count,
    Results,
    Row,
    count,
    dump_results,
    load_results,
    merge,
    rule_of,
    total,
)
from tools.compatibility.rules import BESIDE, CONTRACT, TITLES, Rule, load_rules, parse_rules
from tools.compatibility.states import (
    BROKEN,
    FIXED,
    NONE,
    PARTLY,
    SOUND,
    UPSTREAM,
    State,
    count_in_words,
    fix_spans,
    make_cell,
    make_groups,
    spans,
)
from tools.record import Record, load_record
from tools.releases import RECORD as RECORD_FILE
from tools.releases import Release, UserError
from tools.series import Series
from tools.suite import SuiteRun

ORDER = ["0.9.0", "0.10.0", "0.11.0", "0.12.0"]
RULE = Rule(name="2.1", fix="close-reset", title="A title", text="A text")
REPORT = Rule(name="#5068", fix=BESIDE, title="A report", text="Its text")

Pair = tuple[int, int]


def counts(**pairs: Pair) -> dict[str, Count]:
    """Counts by rule, with ``r2_1`` for 2.1."""
    return {
        name.removeprefix("r").replace("_", "."): Count(failed=failed, ran=ran)
        for name, (failed, ran) in pairs.items()
    }


def row(bare: Pair, shimmed: Pair | None = None, patched: Pair | None = None) -> Row:
    """The counts of rule 2.1; without those of a side they are the bare ones, and none fails."""
    fixed = (0, bare[1])
    pairs = {BARE: bare, SHIMMED: shimmed or fixed, PATCHED: patched or fixed}
    return Row(python="3.11", sides={side: counts(r2_1=pair) for side, pair in pairs.items()})


def without_patches(row: Row) -> Row:
    sides = {side: each for side, each in row.sides.items() if side != PATCHED}
    return Row(python=row.python, sides=sides)


@pytest.mark.parametrize(
    ("test", "rule"),
    [
        ("test_close_reset.py::test_2_1_a_close", "2.1"),
        ("test_history_merge.py::test_3_10_the_list[test_1_1_x]", "3.10"),
        ("test_reports.py::test_4597_an_answer[with-status]", "#4597"),
        ("test_reports.py::test_the_output_of_a_tool_call", OTHER),
        ("test_close_reset.py::TestIt::test_2_1_a_close", OTHER),
    ],
)
def test_the_rule_is_in_the_name_of_a_test(test: str, rule: str) -> None:
    assert rule_of(test) == rule


def test_every_test_of_the_suite_has_a_place_in_the_pages() -> None:
    record = load_record(RECORD_FILE)
    assert record
    assert {rule_of(test) for test in record} == set(TITLES)


def test_skipped_tests_do_not_count_and_errors_do() -> None:
    outcomes = {
        "a.py::test_1_1_a": "passed",
        "a.py::test_1_1_b": "failed",
        "a.py::test_1_1_c": "error",
        "a.py::test_1_1_d": "skipped",
        "a.py::test_1_2_a": "skipped",
        "a.py::test_1_3_a": "passed",
    }
    assert count(outcomes) == counts(r1_1=(2, 3), r1_3=(0, 1))


def test_the_count_of_several_rules() -> None:
    found = counts(r1_1=(2, 3), r1_2=(0, 4), r2_1=(9, 9))
    assert total(found, ["1.1", "1.2", "1.3"]) == Count(failed=2, ran=7)


def test_new_results_replace_those_of_their_releases_in_the_tables_order() -> None:
    known = {release: row((1, 2)) for release in ("0.10.0", "0.8.0", "0.12.0")}
    new = {"0.12.0": row((2, 2)), "0.9.0": row((0, 2))}
    merged = merge(known, new, ORDER)
    assert list(merged) == ["0.9.0", "0.10.0", "0.12.0"]
    assert merged["0.12.0"] == new["0.12.0"]
    assert merged["0.10.0"] == known["0.10.0"]


def test_the_file_gives_back_what_was_put_in(tmp_path: Path) -> None:
    mixed = counts(r3_10=(0, 1), r3_9=(1, 2)) | {"#5068": Count(failed=1, ran=1)}
    results = {
        "0.9.0": Row(python="3.11", sides={BARE: mixed, SHIMMED: mixed, PATCHED: mixed}),
        "0.10.0": without_patches(row((1, 2))),
    }
    text = dump_results(results)
    file = tmp_path / "results.json"
    file.write_text(text)
    assert load_results(file) == results
    assert list(load_results(file)) == list(results)
    assert '\n    "bare": {"3.9": [1, 2], "3.10": [0, 1], "#5068": [1, 1]},\n' in text
    assert dump_results(load_results(file)) == text


def test_without_a_file_there_are_no_results(tmp_path: Path) -> None:
    assert load_results(tmp_path / "results.json") == {}


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"0.9.0": 1}',
        '{"0.9.0": {"python": "3.11", "bare": {}}}',
        '{"0.9.0": {"python": "3.11", "bare": {}, "shimmed": {}, "other": {}}}',
        '{"0.9.0": {"python": "3.11", "bare": {"1.1": [3, 2]}, "shimmed": {}}}',
        '{"0.9.0": {"python": "3.11", "bare": {"1.1": [3]}, "shimmed": {}}}',
    ],
)
def test_a_file_that_holds_something_else(tmp_path: Path, text: str) -> None:
    file = tmp_path / "results.json"
    file.write_text(text)
    with pytest.raises(UserError, match=r"results\.json does not hold results"):
        load_results(file)


def test_the_rules_are_in_the_order_of_the_contract() -> None:
    names = [rule.name for rule in load_rules()]
    assert names[:4] == ["1.1", "1.2", "1.3", "1.4"]
    assert names[names.index("3.9") + 1] == "3.10"
    assert names[-3:] == ["#4597", "#5068", OTHER]
    fixes = list(dict.fromkeys(rule.fix for rule in load_rules()))
    assert fixes == ["converter-status", "close-reset", "history-merge", BESIDE]


def test_a_rule_without_a_title() -> None:
    text = CONTRACT.read_text(encoding="utf-8")
    with pytest.raises(UserError, match=r"do not agree on 4\.1$"):
        parse_rules(f"{text}\n## 4. new-fix\n\n4.1 Something new.\n")
    with pytest.raises(UserError, match=r"do not agree on 3\.5$"):
        parse_rules(re.sub(r"^3\.5 ", "", text, flags=re.MULTILINE))


@pytest.mark.parametrize(
    ("given", "was_broken", "state", "words"),
    [
        (row((2, 2)), False, FIXED, "2 of 2 tests fail; fixed by shim and patches"),
        (row((1, 2)), True, PARTLY, "1 of 2 tests fail; fixed by shim and patches"),
        (
            without_patches(row((1, 1))),
            False,
            FIXED,
            "1 of 1 test fails; fixed by the shim; there are no patches",
        ),
        (row((0, 2)), False, SOUND, "not broken so far: 2 tests pass"),
        (row((0, 1)), True, UPSTREAM, "fixed upstream: 1 test passes"),
        (row((0, 0)), True, NONE, "does not apply"),
        (
            row((2, 2), shimmed=(1, 2)),
            False,
            BROKEN,
            "bare: 2 of 2 tests fail; shimmed: 1 of 2 tests fail; patched: 2 tests pass",
        ),
        (
            row((0, 2), patched=(1, 2)),
            False,
            BROKEN,
            "bare: 2 tests pass; shimmed: 2 tests pass; patched: 1 of 2 tests fail",
        ),
        # One that did not run with the fix does not show that it works.
        (
            row((2, 2), shimmed=(0, 1)),
            False,
            BROKEN,
            "bare: 2 of 2 tests fail; shimmed: 1 test passes; patched: 2 tests pass",
        ),
    ],
)
def test_the_state_of_a_rule(given: Row, was_broken: bool, state: State, words: str) -> None:
    cell = make_cell(RULE, given, was_broken=was_broken)
    assert (cell.state, cell.words) == (state, words)


def test_a_rule_of_which_nothing_ran() -> None:
    assert make_cell(REPORT, row((1, 1)), was_broken=False).state == NONE
    assert count_in_words(Count(failed=0, ran=0)) == "no test applies"


RESULTS: Results = {
    "0.9.0": row((0, 2)),
    "0.10.0": row((1, 2)),
    "0.11.0": row((1, 2)),
    "0.12.0": row((0, 2)),
}


def test_neighbours_with_the_same_results_are_one_group() -> None:
    groups = make_groups(RESULTS, [RULE, REPORT])
    assert [group.name for group in groups] == ["0.9.0", "0.10.0 to 0.11.0", "0.12.0"]
    assert [group.anchor for group in groups] == ["from-0.9.0", "from-0.10.0", "from-0.12.0"]
    # The first and the last have the same numbers, but between them it was broken.
    assert [group.cells[0].state for group in groups] == [SOUND, PARTLY, UPSTREAM]


def test_releases_that_only_differ_in_numbers_are_two_groups_with_one_state() -> None:
    groups = make_groups({**RESULTS, "0.11.0": row((1, 3))}, [RULE])
    assert [group.name for group in groups] == ["0.9.0", "0.10.0", "0.11.0", "0.12.0"]
    assert spans(groups, RULE, PARTLY) == ["0.10.0 to 0.11.0"]
    assert spans(groups, RULE, FIXED) == []


def test_the_lines_of_a_fix_join_the_groups_that_differ_elsewhere() -> None:
    groups = make_groups(RESULTS, [RULE, REPORT])
    assert [releases for releases, _ in fix_spans(groups, BESIDE)] == ["0.9.0 to 0.12.0"]
    lines = fix_spans(groups, "close-reset")
    assert [(releases, line.bare) for releases, line in lines] == [
        ("0.9.0", "2 tests pass"),
        ("0.10.0 to 0.11.0", "1 of 2 tests fail"),
        ("0.12.0", "2 tests pass"),
    ]
    (alone,) = make_groups({"0.9.0": without_patches(RESULTS["0.9.0"])}, [RULE])
    assert alone.fixes[0].patched == "no patches"


class Reader(HTMLParser):
    """Collects the tags of a page that load something, its ids, its own links and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loading: list[str] = []
        self.ids: list[str] = []
        self.links: set[str] = set()
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in {"script", "link", "img", "iframe", "object"} or "src" in given:
            self.loading.append(tag)
        self.ids += [str(given["id"])] if "id" in given else []
        self.links |= {str(given["href"])} if tag == "a" else set()

    def handle_data(self, data: str) -> None:
        self.words += data


def rules_with(rule: Rule) -> list[Rule]:
    return [rule if rule.name == each.name else each for each in load_rules()]


def test_the_html_page_loads_nothing_and_its_links_lead_somewhere() -> None:
    text = make_pages(RESULTS, load_rules())[HTML]
    page = Reader(text)
    assert page.loading == []
    assert "url(" not in text
    assert "@import" not in text
    assert len(page.ids) == len(set(page.ids))
    assert page.links
    assert page.links <= {f"#{each}" for each in page.ids}


def test_what_fails_with_a_fix_is_named_on_both_pages() -> None:
    pages = make_pages({**RESULTS, "0.12.0": row((1, 2), shimmed=(1, 2))}, load_rules())
    for text in pages.values():
        assert f"{BROKEN.label}: 0.12.0" in text


def test_each_state_is_told_by_words_as_well() -> None:
    words = Reader(make_pages(RESULTS, load_rules())[HTML]).words
    assert "1 of 2 tests fail; fixed by shim and patches" in words
    assert "fixed upstream: 2 tests pass" in words
    assert "2 releases: 0.10.0, 0.11.0" in words


def test_text_is_shown_as_it_is_written() -> None:
    odd = Rule(
        name="2.1", fix="close-reset", title='<b>"A&B"', text="`a < b` and <script>x</script>"
    )
    text = make_pages(RESULTS, rules_with(odd))[HTML]
    page = Reader(text)
    assert page.loading == []
    assert "<code>a &lt; b</code> and &lt;script&gt;" in text
    assert '<b>"A&B"' in page.words
    assert 'title="&lt;b&gt;&#34;A&amp;B&#34;"' in text


def test_the_markdown_page_has_tables_with_as_many_columns_as_titles() -> None:
    text = make_pages(RESULTS, load_rules())[MARKDOWN]
    tables = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    assert len(tables) == 6
    for table in tables:
        assert len({line.count("|") for line in table.splitlines()}) == 1
    (line,) = re.findall(r"^\| 0\.10\.0 to 0\.11\.0 \| [^a-z]*\|$", text, re.MULTILINE)
    assert line.split(" | ")[1 + list(TITLES).index("2.1")] == PARTLY.mark
    assert "\n- 0.10.0 to 0.11.0: 0.10.0, 0.11.0\n" in text


def test_the_same_results_give_the_same_pages() -> None:
    assert make_pages(RESULTS, load_rules()) == make_pages(dict(RESULTS), load_rules())


RECORD = {
    "test_close_reset.py::test_2_1_a": ["0.10.0-0.11.0"],
    "test_close_reset.py::test_2_1_b": [],
}


def found(results: Results, *, patched: set[str] | None = None) -> list[str]:
    return defects(
        results,
        order=ORDER,
        record=RECORD,
        patched=set(ORDER) if patched is None else patched,
        rules={"2.1"},
    )


def test_the_projects_results_and_pages_are_current() -> None:
    assert find_defects() == []


def test_results_that_agree_with_everything() -> None:
    assert found(RESULTS) == []


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"0.8.0": row((0, 2))}, "0.8.0 is not in the release table"),
        (
            {"0.10.0": row((2, 2))},
            "0.10.0: 2 tests of 2.1 fail on the bare release, and 1 in bare.json",
        ),
        ({"0.9.0": row((0, 3))}, "0.9.0: 3 tests of 2.1 ran, and bare.json has 2"),
        (
            {"0.9.0": without_patches(row((0, 2)))},
            "0.9.0 has patches, and the results say otherwise",
        ),
    ],
)
def test_results_that_contradict_something(change: Mapping[str, Row], line: str) -> None:
    assert found({**RESULTS, **change}) == [line]


def test_results_that_lack_something() -> None:
    assert found({}) == [f"{release} has no results" for release in ORDER]
    three = dict(RESULTS)
    empty = {side: counts() for side in three["0.10.0"].sides}
    three["0.10.0"] = Row(python="3.11", sides=empty)
    assert found(three) == ["0.10.0: 0 tests of 2.1 fail on the bare release, and 1 in bare.json"]


def test_results_that_are_out_of_order_or_of_no_rule() -> None:
    turned = dict(reversed(list(RESULTS.items())))
    assert found(turned) == ["the releases are not in the order of the release table"]
    strange = Row(python="3.11", sides={BARE: counts(r2_1=(0, 2)), SHIMMED: counts(r9_9=(0, 1))})
    everywhere_else = set(ORDER) - {"0.12.0"}
    assert found({**RESULTS, "0.12.0": strange}, patched=everywhere_else) == [
        "0.12.0 has results for 9.9, which is no rule"
    ]


def test_a_release_whose_patches_are_gone() -> None:
    lines = found(RESULTS, patched=set(ORDER[1:]))
    assert lines == ["0.9.0 has no patches, and the results say otherwise"]


def test_pages_that_are_missing_or_stale(tmp_path: Path) -> None:
    good, old, gone = (tmp_path / name for name in ("good.md", "old.md", "gone.md"))
    good.write_text("new", encoding="utf-8")
    old.write_text("old", encoding="utf-8")
    assert stale(dict.fromkeys((good, old, gone), "new")) == [
        "old.md is not what the results give",
        "gone.md is missing",
    ]


def outcome(mode: str, exit_code: int, result: str) -> SuiteRun:
    return SuiteRun(mode, exit_code, "the end", {"test_close_reset.py::test_2_1_a": result})


BAD = outcome("recording", 1, "failed")
GOOD = outcome("shimmed", 0, "passed")
CUT_OFF = outcome("patched", 2, "passed")


def result(release: str, **runs: SuiteRun) -> matrix.MatrixResult:
    return matrix.MatrixResult(release=release, words="", problems=(), python="3.11", runs=runs)


def test_recording_leaves_out_releases_with_a_run_that_broke_off(tmp_path: Path) -> None:
    record, file = tmp_path / "bare.json", tmp_path / "results.json"
    file.write_text(dump_results({"0.9.0": row((0, 2)), "0.12.0": row((0, 2))}))
    results = [
        result("0.9.0", bare=BAD, shimmed=GOOD, patched=CUT_OFF),
        result("0.10.0", bare=BAD, shimmed=GOOD, patched=GOOD),
        result("0.11.0"),
        result("0.12.0", bare=BAD, shimmed=GOOD),
    ]
    missing = matrix.record_results(results, ORDER, record=record, file=file)
    assert missing == ["0.9.0", "0.11.0"]
    assert load_record(record) == {"test_close_reset.py::test_2_1_a": ["0.10.0", "0.12.0"]}
    recorded = load_results(file)
    assert list(recorded) == ["0.9.0", "0.10.0", "0.12.0"]
    assert recorded["0.9.0"] == row((0, 2))
    assert recorded["0.10.0"] == row((1, 1))
    assert recorded["0.12.0"] == without_patches(row((1, 1)))


def test_nothing_is_written_where_nothing_ran_to_its_end(tmp_path: Path) -> None:
    record, file = tmp_path / "bare.json", tmp_path / "results.json"
    cut_off = result("0.9.0", bare=CUT_OFF, shimmed=GOOD)
    missing = matrix.record_results([cut_off], ORDER, record=record, file=file)
    assert missing == ["0.9.0"]
    assert not record.exists()
    assert not file.exists()


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sources:
    """A table of releases, none of which gets installed."""

    def install(name: str, release: object, *, folder: Path, python: str) -> Path:
        return folder / python

    def check_out(sources: object, series: object, release: str, folder: Path) -> str:
        folder.mkdir()
        return release

    monkeypatch.setattr(matrix, "CACHE", tmp_path)
    monkeypatch.setattr(matrix, "install", install)
    monkeypatch.setattr(matrix, "checkout", check_out)
    table: dict[str, Release] = {release: {} for release in ORDER}
    return Sources(
        patches=tmp_path, table=table, table_file=tmp_path, sdist=lambda release: tmp_path
    )


def run_one(sources: Sources, *patched: str, record: Record | None = None) -> matrix.MatrixResult:
    series = [Series(folder=sources.patches / "0.9.0", releases=patched)] if patched else []
    return matrix.run_release("0.9.0", sources=sources, series=series, python="3.11", record=record)


def test_a_release_runs_each_side_in_one_environment(
    sources: Sources, monkeypatch: pytest.MonkeyPatch
) -> None:
    trees: dict[str, Path | None] = {}

    def run_suite(mode: str, *, python: Path, source: Path | None = None) -> SuiteRun:
        assert (python.name, python.parent.name) == ("3.11", "venv")
        trees[mode] = source
        return BAD if mode == "recording" else GOOD

    monkeypatch.setattr(matrix, "run_suite", run_suite)
    found = run_one(sources, "0.9.0")
    assert found.problems == ()
    assert found.runs == {BARE: BAD, SHIMMED: GOOD, PATCHED: GOOD}
    tree = trees["patched"]
    assert tree is not None
    assert (tree.name, tree.parent.name) == ("src", "tree")
    assert (trees["recording"], trees["shimmed"]) == (None, None)
    assert found.words.startswith("bare 0 passed, 1 failed, 0 skipped; shimmed 1 passed")
    assert set(run_one(sources, "0.10.0").runs) == {BARE, SHIMMED}


def test_what_is_wrong_with_the_sides_of_a_release(
    sources: Sources, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = {"recording": GOOD, "shimmed": BAD, "patched": CUT_OFF}
    monkeypatch.setattr(matrix, "run_suite", lambda mode, **options: runs[mode])
    test = "test_close_reset.py::test_2_1_a"
    found = run_one(sources, "0.9.0", record={test: ["0.9.0"]})
    assert found.problems == (
        f"bare: {test} is recorded as failing, and passed",
        f"shimmed: {test} fails",
        "shimmed: the run has exit code 1\nthe end",
        "patched: the run has exit code 2\nthe end",
    )
    assert not found.is_complete
    runs["recording"] = outcome("recording", 1, "error")
    assert run_one(sources).problems[0] == f"bare: {test} fails, but by no assertion"


@pytest.mark.parametrize(
    ("error", "words"),
    [(UserError("no such release"), "no such release"), (OSError("disk"), "OSError: disk\n")],
)
def test_a_release_that_cannot_be_run_is_a_result_as_well(
    sources: Sources, monkeypatch: pytest.MonkeyPatch, error: Exception, words: str
) -> None:
    def install(*arguments: object, **options: object) -> Path:
        raise error

    monkeypatch.setattr(matrix, "install", install)
    found = run_one(sources)
    assert (found.words, found.runs, found.is_complete) == ("did not run", {}, False)
    assert found.problems[0].endswith(words)
