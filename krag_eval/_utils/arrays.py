"""NumPy, imported when it is first used, and the types of its arrays.

What reads files starts without NumPy: modules that a command needs before there is something to compute take `np` from
here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["BoolArray", "FloatArray", "IntArray", "np"]

if TYPE_CHECKING:
    import numpy as np

    # Not numpy.typing.NDArray: importing numpy.typing costs a tenth of importing numpy.
    IntArray = np.ndarray[Any, np.dtype[np.int64]]
    FloatArray = np.ndarray[Any, np.dtype[np.float64]]
    BoolArray = np.ndarray[Any, np.dtype[np.bool_]]
else:
    IntArray = FloatArray = BoolArray = Any

    class _NumPy:
        def __getattr__(self, name: str) -> object:
            import numpy as np

            found = getattr(np, name)
            setattr(self, name, found)  # the next time it is found without this call
            return found

    np = _NumPy()
