"""Labels given in the page, in a real browser: kept, taken back, downloaded, and applied to the evaluation set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from krag_eval import EvalSet, Run, RunRow, read_evalset, write_evalset
from krag_eval._utils.journal.rows import read_checked
from krag_eval_report import Report, build_report
from tests.support.command_line import Runner
from tests.support.page_cases import ARABIC, KOREAN, from_lists, run_of, shop, write_page

if TYPE_CHECKING:
    from playwright.sync_api import Page

HOSTILE = "q\"1\"\n</script>\u2028'환불'"
QUESTIONS: list[dict[str, Any]] = [
    {"id": HOSTILE, "question": "환불은 언제?", "gold": [{"id": 'g"\n1', "text": "사흘 안에 환불됩니다."}]},
    {"id": "متى", "question": "متى يصل الطلب؟", "gold_chunk_ids": ["ar-1"]},
    {"id": "q3", "question": "When?", "gold": [{"text": "In three days."}]},
]
FOUND = {HOSTILE: ["ko\n'2'", 'g"\n1'], "متى": ["ar-2", "ar-1"], "q3": ["en-2"]}
TEXTS = {
    "ko\n'2'": "환불은 사흘이면 됩니다.",
    'g"\n1': "사흘 안에 환불됩니다.",
    "ar-1": "يصل.",
    "ar-2": "الطلب لا يصل.",
}


def report(**settings: Any) -> Report:
    return build_report(EvalSet(QUESTIONS, name="s"), {"first": run_of("first", FOUND, TEXTS)}, k=2, **settings)


def press(page: Page, card: str, button: str) -> None:
    page.locator(f"#krag-query {card}").first.locator("h4").click()  # the labels are those of the document in use
    page.locator(f"#krag-query {card}").first.get_by_role("button", name=button, exact=True).click()


def pressed(page: Page) -> list[str]:
    words = "buttons => buttons.map((button) => button.lastChild.data)"
    return list(page.locator("#krag-query .labels [aria-pressed=true]").evaluate_all(words))


def bar(page: Page) -> str:
    return " ".join(page.locator("#krag-query .label-bar").inner_text().split())


def download(page: Page, folder: Path) -> Path:
    with page.expect_download() as waiting:
        page.locator("#krag-query .label-bar").get_by_role("button", name="Download").click()
    path = folder / waiting.value.suggested_filename
    waiting.value.save_as(path)
    return path


def test_labels_of_the_page_change_the_evalset_through_doctor(page: Page, command: Runner, tmp_path: Path) -> None:
    write_evalset(EvalSet(QUESTIONS, name="s"), "set.jsonl")
    address = write_page(tmp_path, report())
    page.goto(f"{address}#n=1")
    press(page, "[data-rank='1']", "This is gold")
    press(page, "[data-gold='0']", "This is not gold")
    page.locator("#krag-query textarea").fill('"둘"\nلا')
    page.goto(f"{address}#n=2")
    press(page, "[data-gold='0']", "This is not gold")
    press(page, "[data-rank='1']", "This is gold")
    page.goto(f"{address}#n=3")
    press(page, "[data-gold='0']", "This is not gold")
    assert "No id: the label names its text." in page.locator("#krag-query [data-gold='0']").inner_text()
    assert bar(page).startswith("5 labels and 1 note, not downloaded")
    path = download(page, tmp_path)
    assert bar(page).startswith("5 labels and 1 note, downloaded")
    outcome = command(f"doctor set.jsonl --apply {path.name} --out new.jsonl")
    assert (outcome.code, outcome.err) == (0, "new.jsonl: 3 of 3 questions have new labels.\n")
    first, second, third = read_evalset("new.jsonl")
    assert [(one.id, one.text, one.grade) for one in first.gold] == [
        ('g"\n1', "사흘 안에 환불됩니다.", 0.0),
        ("ko\n'2'", "환불은 사흘이면 됩니다.", None),
    ]
    assert (first.id, first.notes) == (HOSTILE, '"둘"\nلا')
    assert (second.gold_chunk_ids, [(one.id, one.grade) for one in second.gold]) == (
        (),
        [("ar-1", 0.0), ("ar-2", None)],
    )
    assert [(one.id, one.text, one.grade) for one in third.gold] == [(None, "In three days.", 0.0)]
    again = command(f"doctor new.jsonl --apply {path.name} --out newer.jsonl")
    assert again.err == "newer.jsonl: 0 of 3 questions have new labels.\n"


def test_where_gold_has_grades_a_label_is_one_of_them(page: Page, command: Runner, tmp_path: Path) -> None:
    gold = [{"id": "a", "text": "alpha", "grade": 3}, {"id": "b", "text": "beta", "grade": 0.5}]
    evalset = EvalSet([{"id": "q", "gold": gold}], name="s")
    write_evalset(evalset, "set.jsonl")
    found = [{"id": "c", "text": "gamma"}, {"id": "b", "text": "beta"}]
    run = Run.of("only", [RunRow.from_dict({"query_id": "q", "retrieved": found})])
    page.goto(write_page(tmp_path, build_report(evalset, {"only": run})) + "#n=1")
    words = "buttons => buttons.map((button) => button.lastChild.data)"
    names = page.locator("#krag-query [data-rank='1'] .labels button").evaluate_all(words)
    assert names == ["Grade 0.5", "Grade 3", "This is not gold"]
    press(page, "[data-rank='1']", "Grade 3")
    press(page, "[data-gold='1']", "This is not gold")
    path = download(page, tmp_path)
    assert command(f"doctor set.jsonl --apply {path.name} --out new.jsonl").code == 0
    assert {one.id: one.grade for one in read_evalset("new.jsonl")[0].gold} == {"a": 3.0, "b": 0.0, "c": 3.0}


def test_ids_under_a_key_and_documents_are_labelled_as_they_were_read(
    page: Page, command: Runner, tmp_path: Path
) -> None:
    def document(number: int) -> dict[str, Any]:
        return {
            "id": f"uuid-{number}",
            "text": f"text {number}",
            "metadata": {"key": f"k{number}", "doc_id": f"d{number}"},
        }

    questions = [{"id": "q1", "question": "?", "gold": [document(1)], "gold_doc_ids": ["d7"]}]
    write_evalset(EvalSet(questions), "set.jsonl")
    Path("run.jsonl").write_text(json.dumps({"query_id": "q1", "retrieved": [document(2), document(1)]}), "utf-8")
    gold = {}
    for name, options in {"key": "--id-key key", "document": "--level document"}.items():
        assert command(f"report set.jsonl run.jsonl --out {name}.html -k 2 {options}").code == 0
        page.goto(f"{(tmp_path / name).as_uri()}.html#n=1")
        press(page, "[data-gold='0']", "This is not gold")
        press(page, "[data-rank='1']", "This is gold")
        path = download(page, tmp_path)
        outcome = command(f"doctor set.jsonl --apply {path.name} --out {name}.jsonl")
        assert outcome.code == 0, outcome.err
        gold[name] = read_evalset(f"{name}.jsonl")["q1"]
        page.evaluate("localStorage.clear()")
    assert [(one.metadata["key"], one.grade) for one in gold["key"].gold] == [("k1", 0.0), ("k2", None)]
    assert {one.id: one.grade for one in gold["document"].gold_documents()}["d2"] is None
    assert gold["document"].gold_doc_ids == ("d2",)


def test_labels_outlive_the_page_are_taken_back_and_forgotten(page: Page, tmp_path: Path) -> None:
    address = write_page(tmp_path, shop())
    page.goto(f"{address}#q={KOREAN}")
    assert not page.locator(".label-bar").first.is_visible()
    press(page, "[data-rank='1']", "This is gold")
    assert pressed(page) == ["This is gold"] * 2  # both runs retrieved it
    page.reload()
    assert pressed(page) == ["This is gold"] * 2
    assert bar(page).startswith("1 label, not downloaded")
    press(page, "[data-rank='1']", "This is not gold")
    assert pressed(page) == ["This is not gold"] * 2
    press(page, "[data-rank='1']", "This is not gold")
    assert pressed(page) == []
    press(page, "[data-gold='0']", "This is not gold")
    page.goto(f"{address}#q={ARABIC}")
    page.locator("#krag-query .label-bar").get_by_role("button", name="Forget").click()
    assert bar(page).startswith("Forget 1 label?")
    page.locator("#krag-query .label-bar").get_by_role("button", name="Keep").click()
    assert bar(page).startswith("1 label, not downloaded")
    page.locator("#krag-query .label-bar").get_by_role("button", name="Forget").click()
    page.locator("#krag-query .label-bar").get_by_role("button", name="Yes, forget").click()
    page.reload()
    assert page.locator(".label-bar:visible").count() == 0


def test_keys_typed_into_a_note_do_not_open_another_query(page: Page, tmp_path: Path) -> None:
    page.goto(f"{write_page(tmp_path, shop())}#n=1")
    area = page.locator("#krag-query textarea")
    area.press_sequentially("ab")
    for key in ("ArrowLeft", "ArrowRight", "j", "k", "/"):
        area.press(key)
    assert (area.input_value(), page.evaluate("location.hash")) == ("abjk/", "#n=1")


def test_without_storage_labels_last_as_long_as_the_page_and_it_says_so(page: Page, tmp_path: Path) -> None:
    page.add_init_script("Object.defineProperty(window, 'localStorage', { get() { throw new Error('refused'); } });")
    page.goto(f"{write_page(tmp_path, shop())}#q={KOREAN}")
    press(page, "[data-rank='1']", "This is gold")
    assert "This browser does not keep them: download them before you close the page." in bar(page)
    ((_, row),) = read_checked(download(page, tmp_path))
    assert row == {
        "label": True,
        "query_id": KOREAN,
        "question": "배송은 얼마나 걸리나요?",
        "document": {"id": "ko-2", "text": "배송은 무료이고 반품도 됩니다."},
    }


def test_where_no_label_is_possible_the_page_says_why(page: Page, tmp_path: Path) -> None:
    page.goto(f"{write_page(tmp_path, from_lists([['a']], [['b', 'a']]))}#n=1")
    assert "Labels are not possible: the queries have no ids here" in page.locator("#krag-query").inner_text()
    assert page.locator("#krag-query .labels button").count() == 0


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_pressed_button_is_told_apart_without_colour(page: Page, tmp_path: Path, theme: Any) -> None:
    page.emulate_media(color_scheme=theme)
    page.goto(f"{write_page(tmp_path, shop())}#q={KOREAN}")
    press(page, "[data-rank='1']", "This is gold")
    mark = "getComputedStyle(document.querySelector('#krag-query .labels [aria-pressed=true]'), '::before').content"
    assert "✓" in page.evaluate(mark)
