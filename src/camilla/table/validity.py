"""What a response table must hold, and what it must hold to be diagnosed."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from camilla.errors import DataError
from camilla.names import quoted, repeated

if TYPE_CHECKING:
    from camilla.table.responses import ResponseTable


def check_diagnosable(table: "ResponseTable") -> None:
    """Refuses a table that nothing can be learned from: one learner, one sample, one response value.

    Such tables may still be built and read: to place one new learner, or as part of a split.
    """
    if table.n_responses == 0:
        raise DataError(f"the table has no responses ({table.n_missing} are missing); fill some in.")
    if table.n_learners < 2:
        raise DataError(
            f"the table has one learner, {table.learners[0]!r}; a diagnosis compares at least two. "
            "To judge one learner against an earlier diagnosis, place it there."
        )
    if table.n_samples < 2:
        raise DataError(
            f"the table has one sample, {table.samples[0]!r}; at least two are wanted. "
            "If rows are learners, say so with rows='learners'."
        )
    if (table.response == table.response[0]).all():
        raise DataError(
            f"every one of the {table.n_responses} responses is {table.response[0]:g}; learners and samples "
            "cannot be told apart. Check that the response column holds the scores."
        )


def check_names(learners: tuple[str, ...], samples: tuple[str, ...]) -> None:
    """Learner names differ, sample names differ, and none is empty."""
    for kind, names in (("learner", learners), ("sample", samples)):
        if "" in names:
            raise DataError(f"{kind} {names.index('')} has an empty name; name it.")
        if len(set(names)) < len(names):
            raise DataError(
                f"{kind} names must differ; {quoted(repeated(names))} occur more than once. "
                f"Rename them, or give repeated runs as trials of one {kind}."
            )


def check_rows(table: "ResponseTable") -> None:
    """Every row points at a learner and a sample, its response lies in [0, 1], its weight is positive."""
    n_rows = len(table.response)
    for name in ("learner", "sample", "response", "weight", "trial", "answer"):
        column = getattr(table, name)
        if column is not None and column.shape != (n_rows,):
            raise DataError(f"{name} has shape {column.shape}; one entry for each of {n_rows} rows wanted.")
    for name, names in (("learner", table.learners), ("sample", table.samples)):
        column = getattr(table, name)
        if n_rows and (column.min() < 0 or column.max() >= len(names)):
            raise DataError(
                f"{name} indices run from {column.min()} to {column.max()}; "
                f"there are {len(names)} {name}s, so 0 to {len(names) - 1} was wanted."
            )
    _check_values(table, "response", "lie in [0, 1]", (table.response >= 0) & (table.response <= 1))
    if table.weight is not None:
        positive = (table.weight > 0) & np.isfinite(table.weight)
        _check_values(table, "weight", "be positive and finite", positive)


def _check_values(table: "ResponseTable", name: str, wanted: str, good: NDArray[np.bool_]) -> None:
    if good.all():
        return
    row = int(np.argmin(good))
    raise DataError(
        f"{name} must {wanted}; row {row} ({table.learners[table.learner[row]]!r} on "
        f"{table.samples[table.sample[row]]!r}) has {getattr(table, name)[row]:g}. "
        f"{int((~good).sum())} of {len(good)} rows are wrong. Rescale or remove them before loading."
    )


def check_samples(table: "ResponseTable") -> None:
    """Task, cluster, key and skill map have one entry per sample; the graph joins skills of the map."""
    skill_mask = None if table.skill_map is None else table.skill_map.mask
    columns = {"task": table.task, "cluster": table.cluster, "key": table.key, "skill map": skill_mask}
    for name, column in columns.items():
        if column is not None and len(column) != table.n_samples:
            raise DataError(
                f"the {name} has {len(column)} entries; one for each of {table.n_samples} samples was wanted."
            )
    _check_features(table)
    if table.skill_graph is not None:
        if table.skill_map is None:
            raise DataError(
                "a skill graph joins skills of a skill map, and the table has none. Give one with --skills."
            )
        table.skill_graph.among(table.skill_map.skills)


def _check_features(table: "ResponseTable") -> None:
    """Features have a row for each sample or learner, in the table's order."""
    for features, names in ((table.sample_features, table.samples), (table.learner_features, table.learners)):
        if features is not None and features.names != names:
            raise DataError(
                f"{features.source}: its rows are not the table's {features.of}s in their order. Attach them "
                "with table.with_features(…), which puts them in order."
            )
