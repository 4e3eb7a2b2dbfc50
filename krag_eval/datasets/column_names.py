"""Hints for tables whose columns have names of their own: what is there, and which `columns` could be meant."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from krag_eval._utils.formatting import escape_controls

# Only for suggestions: nothing is read because of these words.
_WORDS = {
    "question": "question query prompt user_input utterance 질문 질의 문의 вопрос запрос 问题 查询 質問 frage pregunta "
    "pergunta domanda",
    "gold": "gold relevant positive reference truth evidence answer_text context passage source document expected "
    "answer pos 정답_문서 근거 출처 문서 정답 эталон источник документ ответ 文档 来源 答案 正解 quelle antwort fuente",
    "retrieved": "retrieved result ranking hits found predicted 검색 결과 результат найден 检索 结果 検索 treffer",
    "query_id": "query_id qid question_id 번호 номер 编号",
}
_FILE_NAME = re.compile(r"\S+\.[A-Za-z0-9]{1,5}(?:\s*;.*)?")
_ID = re.compile(r"[!-~]{1,80}|\S{0,79}[0-9]")


def no_column(columns: Mapping[str, str], field: str, names: Iterable[str]) -> str:
    """Return sentences about the column of a field that is not there, with what may be meant.

    >>> print(no_column({"question": "querry"}, "question", ["query", "pos"]))
    has no column 'querry'. It has: pos, query. Did you mean columns={'question': 'query'}?
    """
    import difflib  # only a mistake needs it

    listed = sorted(names)
    near = [name for name in listed if len(name) <= 200]  # two names of a megabyte would take hours
    close = difflib.get_close_matches(columns[field][:200].casefold(), [name.casefold() for name in near], n=1)
    meant = next((name for name in near if [name.casefold()] == close), None)
    if meant is None and field in _WORDS:
        meant = _like(field, [name for name in listed if name not in columns.values()])
    hint = "" if meant in (None, field) else f" Did you mean columns={ ({**columns, field: meant})!r}?"
    return f"has no column {columns[field]!r:.60}. It has: {', '.join(listed)!s:.300}.{hint}"


def split_number(name: str) -> tuple[str, str]:
    """Return what is before the number at the end of a name, and the number; empty if there is none.

    >>> split_number("result 1"), split_number("검색 결과[02]"), split_number("doc"), split_number("3")
    (('result', '1'), ('검색 결과', '02'), ('doc', ''), ('', '3'))
    """
    body = name[:-1] if name.endswith((")", "]")) else name
    stem = body.rstrip("0123456789")
    if stem == body:
        return name, ""
    end = len(stem)
    while end and (stem[end - 1].isspace() or stem[end - 1] in "_.#([-"):
        end -= 1
    return stem[:end], body[len(stem) :]


def suggestion(
    kind: str, row: Mapping[str, object], wanted: str | None = None, given: Mapping[str, str] | None = None
) -> str:
    """Return sentences that list the columns of a row and suggest `columns`; empty if there are no columns.

    Args:
        kind: What is read: `evalset` or `run`.
        row: A row, whose values show whether a column holds ids.
        wanted: The field that is missing; by default all that are needed.
        given: The columns that are named already.

    >>> print(suggestion("evalset", {"질문": "언제?", "정답": "사흘 안에 환불됩니다."}))
    The columns are: 질문, 정답. Name those that are meant, such as columns={'question': '질문', 'gold': '정답'}.
    """
    names = [str(name) for name in row]
    shown = escape_controls(", ".join(names))[:300]  # an escape is six times as long as its character
    needed = ["question", "gold"] if kind == "evalset" else ["query_id", "question", "retrieved"]
    if kind == "evalset" and sum(split_number(name)[1] != "" for name in names) > 1:
        needed.append("retrieved")  # one table may hold both
    meant: dict[str, str] = {}
    for name in [wanted] if wanted else needed:
        if name in (given or ()):
            continue
        column = _like(name, [one for one in names if one not in meant.values()])
        if column is None and name in (wanted, "gold", "retrieved"):
            free = (one for one in reversed(names) if one not in meant.values() and one not in _WORDS)
            column = next(free, None)
        if column is None and name == "question" and kind == "run" and not {*meant, *(given or ())}:
            name, column = "query_id", next(iter(names), None)
        if column is None or (name == "question" and "query_id" in meant):
            continue
        if name == "question" and kind == "run" and _gold_field(row.get(column)) == "gold_chunk_ids":
            name = "query_id"  # q1 is no question
        field = _gold_field(row.get(column)) if name == "gold" else name
        meant[field] = split_number(column)[0] or column if name == "retrieved" else column
    meant = {**(given or {}), **{field: column for field, column in meant.items() if field != column}}
    if not names or not meant:
        return f"The columns are: {shown}." if names else ""
    is_either = kind == "run" and "question" in meant and row.get(meant["question"]) is None
    ids = " If it holds ids of questions, write query_id in place of question." if is_either else ""
    return f"The columns are: {shown}. Name those that are meant, such as columns={meant!r}.{ids}"


def _like(field: str, names: Iterable[str]) -> str | None:
    """Return the name that is most like one for this field, or None."""
    words = _WORDS[field].split()
    keys = {name: re.sub(r"[\s-]+", "_", name.casefold()) for name in names}
    exact = (name for name, key in keys.items() if key == field)
    return next(exact, next((name for word in words for name, key in keys.items() if word in key), None))


def _gold_field(value: object) -> str:
    if isinstance(value, str) and _FILE_NAME.fullmatch(value.strip()):
        return "gold_doc_ids"
    return "gold_chunk_ids" if isinstance(value, int) or (isinstance(value, str) and _ID.fullmatch(value)) else "gold"
