"""Write questions that forbid documents, without a language model: from versions of documents, and from tenants."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rapidfuzz import fuzz
from rapidfuzz.distance import LCSseq

from krag_eval import TOKENIZERS, Document, EvalSet, InvalidInputError, Question, as_document
from krag_eval.toolkit import (
    DOC_KEY,
    Argument,
    IdKey,
    as_id,
    check_count,
    clip,
    did_you_mean,
    errors_at,
    id_at,
    number_of,
    refuse,
    warn,
)
from krag_eval_llm.question_generation.checks import Candidate, overlap, words_of
from krag_eval_llm.question_generation.chunks import Chunk, in_order
from krag_eval_llm.question_generation.generate import evalset_of

SUPERSEDED, OWN_TENANT, OTHER_TENANT = "superseded", "own_tenant", "other_tenant"
_SENTENCE_ENDS = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])|\n+")
_PIECES = re.compile(r"\d+(?:[.,:]\d+)*|[^\W\d]+|\s+|[^\w\s]+|_")
_YEAR = re.compile(r"(?:19|20)\d\d\D*")
_LONGEST_SENTENCE = 300
_WORDS = TOKENIZERS["words"]
Made = tuple[Candidate, Mapping[str, Any]]


def generate_forbidden(
    corpus: Iterable[object],
    *,
    versions: tuple[str, str] | None = None,
    supersedes: Mapping[str, object] | None = None,
    tenant: str | None = None,
    shared: Sequence[str] = (),
    n: int | None = None,
    seed: int = 0,
    id_key: IdKey | None = None,
) -> EvalSet:
    """Write questions for which documents of a corpus are forbidden, without a language model.

    For each current document with older versions there is a question of type `"superseded"`: the current one is gold,
    the older ones are in `must_not`, by id, because their texts resemble it. For each document of one tenant there is
    a question of that tenant (`"own_tenant"`), and the same question of another tenant (`"other_tenant"`), which has no
    gold. Questions about documents of a tenant have `allowed` and `asker`.

    A question is the title and the first sentence that differs. If an older version has that sentence with other words
    or numbers, these are left out, so that the question prefers neither version.

    Args:
        corpus: The documents or chunks, each with an id, in any form that `as_document` reads.
        versions: The metadata key that versions of a document share, and that of the version; see `EvalSet.forbidding`.
        supersedes: For each document the ids that it replaced; ids of chunks, or of documents under `doc_id`.
        tenant: The metadata key of the tenant.
        shared: Values of `tenant` that everybody may see, such as `["public"]`.
        n: Ask about at most this many versions and this many documents of tenants, chosen by `seed`; by default all.
        seed: The seed of that choice; one document of each tenant comes before a second one of any.
        id_key: Read ids only from this metadata key.

    Returns:
        The questions, marked as generated like those of `generate_evalset`.

    Warns:
        KragEvalWarning: Documents have no tenant, so that everybody is forbidden to see them.

    Raises:
        InvalidInputError: The corpus lacks a key or an id that is named, or no question can be made.

    >>> price = [{"id": f"p{year}", "text": f"A parcel costs {year - 2020} euros.", "metadata": {"key": "p", "v": year}}
    ...          for year in (2025, 2026)]
    >>> question = generate_forbidden(price, versions=("key", "v"))[0]
    >>> question.question, question.gold_chunk_ids, [one.id for one in question.must_not]
    ('A parcel costs euros.', ('p2026',), ['p2025'])
    """
    if versions is None and supersedes is None and tenant is None:
        raise InvalidInputError(
            "Nothing says what is forbidden. Give ",
            *(Argument("versions"), " or ", Argument("supersedes"), " for outdated documents, or ", Argument("tenant")),
            ".",
        )
    most = None if n is None else check_count("n", n)
    documents = _read(corpus, id_key)
    older = _older_versions(documents, versions, supersedes)
    outdated = {str(one.id) for listed in older.values() for one in listed}
    made = _of_versions(documents, {name: older[name] for name in older.keys() - outdated}, most, seed)
    if tenant is not None:
        if isinstance(shared, str) or not isinstance(shared, Iterable):
            refuse("shared", "a list of values", shared)
        access = _Access.of(documents, tenant, shared)
        made = [(one, {**rules, **access.rules(one.chunk.id)}) for one, rules in made]
        made += _of_tenants({name: one for name, one in documents.items() if name not in outdated}, access, most, seed)
    if not made:
        raise InvalidInputError(
            "No question can be made: no document has a sentence that its older versions lack, and none of "
            "a tenant has one of its own."
        )
    questions = evalset_of([candidate for candidate, _ in made], "generate_forbidden", DOC_KEY)
    rules = [rules for _, rules in made]
    return EvalSet(
        [replace(question, answer=None, **one) for question, one in zip(questions, rules, strict=True)],
        name=questions.name,
    )


def _read(given: object, id_key: IdKey | None) -> dict[str, Document]:
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        refuse("corpus", "a list of documents or rows", given, "Read a file with `read_corpus(path)`.")
    documents: dict[str, Document] = {}
    for place, one in enumerate(given):
        with errors_at(f"document {place}"):
            document = as_document(one, id_key=id_key)
            if document.id is None:
                raise InvalidInputError("It has no id, and rules name documents by their ids. Give each one.")
            if document.id in documents:
                raise InvalidInputError(f"The id {document.id!r:.60} appears twice. Ids must be unique.")
            documents[document.id] = document
    return documents


def _older_versions(
    documents: Mapping[str, Document], versions: tuple[str, str] | None, supersedes: Mapping[str, object] | None
) -> dict[str, list[Document]]:
    """Return what is forbidden for each document that has older versions; their ids are in the corpus."""
    if versions is None and supersedes is None:
        return {}
    asked = EvalSet([Question(id=str(place), gold_chunk_ids=(one,)) for place, one in enumerate(documents)])
    marked = asked.forbidding(supersedes=supersedes, versions=versions, corpus=documents.values())
    older = {question.gold_chunk_ids[0]: question.forbidden() for question in marked if question.must_not}
    known = {*documents, *(id_at(one.metadata, DOC_KEY) or "" for one in documents.values())}
    for name in (*map(str, supersedes or ()), *(str(one.id) for listed in older.values() for one in listed)):
        if name not in known:
            raise InvalidInputError(
                Argument("supersedes"), f" names {name!r:.60}, which the corpus lacks.{did_you_mean(name, known)}"
            )
    return older


def _of_versions(
    documents: Mapping[str, Document], older: Mapping[str, Sequence[Document]], most: int | None, seed: int
) -> list[Made]:
    texts = {}
    for name, listed in older.items():
        text = _about_change(documents[name], [documents[str(one.id)] for one in listed if one.id in documents])
        if text is not None:
            texts[name] = text
    chosen = _choose(documents, {name: id_at(documents[name].metadata, DOC_KEY) for name in texts}, most, seed)
    return [(_candidate(SUPERSEDED, documents[one], texts[one]), {"must_not": tuple(older[one])}) for one in chosen]


@dataclass(frozen=True, slots=True)
class _Access:
    """Which tenants have which documents.

    Attributes:
        tenant: The metadata key of the tenant.
        own: The tenants of each document that not everybody may see.
        tenants: All tenants.
        shared: The values that everybody may see.
    """

    tenant: str
    own: Mapping[str, frozenset[str]]
    tenants: Sequence[str]
    shared: Sequence[str]

    @classmethod
    def of(cls, documents: Mapping[str, Document], tenant: str, shared: Iterable[str]) -> _Access:
        owners = {name: _owners(document, tenant) for name, document in documents.items()}
        everybody = sorted(set(shared))
        tenants = sorted({one for listed in owners.values() for one in listed} - {*everybody})
        if len(tenants) < 2:
            keys = {str(key) for document in documents.values() for key in document.metadata}
            raise InvalidInputError(
                Argument("tenant", tenant),
                f" has {number_of(len(tenants), 'value')} in the corpus, and two are needed for one tenant to ask "
                f"about the other.{'' if tenants else did_you_mean(tenant, keys - {tenant})}",
            )
        if n_without := sum(not listed for listed in owners.values()):
            warn(
                f"{number_of(n_without, 'document')} of the corpus without {tenant!r:.60}: forbidden for every asker. "
                "Give them a value that is named in ",
                Argument("shared"),
                " if everybody may see them.",
            )
        own = {name: listed for name, listed in owners.items() if listed and listed.isdisjoint(everybody)}
        return cls(tenant, own, tenants, everybody)

    def rules(self, name: str, asker: str | None = None) -> dict[str, Any]:
        """Return the rules of a question about a document, by default of its tenant; none if it is everybody's."""
        asker = asker if asker is not None or name not in self.own else min(self.own[name])
        return {} if asker is None else {"asker": asker, "allowed": {self.tenant: [asker, *self.shared]}}


def _owners(document: Document, tenant: str) -> frozenset[str]:
    value = document.metadata.get(tenant)
    listed = value if isinstance(value, (list, tuple, set, frozenset)) else [value]
    return frozenset(one for one in map(as_id, listed) if one is not None)


def _of_tenants(documents: Mapping[str, Document], access: _Access, most: int | None, seed: int) -> list[Made]:
    texts = {name: text for name, text in _of_their_own(documents).items() if name in access.own}
    made: list[Made] = []
    for place, name in enumerate(_choose(documents, {one: min(access.own[one]) for one in texts}, most, seed)):
        others = [one for one in access.tenants if one not in access.own[name]]
        if others:
            no_gold = {"gold": (), "gold_chunk_ids": (), "gold_doc_ids": ()}
            rules = access.rules(name, others[place % len(others)]) | no_gold
            made.append((_candidate(OWN_TENANT, documents[name], texts[name]), access.rules(name)))
            made.append((_candidate(OTHER_TENANT, documents[name], texts[name]), rules))
    return made


def _choose(
    documents: Mapping[str, Document], groups: Mapping[str, str | None], most: int | None, seed: int
) -> list[str]:
    """Return the documents to ask about, in the order of the corpus."""
    ordered = in_order([Chunk(name, "", group) for name, group in groups.items()], seed)[:most]
    chosen = {chunk.id for chunk in ordered}
    return [name for name in documents if name in chosen]


def _candidate(kind: str, document: Document, text: str) -> Candidate:
    content = document.text or ""
    chunk = Chunk(str(document.id), content, id_at(document.metadata, DOC_KEY))
    return Candidate(kind, chunk, text, "", None, overlap(text, content))


def _of_their_own(documents: Mapping[str, Document]) -> dict[str, str]:
    """Return a question about the first sentence of each document that no other one has in the same words."""
    sentences = {name: _sentences(document) for name, document in documents.items()}
    times = Counter(form for listed in sentences.values() for form in set(listed.values()))
    texts = {}
    for name, listed in sentences.items():
        own = next((one for one, form in listed.items() if times[form] == 1), None)
        if own is not None:
            texts[name] = _asked(_title(documents[name]), own)
    return texts


def _about_change(document: Document, older: Sequence[Document]) -> str | None:
    """Return a question about the first sentence that no older version has, without what is new in it.

    A sentence in which more than the year is new comes before one that says since when the document is valid.
    """
    sentences = _sentences(document)
    before = {one: form for each in older for one, form in _sentences(each).items()}
    new = [one for one, form in sentences.items() if form not in before.values()]
    if not new:
        return None
    undated = set(map(_undated, before.values()))
    best = next((one for one in new if _undated(sentences[one]) not in undated), new[0])
    return _asked(_in_common(_title(document), [_title(one) for one in older]), _in_common(best, before))


def _undated(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(word for word in words if not _YEAR.fullmatch(word))


def _in_common(text: str, others: Iterable[str]) -> str:
    """Return what a text and the one of the others that is most like it have in common; all of it if that is little.

    >>> _in_common("A parcel costs 6.20 euros.", ["We are open.", "A parcel costs 5.90 euros."])
    'A parcel costs euros.'
    """
    nearest = max(others, key=lambda one: fuzz.ratio(text, one), default="")
    pieces, before = _PIECES.findall(text), _PIECES.findall(nearest)
    blocks = LCSseq.opcodes(pieces, before).as_matching_blocks()
    joined = "".join(piece for one in blocks for piece in pieces[one.a : one.a + one.size])
    kept = re.sub(r" ([.,;:!?])", r"\1", " ".join(joined.split()))
    return kept if 2 * words_of(kept).total() >= words_of(text).total() > 0 else text


def _title(document: Document) -> str:
    title = document.metadata.get("title")
    if isinstance(title, str) and title.strip():
        return " ".join(title.split())
    first = (document.text or "").lstrip().partition("\n")[0]
    return first.strip("# \t\r") if first.startswith("#") else ""


def _sentences(document: Document) -> dict[str, tuple[str, ...]]:
    """Return the sentences of a document with their words; headings are none."""
    lines = (document.text or "").splitlines()
    parts = _SENTENCE_ENDS.split("\n".join(line for line in lines if not line.startswith("#")))
    words = {" ".join(part.split()): tuple(_WORDS.tokenize(part)) for part in parts}
    return {part: form for part, form in words.items() if form}


def _asked(title: str, sentence: str) -> str:
    is_said = title.casefold() in sentence.casefold()
    return clip(sentence if is_said else f"{title}: {sentence}", _LONGEST_SENTENCE)
