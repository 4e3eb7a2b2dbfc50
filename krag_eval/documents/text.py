"""The form under which two texts count as the same."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence

from krag_eval._utils.arrays import np
from krag_eval._utils.errors import Argument, InvalidInputError, show
from krag_eval._utils.limits import limit, to_allow

Normalizer = Callable[[str], str]

# They say how a character looks, not which it is: Mongolian ones, and those of all other scripts.
_SELECTORS = "\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef"
VARIATION_SELECTOR = re.compile(f"[{_SELECTORS}]")
# Invisible characters without a width: soft hyphen, joiners, byte order mark, direction marks, variation selectors, and
# the two vowels of Khmer that nobody sees.
_ZERO_WIDTH = re.compile(
    f"[{_SELECTORS}\u00ad\u034f\u061c\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]"
)
_LONG_TEXT, _VERY_LONG_TEXT = 2000, 2**19
_AT_ONCE = 256
# No letter, digit or white space, and not ASCII: marks and symbols.
_MANY_MARKS = re.compile(r"[^\w\s\x00-\x7f]{30,}")
# ASCII letters to lower case, every white space character to a plain space.
_ASCII_FOLD = bytes(32 if chr(point).isspace() else ord(chr(point).lower()) for point in range(128)) + bytes(128)


def normalize(text: str) -> str:
    r"""Return the form under which two texts count as the same.

    Zero-width characters dropped, Unicode NFKC, casefold, runs of white space to one space, ends stripped.
    Normalizing twice changes nothing more.

    >>> normalize("  Ｆｕｌｌ   Width\u200b\n ")
    'full width'
    >>> normalize("STRASSE") == normalize("straße")
    True
    """
    if text.isascii():
        # The same as below in a fifth of the time. Most texts have no runs to collapse, which is cheap to find out.
        ascii_text = text.encode("ascii").translate(_ASCII_FOLD)
        if b"  " in ascii_text:
            ascii_text = b" ".join(ascii_text.split())
        return ascii_text.strip(b" ").decode("ascii")
    text = nfkc(_ZERO_WIDTH.sub("", text)).casefold()
    # Casefolding can undo the composition (and some characters fold only after it), so compose once more.
    return " ".join(nfkc(text).casefold().split())


def normalize_all(texts: Sequence[str], at_once: int = 64) -> list[str]:
    """Normalize each text; short runs of ASCII texts are folded together."""
    forms: list[str] = []
    for start in range(0, len(texts), at_once):
        some = texts[start : start + at_once]
        joined = "\0".join(some)
        if not joined.isascii() or joined.count("\0") != len(some) - 1:
            forms += map(normalize, some)
            continue
        folded = joined.encode("ascii").translate(_ASCII_FOLD)
        spaces = np.frombuffer(folded, dtype=np.uint8) == ord(" ")
        parts = folded.decode("ascii").split("\0")
        if (spaces[1:] & spaces[:-1]).any():
            parts = [" ".join(part.split()) if "  " in part else part for part in parts]
        forms += [part.strip(" ") for part in parts]
    return forms


def forms_of(texts: Sequence[str], normalizer: Normalizer | None) -> list[str]:
    """Return texts under the normalizer of the settings; None leaves them as they are.

    Raises:
        InvalidInputError: A normalizer of the user returned something else than a string.
    """
    if normalizer is None:
        return list(texts)
    if normalizer is normalize:
        return normalize_all(texts)
    forms = list(map(normalizer, texts))
    if not set(map(type, forms)) <= {str}:
        odd: object = next(form for form in forms if type(form) is not str)
        raise InvalidInputError(Argument("normalize"), f" returned {show(odd)}. It must return a string.")
    return forms


def utf8(text: str) -> bytes:
    """Return a text in UTF-8, halves of surrogate pairs too."""
    return text.encode("utf-8", "surrogatepass")


def nfkc(text: str) -> str:
    """Return Unicode NFKC, without the quadratic time that Python takes for a letter with thousands of marks.

    Python puts marks in order by insertion; in a long text, long runs of them are sorted first.
    """
    if len(text) > _LONG_TEXT:
        if len(text) > _VERY_LONG_TEXT:
            _check_length(text)
        text = _MANY_MARKS.sub(_in_order, text)
    return unicodedata.normalize("NFKC", text)


def _in_order(run: re.Match[str]) -> str:
    """Return a run of marks and symbols in canonical order (UAX #15): after each symbol, the marks sorted by class."""
    parts = (run[0][start : start + _AT_ONCE] for start in range(0, len(run[0]), _AT_ONCE))
    marks = "".join("".join(unicodedata.normalize("NFKD", character) for character in part) for part in parts)
    classes = np.fromiter(map(unicodedata.combining, marks), np.uint8, len(marks))
    order = np.lexsort((classes, np.cumsum(classes == 0)))
    points = np.frombuffer(marks.encode("utf-32-le", "surrogatepass"), "<u4")[order]
    return points.tobytes().decode("utf-32-le", "surrogatepass")


def _check_length(text: str) -> None:
    """Refuse a text that NFKC makes too long: some characters become eighteen."""
    parts = (text[start : start + _AT_ONCE] for start in range(0, len(text), _AT_ONCE))
    length, most = 0, limit("text") // 3
    for part in parts:
        length += len(unicodedata.normalize("NFKC", part))
        if length > most:
            raise InvalidInputError(
                f"The text {text[:20]!r}... has more than {most:,} characters after NFKC. ", *to_allow("text")
            )
