"""Detect refusals: the phrases of five languages, the test of an answer, and the two metrics."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from itertools import chain

import numpy as np

from krag_eval._utils.arrays import BoolArray, FloatArray
from krag_eval._utils.errors import InvalidInputError, show
from krag_eval._utils.formatting import qualified_name
from krag_eval.documents.text import normalize

Refusals = Callable[[str], object] | Iterable[str] | None


class _Bare(dict[int, int | None]):
    """What each character becomes: itself if it is a letter, mark or digit, else nothing; filled as they are met."""

    def __missing__(self, point: int) -> int | None:
        self[point] = becomes = point if unicodedata.category(chr(point))[0] in "LMN" else None
        return becomes


_BARE = _Bare()
# Nobody refuses at greater length by phrases that somebody could list.
_LONGEST = 400
# What is looked at before a whole text is normalised to see whether it is empty.
_BEGINNING = 40


class RefusalTest:
    """Tells refusals from answers.

    A text is a refusal if it is one of the phrases of `REFUSALS` or several of them, with nothing around it but
    phrases of `FILLERS`; case, punctuation and spaces do not count. "Sorry, I don't know." is one, "I don't know the
    exact day, but it was in May." is not. It is meant to miss rather than to accuse: name the phrases of your system.

    Args:
        refusals: More phrases; or a function that decides alone, true for a refusal; None for the phrases we know.

    Raises:
        InvalidInputError: It is none of these.

    >>> is_refusal = RefusalTest(["ask the help desk"])
    >>> [is_refusal(text) for text in ("Sorry, I don't know.", "Ask the help desk!", "Three days")]
    [True, True, False]
    """

    def __init__(self, refusals: Refusals = None) -> None:
        self._own: tuple[str, ...] = ()
        self._function: Callable[[str], object] | None = None
        if callable(refusals):
            self._function = refusals
        elif refusals is not None:
            self._own = _phrases(refusals)
        refused = {_bare(phrase) for phrase in chain(chain.from_iterable(REFUSALS.values()), self._own)}
        fillers = {_bare(phrase) for phrase in chain.from_iterable(FILLERS.values())}
        self._parts: dict[str, list[tuple[str, bool]]] = {}
        for phrase in refused | fillers:
            self._parts.setdefault(phrase[0], []).append((phrase, phrase in refused))

    def __call__(self, text: str) -> bool:
        """Return whether the text is a refusal; an empty one is."""
        if is_empty(text):
            return True
        if self._function is not None:
            return bool(self._function(text))
        return len(text) <= _LONGEST and self._is_made_of_phrases(_bare(text))

    def _is_made_of_phrases(self, text: str) -> bool:
        """Return whether the whole text is a sequence of phrases, at least one of them a refusal."""
        waiting = [(0, False)]
        seen = set(waiting)
        while waiting:
            place, is_refusal = waiting.pop()
            for part, refuses in self._parts.get(text[place : place + 1], ()):
                if text.startswith(part, place):
                    state = (place + len(part), is_refusal or refuses)
                    if state not in seen:
                        seen.add(state)
                        waiting.append(state)
        return (len(text), True) in seen

    def of(self, texts: Sequence[str]) -> BoolArray:
        """Return which of the texts are refusals; each different text is looked at once."""
        known = {text: self(text) for text in dict.fromkeys(texts)}
        return np.fromiter((known[text] for text in texts), bool, len(texts))

    def describe(self) -> str:
        """Return the part of the signature that says what counts as a refusal."""
        if self._function is not None:
            return f"refuse:{qualified_name(self._function)}"
        if not self._own:
            return "refuse:known"
        digest = hashlib.sha256("\0".join(sorted(self._own)).encode("utf-8", "surrogatepass")).hexdigest()
        return f"refuse:known+{len(self._own)}({digest[:8]})"


def is_empty(text: str) -> bool:
    r"""Return whether a text is nothing but white space and characters without a width.

    >>> is_empty(" \u200b\n"), is_empty(".")
    (True, False)
    """
    seen = text.lstrip()[:_BEGINNING]
    return not seen or (not seen.isascii() and not normalize(seen) and not normalize(text))


def _bare(text: str) -> str:
    """Return the text normalised, without anything but letters, marks and digits."""
    return normalize(text).translate(_BARE)


def _phrases(given: object) -> tuple[str, ...]:
    phrases = None if isinstance(given, (str, bytes)) or not isinstance(given, Iterable) else tuple(given)
    if phrases is None or not all(isinstance(phrase, str) and _bare(phrase) for phrase in phrases):
        raise InvalidInputError(
            f"`refusals` must be a list of phrases or a function of an answer, got {show(given)}. "
            'Write refusals=["ask the help desk"], or leave it out for the phrases that are known.'
        )
    return tuple(dict.fromkeys(phrases))


def _listed(text: str) -> tuple[str, ...]:
    return tuple(phrase.strip() for phrase in text.split("/"))


REFUSALS: dict[str, tuple[str, ...]] = {
    "en": _listed("""
        I don't know / I do not know / I don't know the answer / I do not know the answer / I'm not sure /
        I am not sure / I have no answer / I have no information / I have no information about that /
        I don't have that information / I do not have that information / I don't have enough information /
        I do not have enough information / I don't have sufficient information /
        I do not have sufficient information / I can't answer / I cannot answer / I can not answer /
        I'm unable to answer / I am unable to answer / I'm not able to answer / I am not able to answer /
        I couldn't find an answer / I could not find an answer / I couldn't find the answer /
        I could not find the answer / I couldn't find any information / I could not find any information /
        I couldn't find any relevant information / I could not find any relevant information / There is no answer /
        There is no information / There is not enough information / There is no relevant information /
        There isn't enough information / Not enough information / Insufficient information / No information found /
        No relevant information found / No answer found / Unanswerable / This question cannot be answered /
        The question cannot be answered / The answer is not in the context / The answer is not in the documents /
        The answer is not given / The context does not contain the answer /
        The context does not contain enough information / The context does not provide enough information /
        The context doesn't contain the answer / The context doesn't contain enough information /
        The provided context does not contain the answer /
        The provided context does not contain enough information /
        The provided context does not contain this information / The provided documents do not contain the answer /
        The provided documents do not contain this information / The documents do not contain the answer /
        The documents do not contain this information
    """),
    "ko": _listed("""
        모르겠습니다 / 잘 모르겠습니다 / 모르겠어요 / 잘 모르겠어요 / 모릅니다 / 알 수 없습니다 / 알 수 없어요 /
        확인할 수 없습니다 / 답할 수 없습니다 / 답변할 수 없습니다 / 답변드릴 수 없습니다 / 답변드리기 어렵습니다 /
        대답할 수 없습니다 / 정보가 없습니다 / 관련 정보가 없습니다 / 해당 정보가 없습니다 / 정보가 부족합니다 /
        정보를 찾을 수 없습니다 / 관련 정보를 찾을 수 없습니다 / 해당 정보를 찾을 수 없습니다 /
        관련 내용을 찾을 수 없습니다 / 해당 내용을 찾을 수 없습니다 / 답을 찾을 수 없습니다 /
        답변을 찾을 수 없습니다 / 문서에 없는 내용입니다 / 문서에 나와 있지 않습니다 / 답변 불가
    """),
    "ru": _listed("""
        не знаю / я не знаю / я не знаю ответа / не могу ответить / я не могу ответить / не удалось найти ответ /
        не удалось найти информацию / ответ не найден / ответа нет / ответа в контексте нет /
        информация не найдена / информация отсутствует / информации нет / нет информации / нет данных /
        недостаточно информации / недостаточно данных / у меня нет информации / у меня недостаточно информации /
        в контексте нет ответа / в контексте нет информации / в документах нет ответа /
        в документах нет информации
    """),
    "zh": _listed("""
        不知道 / 我不知道 / 我不知道答案 / 我不清楚 / 我不确定 / 無法回答 / 无法回答 / 我无法回答 / 我無法回答 /
        不能回答 / 没有答案 / 找不到答案 / 未找到答案 / 没有相关信息 / 没有找到相关信息 / 未找到相关信息 /
        找不到相关信息 / 信息不足 / 文档中没有相关信息 / 文档中没有答案 / 上下文中没有相关信息 / 上下文中没有答案 /
        我不知道這個問題的答案 / 我不知道这个问题的答案 / 沒有相關資訊 / 找不到相關資訊 / 資訊不足
    """),
    "ja": _listed("""
        わかりません / 分かりません / 知りません / 答えられません / お答えできません / 回答できません / 不明です /
        情報がありません / 該当する情報がありません / 関連する情報がありません / 情報が不足しています /
        情報が見つかりません / 該当する情報が見つかりません / 関連する情報が見つかりません / 答えが見つかりません /
        文書に記載がありません / 記載されていません
    """),
}
"""An answer that consists of these phrases and of `FILLERS` is a refusal."""

FILLERS: dict[str, tuple[str, ...]] = {
    "en": _listed("""
        sorry / I'm sorry / I am sorry / I'm afraid / I apologize / unfortunately / but / that / this / it /
        the question / this question / that question / your question / to this question / to that question /
        to the question / to your question / to answer / about this / about that / from the context /
        in the context / in the documents / in the provided context / in the provided documents /
        based on the context / based on the documents / based on the provided context /
        based on the provided documents / based on the provided information / based on the given context /
        based on the information provided
    """),
    "ko": _listed("""
        죄송합니다 / 죄송하지만 / 죄송합니다만 / 유감이지만 / 안타깝게도 / 아쉽게도 / 저는 / 저도 / 질문에 /
        질문에 대해 / 이 질문에 / 해당 질문에 / 질문에 대한 / 이 질문에 대한 / 해당 질문에 대한 / 그에 대한 /
        이 질문에는 / 문서에서 / 문서에는 / 제공된 문서에서 / 제공된 문서에는 / 제공된 문서만으로는 /
        제공된 정보로는 / 제공된 정보만으로는 / 주어진 문서에서 / 주어진 문서에는 / 주어진 문맥에서 /
        주어진 정보로는 / 주어진 정보만으로는
    """),
    "ru": _listed("""
        извините / простите / к сожалению / но / на вопрос / на этот вопрос / об этом / для ответа /
        на основе контекста / на основе предоставленного контекста / в контексте / в документах /
        в предоставленном контексте / в предоставленных документах
    """),
    "zh": _listed("""
        抱歉 / 很抱歉 / 非常抱歉 / 对不起 / 對不起 / 不好意思 / 但 / 我 / 这个问题 / 該問題 / 该问题 / 這個問題 /
        您的问题 / 根据上下文 / 根据提供的上下文 / 根据提供的文档 / 根据提供的信息 / 根据已知信息 / 在文档中
    """),
    "ja": _listed("""
        すみません / 申し訳ありません / 申し訳ありませんが / 申し訳ございません / 申し訳ございませんが /
        残念ながら / 私には / その質問には / この質問には / ご質問には / 文書には / 提供された文書には /
        提供された情報では / 提供された情報からは / 文脈からは
    """),
}
"""Phrases that may surround a refusal without making it an answer; alone, none of them is a refusal."""


def negative_rejection(is_negative: BoolArray, is_refusal: BoolArray) -> FloatArray:
    """Return whether a question that nothing in the corpus answers was refused; its mean is the share of these.

    Shape: (n_answers,), float64. Values: 0 and 1, higher is better; NaN where an answer is expected.

    Source: the "negative rejection" of Chen et al. (2024), doi:10.1609/aaai.v38i16.29728.

    >>> negative_rejection(np.array([True, True, False]), np.array([True, False, False])).tolist()
    [1.0, 0.0, nan]
    """
    return np.where(is_negative, is_refusal, np.nan)


def false_refusal(is_negative: BoolArray, is_refusal: BoolArray) -> FloatArray:
    """Return whether a question that has an answer was refused; its mean is the share of these.

    Shape: (n_answers,), float64. Values: 0 and 1, lower is better; NaN where no answer is expected.

    >>> false_refusal(np.array([True, True, False]), np.array([True, False, False])).tolist()
    [nan, nan, 0.0]
    """
    return np.where(is_negative, np.nan, is_refusal)
