"""A table's cells, dealt into parts once and kept in a plain NumPy file that every job reads alike."""

from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray


class Cells(NamedTuple):
    """Observed cells of a table of n_learners × n_samples."""

    learner: NDArray[np.int32]
    sample: NDArray[np.int32]
    response: NDArray[np.float64]
    n_learners: int
    n_samples: int

    def keep(self, rows: NDArray[np.bool_]) -> Self:
        return self._replace(
            learner=self.learner[rows], sample=self.sample[rows], response=self.response[rows]
        )

    def layout(self) -> Any:
        """The cells as the engines take them."""
        from camilla.fitting.layout import layout_of

        weight = np.ones(len(self.response))
        size = {"n_learners": self.n_learners, "n_samples": self.n_samples}
        return layout_of(self.learner, self.sample, self.response, weight, **size)


def deal(table_file: str, folder: str, rows: str, *proportions: str) -> dict[str, Any]:
    """Job: reads a table (`rows`: "long", "samples" or "learners") and writes its cells in seeded parts."""
    from camilla.experiments.protocols import split_rows
    from camilla.reading.inputs import read

    table = read(table_file) if rows == "long" else read(table_file, rows=rows)
    part = split_rows(table, proportions=[float(share) for share in proportions], seed=42)
    cells = {"learner": table.learner, "sample": table.sample, "response": table.response}
    np.savez(Path(folder, "cells.npz"), **cells, part=part, size=[table.n_learners, table.n_samples])
    return {"learners": table.n_learners, "samples": table.n_samples}


def dealt(folder: str) -> list[Cells]:
    """The parts that `deal` wrote."""
    file = np.load(Path(folder, "cells.npz"))
    n_learners, n_samples = (int(n) for n in file["size"])
    cells = Cells(file["learner"], file["sample"], file["response"], n_learners, n_samples)
    part = file["part"]
    return [cells.keep(part == p) for p in range(part.max() + 1)]
