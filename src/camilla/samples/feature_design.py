"""Features as a design matrix: one effect per number and per level of a category, none per text."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla.arrays import Floats
from camilla.names import in_quotes
from camilla.table.encoding import MISSING, Encoder
from camilla.table.features import Features

FEWEST_ROWS = 2  # of a level; rarer ones are one level together
RARE = "(rare)"
ROWS_PER_DIRECTION = 20  # of a text or a vector: with fewer rows, fewer of its directions are used
MOST_DIRECTIONS = 50
ESTIMABLE = 1e-6


class Term(NamedTuple):
    """An effect that can be read: its feature, what it is of, the rows it concerns, and its contrast."""

    feature: str
    name: str
    rows: int
    contrast: Floats | None  # [columns of the design]; None where it cannot be told from other effects


class Block(NamedTuple):
    """The columns of one feature, and the contrasts that read them: (term, rows, weights of the columns)."""

    feature: str
    kind: str
    columns: Floats  # [rows, columns]
    terms: tuple[tuple[str, int, Floats], ...]


class Design(NamedTuple):
    """An intercept, the groups that are compared within, and the features; columns are of full rank."""

    x: Floats  # [rows, kept columns]
    blocks: tuple[Block, ...]
    own: dict[str, NDArray[np.int64]]  # the kept columns of each feature
    base: NDArray[np.int64]  # the kept columns of intercept and groups
    terms: tuple[Term, ...]  # those that can be estimated
    lost: tuple[Term, ...]  # those that cannot be told from other features


def design_of(features: Features, groups: NDArray[np.integer] | None) -> Design:
    """The design of these features; `groups` are told apart first, so that effects are within them."""
    n = len(features.names)
    blocks = tuple(
        block for column, kind in features.kinds.items() for block in _blocks(features, column, kind, n)
    )
    base = [np.ones((n, 1))]
    if groups is not None:
        base.append((groups[:, None] == np.arange(1, groups.max() + 1)).astype(float))
    x = np.hstack([*base, *(block.columns for block in blocks)])
    n_base = sum(part.shape[1] for part in base)
    kept = _independent(x)
    place = {int(column): position for position, column in enumerate(kept)}
    row_space = np.linalg.pinv(x) @ x
    own, terms, lost, start = dict[str, NDArray[np.int64]](), list[Term](), list[Term](), n_base
    for block in blocks:
        columns = range(start, start + block.columns.shape[1])
        mine = np.array([place[column] for column in columns if column in place], np.int64)
        own[block.feature] = np.concatenate([own.get(block.feature, mine[:0]), mine])
        for term in _block_terms(block, start, row_space):
            if term.contrast is None:
                lost.append(term)
            else:
                terms.append(term._replace(contrast=term.contrast[kept]))
        start += len(columns)
    return Design(
        x[:, kept], blocks, own, np.array([place[k] for k in range(n_base) if k in place]), tuple(terms),
        tuple(lost),
    )  # fmt: skip


def _block_terms(block: Block, start: int, row_space: Floats) -> list[Term]:
    """The effects of one feature; levels are read against the mean of those that they can be compared with.

    Levels that never share a group, directly or through others, cannot be compared: they fall into sets.
    """
    n = len(row_space)
    place = np.zeros((block.columns.shape[1], n))
    place[:, start : start + len(place)] = np.eye(len(place))
    if block.kind != "category":
        found = [(name, rows, weights @ place) for name, rows, weights in block.terms]
        return [
            Term(block.feature, *term) if _known(term[2], row_space) else _lost(block, *term[:2])
            for term in found
        ]
    levels = np.vstack([np.zeros(n), place])  # the first level has no column
    sizes = np.array([rows for _, rows, _ in block.terms], np.float64)
    if len(levels) == 2:  # one difference, said once
        name, rows = block.terms[1][0], block.terms[1][1]
        term = Term(block.feature, f"{name}, not {block.terms[0][0]}", rows, levels[1])
        return [term if _known(levels[1], row_space) else _lost(block, *term[1:3])]
    out = []
    for level, (name, rows, _) in enumerate(block.terms):
        alike = np.array([_known(levels[level] - other, row_space) for other in levels])
        share = sizes * alike / sizes[alike].sum()
        term = Term(block.feature, name, rows, levels[level] - share @ levels)
        out.append(term if alike.sum() > 1 else _lost(block, *term[1:3]))
    return out


def _known(contrast: Floats, row_space: Floats) -> bool:
    return bool(np.abs(contrast @ row_space - contrast).max() < ESTIMABLE)


def _lost(block: Block, name: str, rows: int) -> Term:
    return Term(block.feature, name, rows, None)


def _blocks(features: Features, column: str, kind: str, n: int) -> list[Block]:
    series = features.frame[column]
    if kind == "number":
        return _number(column, series)
    if kind == "category":
        return _category(column, series)
    return [_directions(features, column, kind, n)]


def _number(column: str, series: pl.Series) -> list[Block]:
    """Standardised, with the mean where it is missing; and whether it is missing."""
    missing = series.is_null().to_numpy()
    values = series.fill_null(series.mean()).to_numpy()
    one = np.ones(1)
    blocks = []
    if (sd := float(values.std())) > 0:
        scaled = ((values - values.mean()) / sd)[:, None]
        term = (f"per {sd:.3g} (1 sd)", int((~missing).sum()), one)
        blocks.append(Block(column, "number", scaled, (term,)))
    if missing.sum() >= FEWEST_ROWS:
        mark = missing.astype(float)[:, None]
        blocks.append(Block(column, "number", mark, ((MISSING, int(missing.sum()), one),)))
    return blocks


def _category(column: str, series: pl.Series) -> list[Block]:
    """A column for each level but the most frequent."""
    words = series.fill_null(MISSING)
    counts = words.value_counts().sort(["count", column], descending=[True, False])
    frequent = counts.filter(pl.col("count") >= FEWEST_ROWS)[column].to_list()
    levels = [*frequent, *([RARE] if len(frequent) < counts.height else [])]
    if len(levels) < 2:
        return []
    codes = np.array([levels.index(word) if word in frequent else len(levels) - 1 for word in words])
    sizes = np.bincount(codes, minlength=len(levels))
    terms = tuple((level, int(sizes[k]), np.empty(0)) for k, level in enumerate(levels))
    return [Block(column, "category", (codes[:, None] == np.arange(1, len(levels))).astype(float), terms)]


def _directions(features: Features, column: str, kind: str, n: int) -> Block:
    """The directions in which a text or a vector varies most."""
    others = [name for name in features.kinds if name != column]
    alone = features.without(others) if others else features
    matrix = Encoder.fit(alone).matrix(alone)
    u, d, _ = np.linalg.svd(matrix - matrix.mean(axis=0), full_matrices=False)
    count = max(1, min(MOST_DIRECTIONS, n // ROWS_PER_DIRECTION, int((d > 1e-9 * d.max()).sum())))
    return Block(column, kind, u[:, :count] * np.sqrt(n), ())


def _independent(x: Floats) -> NDArray[np.int64]:
    """Columns that are no combination of those before them."""
    basis, kept = list[Floats](), list[int]()
    for column, values in enumerate(x.T):
        rest = values.astype(np.float64)
        for _ in range(2):  # twice is enough (Kahan)
            for direction in basis:
                rest = rest - (direction @ rest) * direction
        if np.linalg.norm(rest) > 1e-8 * max(float(np.linalg.norm(values)), 1e-300):
            basis.append(rest / np.linalg.norm(rest))
            kept.append(column)
    return np.array(kept, np.int64)


def lost_notes(lost: Sequence[Term]) -> list[str]:
    """What cannot be estimated, and why."""
    return [
        f"{in_quotes(feature)}: {len(names)} of its effects cannot be told from those of other features, "
        f"{in_quotes(names[0])} for one; they are left out"
        for feature in dict.fromkeys(term.feature for term in lost)
        if (names := [term.name for term in lost if term.feature == feature])
    ]
