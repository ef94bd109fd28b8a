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
        try:
            with np.load(self.path, allow_pickle=False) as file:
                if str(file["tag"]) != self.tag:
                    return None
                ends = np.cumsum(self.sizes)[:-1]
                parts = zip(np.split(file["loading"], ends), np.split(file["intercept"], ends), strict=True)
                return State(int(file["sweep"]), file["ability"], tuple(SampleState(*part) for part in parts))
        except (OSError, ValueError, KeyError, zipfile.BadZipFile):
            return None


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
        try:
            with np.load(self.path, allow_pickle=False) as file:
                return dict(file) if str(file["tag"]) == self.tag else None
        except (OSError, ValueError, KeyError, zipfile.BadZipFile):
            return None
