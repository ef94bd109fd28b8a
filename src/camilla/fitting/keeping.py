"""States of fits in files, so that a fit that is killed goes on from where it was."""

import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from camilla.fitting.alternating import SampleState, State
from camilla.table.files import whole_file

# what NumPy and zipfile raise of files that are cut, empty, overwritten or of another kind
UNREADABLE = (
    OSError,
    EOFError,
    ValueError,
    TypeError,
    KeyError,
    RuntimeError,
    zipfile.BadZipFile,
    zlib.error,
)


class KeptArrays:
    """Arrays of a fit in a file, and of which fit they are."""

    def __init__(self, path: Path, tag: str) -> None:
        self.path, self.tag = path, tag

    def of(self, part: str) -> "KeptArrays":
        """For another training of the same diagnosis, to a part of the cells."""
        return KeptArrays(self.path.with_name(f"training-{part}.npz"), self.tag)

    def keep(self, arrays: dict[str, Any]) -> None:
        """Replaces what was kept before."""
        with whole_file(self.path) as draft, draft.open("wb") as file:
            np.savez(file, tag=np.array(self.tag), **arrays)

    def kept(self) -> dict[str, Any] | None:
        """What was kept last; None where there is no file, it is damaged, or it is of another fit."""
        try:
            with np.load(self.path, allow_pickle=False) as file:
                return dict(file) if str(file["tag"]) == self.tag else None
        except UNREADABLE:
            return None


class InFolder:
    """The state of a fit by turns in a file."""

    def __init__(self, path: Path, tag: str, sizes: Sequence[int]) -> None:
        """sizes: how many samples each shard has."""
        self.file, self.sizes = KeptArrays(path, tag), sizes

    def keep(self, state: State) -> None:
        """Replaces the state of an earlier sweep."""
        loading, intercept = (np.concatenate(parts) for parts in zip(*state.samples, strict=True))
        self.file.keep(
            {"sweep": state.sweep, "ability": state.ability, "loading": loading, "intercept": intercept}
        )

    def kept(self) -> State | None:
        """The last state of this very fit, if there is one."""
        arrays = self.file.kept()
        if arrays is None:
            return None
        ends = np.cumsum(self.sizes)[:-1]
        samples = map(SampleState, np.split(arrays["loading"], ends), np.split(arrays["intercept"], ends))
        return State(int(arrays["sweep"]), arrays["ability"], tuple(samples))
