"""Ways to write ids alike: what the setting `id_map` names, and which of them makes two ids equal."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from krag_eval._utils.checks import one_of
from krag_eval._utils.errors import Argument, InvalidInputError, refuse, show
from krag_eval._utils.formatting import qualified_name
from krag_eval.documents.readers import as_id

IdMap = Callable[[str], str]

_SUFFIX = re.compile(r"(?<=[^/\\])\.[A-Za-z][A-Za-z0-9]{0,4}\Z")
_ZEROS = re.compile(r"(?<![0-9])0+(?=[0-9])")
_BLANKS = " \t\r\x0b\x0c\x1c\x1d\x1e\x1f"
_WHOLE = re.compile(r"([0-9]+)\.0+\Z")


def basename(id_: str) -> str:
    r"""Return what stands after the last `/` or `\`.

    >>> basename("s3://bucket/data/a.pdf"), basename(r"C:\docs\a.pdf"), basename("docs/")
    ('a.pdf', 'a.pdf', 'docs')
    """
    id_ = id_.strip()
    return re.split(r"[/\\]", id_.rstrip("/\\"))[-1] or id_


def stem(id_: str) -> str:
    """Return the name without its path and without a suffix such as `.pdf`.

    >>> stem("data/a.pdf"), stem("v1.2"), stem(".env")
    ('a', 'v1.2', '.env')
    """
    return _SUFFIX.sub("", basename(id_))


def casefold(id_: str) -> str:
    """Return the id in lower case.

    >>> casefold("FAQ-1 ")
    'faq-1'
    """
    return id_.strip().casefold()


def strip_zeros(id_: str) -> str:
    """Return the id without the zeros that pad its numbers, and a whole number without `.0`.

    >>> strip_zeros("doc007"), strip_zeros("12.0"), strip_zeros("0")
    ('doc7', '12', '0')
    """
    id_ = id_.strip()
    whole = _WHOLE.fullmatch(id_)
    return _ZEROS.sub("", whole[1] if whole else id_)


ID_MAPS: Mapping[str, IdMap] = {one.__name__: one for one in (basename, stem, casefold, strip_zeros)}


def as_id_map(given: object) -> IdMap | None:
    """Return the function that a setting `id_map` means; None for none.

    Raises:
        InvalidInputError: It is neither one of `ID_MAPS` nor a function.
    """
    if given is None or (callable(given) and not isinstance(given, str)):
        return given
    if not isinstance(given, str):
        refuse("id_map", f"a function from id to id, or one of {', '.join(ID_MAPS)}", given)
    return ID_MAPS[one_of("id_map", given, tuple(ID_MAPS))]


def id_map_name(id_map: object) -> str:
    """Return the name of an `id_map` for the signature."""
    return id_map if isinstance(id_map, str) else qualified_name(id_map)


def mapped(ids: Sequence[Any], id_map: IdMap | None) -> list[Any]:
    """Return each id as an `id_map` writes it; it is asked once for each different one.

    Raises:
        InvalidInputError: It raises, or returns what is no id.
    """
    if id_map is None:
        return list(ids)
    written: dict[str | None, str | None] = {None: None}
    for one in {*ids} - {None}:
        try:
            found = id_map(str(one))
        except Exception as error:
            raise InvalidInputError(Argument("id_map"), f" failed for the id {one!r:.60}: {error!r:.200}.") from error
        written[one] = as_id(found)
        if written[one] is None:
            raise InvalidInputError(
                Argument("id_map"), f" returned {show(found, 40)} for the id {one!r:.60}. It must return an id."
            )
    return [written[one] for one in ids]


SIGNS = {
    "strip": "white space around it",
    "casefold": "case",
    "strip_zeros": "zeros before a number or `.0` after it",
    "basename": "a path before it",
    "stem": "a path or a suffix such as `.pdf`",
    "": "path, suffix, case and zeros",
}
"""What two ids differ in that are equal under a name of `ID_MAPS`, under `str.strip`, or under all of them."""


def rough_forms(ids: Sequence[str]) -> list[str]:
    """Return a form of each id that is the same for all ids that `repairs` calls alike.

    >>> rough_forms([" data/doc007.PDF", "doc7", "2024-01-0", "12.0"])
    ['doc7', 'doc7', '2024-1-0', '12']
    """
    # One pass over one text takes a third of the time of one call per id.
    joined = "\n".join(ids)
    if not joined.isascii() or any(sign in joined for sign in _BLANKS):
        joined = "\n".join(one.strip() for one in ids)
    joined = _ZEROS.sub("", joined.casefold())
    if "/" in joined or "\\" in joined:
        joined = re.sub(r"(?<![/\\])[/\\]+$", "", joined, flags=re.MULTILINE)
        joined = re.sub(r"^[^\n]*[/\\]", "", joined, flags=re.MULTILINE)
    if "." in joined:
        joined = re.sub(r"(?<=[^\n])\.(?:[a-z][a-z0-9]{0,4}|0+)$", "", joined, flags=re.MULTILINE)
    forms = joined.split("\n")
    return forms if len(forms) == len(ids) else [rough_forms([" ".join(one.split("\n"))])[0] for one in ids]


def repairs(one: str, other: str) -> list[str]:
    """Return under which of `SIGNS` two different ids are one; the last is the empty name, of all together.

    A path or a suffix must be that of one id alone: `en/faq.md` and `de/faq.md` are two documents.

    >>> repairs("data/a.pdf", "a.pdf"), repairs("a.pdf", "a"), repairs("en/a.md", "de/a.md"), repairs("a.md", "a.pdf")
    (['basename', 'stem', ''], ['stem', ''], [], [])
    """
    first, second = one.strip(), other.strip()
    if first == second:
        return ["strip", ""]
    found = [name for name in ("casefold", "strip_zeros") if ID_MAPS[name](first) == ID_MAPS[name](second)]
    found += [name for name in ("basename", "stem") if _differ_in_path(first, second, name)]
    plain = (strip_zeros(casefold(first)), strip_zeros(casefold(second)))
    return [*found, ""] if found or plain[0] == plain[1] or _differ_in_path(*plain, "stem") else found


def _differ_in_path(one: str, other: str, name: str) -> bool:
    if not one or not other or ID_MAPS[name](one) != ID_MAPS[name](other):
        return False
    suffixes = {found[0] if (found := _SUFFIX.search(text.rstrip("/\\"))) else "" for text in (one, other)}
    paths = [_SUFFIX.sub("", text.rstrip("/\\")).replace("\\", "/") for text in (one, other)]
    short, long = sorted(paths, key=len)
    return (len(suffixes) == 1 or "" in suffixes) and f"/{long}".endswith(f"/{short}")
