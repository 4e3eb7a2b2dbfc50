"""Types of numpy arrays."""

from typing import Any

import numpy as np

# Not numpy.typing.NDArray: importing numpy.typing costs a tenth of importing numpy.
IntArray = np.ndarray[Any, np.dtype[np.int64]]
FloatArray = np.ndarray[Any, np.dtype[np.float64]]
BoolArray = np.ndarray[Any, np.dtype[np.bool_]]
