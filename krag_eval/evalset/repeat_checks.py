"""Questions that stand twice in a set: by id, by text, in nearly the same words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from krag_eval.documents import read_leniently
from krag_eval.evalset.entries import Entry, find, shorten
from krag_eval.evalset.findings import Finding
from krag_eval.evalset.near_duplicates import group_near_duplicates
from krag_eval.evalset.question import Question
from krag_eval.text import normalize
from krag_eval.tokenizers import WordTokenizer

_MOST_SHOWN = 4


def check_ids(entries: Sequence[Entry]) -> Iterator[Finding]:
    """Ids that several questions have."""
    by_id: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        by_id[entry.question.id].append(entry)
    for question_id, same in by_id.items():
        if len(same) > 1:
            n_different = len({normalize(entry.question.question or "") for entry in same})
            how = "the same question" if n_different == 1 else f"{n_different} different questions"
            message = f"{question_id!r} is the id of {len(same)} rows with {how}. Ids must be unique."
            yield find("duplicate_id", message, *same)


def check_texts(
    entries: Sequence[Entry], *, threshold: float | None, tokenizer: object, id_key: str | None
) -> Iterator[Finding]:
    """Questions with the same text, and questions in nearly the same words.

    Args:
        entries: The questions.
        threshold: The F-measure of ROUGE-L from which on two questions are near; None not to look for these.
        tokenizer: What the words are, as in `evaluate`.
        id_key: The key of the metadata under which gold documents have their ids.
    """
    by_text: dict[str, dict[str, Entry]] = defaultdict(dict)
    for entry in entries:
        by_text[normalize(entry.question.question or "")].setdefault(entry.question.id, entry)
    by_text.pop("", None)
    for same in by_text.values():
        if len(same) > 1:
            yield _same_text(list(same.values()), id_key)
    if threshold is None:
        return
    firsts = [next(iter(same.values())) for same in by_text.values()]
    texts = [entry.question.question or "" for entry in firsts]
    for places in group_near_duplicates(texts, threshold, tokenizer=tokenizer):
        yield from _near([firsts[place] for place in places], id_key)


def _same_text(same: list[Entry], id_key: str | None) -> Finding:
    text = shorten(same[0].question.question)
    if len({_gold_of(entry.question, id_key) for entry in same}) > 1:
        message = f"{text} has different gold in {_named(same)}. Only one of them can be right, or both together."
        return find("conflicting_gold", message, *same)
    answers = {_answer_of(entry.question): entry.question.answer for entry in same if entry.question.answer}
    differing = f" and {len(answers)} different answers" if len(answers) > 1 else ""
    return find("duplicate_question", f"{text} stands in {_named(same)} with the same gold{differing}.", *same)


def _near(group: list[Entry], id_key: str | None) -> Iterator[Finding]:
    """Near each other in words: one question asked in two ways, unless the answers are known to differ."""
    answers = [_answer_of(entry.question) for entry in group]
    by_answer: dict[tuple[str, ...], list[Entry]] = defaultdict(list)
    for entry, answer in zip(group, answers, strict=True):
        by_answer[answer if all(answers) else ()].append(entry)
    for alike in by_answer.values():
        if len(alike) > 1:
            gold = "the same gold" if len({_gold_of(e.question, id_key) for e in alike}) == 1 else "different gold"
            same = f"the same answer ({shorten(alike[0].question.answer, 30)}) and " if all(answers) else ""
            yield find("near_duplicate", f"{_texts(alike)}: nearly the same words, {same}{gold}.", *alike)
    if len(by_answer) > 1:
        yield find("similar_question", f"{_texts(group)}: nearly the same words, different answers.", *group)


def _gold_of(question: Question, id_key: str | None) -> frozenset[tuple[str, str | None]]:
    """What its gold is: chunks by id or else by text; documents where no chunk is known."""
    ids = {("id", chunk_id) for chunk_id in question.gold_chunk_ids}
    for document in question.gold:
        own_id = read_leniently(document, id_key=id_key).id
        ids.add(("text", normalize(document.text or "")) if own_id is None else ("id", own_id))
    return frozenset(ids or {("document", doc_id) for doc_id in question.gold_doc_ids})


def _answer_of(question: Question) -> tuple[str, ...]:
    """The words of the expected answer, none where it is not known."""
    return tuple(WordTokenizer().tokenize(question.answer or ""))


def _named(entries: Iterable[Entry]) -> str:
    return _enumerate([f"{entry.question.id!r}" for entry in entries])


def _texts(entries: Iterable[Entry]) -> str:
    return _enumerate([shorten(entry.question.question) for entry in entries])


def _enumerate(names: list[str]) -> str:
    if len(names) > _MOST_SHOWN:
        names = [*names[: _MOST_SHOWN - 1], f"{len(names) - _MOST_SHOWN + 1:,} more"]
    return f"{', '.join(names[:-1])} and {names[-1]}"
