"""Types of the numpy arrays that pass between modules.

They sit at the bottom of the package, so that every room can name them without importing another one.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
