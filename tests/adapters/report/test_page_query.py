"""One query, opened in a real browser: gold beside retrieved, the words that they share, what moved, its address."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from krag_eval import EvalSet, Run, RunRow
from krag_eval_report import build_report
from tests.support.browser import follow, settle, show_controls
from tests.support.marks import nothing_may_match
from tests.support.page_cases import (
    ARABIC,
    CHINESE,
    KOREAN,
    RUSSIAN,
    TEXTS,
    from_lists,
    page_of,
    run_of,
    shop,
    write_page,
)

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page


@pytest.fixture(scope="module")
def two_runs(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_page(tmp_path_factory.mktemp("two"), shop())


@pytest.fixture(scope="module")
def one_run(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_page(tmp_path_factory.mktemp("one"), shop(1))


def column(page: Page, name: str) -> Locator:
    return page.locator("#krag-query .column", has=page.locator("h3 bdi", has_text=name))


def card(page: Page, of: str, number: int) -> Locator:
    return column(page, of).locator(".card").nth(number - 1)


def marks(card: Locator) -> list[str]:
    return card.locator(".text mark").all_inner_texts()


def lines(card: Locator) -> list[str]:
    return [" ".join(text.split()) for text in card.locator(".fates li, .earned").all_inner_texts()]


def test_an_opened_query_says_everything_about_it(page: Page, two_runs: str) -> None:
    page.goto(two_runs + "#queries")
    page.click(f"#krag-rows >> text={KOREAN}")
    opened = page.locator("#krag-query")
    assert opened.locator(".question").inner_text() == "배송은 얼마나 걸리나요?"
    assert "이틀 걸립니다." in opened.locator(".answer").inner_text()
    assert opened.locator(".slices li").all_inner_texts() == ["type fact", "language ko"]
    assert opened.locator(".lead").inner_text() == "Of 1 gold document, first finds 1 and second finds 1."
    rows = opened.locator(".values tr").all_inner_texts()
    assert [row.split() for row in rows] == [
        ["run", "recall@5"],
        ["first", "1.0000"],
        ["second", "1.0000"],
        ["difference", "0.0000"],
    ]
    assert lines(card(page, "Gold", 1)) == [
        "first ✓ rank 2 by id (1.000)",
        "second ✓ rank 1 by id (1.000)",
    ]
    assert card(page, "first", 2).locator(".id").inner_text() == "ko-1"
    assert "score 0.5" in card(page, "first", 2).inner_text()
    assert lines(card(page, "first", 2)) == ["✓ credited gold 1 by id (1.000)"]
    assert lines(card(page, "first", 1)) == []
    assert card(page, "first", 2).locator("h4 mark").inner_text() == "ko-1"  # the id that matched
    assert lines(card(page, "second", 2)) == ["= repeats rank 1 gold 1 by id (1.000)"]


def test_all_values_of_a_query_can_be_seen(page: Page, two_runs: str) -> None:
    page.goto(two_runs + f"#q={KOREAN}")
    page.click("#krag-query .values button")
    rows = {row.split()[0]: row.split()[1:] for row in page.locator("#krag-query .values tbody tr").all_inner_texts()}
    result = {system.name: system.result.query_result(0) for system in shop().systems}
    assert list(rows) == list(result["first"].values)
    assert rows["mrr@5"] == ["0.5000", "1.0000", "+0.5000"]
    assert {key: values[:2] for key, values in rows.items()} == {
        key: [f"{result[name].values[key]:.4f}" for name in ("first", "second")] for key in rows
    }


@pytest.mark.parametrize(
    ("query", "rank", "expected"),
    [
        pytest.param(KOREAN, 1, ["배송"], id="Korean: 배송이 and 배송은 begin with the same syllables"),
        pytest.param(KOREAN, 2, ["배송이", "보통", "이틀", "걸립니다"], id="Korean: the same words"),
        pytest.param(ARABIC, 1, ["الطلب", "يصل"], id="Arabic: with vowel signs in the other text"),
        pytest.param(ARABIC, 2, ["يصل", "الطَّلَب", "خلال", "يومين"], id="Arabic: with vowel signs in both"),
        pytest.param(CHINESE, 1, ["退货"], id="Chinese: two characters in a row, 天 alone says nothing"),
        pytest.param(RUSSIAN, 1, ["ДОСТАВКА"], id="Russian: in capital letters"),
    ],
)
def test_the_words_that_a_retrieved_text_shares_with_the_gold_are_marked(
    page: Page, one_run: str, query: str, rank: int, expected: list[str]
) -> None:
    page.goto(one_run + f"#q={query}")
    assert marks(card(page, "first", rank)) == expected


def test_the_words_of_a_gold_text_that_its_match_has_are_marked(page: Page, one_run: str) -> None:
    page.goto(one_run + f"#q={RUSSIAN}")
    assert marks(card(page, "Gold", 1)) == ["Доставка", "стоит", "300", "рублей"]
    page.goto(one_run + f"#q={CHINESE}")
    follow(page)
    assert marks(card(page, "Gold", 1)) == ["退货"]


def test_texts_from_right_to_left_run_from_right_to_left(page: Page, one_run: str) -> None:
    page.goto(one_run + f"#q={ARABIC}")
    for place in (".question", ".card .text"):
        assert page.locator(f"#krag-query {place}").first.evaluate("e => getComputedStyle(e).direction") == "rtl", place
    page.goto(one_run + f"#q={RUSSIAN}")
    follow(page)
    assert page.locator("#krag-query .question").evaluate("e => getComputedStyle(e).direction") == "ltr"


def test_both_rankings_say_what_moved(page: Page, two_runs: str) -> None:
    page.goto(two_runs + f"#q={KOREAN}")
    moved = {
        name: [" ".join(text.split()) for text in column(page, name).locator(".moved").all_inner_texts()]
        for name in ("first", "second")
    }
    assert moved == {"first": ["→ rank 4", "→ rank 1", "✗ gone"], "second": ["↑ up 1", "✦ new", "↓ down 3"]}
    page.goto(two_runs + f"#q={CHINESE}")
    follow(page)
    assert column(page, "second").locator(".moved").inner_text().split() == ["=", "stays"]


def test_documents_without_ids_are_the_same_where_their_texts_are(page: Page, tmp_path: Path) -> None:
    evalset = EvalSet([{"id": "q", "question": "?", "gold": [{"text": "a b"}]}])
    runs = {
        name: Run.of(name, [RunRow.from_dict({"query_id": "q", "retrieved": [{"text": text} for text in texts]})])
        for name, texts in (("first", ["x", "z", "a b"]), ("second", ["a b", "y"]))
    }
    page.goto(write_page(tmp_path, build_report(evalset, runs, match_method="text")) + "#q=q")
    moved = [" ".join(text.split()) for text in page.locator("#krag-query .moved").all_inner_texts()]
    assert moved == ["✗ gone", "✗ gone", "→ rank 1", "↑ up 2", "✦ new"]


@nothing_may_match
def test_a_miss_says_its_cause_and_shows_the_nearest_text(page: Page, tmp_path: Path) -> None:
    gold, near = "the parcel arrives within two working days", "the parcel arrives within seven working days"
    report = from_lists([[gold], ["b"]], [["nothing", near], ["c"]], match_method="text", k=5)
    page.goto(write_page(tmp_path, report) + "#n=1")
    assert lines(card(page, "Gold", 1)) == ["✕ a retrieved text is similar, but does not match it"]
    nearest = card(page, "Gold", 1).locator(".nearest")
    assert " ".join(nearest.locator("summary").inner_text().split()) == "Nearest text: rank 2 similarity 0.857"
    assert nearest.locator(".text").inner_text() == near
    assert "seven" not in nearest.locator("mark").all_inner_texts()
    page.goto("about:blank")
    page.goto((tmp_path / "report.html").as_uri() + "#n=2")
    assert lines(card(page, "Gold", 1)) == ["✕ nothing like it was retrieved"]
    assert card(page, "Gold", 1).locator("[data-cause]").get_attribute("title") == "never_retrieved"


def test_a_gold_document_below_the_cut_off_says_where_it_is(page: Page, tmp_path: Path) -> None:
    page.goto(write_page(tmp_path, from_lists([["a"]], [["x", "y", "a"]], k=2)) + "#n=1")
    assert lines(card(page, "Gold", 1)) == ["✕ rank 3, below the cut-off 2 by text (1.000)"]


def test_a_match_of_gold_that_does_not_count_says_why_it_earns_nothing(page: Page, tmp_path: Path) -> None:
    evalset = EvalSet([{"id": "q", "gold": [{"id": "a", "relevance": 2}, {"id": "z", "relevance": 0}]}])
    page.goto(write_page(tmp_path, build_report(evalset, {"only": run_of("only", {"q": ["z", "a"]})})) + "#q=q")
    assert lines(card(page, "only", 1)) == ["– not relevant, its grade is 0 gold 2 by id (1.000)"]
    assert lines(card(page, "only", 2)) == ["✓ credited gold 1 by id (1.000)"]


def test_what_the_retriever_raised_is_shown(page: Page, two_runs: str) -> None:
    page.goto(two_runs + "#q=q-error")
    notice = page.locator("#krag-query .notice").inner_text()
    assert notice == "first: the retriever raised TimeoutError: no answer in 10 s"
    assert column(page, "first").locator(".empty").inner_text() == "Nothing was retrieved."


def test_the_address_opens_a_query_and_the_way_back_closes_it(page: Page, two_runs: str) -> None:
    page.goto(two_runs + "#queries?sort=place")
    page.click(f"#krag-rows >> text={RUSSIAN}")
    assert page.url.endswith(f"#queries?sort=place&q={RUSSIAN}")
    page.click("[aria-label='Previous question']")
    assert page.url.endswith(f"&q={CHINESE}")
    page.go_back()
    page.locator("#krag-query").wait_for(state="hidden")
    assert page.url == two_runs + "#queries?sort=place"
    page.go_forward()
    page.locator("#krag-query").wait_for()
    assert page.inner_text("#krag-query-id") == f"Questions / {CHINESE}"
    page.click("#krag-close")
    page.locator("#krag-query").wait_for(state="hidden")
    assert page.url == two_runs + "#queries?sort=place"
    page.click(f"#krag-rows >> text={RUSSIAN}")
    page.keyboard.press("Escape")
    page.locator("#krag-query").wait_for(state="hidden")
    assert page.url == two_runs + "#queries?sort=place"
    page.click("nav a >> nth=0")
    assert page.evaluate("document.activeElement.id") != "krag-list"
    page.goto(two_runs + "#q=q-none")
    page.reload()
    assert page.inner_text("#krag-query-id") == "Questions / q-none"
    page.keyboard.press("Escape")
    page.locator("#krag-query").wait_for(state="hidden")
    assert page.url.endswith("#queries")
    for unknown in ("#q=unknown", "#q=%E0%A4%A", "#n=0", "#n=7", "#n=x"):
        page.goto(two_runs + unknown)
        follow(page)
        assert page.locator("#krag-query").is_hidden(), unknown
        assert page.inner_text("#krag-in-vain").startswith(
            "The address asks for what this report does not have: question"
        )


def test_from_a_query_that_the_filters_leave_out_no_key_leads_elsewhere(page: Page, two_runs: str) -> None:
    page.goto(two_runs + "#queries")
    page.fill("#krag-text", "q-none")
    page.locator("#krag-count", has_text="1 of").wait_for()
    page.evaluate(f"location.hash = '#queries?text=q-none&q={RUSSIAN}'")
    page.locator("#krag-query").wait_for()
    assert page.inner_text("#krag-query .bar .place") == "not in the list"
    for key in ("ArrowRight", "ArrowLeft", "j", "k"):
        page.keyboard.press(key)
        assert page.url.endswith(f"q={RUSSIAN}")


def test_of_several_systems_any_two_stand_side_by_side(page: Page, tmp_path: Path) -> None:
    rankings = {"a": ["ru-1"], "b": ["ru-3"], "c": ["ru-3", "ru-1"]}
    evalset = EvalSet([{"id": "q", "gold": [{"id": "ru-1", "text": TEXTS["ru-1"]}]}])
    report = build_report(evalset, {name: run_of(name, {"q": ids}) for name, ids in rankings.items()}, k=5)
    page.goto(write_page(tmp_path, report) + "#queries")
    show_controls(page)
    page.select_option("#krag-one", label="b")
    page.select_option("#krag-other", label="c")
    settle(page)
    page.click("#krag-rows [role=row]")
    heads = page.locator("#krag-query .column > h3").all_inner_texts()
    assert [head.split()[:2] for head in heads] == [["Gold", "1"], ["b", "1"], ["c", "2"]]
    assert column(page, "c").locator(".moved").all_inner_texts() == ["= stays", "✦ new"]


def test_metadata_of_documents_and_questions_can_be_seen_and_searched(page: Page, tmp_path: Path) -> None:
    metadata = {
        "source": "faq.md",
        "page": 3,
        "url": "x" * 280 + " https://u:secret-word-9@host.test/a",
        "long": "x" * 1000,
    }
    evalset = EvalSet(
        [{"id": "q", "gold": [{"id": "a", "text": "alpha"}], "source": "보고서.pdf", "metadata": {"owner": "Ann"}}]
    )
    documents = [{"id": "a", "text": "alpha", "metadata": metadata}, {"id": "b", "text": "beta"}]
    run = Run.of("only", [RunRow.from_dict({"query_id": "q", "retrieved": documents})])
    address = write_page(tmp_path, build_report(evalset, {"only": run}, k=2))
    page.goto(address + "#q=q")
    about = card(page, "only", 1).locator(".about")
    about.locator("summary").click()
    lines = about.locator("dl div").all_inner_texts()
    assert [line.split("\n") for line in lines[:2]] == [["source", "faq.md"], ["page", "3"]]
    assert lines[3] == "long\n" + "x" * (300 - len("long: ")) + "…"
    assert "secret-word-9" not in page.content()
    assert card(page, "only", 2).locator(".about").count() == 0
    assert page.locator("#krag-query > .about summary").inner_text() == "source: 보고서.pdf; owner: Ann"
    for text, n in (("faq.md", 1), ("ann 보고서", 1), ("bob", 0)):
        page.goto(address + f"#queries?text={text}")
        settle(page)
        assert page.locator("#krag-rows [role=row]").count() == n, text


def test_equal_metadata_stands_in_the_data_once() -> None:
    documents = [[{"id": f"d{i}", "text": f"text {i}", "metadata": {"source": "the very same file"}} for i in range(9)]]
    page = page_of(from_lists([["text 1"]], documents, match_method="text"))
    assert page.count("the very same file") == 1


def test_the_environment_is_searched_for_credentials_once_a_page_not_once_a_document(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read: list[str] = []

    def redactor() -> type[str]:
        read.append("environment")
        return str

    monkeypatch.setattr("krag_eval_report.html.page.Redactor", redactor)
    documents = [[{"id": f"d{i}", "text": f"text {i}", "metadata": {"page": i}} for i in range(50)]]
    text = page_of(from_lists([["text 1"]], documents, match_method="text"))
    assert "page: 49" in text
    assert len(read) < 5


def test_words_of_the_question_are_marked_apart(page: Page, tmp_path: Path) -> None:
    gold, retrieved = "Returns take 14 days.", "Returns cost 14 euros, shipping is free."
    report = from_lists([[gold]], [[gold, retrieved]], queries=["How long do returns and shipping take?"], k=2)
    page.goto(write_page(tmp_path, report) + "#n=1")
    text = card(page, "only", 2).locator(".text")
    assert text.locator("mark").all_inner_texts() == ["Returns", "14"]
    assert text.locator("mark .of-question").all_inner_texts() == ["Returns"]
    assert text.locator(".of-question").all_inner_texts() == ["Returns", "shipping"]
    assert text.inner_text() == retrieved
    assert "dotted words of the question" in page.inner_text(".words-legend")


def test_a_move_is_good_or_bad_only_of_what_is_relevant(page: Page, two_runs: str) -> None:
    page.goto(two_runs + f"#q={KOREAN}")
    assert card(page, "second", 1).locator(".moved").get_attribute("class") == "badge moved up"
    assert card(page, "second", 4).locator(".moved").get_attribute("class") == "badge moved"


def test_which_two_runs_are_compared_is_chosen_without_closing(page: Page, tmp_path: Path) -> None:
    rankings = {"a": ["ru-1"], "b": ["ru-3"], "c": ["ru-3", "ru-1"]}
    evalset = EvalSet([{"id": "q", "gold": [{"id": "ru-1", "text": TEXTS["ru-1"]}]}])
    runs = {name: run_of(name, {"q": ids}) for name, ids in rankings.items()}
    page.goto(write_page(tmp_path, build_report(evalset, runs, k=5)) + "#q=q")
    assert page.locator(".values tbody th").all_inner_texts() == ["a", "b", "c", "difference"]
    assert page.locator("#krag-query .column h3 bdi").all_inner_texts() == ["Gold", "a", "c"]  # the best of the others
    page.locator(".pair select").nth(1).select_option(label="b")
    assert page.locator("#krag-query").is_visible()
    assert page.locator("#krag-query .column h3 bdi").all_inner_texts() == ["Gold", "a", "b"]
    assert "against=b" in page.url
    assert page.input_value("#krag-other") == "1"
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "against"
    page.locator(".pair select").nth(1).select_option(label="nothing")
    assert page.locator("#krag-query .column h3 bdi").all_inner_texts() == ["Gold", "a"]


def test_a_query_can_be_copied_as_text(page: Page, two_runs: str) -> None:
    page.goto(two_runs + f"#q={KOREAN}")
    page.evaluate("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    page.click("text=Copy as text")
    text = page.evaluate("window.copied")
    assert text.startswith(f"Question {KOREAN}\nQuestion: 배송은 얼마나 걸리나요?\nExpected answer: 이틀 걸립니다.")
    assert "Gold 1 [ko-1] (first: found at rank 2; second: found at rank 1)" in text
    assert "2. [ko-1] (relevant) 배송이 보통 이틀 걸립니다." in text
    page.evaluate("() => { navigator.clipboard.writeText = async () => { throw new Error('no'); }; }")
    page.click("text=Copy as text")
    assert page.input_value("#krag-query .copied") == text


def test_print_shows_the_open_query_alone(page: Page, two_runs: str) -> None:
    page.goto(two_runs + f"#q={KOREAN}")
    page.emulate_media(media="print")
    assert page.locator("#krag-query .card").first.is_visible()
    assert page.locator("#overview").is_hidden()
    assert page.locator("#krag-query .actions").is_hidden()
    page.emulate_media(media="screen")
    page.keyboard.press("Escape")
    page.locator("#krag-query").wait_for(state="hidden")
    page.emulate_media(media="print")
    assert page.locator("#overview").is_visible()
    assert page.locator("#krag-query").is_hidden()


def test_the_answer_of_an_arabic_question_is_at_the_right(page: Page, tmp_path: Path) -> None:
    question = {
        "id": "q",
        "question": "متى يصل الطلب؟",
        "gold": [{"id": "a", "text": "خلال يومين"}],
        "answer": "خلال يومين",
    }
    run = Run.of("only", [RunRow.from_dict({"query_id": "q", "retrieved": [{"id": "a", "text": "خلال يومين"}]})])
    page.goto(write_page(tmp_path, build_report(EvalSet([question]), {"only": run})) + "#q=q")
    for part in (".answer .text", ".card .text"):
        assert page.locator(part).first.evaluate("e => getComputedStyle(e).direction") == "rtl"
        assert page.locator(part).first.evaluate("e => getComputedStyle(e).textAlign") == "start"
    right = "(name) => document.querySelector(`#krag-query ${name}`).getBoundingClientRect().right"
    assert page.evaluate(right, ".answer .text") == page.evaluate(right, ".question")


def test_where_a_stage_lost_a_gold_document_is_said(page: Page, tmp_path: Path) -> None:
    stages: list[dict[str, Any]] = [{"name": "search", "retrieved": [{"id": "x"}, {"id": "a"}]}]
    stages.append({"name": "rerank", "inputs": ["search"], "retrieved": [{"id": "x"}]})
    run = Run.of("only", [RunRow.from_dict({"query_id": "q", "stages": stages})])
    page.goto(
        write_page(tmp_path, build_report(EvalSet([{"id": "q", "gold": [{"id": "a"}]}]), {"only": run}, k=5)) + "#q=q"
    )
    steps = page.locator("#krag-query .steps li")
    assert [" ".join(step.split()) for step in steps.all_inner_texts()] == ["✓ search", "✕ rerank"]
    assert page.inner_text("#krag-query .stages p") == "Lost in rerank."


def test_a_forbidden_document_is_shown_as_such_and_above_the_verdict(page: Page, tmp_path: Path) -> None:
    reason = "superseded <img src=x onerror=alert(1)>"
    rows = [
        {"id": n, "question": f"q{n}", "gold_chunk_ids": ["a"], "must_not": [{"id": "y", "reason": reason}]}
        for n in (1, 2)
    ]
    leaking = {"1": [{"id": "a"}, {"id": "y"}], "2": [{"id": "a"}]}
    found = [RunRow.from_dict({"query_id": query, "retrieved": row}) for query, row in leaking.items()]
    report = build_report(EvalSet(rows), {"run": Run.of("run", found)})
    page.goto(write_page(tmp_path, report) + "#q=1")
    assert lines(card(page, "run", 1)) == ["✓ credited gold 1 by id (1.000)"]
    assert lines(card(page, "run", 2)) == [f"✕ forbidden {reason}"]
    page.keyboard.press("Escape")
    page.click(".tabs a[href='#overview']")
    page.locator("html[data-view=overview]").wait_for()
    top = "(name) => document.querySelector(name).getBoundingClientRect().top"
    assert page.evaluate(top, ".banner") < page.evaluate(top, ".verdict")
    banner = page.inner_text(".banner")
    assert "y" in banner
    assert reason in banner
