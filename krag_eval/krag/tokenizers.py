"""What krag has in `krag.tokenizers`."""

from __future__ import annotations

import warnings
from typing import Any

from krag_eval._utils.errors import needing, warn

__all__ = ["KiwiTokenizer"]


class KiwiTokenizer:
    """Kiwi's tokens, as kiwipiepy returns them. Needs the extra `ko`.

    Args:
        model_type: One of Kiwi's models; by default its own default. If this kiwipiepy lacks the model, you are warned
            and Kiwi's default is used.
        typos: Which typing errors Kiwi corrects, such as `"basic"`.

    Attributes:
        kiwi: The `kiwipiepy.Kiwi`.
    """

    def __init__(self, model_type: str | None = None, typos: str | None = None) -> None:
        with needing("KiwiTokenizer", "kiwipiepy", "ko"):
            from kiwipiepy import Kiwi
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # newer ones take `typos` at each call instead
            try:
                self.kiwi = Kiwi(model_type=model_type, typos=typos)
            except OSError:
                self.kiwi = Kiwi(typos=typos)
                is_missing = True
            else:
                is_missing = False
        if is_missing:
            warn(
                f"This kiwipiepy has no model {model_type!r}, so Kiwi's default model is used. Its tokens can differ. "
                "Leave `model_type` out to use it without this warning."
            )

    def tokenize(self, text: str) -> Any:
        """Return Kiwi's tokens, each with `form` and `tag`."""
        return self.kiwi.tokenize(text)
