"""Where evidence stands in a chunk, how much a question quotes, and how many of its words it took from there.

The chunks that questions are asked about: read from any framework's documents, and put into an order.

In which script a text is written, and does that fit the language that was asked for? Told by letters alone.

Has a text the form of a question? Told by its end and its first word, in the languages that are known here.
"""

from __future__ import annotations

import difflib
import hashlib
import random
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rapidfuzz.distance import LCSseq

from krag_eval._utils.checks import describe_type
from krag_eval._utils.errors import InvalidInputError
from krag_eval.datasets.shared_text import size_of
from krag_eval.documents.document import as_document
from krag_eval.documents.readers import as_id
from krag_eval.documents.text import nfkc, normalize, normalize_all
from krag_eval.documents.tokenizers import WordTokenizer

# Shorter evidence shows nothing: it stands in any text. In letters; a Chinese character counts as three.
LEAST_EVIDENCE = 5
# A run of words that a question and a chunk share counts as a quotation from this length on, in letters.
LEAST_QUOTE = 24
_QUOTES = " \t\r\n\"'“”„‘’«»‹›「」『』《》…*`"
_WORDS = WordTokenizer()


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a text.

    Attributes:
        start: The place of its first character.
        end: The place behind its last one.
        text: The characters themselves.
    """

    start: int
    end: int
    text: str


def find_evidence(evidence: str, chunk: str) -> Span | None:
    """The first stretch of a chunk that says the same as the evidence after normalising, or None.

    Quotation marks around the evidence are no part of it. Normalising is that of `krag_eval.normalize`: width, case and
    white space make no difference.

    >>> find_evidence('"takes  TWO days"', "A parcel takes two days. Or three.")
    Span(start=9, end=23, text='takes two days')
    """
    stripped = evidence.strip(_QUOTES)
    for one in (evidence.strip(), stripped, stripped.rstrip(".。．")):
        form = normalize(one)
        if size_of(form) >= LEAST_EVIDENCE and form in normalize(chunk):
            return _span_of(form, chunk)
    return None


def _span_of(form: str, chunk: str) -> Span:
    """The shortest first stretch whose normalised text holds the form, found by halving."""
    low, high = 0, len(chunk)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if form in normalize(chunk[:middle]) else (middle + 1, high)
    end = high
    low, high = 0, end
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if form in normalize(chunk[middle:end]) else (low, middle - 1)
    return Span(low, end, chunk[low:end])


def quotes_chunk(question: str, chunk: str, most: float) -> bool:
    """Whether a question quotes its chunk: that is no paraphrase.

    It does if

        words of the chunk that stand in the question, in the same order / words of the chunk >= most

    or if the longest run of words that both have is at least 24 letters long (a Chinese character counts as three, a
    Korean one as two) and makes up the share `most` of the words of the question.

    Args:
        question: The question.
        chunk: The chunk.
        most: The share, above 0 and at most 1.

    >>> chunk = "A parcel to Jeju takes two days more than other parcels do."
    >>> quotes_chunk("Why is it that a parcel to Jeju takes two days more?", chunk, 0.5)
    True
    >>> quotes_chunk("How long do I wait on the island?", chunk, 0.5)
    False
    """
    asked, there = _WORDS.tokenize(question), _WORDS.tokenize(chunk)
    if not asked or not there:
        return False
    if LCSseq.similarity(asked, there) >= most * len(there):
        return True
    longest = difflib.SequenceMatcher(None, asked, there, autojunk=False).find_longest_match()
    run = asked[longest.a : longest.a + longest.size]
    return longest.size >= most * len(asked) and size_of("".join(run)) >= LEAST_QUOTE


def overlap(question: str, chunk: str) -> float | None:
    """The share of a question's words that stand in a chunk, each occurrence counted; None without words.

    >>> overlap("How long does a parcel take?", "A parcel takes two days.")
    0.3333333333333333
    """
    asked, there = _WORDS.tokenize(question), set(_WORDS.tokenize(chunk))
    return sum(word in there for word in asked) / len(asked) if asked else None


class WordSearch:
    """Finds runs of words in many texts; made when it is first asked."""

    def __init__(self, texts: list[str]) -> None:
        self._texts, self._joined = texts, ""

    def holds(self, text: str) -> bool:
        """Whether the words of a text stand in one of the texts, one after the other."""
        if not self._joined:
            self._joined = "".join(f"\n {' '.join(_WORDS.tokenize(one))} " for one in self._texts)
        return f" {' '.join(_WORDS.tokenize(text))} " in self._joined


def holds_words(text: str, words: str) -> bool:
    """Whether the words stand in the text, one after the other; False without words.

    >>> holds_words("It takes two days.", "two days"), holds_words("It takes two days.", "two day")
    (True, False)
    """
    looked_for = _WORDS.tokenize(words)
    return bool(looked_for) and f" {' '.join(looked_for)} " in f" {' '.join(_WORDS.tokenize(text))} "


def words_of(text: str) -> Counter[str]:
    """How often each word stands in a text."""
    return Counter(_WORDS.tokenize(text))


# Reasons for which a document is no chunk at all.
NOT_READ = ("no text", "the same chunk again")


@dataclass(frozen=True, slots=True)
class Chunk:
    """A chunk of a corpus.

    Attributes:
        id: Its id.
        text: Its text.
        doc_id: The id of its document, or None.
    """

    id: str
    text: str
    doc_id: str | None = None


@dataclass(frozen=True, slots=True)
class Chunks:
    """The chunks of a corpus.

    Attributes:
        all: Every chunk that has a text.
        usable: Those that questions may be asked about.
        skipped: How many were left out, by reason.
        n_named: How many had no id, and were given one from their text.
    """

    all: tuple[Chunk, ...]
    usable: tuple[Chunk, ...]
    skipped: Mapping[str, int]
    n_named: int

    @property
    def fingerprint(self) -> str:
        """Sixteen hex digits that change with any id, text or document, and with their order."""
        digest = hashlib.sha256()
        for chunk in self.all:
            digest.update(repr((chunk.id, chunk.text, chunk.doc_id)).encode("utf-8", "surrogatepass"))
        return digest.hexdigest()[:16]


def read_chunks(given: object, *, min_words: int, doc_key: str, id_key: str | None) -> Chunks:
    """The chunks, checked.

    Left out, and counted, are chunks without a text, chunks of fewer words than `min_words` (as the tokenizer `words`
    counts them), and chunks whose text other chunks have too, under another id: which of them a retriever finds is
    chance. A chunk without an id is called `text-` and twelve hex digits of its text's SHA-256.

    Raises:
        InvalidInputError: One is no document, an id stands for two texts, or there is nothing to ask about.
    """
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        raise InvalidInputError(
            f"`chunks` is {describe_type(given)}. It must be a list of documents, texts or rows. Read a file with "
            "`read_corpus(path)`."
        )
    skipped, n_named, found = Counter[str](), 0, dict[str, Chunk]()
    for place, one in enumerate(given):
        try:
            document = as_document(one, id_key=id_key)
        except InvalidInputError as error:
            raise InvalidInputError(f"chunk {place}: {error}") from None
        if document.text is None or not document.text.strip():
            skipped[NOT_READ[0]] += 1
            continue
        chunk_id = document.id
        if chunk_id is None:
            n_named += 1
            chunk_id = "text-" + hashlib.sha256(document.text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
        chunk = Chunk(chunk_id, document.text, as_id(document.metadata.get(doc_key)))
        if chunk_id in found:
            if found[chunk_id].text != chunk.text:
                raise InvalidInputError(
                    f"chunk {place}: the id {chunk_id!r:.60} stands for two texts. Give each its own."
                )
            skipped[NOT_READ[1]] += 1
            continue
        found[chunk_id] = chunk
    chunks = tuple(found.values())
    forms = normalize_all([chunk.text for chunk in chunks])
    times, words, usable = Counter(forms), WordTokenizer(), []
    for chunk, form in zip(chunks, forms, strict=True):
        if len(words.tokenize(chunk.text)) < min_words:
            skipped[f"fewer than {min_words} words"] += 1
        elif times[form] > 1:
            skipped["text that other chunks have too"] += 1
        else:
            usable.append(chunk)
    if not usable:
        why = ", ".join(f"{count:,} with {reason}" for reason, count in skipped.items()) or "there are none"
        raise InvalidInputError(
            f"`chunks` has nothing to ask about: {why}. Give chunks of at least `min_words` = {min_words} words."
        )
    return Chunks(chunks, tuple(usable), dict(skipped), n_named)


def in_order(chunks: Sequence[Chunk], seed: int) -> list[Chunk]:
    """The chunks in an order of chance that takes one of each document before a second one of any."""
    chance = random.Random(f"krag_eval.llm.question_generation:{seed}")
    by_document: dict[str | None, list[Chunk]] = defaultdict(list)
    for chunk in chunks:
        by_document[chunk.doc_id].append(chunk)
    # Chunks that name no document are each one of their own.
    groups = [[chunk] for chunk in by_document.pop(None, [])] + list(by_document.values())
    for group in groups:
        chance.shuffle(group)
    chance.shuffle(groups)
    ranked = [(turn, place, chunk) for place, group in enumerate(groups) for turn, chunk in enumerate(group)]
    return [chunk for _, _, chunk in sorted(ranked, key=lambda entry: entry[:2])]


def split_evenly(n: int, types: Sequence[str]) -> list[str]:
    """The type of each of `n` questions: by turns, so that the first types get what is left over.

    >>> split_evenly(5, ["literal", "negative"])
    ['literal', 'negative', 'literal', 'negative', 'literal']
    """
    return [types[number % len(types)] for number in range(n)]


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


_MARKS = "?？؟;՞፧⸮"
_CLOSING = " \t\r\n\"'”’»›」』）)】]*_`~…!！"
_STOPS = ".。．"
# Where question marks are often left out: how a question ends, be it with a full stop.
_ENDS = re.compile(
    r"(?:까|까요|나요|가요|은가|는가|인가|느냐|는지)$|"  # Korean
    r"(?:か|かな|かしら)$|"  # Japanese
    r"[吗嗎呢]$|"  # Chinese
    r"(?:ไหม|มั้ย|หรือไม่|หรือเปล่า|อะไร|ที่ไหน|เมื่อไร|เมื่อไหร่|อย่างไร|ยังไง|เท่าไร|เท่าไหร่|ใคร|ทำไม|กี่\S*)(?:ครับ|คะ|ค่ะ)?$"
)
# What a question begins with, or has in it, if it does not end with a full stop.
_QUESTION_WORDS = re.compile(
    r"^\W*(?:"
    r"who|whom|whose|what|when|where|which|why|how|is|are|was|were|do|does|did|can|could|will|would|should|may|must|"
    r"has|have|had|am|in what|in which|at what|by when|for how|to whom|"
    r"кто|кого|кому|что|чего|чем|где|куда|откуда|когда|почему|зачем|как|какой|какая|какое|какие|каким|сколько|"
    r"можно ли|нужно ли|есть ли|чей|"
    r"ما|ماذا|من|متى|أين|كيف|هل|لماذا|كم|أي|"
    r"wer|was|wann|wo|warum|wie|welche\w*|qui|que|quand|où|pourquoi|comment|quel\w*|qué|quién|cuándo|dónde|cómo|cuánt\w*"
    r")\b",
    re.IGNORECASE,
)
_CHINESE = re.compile(r"什么|什麼|怎么|怎麼|怎样|怎樣|如何|哪|谁|誰|多少|几|幾|为何|為何|为什么|是否|何时|何時|吗|嗎")


def is_question(text: str) -> bool:
    """Whether a text has the form of a question.

    It has a question mark near its end, or ends as questions do in Korean, Japanese, Chinese and Thai. Without a full
    stop, it may also begin with a question word (English, Russian, Arabic, German, French, Spanish) or have a Chinese
    one in it.

    >>> [is_question(text) for text in ("When does it open?", "환불은 언제 되나요", "Open at nine.")]
    [True, True, False]
    """
    stripped = text.rstrip(_CLOSING)
    if stripped.endswith(tuple(_MARKS)) or any(mark in text[-80:] for mark in "?？؟"):
        return True
    if _ENDS.search(stripped.rstrip(_STOPS)):
        return True
    return not stripped.endswith(tuple(_STOPS)) and any(one.search(stripped) for one in (_QUESTION_WORDS, _CHINESE))
