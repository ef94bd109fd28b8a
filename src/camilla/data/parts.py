"""What every way of making a response table comes down to."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Parts(NamedTuple):
    """The fields of a response table that a source can give; `ResponseTable(**parts._asdict())`."""

    learners: tuple[str, ...]
    samples: tuple[str, ...]
    learner: NDArray[np.int32]
    sample: NDArray[np.int32]
    response: NDArray[np.float64]
    weight: NDArray[np.float64] | None = None
    trial: NDArray[np.int32] | None = None
    task: tuple[str, ...] | None = None
    cluster: tuple[str, ...] | None = None
    n_missing: int = 0
