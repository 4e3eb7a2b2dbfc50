"""The functions of `scipy.special`, which is imported when the first of them is called: it takes as long as NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def _of_scipy(name: str) -> Callable[..., Any]:
    def call(*values: Any) -> Any:
        import scipy.special

        return getattr(scipy.special, name)(*values)

    return call


ndtr, stdtrit, nctdtrinc = map(_of_scipy, ("ndtr", "stdtrit", "nctdtrinc"))
