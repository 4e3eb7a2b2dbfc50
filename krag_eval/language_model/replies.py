"""What a model of any framework returned: its text, its object, what it says about itself."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from krag_eval.language_model.failures import ModelSetupError
from krag_eval.shapes import describe_type

# What a refusal begins with. Only an answer that holds no JSON is looked at.
_REFUSALS = re.compile(
    r"\A\W*(?:"
    r"(?:i['’]?m |i am |we['’]?re )?(?:very |so |really )?sorry|"
    r"i (?:can['’]?t|cannot|can not|am unable|am not able|won['’]t|will not)|i['’]m (?:unable|not able)|"
    r"(?:unfortunately|as an ai)|i must decline|"
    r"죄송|미안하지만|유감스럽|도와드릴 수 없|"
    r"извините|простите|к сожалению|я не могу|"
    r"抱歉|对不起|對不起|很遗憾|我无法|我不能|"
    r"申し訳|すみません|恐れ入り|"
    r"عذر|آسف|أعتذر|لا أستطيع|لا يمكنني|"
    r"ขอโทษ|ขออภัย|lo siento|je suis désolé|es tut mir leid"
    r")",
    re.IGNORECASE,
)
_FILTERED = {"content_filter", "refusal", "safety", "prohibited_content", "blocklist", "recitation"}
_CUT_OFF = {"length", "max_tokens", "max_output_tokens"}


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer of a model.

    Attributes:
        text: What it wrote.
        parsed: The object that its framework read, or None.
        is_filtered: Whether the model, or a filter, says that this is a refusal.
        is_cut_off: Whether the model says that its limit of tokens was reached.
        input_tokens: As the model counted them, or None.
        output_tokens: Likewise.
    """

    text: str
    parsed: Mapping[str, Any] | None = None
    is_filtered: bool = False
    is_cut_off: bool = False
    input_tokens: int | None = None
    output_tokens: int | None = None

    @property
    def sounds_refusing(self) -> bool:
        """Whether the text begins as a refusal does."""
        return _REFUSALS.match(self.text) is not None


def read_reply(given: object) -> Reply:
    """The answer as a model returned it: a string, a message with `content`, a completion with `text`, a mapping.

    Raises:
        ModelSetupError: It has no text.
    """
    if isinstance(given, Mapping):
        if "raw" in given and "parsed" in given:  # LangChain's structured output
            return _with_parsed(_read_message(given["raw"]), given["parsed"])
        return Reply("", parsed=given)
    return _read_message(given)


def _with_parsed(reply: Reply, parsed: object) -> Reply:
    dump = getattr(parsed, "model_dump", None)
    found = dump() if callable(dump) else parsed
    is_object = isinstance(found, Mapping)
    return Reply(
        reply.text,
        found if isinstance(found, Mapping) else None,
        reply.is_filtered and not is_object,
        reply.is_cut_off,
        reply.input_tokens,
        reply.output_tokens,
    )


def _read_message(message: Any) -> Reply:
    if isinstance(message, str):
        return Reply(str(message))
    content = getattr(message, "content", None)
    if content is None:
        content = getattr(message, "text", None)
    if not isinstance(content, (str, list)):
        raise ModelSetupError(
            f"The language model returned {describe_type(message)}, which has no text. It must return a string, or a "
            "message with `content` or `text`."
        )
    blocks = [content] if isinstance(content, str) else content
    extra = _mapping(getattr(message, "additional_kwargs", None))
    about = {**extra, **_mapping(getattr(message, "response_metadata", None))}
    reasons = {str(about.get(name, "")).lower() for name in ("finish_reason", "stop_reason")}
    usage = _mapping(getattr(message, "usage_metadata", None))
    return Reply(
        "".join(_texts(blocks)),
        is_filtered=bool(extra.get("refusal")) or bool(reasons & _FILTERED) or any(map(_refuses, blocks)),
        is_cut_off=bool(reasons & _CUT_OFF),
        input_tokens=_count(usage.get("input_tokens", extra.get("prompt_tokens"))),
        output_tokens=_count(usage.get("output_tokens", extra.get("completion_tokens"))),
    )


def _texts(blocks: list[Any]) -> Iterator[str]:
    for block in blocks:
        text = block if isinstance(block, str) else _mapping(block).get("text")
        if isinstance(text, str):
            yield text


def _refuses(block: object) -> bool:
    return _mapping(block).get("type") == "refusal"


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
