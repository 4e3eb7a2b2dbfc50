"""Recognise the script of a text, and whether it has the form of a question."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections import Counter
from importlib import resources

from krag_eval import normalize
from krag_eval.toolkit import refuse

_DATA = tomllib.loads((resources.files(__package__) / "languages.toml").read_text(encoding="utf-8"))
# By name or code: the name for the prompt, and the script. One script may serve several languages.
_LANGUAGES = {one: (name, script) for name, (script, *called) in _DATA["languages"].items() for one in called}
_LIKELY = {"Hangul": "Korean", "Han": "Chinese", "Kana": "Japanese", "Thai": "Thai", "Hebrew": "Hebrew"}
# The first word of the names of Unicode characters, where it is not the script itself.
_SCRIPTS = {"CJK": "Han", "HIRAGANA": "Kana", "KATAKANA": "Kana"}
# About how many Latin letters a character of the script is worth.
_WEIGHTS = {"Han": 3, "Hangul": 2, "Kana": 2}
# Texts in other scripts often contain Latin names and terms, so a Latin text needs a larger share of its own.
_LEAST_SHARE, _LEAST_SHARE_OF_LATIN = 0.25, 0.6
_LEAST_BESIDE_LATIN = 0.3
_LEAST_KANA = 0.1


def shares_of(text: str) -> dict[str, float]:
    """Return the share of each script in the letters of a text, weighted by how much a character says.

    >>> {script: round(share, 2) for script, share in shares_of("환불 refund").items()}
    {'Hangul': 0.4, 'Latin': 0.6}
    """
    counts: Counter[str] = Counter()
    for character, times in Counter(normalize(text)).items():
        if character.isalpha():
            first = unicodedata.name(character, "?").split()[0].partition("-")[0]
            script = _SCRIPTS.get(first, first.title())
            counts[script] += times * _WEIGHTS.get(script, 1)
    total = sum(counts.values())
    return {script: count / total for script, count in counts.items()}


def script_of(text: str) -> str | None:
    """Return the script of most letters of a text; next to Latin ones, which names and code use, 30 % suffice.

    It is `"Kana"` for Japanese, Chinese characters included, and None without letters.

    >>> script_of("東京の首都圏です"), script_of("北京是首都"), script_of("Seoul, Korea (서울)"), script_of("1999")
    ('Kana', 'Han', 'Latin', None)
    """
    shares = shares_of(text)
    if shares.get("Kana", 0) >= _LEAST_KANA and shares["Kana"] + shares.get("Han", 0) >= 0.5:
        return "Kana"
    others = {script: share for script, share in shares.items() if script != "Latin" and share >= _LEAST_BESIDE_LATIN}
    return max(others or shares, key=lambda script: shares[script]) if shares else None


def is_in(text: str, script: str | None) -> bool:
    """Return whether a text can be of a language with this script; True if the script is unknown.

    >>> is_in("API 키는 어디에 있나요?", "Hangul"), is_in("서울 Hotel은 어디에 있나요?", "Latin")
    (True, False)
    """
    if script is None:
        return True
    shares = shares_of(text)
    if script == "Han":
        return shares.get("Han", 0) >= _LEAST_SHARE and shares.get("Kana", 0) < _LEAST_KANA
    if script == "Kana":
        return shares.get("Kana", 0) >= _LEAST_KANA
    return shares.get(script, 0) >= (_LEAST_SHARE_OF_LATIN if script == "Latin" else _LEAST_SHARE)


def language_for(asked: str, chunk: str) -> tuple[str, str | None]:
    """Return the language to ask for in a prompt, and the expected script.

    Args:
        asked: `"auto"`, a code such as `"ko"`, or a name; an unknown one is passed on unchecked.
        chunk: The text whose language `"auto"` means.
    """
    if asked == "auto":
        script = script_of(chunk)
        likely = _LIKELY.get(script or "")
        return "the language of the passage" + (f" ({likely})" if likely else ""), script
    return _LANGUAGES.get(asked.strip().lower(), (asked.strip(), None))


def check_language(given: object) -> str:
    """Check the requested language.

    Raises:
        InvalidInputError: It is not a name.
    """
    if not (isinstance(given, str) and given.strip()):
        refuse("language", '"auto", a code such as "ko", or a name', given)
    return given


_MARKS = "?？؟;՞፧⸮"
_CLOSING = " \t\r\n\"'”’»›」』）)】]*_`~…!！"
_STOPS = ".。．"
# How questions end in languages that often leave out the question mark; a full stop may follow.
_ENDS = re.compile("|".join(f"(?:{ending})$" for ending in _DATA["endings"].values()))
# How a question begins, if it does not end with a full stop.
_QUESTION_WORDS = re.compile(rf"^\W*(?:{'|'.join(_DATA['beginnings'].values())})\b", re.IGNORECASE)
_CHINESE = re.compile(r"什么|什麼|怎么|怎麼|怎样|怎樣|如何|哪|谁|誰|多少|几|幾|为何|為何|为什么|是否|何时|何時|吗|嗎")


def is_question(text: str) -> bool:
    """Return whether a text has the form of a question.

    It has a question mark near its end, or ends like a question in Korean, Japanese, Chinese or Thai. Without a full
    stop, it may also begin with a question word (English, Russian, Arabic, German, French, Spanish) or contain a
    Chinese one.

    >>> [is_question(text) for text in ("When does it open?", "환불은 언제 되나요", "Open at nine.")]
    [True, True, False]
    """
    stripped = text.rstrip(_CLOSING)
    if stripped.endswith(tuple(_MARKS)) or any(mark in text[-80:] for mark in "?？؟"):
        return True
    if _ENDS.search(stripped.rstrip(_STOPS)):
        return True
    return not stripped.endswith(tuple(_STOPS)) and any(one.search(stripped) for one in (_QUESTION_WORDS, _CHINESE))
