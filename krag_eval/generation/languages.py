"""In which script a text is written, and does that fit the language that was asked for? Told by letters alone."""

from __future__ import annotations

import unicodedata
from collections import Counter

from krag_eval.errors import InvalidInputError
from krag_eval.text import nfkc

# Names and codes of languages, the word for a prompt, and the script. Languages that share a script are not told apart.
_LANGUAGES = {
    **dict.fromkeys(("ko", "korean", "한국어"), ("Korean", "Hangul")),
    **dict.fromkeys(("en", "english"), ("English", "Latin")),
    **dict.fromkeys(("ru", "russian", "русский"), ("Russian", "Cyrillic")),
    **dict.fromkeys(("zh", "chinese", "中文"), ("Chinese", "Han")),
    **dict.fromkeys(("zh-cn", "zh-hans"), ("Simplified Chinese", "Han")),
    **dict.fromkeys(("zh-tw", "zh-hant"), ("Traditional Chinese", "Han")),
    **dict.fromkeys(("ja", "japanese", "日本語"), ("Japanese", "Kana")),
    **dict.fromkeys(("ar", "arabic", "العربية"), ("Arabic", "Arabic")),
    **dict.fromkeys(("th", "thai", "ไทย"), ("Thai", "Thai")),
    **dict.fromkeys(("he", "hebrew"), ("Hebrew", "Hebrew")),
    **dict.fromkeys(("hi", "hindi"), ("Hindi", "Devanagari")),
    **dict.fromkeys(("el", "greek"), ("Greek", "Greek")),
    **dict.fromkeys(("uk", "ukrainian"), ("Ukrainian", "Cyrillic")),
    **dict.fromkeys(("de", "german"), ("German", "Latin")),
    **dict.fromkeys(("fr", "french"), ("French", "Latin")),
    **dict.fromkeys(("es", "spanish"), ("Spanish", "Latin")),
    **dict.fromkeys(("it", "italian"), ("Italian", "Latin")),
    **dict.fromkeys(("pt", "portuguese"), ("Portuguese", "Latin")),
    **dict.fromkeys(("nl", "dutch"), ("Dutch", "Latin")),
    **dict.fromkeys(("pl", "polish"), ("Polish", "Latin")),
    **dict.fromkeys(("tr", "turkish"), ("Turkish", "Latin")),
    **dict.fromkeys(("vi", "vietnamese"), ("Vietnamese", "Latin")),
    **dict.fromkeys(("id", "indonesian"), ("Indonesian", "Latin")),
}
_LIKELY = {"Hangul": "Korean", "Han": "Chinese", "Kana": "Japanese", "Thai": "Thai", "Hebrew": "Hebrew"}
# How the names of Unicode characters begin.
_SCRIPTS = {"CJK": "Han", "HIRAGANA": "Kana", "KATAKANA": "Kana"}
# About as many letters as a character of the script says.
_WEIGHTS = {"Han": 3, "Hangul": 2, "Kana": 2}
# Names and terms are often Latin in texts of other scripts: a text in Latin letters has to have more of its own.
_LEAST_SHARE, _LEAST_SHARE_OF_LATIN = 0.25, 0.6
_LEAST_BESIDE_LATIN = 0.3
_LEAST_KANA = 0.1


def shares_of(text: str) -> dict[str, float]:
    """The share of each script in the letters of a text, which are weighted by what a character says.

    >>> {script: round(share, 2) for script, share in shares_of("환불 refund").items()}
    {'Hangul': 0.4, 'Latin': 0.6}
    """
    counts: Counter[str] = Counter()
    for character, times in Counter(nfkc(text)).items():
        if character.isalpha():
            first = unicodedata.name(character, "?").split()[0].partition("-")[0]
            script = _SCRIPTS.get(first, first.title())
            counts[script] += times * _WEIGHTS.get(script, 1)
    total = sum(counts.values())
    return {script: count / total for script, count in counts.items()}


def script_of(text: str) -> str | None:
    """The script of a text: that of most letters, but one that has 30 % beside Latin ones, as names and code are Latin.

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
    """Whether a text can be of a language with this script; True where the script is not known.

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
    """The language to ask for in a prompt, and the script to expect.

    Args:
        asked: `"auto"`, a code such as `"ko"`, or a name; one that is not known is passed on, and not checked.
        chunk: The text that `"auto"` takes the language from.
    """
    if asked == "auto":
        script = script_of(chunk)
        likely = _LIKELY.get(script or "")
        return "the language of the passage" + (f" ({likely})" if likely else ""), script
    return _LANGUAGES.get(asked.strip().lower(), (asked.strip(), None))


def check_language(given: object) -> str:
    """The language that was asked for.

    Raises:
        InvalidInputError: It is no name.
    """
    if isinstance(given, str) and given.strip():
        return given
    raise InvalidInputError(f'`language` must be "auto", a code such as "ko", or a name, got {given!r:.60}.')
