"""Names for groups of samples, from what they contain: tasks, known skills, metadata, words of names."""

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla.data.responses import ResponseTable
from camilla.data.skills import ID

MOST_WORDS = 3  # features a name is made of
COVERED = 0.8  # of a group, beyond which its name is long enough
TYPICAL = 1.5  # times as frequent in the group as elsewhere, to be worth a name
MOST_VALUES = 200  # of a metadata column, beyond which it only numbers samples


def group_names(table: ResponseTable, labels: NDArray[np.int64]) -> tuple[str, ...]:
    """A name for each group 0, 1, …: what is found mostly in it, most of it first; else "group 1", ….

    A feature names a group if at least half of its samples are there; failing that, "often …" tells what is
    half again as frequent there as in the table. What all samples have names none, and no group is called
    `sample`, as the column of sample names is.
    """
    features = _features(table)
    names = [_name(features, labels == group, group) for group in range(int(labels.max()) + 1)]
    counts = Counter([*names, ID])
    return tuple(f"{name} ({number + 1})" if counts[name] > 1 else name for number, name in enumerate(names))


def _features(table: ResponseTable) -> list[dict[str, NDArray[np.int64]]]:
    """Feature → its samples, of each kind that the table has, the most telling kind first."""
    kinds: list[Sequence[Sequence[str]]] = []
    if table.task is not None:
        kinds.append([[task] for task in table.task])
    if table.skill_map is not None:
        skills = table.skill_map.skills
        kinds.append([[skills[k] for k in np.flatnonzero(row)] for row in table.skill_map.mask])
    if table.sample_metadata is not None:
        kinds.append(_metadata_values(table.sample_metadata, table.samples))
    kinds.append([re.findall(r"[^\W\d_]{2,}", name) for name in table.samples])
    return [_index(kind) for kind in kinds]


def _metadata_values(metadata: pl.DataFrame, samples: Sequence[str]) -> list[list[str]]:
    ordered = pl.DataFrame({"sample": samples}).join(metadata, on="sample", how="left", maintain_order="left")
    columns = [
        ordered[name].cast(pl.String).to_list()
        for name, kind in ordered.schema.items()
        if name != "sample"
        and kind in (pl.String, pl.Categorical, pl.Enum, pl.Boolean)
        and ordered[name].n_unique() <= MOST_VALUES
    ]
    rows = zip(*columns, strict=True) if columns else ([] for _ in samples)
    return [[value for value in row if value] for row in rows]


def _index(values: Sequence[Sequence[str]]) -> dict[str, NDArray[np.int64]]:
    found: dict[str, list[int]] = {}
    for sample, row in enumerate(values):
        for value in dict.fromkeys(row):
            found.setdefault(value, []).append(sample)
    return {value: np.array(rows, np.int64) for value, rows in found.items() if 1 < len(rows) < len(values)}


def _name(features: list[dict[str, NDArray[np.int64]]], inside: NDArray[np.bool_], group: int) -> str:
    for kind in features:
        if mostly := _found_mostly(kind, inside):
            shown = ", ".join(mostly[:MOST_WORDS])
            more = len(mostly) - MOST_WORDS
            return shown if more <= 0 else f"{shown} and {more} more"
    frequent = [_most_typical(kind, inside) for kind in features]
    return next((f"often {value}" for value in frequent if value is not None), f"group {group + 1}")


def _found_mostly(kind: dict[str, NDArray[np.int64]], inside: NDArray[np.bool_]) -> list[str]:
    """Values of which at least half are inside, those with most samples there first.

    None if they leave half of the group unsaid; once they have told COVERED of it, the rest is left out.
    """
    counts = {value: int(inside[rows].sum()) for value, rows in kind.items()}
    mostly = sorted(
        (value for value, rows in kind.items() if 2 * counts[value] >= len(rows)), key=lambda v: -counts[v]
    )
    told, chosen = np.zeros(len(inside), bool), []
    for value in mostly:
        if np.sum(told & inside) >= COVERED * inside.sum():
            break
        told[kind[value]] = True
        chosen.append(value)
    return chosen if 2 * np.sum(told & inside) >= inside.sum() else []


def _most_typical(kind: dict[str, NDArray[np.int64]], inside: NDArray[np.bool_]) -> str | None:
    share = inside.mean()
    lifts = {
        value: inside[rows].mean() / share
        for value, rows in kind.items()
        if inside[rows].sum() >= max(3, 0.1 * inside.sum())
    }
    best = max(lifts, key=lifts.__getitem__, default=None)
    return best if best is not None and lifts[best] >= TYPICAL else None
