"""What a Parquet file of a response table carries beside its rows: names, metadata, skills.

The rows are a plain long table that anything can read. The rest is in the file's own key-value metadata,
under `camilla`: one JSON object with the samples and learners as Parquet in base64.
"""

import base64
import io
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np
import polars as pl

from camilla.errors import FormatError

if TYPE_CHECKING:
    from camilla.data.responses import ResponseTable

KEY = "camilla"
VERSION = 1
DAMAGED = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError)


class Carried(msgspec.Struct):
    """The file's own notes."""

    version: int
    learners: str
    samples: str
    skills: list[str] | None = None
    skill_graph: list[tuple[str, str]] | None = None
    has_task: bool = False
    has_cluster: bool = False
    n_missing: int = 0
    provenance: dict[str, Any] = {}


class Names(NamedTuple):
    """The fields of a response table that are not rows."""

    learners: pl.DataFrame
    samples: pl.DataFrame
    carried: Carried

    def fields(self) -> dict[str, Any]:
        """Keyword arguments of a response table, without rows and skill map."""
        extra = [name for name in self.samples.columns if not name.startswith("\x00")]
        return {
            "learners": tuple(self.learners["learner"]),
            "samples": tuple(self.samples["sample"]),
            "task": tuple(self.samples["\x00task"]) if self.carried.has_task else None,
            "cluster": tuple(self.samples["\x00cluster"]) if self.carried.has_cluster else None,
            "learner_metadata": self.learners if self.learners.width > 1 else None,
            "sample_metadata": self.samples.select(extra) if len(extra) > 1 else None,
            "n_missing": self.carried.n_missing,
        }

    def mask(self) -> Any:
        """Samples × skills, or None."""
        if self.carried.skills is None:
            return None
        bits = self.samples["\x00skills"].to_list()
        mask = np.zeros((len(bits), len(self.carried.skills)), np.bool_)
        for row, needed in enumerate(bits):
            mask[row, needed] = True
        return mask


def carry(table: "ResponseTable", provenance: dict[str, Any] | None = None) -> dict[str, str]:
    """The key-value metadata of the table's file."""
    learners = pl.DataFrame({"learner": table.learners}, schema={"learner": pl.String})
    if table.learner_metadata is not None:
        learners = learners.join(table.learner_metadata, on="learner", how="left", maintain_order="left")
    samples = pl.DataFrame({"sample": table.samples}, schema={"sample": pl.String})
    if table.sample_metadata is not None:
        samples = samples.join(table.sample_metadata, on="sample", how="left", maintain_order="left")
    for name, values in (("\x00task", table.task), ("\x00cluster", table.cluster)):
        if values is not None:
            samples = samples.with_columns(pl.Series(name, values, dtype=pl.String))
    skills = None
    if table.skill_map is not None:
        skills = list(table.skill_map.skills)
        needed = [np.flatnonzero(row).tolist() for row in table.skill_map.mask]
        samples = samples.with_columns(pl.Series("\x00skills", needed, dtype=pl.List(pl.Int32)))
    note = Carried(
        VERSION,
        _packed(learners),
        _packed(samples),
        skills,
        None if table.skill_graph is None else list(table.skill_graph.edges),
        table.task is not None,
        table.cluster is not None,
        table.n_missing,
        provenance or {},
    )
    return {KEY: msgspec.json.encode(note).decode()}


def _packed(frame: pl.DataFrame) -> str:
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd")
    return base64.b64encode(buffer.getvalue()).decode()


def _unpacked(text: str) -> pl.DataFrame:
    return pl.read_parquet(io.BytesIO(base64.b64decode(text)))


def carried_in(metadata: dict[str, str], where: str) -> Names | None:
    """What a file's key-value metadata says, or None if it is not ours."""
    if KEY not in metadata:
        return None
    try:
        note = msgspec.json.decode(metadata[KEY].encode(), type=Carried)
        if note.version > VERSION:
            raise FormatError(f"{where}: written by a newer Camilla (layout {note.version}). Update Camilla.")
        names = Names(_unpacked(note.learners), _unpacked(note.samples), note)
        names.fields()
    except (msgspec.MsgspecError, *DAMAGED) as error:
        raise FormatError(
            f"{where}: its notes on learners and samples are damaged: {str(error)[:120]}."
        ) from error
    return names
