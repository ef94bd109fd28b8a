"""Which skill builds on which."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import Any, Self

import polars as pl

from camilla.data.columns import Origin, name_column
from camilla.data.dataframes import as_polars
from camilla.data.names import nearest, quoted, repeated
from camilla.errors import DataError

COLUMNS = ("parent", "child")


@dataclass(frozen=True)
class SkillGraph:
    """Edges parent → child between skills, without cycles: who masters the child builds on the parent.

    Edges are kept sorted, so that two graphs of the same edges are equal. A skill that no edge
    leads to is a root, and so is one that the graph does not name.
    """

    edges: tuple[tuple[str, str], ...]

    def __post_init__(self) -> None:
        edges = [(str(parent), str(child)) for parent, child in self.edges]
        if twice := repeated([f"{parent} → {child}" for parent, child in edges]):
            raise DataError(f"a skill graph has each edge once; {quoted(twice)} occur twice. Remove one.")
        if any(not name for edge in edges for name in edge):
            raise DataError("an edge of a skill graph needs a parent and a child; one has an empty name.")
        object.__setattr__(self, "edges", tuple(sorted(edges)))
        _ = self.order

    @classmethod
    def from_table(cls, frame: Any) -> Self:
        """From any dataframe with columns parent and child, a row an edge."""
        return cls.of_columns(as_polars(frame), Origin("the skill graph"))

    @classmethod
    def of_columns(cls, frame: pl.DataFrame, origin: Origin) -> Self:
        """The same of a frame whose origin errors can name."""
        parent, child = (name_column(frame, column, origin) for column in COLUMNS)
        pairs = zip(parent.codes, child.codes, strict=True)
        return cls(tuple((parent.names[p], child.names[c]) for p, c in pairs))

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The skills of the graph, every parent before its children."""
        sorter = TopologicalSorter({skill: self.parents(skill) for skill in self.skills})
        try:
            return tuple(sorter.static_order())
        except CycleError as error:
            cycle = " → ".join(map(repr, error.args[1]))
            raise DataError(
                f"a skill graph has no cycles, and this one has {cycle}: no skill can build on itself. "
                "Remove one of these edges."
            ) from error

    @property
    def skills(self) -> tuple[str, ...]:
        """The skills that the edges name, sorted."""
        return tuple(sorted({name for edge in self.edges for name in edge}))

    def parents(self, skill: str) -> tuple[str, ...]:
        """The skills that this one builds on."""
        return tuple(parent for parent, child in self.edges if child == skill)

    def among(self, skills: Sequence[str]) -> tuple[tuple[int, int], ...]:
        """(parent, child) of every edge as indices into `skills`, sorted by child; all names must exist."""
        place = {skill: k for k, skill in enumerate(skills)}
        if unknown := [name for name in self.skills if name not in place]:
            raise DataError(
                f"the skill graph names {quoted(unknown)}, which the skill map does not have. "
                f"{nearest(unknown[0], list(skills))}"
            )
        return tuple(sorted(((place[p], place[c]) for p, c in self.edges), key=lambda edge: edge[::-1]))

    def to_frame(self) -> pl.DataFrame:
        """One row an edge: parent, child; `from_table` reads it back."""
        return pl.DataFrame(self.edges, schema=dict.fromkeys(COLUMNS, pl.String), orient="row")


def topological(n_skills: int, edges: Iterable[tuple[int, int]]) -> tuple[int, ...]:
    """Skill indices, every parent before its children."""
    before: dict[int, list[int]] = {k: [] for k in range(n_skills)}
    for parent, child in edges:
        before[child].append(parent)
    return tuple(TopologicalSorter(before).static_order())
