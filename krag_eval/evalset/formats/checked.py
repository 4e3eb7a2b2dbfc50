"""The rows of a file in any format, checked under the keys by which they will be scored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from krag_eval.evalset.formats import hf
from krag_eval.evalset.formats.checking import check_documents
from krag_eval.evalset.formats.choosing import EVALSET, RUN, no_reader
from krag_eval.evalset.formats.source import Source
from krag_eval.evalset.formats.table import FORMATS
from krag_eval.evalset.question import Question
from krag_eval.evalset.run import RunRow


def checked_questions(
    source: Source, name: str, columns: Mapping[str, str] | None, id_key: str | None, grade_key: str
) -> Iterator[tuple[str, Question]]:
    """Each question of a file with its place, its gold documents checked under the keys of the metadata.

    Raises:
        InvalidInputError: The file cannot be read, or its format holds no questions.
    """
    read = FORMATS[name].questions
    if read is None or (columns and FORMATS[name].container is None):
        raise no_reader(source.path, name, "rows with columns" if columns else EVALSET)

    def check(place: str, question: Question) -> Question:
        check_documents(place, "gold", question.gold, id_key=id_key, grade_key=grade_key, is_gold=True)
        return question

    return source.rejects.each(hf.questions(source, columns) if columns else read(source), check)


def checked_rankings(source: Source, name: str, id_key: str | None) -> Iterator[tuple[str, RunRow]]:
    """Each ranking of a file with its place, its documents checked under the keys of the metadata.

    Raises:
        InvalidInputError: The file cannot be read, or its format holds no rankings.
    """
    read = FORMATS[name].rankings
    if read is None:
        raise no_reader(source.path, name, RUN)

    def check(place: str, row: RunRow) -> RunRow:
        check_documents(place, "retrieved", row.retrieved, id_key=id_key)
        return row

    return source.rejects.each(read(source), check)
