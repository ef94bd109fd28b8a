"""Which skills a sample needs, which skill builds on which, and how both are read from columns."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import Any, NamedTuple, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla.display import counted, counted_of
from camilla.errors import DataError
from camilla.names import name_index, nearest, quoted, repeated
from camilla.table.columns import Origin, name_column, pick
from camilla.table.frames import as_polars, indexed
from camilla.table.predictions import ID_NAMES, align, index_of, rows_in_order

EDGE_COLUMNS = ("parent", "child")


@dataclass(frozen=True)
class SkillGraph:
    """Which skill builds on which: edges parent → child, without cycles.

    Edges are kept sorted, so that two graphs with the same edges are equal. A skill without a parent is a
    root, and so is one that the graph does not name.

    Parameters
    ----------
    edges : tuple of (str, str)
        Pairs of parent and child.

    Raises
    ------
    DataError
        An edge occurs twice, a name is empty, or the edges form a cycle.

    Examples
    --------
    >>> graph = camilla.SkillGraph((("counting", "adding"), ("adding", "multiplying")))
    >>> graph.order
    ('counting', 'adding', 'multiplying')
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
        """Reads a graph from a dataframe with one row per edge.

        Parameters
        ----------
        frame : dataframe
            Columns parent and child.

        Returns
        -------
        SkillGraph
            The graph.

        Examples
        --------
        >>> camilla.SkillGraph.from_table(pl.DataFrame({"parent": ["counting"], "child": ["adding"]})).edges
        (('counting', 'adding'),)
        """
        return cls.of_columns(as_polars(frame), Origin("the skill graph"))

    @classmethod
    def of_columns(cls, frame: pl.DataFrame, origin: Origin) -> Self:
        """Reads a graph from a dataframe whose origin appears in error messages.

        Parameters
        ----------
        frame : polars.DataFrame
            Columns parent and child.
        origin : Origin
            The file's name and the position of its rows.

        Returns
        -------
        SkillGraph
            The graph.

        Examples
        --------
        >>> from camilla.table.columns import Origin
        >>> frame = pl.DataFrame({"parent": ["counting"], "child": ["adding"]})
        >>> camilla.SkillGraph.of_columns(frame, Origin("edges.csv")).skills
        ('adding', 'counting')
        """
        parent, child = (name_column(frame, column, origin) for column in EDGE_COLUMNS)
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
        """Returns the skills that a skill builds on.

        Parameters
        ----------
        skill : str
            A skill.

        Returns
        -------
        tuple of str
            Its parents; empty for a root.

        Examples
        --------
        >>> camilla.SkillGraph((("counting", "adding"),)).parents("adding")
        ('counting',)
        """
        return tuple(parent for parent, child in self.edges if child == skill)

    def among(self, skills: Sequence[str]) -> tuple[tuple[int, int], ...]:
        """Returns the edges as indices into a list of skills.

        Parameters
        ----------
        skills : list of str
            Must contain every skill of the graph.

        Returns
        -------
        tuple of (int, int)
            Pairs of parent and child, sorted by child.

        Examples
        --------
        >>> camilla.SkillGraph((("counting", "adding"),)).among(["adding", "counting"])
        ((1, 0),)
        """
        place = name_index(skills)
        if unknown := [name for name in self.skills if name not in place]:
            raise DataError(
                f"the skill graph names {quoted(unknown)}, which the skill map does not have. "
                f"{nearest(unknown[0], list(skills))}"
            )
        return tuple(sorted(((place[p], place[c]) for p, c in self.edges), key=lambda edge: edge[::-1]))

    def to_frame(self) -> pl.DataFrame:
        """Returns the graph as a dataframe that `from_table` reads back.

        Returns
        -------
        polars.DataFrame
            One row per edge, with columns parent and child.

        Examples
        --------
        >>> camilla.SkillGraph((("counting", "adding"),)).to_frame().rows()
        [('counting', 'adding')]
        """
        return pl.DataFrame(self.edges, schema=dict.fromkeys(EDGE_COLUMNS, pl.String), orient="row")


def topological(n_skills: int, edges: Iterable[tuple[int, int]]) -> tuple[int, ...]:
    """Skill indices, every parent before its children."""
    before: dict[int, list[int]] = {k: [] for k in range(n_skills)}
    for parent, child in edges:
        before[child].append(parent)
    return tuple(TopologicalSorter(before).static_order())


ID = "sample"  # the column of sample names
SEPARATOR = ";"  # between several skills of one sample


@dataclass(frozen=True, eq=False)
class SkillMap:
    """Which skills each sample needs: a 0/1 matrix of samples × skills (the Q-matrix).

    Every sample needs at least one skill.

    Parameters
    ----------
    skills : tuple of str
        Names of the skills.
    mask : array of bool
        [samples, skills], True where the sample needs the skill.
    notes : tuple of str
        What was done to make the map fit the table.

    Raises
    ------
    DataError
        The shape does not fit, a name occurs twice, or a sample needs no skill.

    Examples
    --------
    >>> skills = camilla.SkillMap(("maths", "law"), np.array([[1, 0], [1, 1], [0, 1]]))
    >>> skills.n_skills
    2
    """

    skills: tuple[str, ...]
    mask: NDArray[np.bool_]  # [samples, skills]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        mask = np.asarray(self.mask)
        if mask.ndim != 2 or mask.shape[1] != len(self.skills) or not self.skills:
            raise DataError(
                f"a skill map of {len(self.skills)} skills needs a mask [samples, {len(self.skills)}] and "
                f"at least one skill; got shape {mask.shape}."
            )
        if twice := repeated(self.skills):
            raise DataError(f"skill names must differ; {quoted(twice)} occur more than once. Rename them.")
        if mask.dtype != np.bool_ and not np.isin(mask, (0, 1)).all():
            raise DataError("a skill map must contain only 0 and 1.")
        mask = mask.astype(np.bool_, copy=False)
        needs_any = mask.any(axis=1)
        if not needs_any.all():
            raise DataError(
                f"row {np.argmin(needs_any)} of the skill map is all zero; each sample needs a skill."
            )
        object.__setattr__(self, "mask", mask)

    def in_canonical_order(self) -> Self:
        """Sorts the skills by the samples that need them, then by name.

        Returns
        -------
        SkillMap
            The same map with its columns in another order.

        Examples
        --------
        >>> camilla.SkillMap.from_labels(["b", "a", "a"]).in_canonical_order().skills
        ('a', 'b')
        """
        keys = [np.packbits(column).tobytes() for column in self.mask.T]
        order = sorted(range(len(keys)), key=lambda k: (keys[k], self.skills[k]))
        return type(self)(tuple(self.skills[k] for k in order), self.mask[:, order], self.notes)

    @classmethod
    def from_table(cls, frame: Any, samples: Sequence[str], *, id: str | None = None) -> Self:
        """Reads a map from a 0/1 dataframe with one column per skill, matched to samples by name.

        Parameters
        ----------
        frame : dataframe
            One row per sample.
        samples : list of str
            The samples of the response table, in its order.
        id : str, optional
            The column of sample names. By default one called sample, sample_id, id or item, else the index of
            a pandas frame, else the first column.

        Returns
        -------
        SkillMap
            The map; its `notes` name what did not match.

        Examples
        --------
        >>> frame = pl.DataFrame({"sample": ["x", "y"], "maths": [1, 0], "law": [1, 1]})
        >>> camilla.SkillMap.from_table(frame, ["y", "x"]).mask.tolist()
        [[False, True], [True, True]]
        """
        origin = Origin("the skill table")
        named = _named(frame, id, origin)
        return cls(*zeros_and_ones(named.frame, samples, named.id, None, origin))

    @classmethod
    def from_columns(
        cls,
        frame: Any,
        columns: Sequence[str],
        samples: Sequence[str],
        *,
        id: str | None = None,
        separator: str | None = SEPARATOR,
    ) -> Self:
        """Makes a skill of every value of some columns, such as a subject or a topic.

        A list, or a text such as "algebra;sets", is several skills of one sample.

        Parameters
        ----------
        frame : dataframe
            One row per sample.
        columns : list of str
            Columns of categories. Skills are called "column=value", or "value" if there is one column.
        samples : list of str
            The samples of the response table, in its order.
        id : str, optional
            The column of sample names, as in `from_table`.
        separator : str or None
            What stands between several skills in a text; a backslash before it makes it a part of the name.
            None: texts are names as they are.

        Returns
        -------
        SkillMap
            One skill per value.

        Examples
        --------
        >>> frame = pl.DataFrame({"sample": ["x", "y"], "subject": ["maths", "law"]})
        >>> camilla.SkillMap.from_columns(frame, ["subject"], ["x", "y"]).skills
        ('law', 'maths')
        """
        origin = Origin("the skill table")
        named = _named(frame, id, origin)
        return cls(*one_hots(named.frame, columns, samples, named.id, origin, separator))

    @classmethod
    def from_labels(
        cls,
        labels: Sequence[Any],
        samples: Sequence[str] | None = None,
        *,
        separator: str | None = SEPARATOR,
    ) -> Self:
        """Makes a map in which the label of a sample is its skill.

        A list, or a text such as "algebra;sets", is several skills of one sample.

        Parameters
        ----------
        labels : list
            One label, or list of labels, per sample, in the order of the table's samples.
        samples : list of str, optional
            The samples of the response table, in its order. Labels with a pandas index are matched to them by
            name; without `samples` such labels are refused.
        separator : str or None
            What stands between several skills in a text; a backslash before it makes it a part of the name.
            None: texts are names as they are.

        Returns
        -------
        SkillMap
            One skill per distinct label.

        Examples
        --------
        >>> camilla.SkillMap.from_labels([7, 3, 7]).skills
        ('3', '7')
        >>> camilla.SkillMap.from_labels([["algebra", "sets"], "sets"]).mask.tolist()
        [[True, True], [False, True]]
        """
        index = index_of(labels)
        if samples is None and index is not None:
            raise DataError(
                f"the labels have an index, {quoted(index)}, and maybe another order than the table. "
                "Match them by name: from_labels(labels, table.samples). If they are in the table's order, "
                "give them without the index: labels.to_numpy()."
            )
        if samples is not None and len(labels) != len(samples):
            raise DataError(f"got {len(labels)} labels for {len(samples)} samples; expected one each.")
        named = None if index is None or samples is None else list(samples)
        values = np.empty(len(labels), object)
        values[:] = list(labels)
        values = values[rows_in_order(index, named, "the labels", "the samples")]
        return cls(*one_hot(_series(values.tolist()), Origin("the labels"), separator))

    @property
    def n_skills(self) -> int:
        """Number of skills."""
        return len(self.skills)

    def never_alone(self) -> tuple[str, ...]:
        """Returns the skills that no sample needs alone.

        Such a map is incomplete: no sample shows these skills alone, and a diagnoser's estimate of their
        mastery is what the other skills leave unexplained.

        Returns
        -------
        tuple of str
            Names of these skills.

        Examples
        --------
        >>> camilla.SkillMap(("maths", "law"), np.array([[1, 0], [1, 1]])).never_alone()
        ('law',)
        """
        alone = self.mask[self.mask.sum(axis=1) == 1].any(axis=0)
        return tuple(skill for skill, shown in zip(self.skills, alone, strict=True) if not shown)

    def take(self, samples: NDArray[np.integer]) -> Self:
        """Takes the rows of some samples.

        Parameters
        ----------
        samples : array of int
            Sample indices, in the wanted order.

        Returns
        -------
        SkillMap
            The map of these samples.

        Examples
        --------
        >>> camilla.SkillMap.from_labels(["a", "b", "a"]).take(np.array([0, 2])).mask.tolist()
        [[True, False], [True, False]]
        """
        return type(self)(self.skills, self.mask[samples], self.notes)

    def needed(self, graph: SkillGraph | None = None) -> Self:
        """Leaves out the skills that no sample needs: of them the responses say nothing.

        Skills that a graph names stay: they are known through the skills that build on them.

        Parameters
        ----------
        graph : SkillGraph, optional
            Which skill builds on which.

        Returns
        -------
        SkillMap
            The map; its `notes` name what was left out.

        Examples
        --------
        >>> camilla.SkillMap.from_labels(["a", "b", "a"]).take(np.array([0, 2])).needed().notes
        ("no sample needs skill 'b': left out",)
        """
        named = () if graph is None else graph.skills
        idle = [
            self.skills[k] for k in np.flatnonzero(self.mask.sum(axis=0) == 0) if self.skills[k] not in named
        ]
        if not idle:
            return self
        kept = [k for k, name in enumerate(self.skills) if name not in idle]
        note = f"no sample needs {'skill' if len(idle) == 1 else 'skills'} {quoted(idle)}: left out"
        return type(self)(tuple(self.skills[k] for k in kept), self.mask[:, kept], (*self.notes, note))

    def to_frame(self, samples: Sequence[str]) -> pl.DataFrame:
        """Returns the map as a 0/1 dataframe that `from_table` reads back.

        Parameters
        ----------
        samples : list of str
            Names of the samples.

        Returns
        -------
        polars.DataFrame
            A column sample and one column per skill.

        Examples
        --------
        >>> camilla.SkillMap.from_labels(["a", "b"]).to_frame(["x", "y"]).rows()
        [('x', 1, 0), ('y', 0, 1)]
        """
        if ID in self.skills:
            raise DataError(f"a skill is called {ID!r}, as the column of sample names is. Rename it.")
        return pl.DataFrame({ID: list(samples)}).hstack(
            pl.DataFrame(self.mask.astype(np.int8), schema=list(self.skills))
        )


class _SampleFrame(NamedTuple):
    """A frame, and its column of sample names if that is known."""

    frame: pl.DataFrame
    id: str | None


def _named(frame: Any, id: str | None, origin: Origin) -> _SampleFrame:
    """Any frame with the column that was asked for or has a usual name, else with its index, if any."""
    found = indexed(frame)
    id = id if id is not None else next((name for name in ID_NAMES if name in found.frame.columns), None)
    return _SampleFrame(*found.named_by(id, origin)) if found.levels else _SampleFrame(found.frame, id)


class SkillColumns(NamedTuple):
    """The fields of a skill map."""

    skills: tuple[str, ...]
    mask: NDArray[np.bool_]  # [samples, skills]
    notes: tuple[str, ...] = ()


def zeros_and_ones(
    frame: pl.DataFrame, samples: Sequence[str], id: str | None, columns: Sequence[str] | None, origin: Origin
) -> SkillColumns:
    """Skills as columns of 0 and 1; all columns but the names when `columns` is not given."""
    aligned = align(frame, samples, id, columns or (), origin)
    skills = tuple(column for column in columns or frame.columns if column != aligned.id)
    if not skills:
        raise DataError(f"{origin.name}: has no column beside {aligned.id!r}; expected one column per skill.")
    mask = np.column_stack([_zero_or_one(pick(frame, skill, origin), origin) for skill in skills])[
        aligned.rows
    ]
    idle = np.flatnonzero(mask.sum(axis=1) == 0).tolist()
    if len(idle):
        raise DataError(
            f"{origin.name}: {counted(len(idle), 'sample', 'needs', 'need')} no skill, with 0 in every "
            f"column: {quoted([samples[i] for i in idle])}, first in "
            f"{origin.place(int(aligned.rows[idle[0]]))}. "
            "Each sample needs at least one."
        )
    return SkillColumns(skills, mask, aligned.notes)


def is_zero_or_one(series: pl.Series) -> bool:
    """Whether the column could be a skill of a 0/1 table."""
    return bool(_as_bit(series).is_not_null().all())


def _as_bit(series: pl.Series) -> pl.Series:
    numbers = series.cast(pl.String, strict=False).str.strip_chars().str.to_lowercase()
    bits = {"0": 0, "1": 1, "0.0": 0, "1.0": 1, "false": 0, "true": 1}
    return numbers.replace_strict(bits, default=None, return_dtype=pl.Int8)


def _zero_or_one(series: pl.Series, origin: Origin) -> NDArray[np.bool_]:
    bit = _as_bit(series)
    if bit.null_count():
        row = int(bit.is_null().arg_true()[0])
        raise DataError(
            f"{origin.name}: a skill map must contain only 0 and 1; {origin.place(row)}, column "
            f"{series.name!r} has {series[row]!r}. "
            f"{counted_of(bit.null_count(), len(bit), 'row', 'wrong')}. If {series.name!r} is a label, name "
            f"it as one: FILE:{series.name}."
        )
    return bit.cast(pl.Boolean).to_numpy()


def one_hots(
    frame: pl.DataFrame,
    columns: Sequence[str],
    samples: Sequence[str],
    id: str | None,
    origin: Origin,
    separator: str | None = SEPARATOR,
) -> SkillColumns:
    """Each value of each categorical column is a skill, and each item of a list.

    A missing value is an error, unless another column gives the sample a skill: then the column
    gives it none, and a note says how often.
    """
    aligned = align(frame, samples, id, columns, origin)
    parts = []
    notes = list(aligned.notes)
    for column in columns:
        values = _lists(pick(frame, column, origin)[aligned.rows], separator)
        absent = _absent_skills(values)
        if absent.any():
            notes.append(f"{column} of {absent.sum()} samples is missing and gives them no skill")
        notes += _several_note(column, values, separator)
        parts.append(_hot(values, absent, f"{column}=" if len(columns) > 1 else "", origin))
    mask = np.hstack([part.mask for part in parts])
    if not mask.any(axis=1).all():
        at = int(np.argmin(mask.any(axis=1)))
        raise DataError(
            f"{origin.name}: {origin.place(int(aligned.rows[at]))}, sample {samples[at]!r} has no value in "
            f"column {' nor '.join(map(repr, columns))}; each sample needs a skill. Fill it in."
        )
    return SkillColumns(tuple(skill for part in parts for skill in part.skills), mask, tuple(notes))


def one_hot(values: pl.Series, origin: Origin, separator: str | None = SEPARATOR) -> SkillColumns:
    """One skill per distinct value or item of a list; a missing value is an error."""
    lists = _lists(values, separator)
    found = _hot(lists, pl.repeat(value=False, n=len(values), eager=True), "", origin)
    return found._replace(notes=tuple(_several_note(values.name, lists, separator)))


def _series(labels: list[Any]) -> pl.Series:
    """Labels, of which some may be lists, as one column."""
    if any(isinstance(label, list | tuple | set | frozenset | np.ndarray) for label in labels):
        items = [
            [str(item) for item in (sorted(label, key=str) if isinstance(label, set | frozenset) else label)]
            if isinstance(label, list | tuple | set | frozenset | np.ndarray)
            else None
            if label is None
            else [str(label)]
            for label in labels
        ]
        return pl.Series("label", items, dtype=pl.List(pl.String))
    return pl.Series("label", labels, strict=False)


def _lists(values: pl.Series, separator: str | None) -> pl.Series:
    """Texts with the separator, or of lists as JSON writes them, as lists; other columns as they are."""
    if values.dtype != pl.String or separator is None:
        return values
    if not (values.str.contains(separator, literal=True) | values.str.starts_with("[")).any():
        return values
    return pl.Series(
        values.name,
        [None if text is None else _parted(text, separator) for text in values.to_list()],
        dtype=pl.List(pl.String),
    )


def _parted(text: str, separator: str) -> list[str]:
    """What stands between separators, without blanks around it; a backslash keeps a separator in a name."""
    if (items := _json_items(text)) is not None:
        return items
    parts = re.split(rf"(?<!\\){re.escape(separator)}", text)
    names = [part.replace(f"\\{separator}", separator).strip() for part in parts]
    return [name for name in names if name]


def _json_items(text: str) -> list[str] | None:
    """The items of a list of texts or numbers as JSON; None of any other text."""
    if not text.startswith("["):
        return None
    try:
        items = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(items, list) or not all(isinstance(item, str | int | float) for item in items):
        return None
    return [str(item) for item in items]


def as_json_lists(frame: pl.DataFrame, columns: Iterable[str]) -> pl.DataFrame:
    """The frame with lists in these columns as texts, so that they can be compared and kept as names are."""
    lists = [
        name
        for name in columns
        if name in frame.columns and isinstance(frame[name].dtype, pl.List | pl.Array)
    ]

    def written(items: pl.Series | None) -> str | None:
        return None if items is None else json.dumps(items.to_list(), ensure_ascii=False)

    return frame.with_columns(
        pl.Series(name, [written(items) for items in frame[name]], dtype=pl.String) for name in lists
    )


def _several_note(column: str, lists: pl.Series, separator: str | None) -> list[str]:
    """How many samples have several skills, where that was read from a text or list."""
    if not isinstance(lists.dtype, pl.List | pl.Array):
        return []
    several = int((lists.list.len() > 1).sum() if isinstance(lists.dtype, pl.List) else len(lists))
    if not several:
        return []
    of = f"{counted(several, 'sample', 'has', 'have')} several skills in {column}"
    return [f"{of}: a list, or {separator!r} between them"]


def _hot(values: pl.Series, absent: pl.Series, prefix: str, origin: Origin) -> SkillColumns:
    present = np.flatnonzero(~absent.to_numpy())
    rows, items = present, values[present]
    if isinstance(values.dtype, pl.List | pl.Array):
        items = items.cast(pl.List(pl.String)).list.drop_nulls()
        rows = np.repeat(present, items.list.len().fill_null(0).to_numpy())
        items = items.filter(items.list.len() > 0).explode()
    encoded = name_column(items.to_frame(), values.name, origin)
    order = sorted(range(len(encoded.names)), key=lambda code: _reading_order(encoded.names[code]))
    mask = np.zeros((len(values), len(order)), np.bool_)
    mask[rows, np.argsort(np.array(order, np.int64))[encoded.codes]] = True
    return SkillColumns(tuple(prefix + encoded.names[code] for code in order), mask)


def _absent_skills(values: pl.Series) -> pl.Series:
    if isinstance(values.dtype, pl.List):
        return values.is_null() | (values.list.drop_nulls().list.len() == 0).fill_null(value=True)
    return values.is_null() | (values.is_nan() if values.dtype.is_float() else values.cast(pl.String) == "")


def _reading_order(name: str) -> tuple[int, int, str]:
    """Whole numbers first and by size, then the rest by letters."""
    return (0, int(name), name) if name.isdecimal() else (1, 0, name)
