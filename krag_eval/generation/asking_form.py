"""Has a text the form of a question? Told by its end and its first word, in the languages that are known here."""

from __future__ import annotations

import re

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
_WORDS = re.compile(
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
    return not stripped.endswith(tuple(_STOPS)) and any(one.search(stripped) for one in (_WORDS, _CHINESE))
