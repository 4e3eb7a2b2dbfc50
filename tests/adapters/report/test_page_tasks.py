"""Ten tasks that people open a report for, done by a scripted person in at most three actions each."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from krag_eval import read_evalset
from tests.support.browser import settle
from tests.support.five_runs import five_runs
from tests.support.page_cases import write_page

if TYPE_CHECKING:
    from playwright.sync_api import Page

MOST = 3


@dataclass
class Person:
    """Somebody with a mouse and a keyboard, whose actions are counted: a click, a choice, a key, a word typed."""

    page: Page
    actions: list[str] = field(default_factory=list)

    def click(self, place: str) -> None:
        self._acts(f"click {place}")
        self.page.locator(place).first.click()
        settle(self.page)

    def choose(self, place: str, label: str) -> None:
        self._acts(f"choose {label}")
        self.page.select_option(place, label=label)
        settle(self.page)

    def press(self, key: str) -> None:
        self._acts(f"press {key}")
        self.page.keyboard.press(key)
        settle(self.page)

    def type(self, text: str) -> None:
        """A word is one action, as typing it is one thought."""
        self._acts(f"type {text}")
        self.page.keyboard.type(text)
        settle(self.page)

    def save(self, place: str, folder: Path) -> Path:
        self._acts(f"click {place}")
        with self.page.expect_download() as waiting:
            self.page.click(place)
        waiting.value.save_as(folder / waiting.value.suggested_filename)
        return folder / waiting.value.suggested_filename

    def ids(self) -> list[str]:
        return self.page.locator("#krag-rows [data-query] [role=gridcell]:first-child").all_inner_texts()

    def _acts(self, what: str) -> None:
        self.actions.append(what)
        assert len(self.actions) <= MOST, self.actions


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_page(tmp_path_factory.mktemp("tasks"), five_runs())


@pytest.fixture
def person(page: Page, address: str) -> Person:
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(address)
    return Person(page)


@pytest.fixture
def at_questions(page: Page, address: str) -> Person:
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(address + "#queries?sort=place")
    settle(page)
    return Person(page)


def test_which_questions_did_hybrid_lose_in_korean_export_them(at_questions: Person, tmp_path: Path) -> None:
    person = at_questions
    person.choose("[data-field=language] select", "ko")
    person.click("[data-chip='Missed by hybrid']")
    path = person.save("#krag-save-set", tmp_path)
    assert [question.id for question in read_evalset(path)] == ["q4", "q7", "q10"]


def test_why_was_q3_missed(person: Person) -> None:
    person.press("/")
    person.type("q3")
    person.click("#krag-row-0 .toggle")
    assert person.ids()[0] == "q3"
    assert "nothing like it was retrieved words, rerank" in " ".join(person.page.inner_text(".row-open").split())


def test_is_another_run_worth_its_latency(person: Person) -> None:
    """Quality and latency of all runs stand in one table of the first screen: nothing has to be done."""
    text = person.page.inner_text("#overview")
    assert all(name in text for name in ("words", "chars", "dense", "hybrid", "rerank"))


def test_what_does_no_run_find(at_questions: Person) -> None:
    at_questions.click("[data-chip='Missed by every run']")
    assert at_questions.ids() == ["q4", "q8"]


def test_what_failed_and_with_which_error(at_questions: Person) -> None:
    at_questions.click("[data-chip=Failed]")
    at_questions.click("#krag-row-0")
    assert "TimeoutError: no answer in 2 s" in at_questions.page.inner_text("#krag-query")


def test_which_forbidden_document_reached_whom(at_questions: Person) -> None:
    at_questions.click("[data-chip='Forbidden document']")
    at_questions.click("#krag-row-0")
    at_questions.choose("#krag-query .pair select >> nth=1", "chars")
    assert "superseded" in at_questions.page.inner_text("#krag-query")


def test_where_do_runs_disagree_send_it_to_a_colleague(at_questions: Person) -> None:
    at_questions.click("[data-chip='Runs differ']")
    page = at_questions.page.context.new_page()
    page.goto(at_questions.page.url)
    settle(page)
    assert page.inner_text("#krag-count") == at_questions.page.inner_text("#krag-count")
    assert "8 of 13" in page.inner_text("#krag-count")


def test_which_answers_lie_below_the_cut_off_and_what_a_larger_one_brings(at_questions: Person) -> None:
    at_questions.choose("#krag-cause", "it was retrieved, but below the cut-off")
    assert at_questions.ids() == ["q6"]
    slider = at_questions.page.locator("#krag-cut-off")
    slider.focus()
    at_questions.press("ArrowRight")
    at_questions.press("ArrowRight")
    mark = at_questions.page.locator("#krag-rows .marks").first
    assert at_questions.ids() == [] or mark.inner_text() == "6"
    assert at_questions.page.inner_text("#krag-cut-off-value") == "7"


def test_this_document_is_gold_too(at_questions: Person) -> None:
    at_questions.press("Enter")
    at_questions.press("ArrowDown")
    at_questions.press("1")
    assert "1 label, not downloaded" in at_questions.page.inner_text("#krag-query .label-bar")


def test_what_did_the_best_run_win(at_questions: Person, tmp_path: Path) -> None:
    at_questions.click("[data-chip='hybrid won']")
    assert at_questions.ids() == ["q3", "q6", "q9", "q12"]
    assert at_questions.save("#krag-save-table", tmp_path).suffix == ".csv"
