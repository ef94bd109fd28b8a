"""States of fits in files, so that a fit that is killed goes on from where it was."""

import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from camilla.fitting.alternating import SampleState, State
from camilla.table.files import whole_file


class InFolder:
    """The state of a fit in a file, and of which fit it is."""

    def __init__(self, path: Path, tag: str, sizes: Sequence[int]) -> None:
        self.path, self.tag, self.sizes = path, tag, sizes

    def keep(self, state: State) -> None:
        with whole_file(self.path) as draft, draft.open("wb") as file:
            np.savez(
                file, tag=np.array(self.tag), sweep=state.sweep, ability=state.ability,
                loading=np.concatenate([one.loading for one in state.samples]),
                intercept=np.concatenate([one.intercept for one in state.samples]),
            )  # fmt: skip

    def kept(self) -> State | None:
        arrays = _read(self.path, self.tag)
        if arrays is None:
            return None
        ends = np.cumsum(self.sizes)[:-1]
        samples = map(SampleState, np.split(arrays["loading"], ends), np.split(arrays["intercept"], ends))
        return State(int(arrays["sweep"]), arrays["ability"], tuple(samples))


class KeptArrays:
    """The state of a training in a file, and of which training it is."""

    def __init__(self, path: Path, tag: str) -> None:
        self.path, self.tag = path, tag

    def of(self, part: str) -> "KeptArrays":
        return KeptArrays(self.path.with_name(f"training-{part}.npz"), self.tag)

    def keep(self, arrays: dict[str, Any]) -> None:
        with whole_file(self.path) as draft, draft.open("wb") as file:
            np.savez(file, tag=np.array(self.tag), **arrays)

    def kept(self) -> dict[str, Any] | None:
        return _read(self.path, self.tag)


def _read(path: Path, tag: str) -> dict[str, Any] | None:
    """All arrays of a file; None where there is none, it is damaged, or it is of another fit."""
    try:
        with np.load(path, allow_pickle=False) as file:
            return dict(file) if str(file["tag"]) == tag else None
    except (OSError, EOFError, ValueError, TypeError, KeyError, zipfile.BadZipFile):
        return None
