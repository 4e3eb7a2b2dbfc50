"""Markdown: what GitHub shows is what was there, and nothing in it is markup."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from krag_eval_report.markdown_tables import escape, escape_line
from krag_eval_report.writers import markdown
from tests.support import table_cases as cases
from tests.support.report_reading import _PARSER, inline_text, parse_markdown, shown, tables_of

# What a document without any markup consists of.
PLAIN = {"heading_open", "paragraph_open", "blockquote_open", "table_open", "inline"}
BLOCKS = {"hr", "fence", "code_block", "bullet_list_open", "ordered_list_open", "html_block", "lheading_open"}


def paragraph(text: str) -> str:
    tokens = _PARSER.parse(text)
    assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"] or not text
    return inline_text(tokens[1]) if text else ""


@pytest.mark.sample(5)
@pytest.mark.parametrize("attack", cases.ATTACKS)
def test_a_hostile_text_is_shown_as_it_is(attack: str) -> None:
    assert paragraph(escape_line(attack)) == shown(attack)


@example("__0__")
@given(st.text())
def test_any_text_is_shown_as_it_is(text: str) -> None:
    assert paragraph(escape_line(text)) == shown(text)


@given(st.text(alphabet="\\`*_[]()|~#$!<>&-+=.:1@wa https/"))
def test_any_mixture_of_markup_is_shown_as_it_is(text: str) -> None:
    assert paragraph(escape_line(text)) == shown(text)


@given(st.text(alphabet="\\`*_[]()|~<&-+=1@a "), st.text(alphabet="|\\`a\n"))
def test_cells_end_where_they_should(one: str, other: str) -> None:
    tokens = _PARSER.parse(f"| a | b |\n|---|---|\n| {escape(one)} | {escape(other)} |\n")
    texts = [inline_text(token) for token in tokens if token.type == "inline"]
    assert texts == ["a", "b", shown(one), shown(other)]


def test_no_address_and_no_mention_becomes_a_link() -> None:
    """GitHub makes links of these wherever they stand: a backslash or a comment in the middle keeps it from that."""
    assert escape("http://a.example ftp://b www.c.example") == "http\\://a.example ftp\\://b www\\.c.example"
    assert escape("@someone recall@10 a@b.example") == "@<!-- -->someone recall@10 a@<!-- -->b.example"


def test_a_hostile_report_has_headings_paragraphs_and_tables_and_nothing_else() -> None:
    tokens = parse_markdown(cases.hostile())
    assert not {token.type for token in tokens} & BLOCKS
    children = [child for token in tokens for child in token.children or []]
    assert {child.type for child in children} == {"text", "text_special", "html_inline"} - {"text_special"}
    assert {child.content for child in children if child.type == "html_inline"} == {"<!-- -->"}
    assert len([t for t in tokens if t.type == "table_open"]) == len(tables_of(cases.hostile()))


def test_numbers_are_aligned_to_the_right_and_stay_readable() -> None:
    text = "".join(markdown(cases.two_runs()))
    assert "\n| metric | bm25 단어 | 95 % interval | гибрид (RRF) | 95 % interval | undefined |\n" in text
    assert "\n|---|---:|---:|---:|---:|---:|\n| hit_rate@1 | 0.3000 | 0.0667 to 0.6525 | " in text
    assert text.startswith("# bm25 단어, гибрид (RRF) on 가게 FAQ\n\n## In short\n\n")


def test_notes_come_first() -> None:
    text = "".join(markdown(cases.hostile()))
    assert text.index("\n> &lt;script&gt;") < text.index("\n## ")
