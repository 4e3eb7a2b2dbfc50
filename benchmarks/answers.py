"""Answers scored against references: seconds for many pairs, and ROUGE against rouge_score."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from benchmarks.data import collection
from benchmarks.harness import Prepare, Row, Work, check_equal, in_turn, profiled, scaled
from krag_eval_answers import AnswerResult, evaluate_answers

N_WORDS = 100
TOGETHER = ("exact_match", "token_f1", "rougeL")
_SQUAD = ("squad_exact_match", "squad_f1", "rougeL")

Texts = tuple[list[str], list[str]]


def run(smoke: bool) -> Iterator[Row]:
    """The rows of answers of about a hundred words."""
    n_pairs, n_sampled, rounds = (50, 10, 1) if smoke else (10_000, 100, 3)
    for alphabet, metrics in (("latin", TOGETHER), ("latin", _SQUAD), ("korean", TOGETHER)):
        prepare = _ours(_texts(n_pairs, alphabet), metrics)
        (mine,) = in_turn(rounds, prepare)
        script = "" if alphabet == "latin" else ", Korean"
        work = f"{n_pairs:,} answers of {N_WORDS} words{script}: {', '.join(metrics)}"
        yield profiled(Row(work=work, peer="", ours=mine.seconds, asked=5.0), prepare)
    for kind, per_line in (("rougeL", N_WORDS), ("rougeLsum", N_WORDS // 5)):
        texts = _in_lines(_texts(n_pairs, "latin"), per_line)
        sample = (texts[0][:n_sampled], texts[1][:n_sampled])
        mine, python = in_turn(rounds, _ours(texts, (kind,)), lambda k=kind, s=sample: _rouge_score(s, k))  # type: ignore[misc]
        check_equal(f"values, {kind}", mine.result.values[kind][:n_sampled].tolist(), python.result)
        lines = "" if per_line == N_WORDS else f" in lines of {per_line}"
        yield Row(
            work=f"{n_pairs:,} answers of {N_WORDS} words{lines}: {kind}",
            peer=f"rouge_score, from {n_sampled} answers",
            ours=mine.seconds,
            theirs=scaled(python, n_pairs / n_sampled),
        )


def _texts(n_pairs: int, alphabet: str) -> Texts:
    """References, and answers of which half are edited copies of them and half are others."""
    data = collection(n_pairs, 1, 1, n_tokens=N_WORDS, alphabet=alphabet)
    return [row[0] for row in data.gold], [row[0] for row in data.retrieved]


def _in_lines(texts: Texts, per_line: int) -> Texts:
    references, answers = ([_lines(text.split(), per_line) for text in side] for side in texts)
    return references, answers


def _lines(words: list[str], per_line: int) -> str:
    return "\n".join(" ".join(words[start : start + per_line]) for start in range(0, len(words), per_line))


def _ours(texts: Texts, metrics: tuple[str, ...]) -> Prepare:
    """From fresh strings to the result dict."""

    def prepare() -> Work:
        references, answers = ([text.encode().decode() for text in side] for side in texts)

        def work() -> AnswerResult:
            result = evaluate_answers(references, answers, metrics=metrics)
            result.to_dict()
            return result

        return work

    return prepare


def _rouge_score(texts: Texts, kind: str) -> Callable[[], list[float]]:
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer([kind])
    return lambda: [scorer.score(*pair)[kind].fmeasure for pair in zip(*texts, strict=True)]
