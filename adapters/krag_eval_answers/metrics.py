"""The answer metrics: each a pure function over `AnswerPairs`, and the table that names them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import eq

import numpy as np

from krag_eval import InvalidInputError, UnknownMetricError
from krag_eval.toolkit import MISSING, BoolArray, FloatArray, did_you_mean, refuse
from krag_eval_answers.pairs import AnswerPairs


def exact_match(pairs: AnswerPairs) -> FloatArray:
    """Return whether reference and answer have the same tokens in the same order after normalising.

        EM = 1 if the tokens of both are the same, else 0

    Texts are normalised (NFKC, casefold, zero-width characters dropped) and cut by the tokenizer of the settings.
    Under `"words"` neither punctuation of any script nor spaces between characters of scripts without spaces count;
    under `"characters"` no spaces at all, which suits Korean, where the spacing varies.

    Shape: (n_pairs,), float64. Values: 0 and 1, higher is better.

    Edge cases:
        * Neither has a token (only signs): 1 if the normalised texts are the same.
        * One has none: 0.

    Where we depart from SQuAD: no articles are dropped, for no language is assumed, and punctuation parts words
    instead of joining them, so that 2.5 is not 25. `squad_exact_match` is SQuAD's.

    >>> exact_match(AnswerPairs(["３일 이내。", "北京", "2.5"], ["3일 이내", "北 京！", "25"])).tolist()
    [1.0, 1.0, 0.0]
    """
    same = pairs.tokens.same() & (pairs.tokens.f_measure("rouge1") > 0)  # of texts without tokens all are the same
    return (_alike(pairs) | same).astype(np.float64)


def _alike(pairs: AnswerPairs) -> BoolArray:
    """Return whether the normalised texts are the same; shape (n_pairs,)."""
    return np.fromiter(map(eq, pairs.normal_references, pairs.normal_answers), bool, len(pairs))


def token_f1(pairs: AnswerPairs) -> FloatArray:
    """Return the harmonic mean of the shares of tokens that reference and answer have in common.

        precision = shared tokens / tokens of the answer
        recall    = shared tokens / tokens of the reference
        F1        = 2 precision recall / (precision + recall)

    A token counts as often as both have it. Texts are normalised and cut as for `exact_match`: under `"words"` each
    Han, Hiragana, Katakana, Thai, Lao, Khmer and Myanmar character is a token, so that these are not all or nothing.
    Korean words keep their particles under `"words"`; `"kiwi"` (morphemes) and `"characters"` tell them apart.

    Shape: (n_pairs,), float64. Range: 0 to 1, higher is better.

    Edge cases:
        * No token in common: 0.
        * Neither has a token (only signs): 1 if the normalised texts are the same, else 0, as in `exact_match`.

    Source: Rajpurkar et al. (2016), doi:10.18653/v1/D16-1264, for the formula; characters as tokens as in Cui et al.
    (2019), doi:10.18653/v1/D19-1600. Where we depart from SQuAD is said at `exact_match`.

    >>> token_f1(AnswerPairs(["北京市"], ["北京"])).tolist()
    [0.8]
    """
    return np.where(_alike(pairs), 1.0, pairs.tokens.f_measure("rouge1"))


def rouge_l(pairs: AnswerPairs) -> FloatArray:
    """Return ROUGE-L: the F-measure of the longest common subsequence of tokens.

        precision = length of the subsequence / tokens of the answer
        recall    = length of the subsequence / tokens of the reference
        F         = 2 precision recall / (precision + recall)

    Shape: (n_pairs,), float64. Range: 0 to 1, higher is better; 0 where one of the two has no tokens.

    Source: Lin (2004), https://aclanthology.org/W04-1013, section 3.1. Equal to rouge_score 0.1.2 to the last bit for
    the same tokens.

    >>> rouge_l(AnswerPairs(["three working days"], ["days three working"])).tolist() == [2 / 3]
    True
    """
    return pairs.rouge.f_measure("rougeL")


def rouge1(pairs: AnswerPairs) -> FloatArray:
    """Return ROUGE-1: the F-measure of the tokens that reference and answer share.

        precision = shared tokens / tokens of the answer
        recall    = shared tokens / tokens of the reference
        F         = 2 precision recall / (precision + recall)

    Shape: (n_pairs,), float64. Range: 0 to 1, higher is better; 0 where one of the two has no tokens.

    Source: Lin (2004), https://aclanthology.org/W04-1013. Equal to rouge_score 0.1.2 to the last bit for the same
    tokens, those of its own tokenizer under `tokenizer="rouge_score"`.

    >>> rouge1(AnswerPairs(["within three days"], ["three days"])).tolist()
    [0.8]
    """
    return pairs.rouge.f_measure("rouge1")


def rouge2(pairs: AnswerPairs) -> FloatArray:
    """Return ROUGE-2: `rouge1` of pairs of neighbouring tokens.

    Shape: (n_pairs,), float64. Range: 0 to 1, higher is better; 0 where one of the two has fewer than two tokens.

    Source: as `rouge1`.

    >>> rouge2(AnswerPairs(["in three days"], ["three days"])).tolist() == [2 / 3]
    True
    """
    return pairs.rouge.f_measure("rouge2")


def rouge_lsum(pairs: AnswerPairs) -> FloatArray:
    r"""Return ROUGE-Lsum: ROUGE-L of texts of several lines, whose order does not count.

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
    return pairs.rouge.f_measure("rougeLsum")


def squad_exact_match(pairs: AnswerPairs) -> FloatArray:
    """Return whether reference and answer are the same after SQuAD's normalising: the "EM" of SQuAD v1.1.

        EM = 1 if the tokens of both (see `squad_tokens`) are the same, else 0

    Shape: (n_pairs,), float64. Values: 0 and 1, higher is better.

    Edge cases:
        * Both are nothing but articles and punctuation: 1, as in SQuAD.
        * Text without spaces (Chinese, Japanese, Thai) is one token, and punctuation beyond ASCII counts: use
          `exact_match` there.

    Source: Rajpurkar et al. (2016), doi:10.18653/v1/D16-1264; the evaluation script of SQuAD v1.1, word for word.

    >>> squad_exact_match(AnswerPairs(["Three days", "three days"], ["the three days.", "days"])).tolist()
    [1.0, 0.0]
    """
    return pairs.squad.same().astype(np.float64)


def squad_f1(pairs: AnswerPairs) -> FloatArray:
    """Return the harmonic mean of the shares of tokens that reference and answer have in common: the F1 of SQuAD v1.1.

        precision = shared tokens / tokens of the answer
        recall    = shared tokens / tokens of the reference
        F1        = 2 precision recall / (precision + recall)

    A token counts as often as both have it. Tokens are those of `squad_tokens`.

    Shape: (n_pairs,), float64. Range: 0 to 1, higher is better.

    Edge cases:
        * No token in common: 0, also where both have none (SQuAD v2 gives 1 for two empty answers).

    Source: Rajpurkar et al. (2016), doi:10.18653/v1/D16-1264; the evaluation script of SQuAD v1.1, word for word.

    >>> squad_f1(AnswerPairs(["the last three days"], ["three days"])).tolist()
    [0.8]
    """
    return pairs.squad.f_measure("rouge1")


def semantic_similarity(pairs: AnswerPairs) -> FloatArray:
    """Return the cosine of the normalised embeddings of reference and answer.

        similarity = sum over dimensions of reference * answer, both of length 1

    Each different text is embedded once, references and answers together. What a value means depends on the model:
    unrelated texts have 0.1 under one and 0.7 under another. Compare systems under one model, not values across models.

    Shape: (n_pairs,), float64. Range: -1 to 1, higher is better.

    Edge cases:
        * A text of white space, or one for which the model gives zeros: 0.

    Source: the cosine of sentence embeddings as in Reimers & Gurevych (2019), doi:10.18653/v1/D19-1410.

    Raises:
        InvalidInputError: The settings name no embedding model, or it fails.
    """
    embedded = pairs.settings.scoring.embedded
    if embedded is None:
        raise InvalidInputError(
            "`semantic_similarity` needs an embedding model, and none was given. Pass embeddings=..., such as a "
            "LangChain `Embeddings`, a LlamaIndex embedding model or a function from a list of texts to vectors."
        )
    rows = embedded.rows_of([*pairs.references, *pairs.answers])
    left, right = rows[: len(pairs)], rows[len(pairs) :]
    return np.where((left == MISSING) | (right == MISSING), 0.0, embedded.cosines(left, right))


AnswerFunction = Callable[[AnswerPairs], FloatArray]


@dataclass(frozen=True, slots=True)
class AnswerMetric:
    """How an answer metric is called.

    Attributes:
        function: From pairs to one value per pair.
        counts_tokens: Whether it is computed some thousand pairs at a time, whose tokens are cut once for all metrics.
        needs_embeddings: Whether it is left out unless an embedding model is given.
    """

    function: AnswerFunction
    counts_tokens: bool = True
    needs_embeddings: bool = False


ANSWER_METRICS: dict[str, AnswerMetric] = {
    "exact_match": AnswerMetric(exact_match),
    "token_f1": AnswerMetric(token_f1),
    "squad_exact_match": AnswerMetric(squad_exact_match),
    "squad_f1": AnswerMetric(squad_f1),
    "rouge1": AnswerMetric(rouge1),
    "rouge2": AnswerMetric(rouge2),
    "rougeL": AnswerMetric(rouge_l),
    "rougeLsum": AnswerMetric(rouge_lsum),
    "semantic_similarity": AnswerMetric(semantic_similarity, counts_tokens=False, needs_embeddings=True),
}
REFUSAL_METRICS = ("negative_rejection", "false_refusal")
"""The shares of refusals that every result also has; they are computed from the answers alone."""


def choose_answer_metrics(metrics: object, *, has_embeddings: bool) -> dict[str, AnswerMetric]:
    """Return the metrics asked for: names, or functions from `AnswerPairs` to one value per pair.

    Args:
        metrics: A name, a function, or a list of these; None for all that can be computed.
        has_embeddings: Whether there is an embedding model.

    Raises:
        UnknownMetricError: A name is unknown.
        InvalidInputError: There is none, two have the same name, or one needs an embedding model that is not given.
    """
    if metrics is None:
        return {name: m for name, m in ANSWER_METRICS.items() if has_embeddings or not m.needs_embeddings}
    given = (metrics,) if isinstance(metrics, str) or callable(metrics) else metrics
    known = ", ".join(ANSWER_METRICS)
    if not isinstance(given, Sequence) or not given:
        refuse("metrics", "a list of names or functions", metrics, f"Known metrics: {known}.")
    table: dict[str, AnswerMetric] = {}
    for metric in given:
        if isinstance(metric, str) and metric in ANSWER_METRICS:
            table[metric] = ANSWER_METRICS[metric]
        elif not isinstance(metric, str) and callable(metric) and hasattr(metric, "__name__"):
            if metric.__name__ in {*ANSWER_METRICS, *REFUSAL_METRICS, *table}:
                raise InvalidInputError(
                    f"Two metrics are called {metric.__name__!r}. Give the function a name of its own, with `def`."
                )
            table[metric.__name__] = AnswerMetric(metric, counts_tokens=False)
        else:
            raise UnknownMetricError(
                f"Unknown answer metric {metric!r:.60}.{did_you_mean(metric, ANSWER_METRICS)} Known metrics: {known}."
            )
    if needy := [name for name, m in table.items() if m.needs_embeddings and not has_embeddings]:
        raise InvalidInputError(
            f"The metric {needy[0]!r} needs an embedding model, and none was given. Pass embeddings=..., such as a "
            "LangChain `Embeddings`, a LlamaIndex embedding model or a function from a list of texts to vectors."
        )
    return table
