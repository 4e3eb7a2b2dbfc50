"""Alert when the mean over the last retrievals leaves its band."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING

from krag_eval import InvalidInputError
from krag_eval.toolkit import as_key, as_number, did_you_mean, refuse
from krag_eval_live.alerts import Alert, mean_of

if TYPE_CHECKING:
    from krag_eval_live.alerts import Band, Scores


class Bands:
    """Tell when a mean leaves its band: once, and again only after it has been back in its band.

    Args:
        bands: For the keys to watch, the lowest and the highest mean that is allowed; None leaves an end open.
        keys: The keys that exist.

    Raises:
        InvalidInputError: A band cannot be used.
    """

    def __init__(self, bands: Mapping[str, Band], keys: tuple[str, ...]) -> None:
        named = {key if key in keys else as_key(key): band for key, band in bands.items()}
        self._bands = {key: _check_band(key, band, keys) for key, band in named.items()}
        self._outside: set[str] = set()

    def check(self, last: deque[Scores]) -> list[Alert]:
        """Return alerts for the means of the last retrievals that now leave their band."""
        alerts: list[Alert] = []
        for key, (low, high) in self._bands.items():
            mean, n = mean_of(last, key)
            if mean is None:
                continue
            outside = (low is not None and mean < low) or (high is not None and mean > high)
            if outside and key not in self._outside:
                self._outside.add(key)
                alerts.append(Alert(key, mean, low, high, n))
            elif not outside:
                self._outside.discard(key)
        return alerts


def _check_band(key: str, band: object, keys: tuple[str, ...]) -> Band:
    if key not in keys:
        raise InvalidInputError(f"`bands` names {key!r}.{did_you_mean(key, keys)} Known keys: {', '.join(keys)}.")
    if not isinstance(band, (tuple, list)) or len(band) != 2:
        refuse(f"bands[{key!r}]", "a pair such as (0.7, None)", band)
    low, high = band
    for end in (low, high):
        if end is not None and as_number(end) is None:
            refuse(f"bands[{key!r}]", "a pair of numbers or None", band)
    if low is not None and high is not None and low > high:
        raise InvalidInputError(f"The band of {key!r} ends below its start: {band!r:.60}. Give (lowest, highest).")
    return low, high
