"""ROUGE-Lsum of an answer: line by line."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from krag_eval.answers.pairs import AnswerPairs
from krag_eval.answers.token_pairs import NumberedTexts
from krag_eval.answers.union_subsequence import Line, union_hits
from krag_eval.columns import FloatArray, IntArray
from krag_eval.matching.batch import number
from krag_eval.matching.overlap import overlap
from krag_eval.matching.rouge import score


def rouge_lsum(pairs: AnswerPairs) -> FloatArray:
    r"""ROUGE-Lsum: ROUGE-L of texts of several lines, whose order does not count.

        hits      = tokens of the reference in the union of its lines' common subsequences with the answer's lines
        precision = hits / tokens of the answer
        recall    = hits / tokens of the reference
        F         = 2 precision recall / (precision + recall)

    Shape: (n_pairs,), float64. Range: 0 to 1, higher is better; 0 where one of the two has no tokens.

    Edge cases:
        * Both of one line: the same as ROUGE-L.
        * Only the line feed parts lines, as in rouge_score; sentences within a line are not parted.

    Source: Lin (2004), https://aclanthology.org/W04-1013, section 3.2. Equal to rouge_score 0.1.2 to the last bit for
    the same tokens.

    >>> rouge_lsum(AnswerPairs(["red wine\nold cheese"], ["old cheese\nred wine"])).tolist()
    [1.0]
    """
    references, answers = (_Lines.of(texts) for texts in (pairs.references, pairs.answers))
    codes, lines = number(references.lines, answers.lines)
    table = NumberedTexts(lines, pairs.settings.rouge_tokenizer())
    numbers, offsets, _ = table.everything
    lengths = np.diff(offsets)
    hits = np.zeros(len(pairs), dtype=np.int64)
    # One line with one line is what ROUGE-L counts, and most answers are that.
    single = np.flatnonzero((references.sizes == 1) & (answers.sizes == 1))
    first, second = codes.actual[references.offsets[single]], codes.predicted[answers.offsets[single]]
    hits[single] = overlap(table, "rougeL", first, second, lengths, np.zeros(len(single), dtype=np.int64))
    for pair in np.flatnonzero((references.sizes > 1) | (answers.sizes > 1)).tolist():
        reference = _tokens(codes.actual[slice(*references.offsets[pair : pair + 2])], numbers, offsets)
        answer = _tokens(codes.predicted[slice(*answers.offsets[pair : pair + 2])], numbers, offsets)
        hits[pair] = union_hits(reference, answer)
    return score(hits, references.tokens(lengths[codes.actual]), answers.tokens(lengths[codes.predicted]), "fmeasure")


class _Lines:
    """The lines of some texts, one text after the other, without empty ones."""

    def __init__(self, lines: list[str], offsets: IntArray) -> None:
        self.lines = lines
        self.offsets = offsets

    @classmethod
    def of(cls, texts: Sequence[str]) -> _Lines:
        rows = [[line for line in text.split("\n") if line] for text in texts]
        sizes = np.fromiter(map(len, rows), np.int64, len(rows))
        return cls([line for row in rows for line in row], np.append(0, np.cumsum(sizes)))

    @property
    def sizes(self) -> IntArray:
        return np.diff(self.offsets)

    def tokens(self, of_lines: IntArray) -> IntArray:
        """How many tokens each text has, from those of its lines."""
        so_far: IntArray = np.append(0, np.cumsum(of_lines))
        return np.diff(so_far[self.offsets])


def _tokens(lines: IntArray, numbers: IntArray, offsets: IntArray) -> list[Line]:
    return [numbers[start:stop].tolist() for start, stop in zip(offsets[lines], offsets[lines + 1], strict=True)]
