"""Runs into compact frames, one by one, so that a thousand logs fit into memory."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl

from camilla.errors import DataError
from camilla.loaders.runs import About, Row, Run

Join = Literal["id", "content"]
REASONS = ("", "unscored", "errored", "truncated")
REASON = {None: 0} | {reason: code for code, reason in enumerate(REASONS) if reason}
UNDESCRIBED = About()
SCHEMA = {
    "sample": pl.String,
    "score": pl.Float64,
    "pair": pl.Int32,
    "trial": pl.Int32,
    "content": pl.UInt64,  # of the text that the log gives: only whether two are equal is asked
    "why": pl.Int8,
    "weight": pl.Float64,
}


class Pair(NamedTuple):
    """A metric and the filter it was computed behind; metric "" is a sample that no metric scored."""

    metric: str
    filter: str

    @property
    def words(self) -> str:
        """exact_match behind strict-match; the metric alone where nothing was filtered."""
        return self.metric if self.filter in ("", "none") else f"{self.metric} behind {self.filter}"


@dataclass(frozen=True)
class Kept:
    """A run without its rows, which are `frame`, and how many scores each of its pairs has."""

    run: Run
    frame: pl.DataFrame
    pairs: dict[Pair, int]  # in the order of the log

    @property
    def n_scored(self) -> int:
        return max(self.pairs.values(), default=0)


@dataclass
class Collection:
    """All runs read so far, and what their logs say about samples (the first log that does)."""

    join: Join = "id"
    kept: list[Kept] = field(default_factory=list)
    about: list[pl.DataFrame] = field(default_factory=list)
    known: set[str] = field(default_factory=set)  # the samples in `about`, while runs come in
    codes: dict[Pair, int] = field(default_factory=dict)
    in_order: bool = False

    def add(self, run: Run) -> None:
        """Takes a run in; its rows and descriptions leave Python objects here."""
        if not run.learner or not run.task:
            raise DataError(f"{run.source}: the log does not say which learner or task it is of.")
        names = _names(run, self.join)
        columns: Any = zip(*run.rows, strict=True) if run.rows else ((),) * len(Row._fields)
        _, score, metric, filter, trial, content, why, weight = columns
        pairs = list(zip(metric, filter, strict=True))
        code = {pair: self.codes.setdefault(Pair(*pair), len(self.codes)) for pair in dict.fromkeys(pairs)}
        scored = Counter(pair for pair, one in zip(pairs, score, strict=True) if one is not None)
        frame = pl.DataFrame(
            {
                "sample": names,
                "score": score,
                "pair": [code[pair] for pair in pairs],
                "trial": trial,
                "content": _hashed(content),
                "why": [REASON[one] for one in why],
                "weight": weight,
            },
            schema=SCHEMA,
        )
        self.describe(run, names)
        lean = replace(run, rows=[], about={}, run=run.run or run.source)
        self.kept.append(Kept(lean, frame, {Pair(*pair): scored[pair] for pair in code}))

    def describe(self, run: Run, names: list[str]) -> None:
        """Keeps what the run says about samples that no run before it described."""
        if not self.known:
            self.known.update(*(part["sample"] for part in self.about))
        fresh: dict[str, About] = {}
        for row, name in zip(run.rows, names, strict=True):
            if name not in self.known:
                self.known.add(name)
                fresh[name] = run.about.get(row.sample, UNDESCRIBED)
        if not fresh:
            return
        self.in_order = False
        kinds = dict.fromkeys(kind for one in fresh.values() for kind, _ in one.skills)
        skills = [dict(one.skills) for one in fresh.values()]
        columns: dict[str, Iterable[str | None]] = {
            "sample": fresh,
            "task": [run.task] * len(fresh),
            "text": [one.text or None for one in fresh.values()],
            "cluster": [one.cluster for one in fresh.values()],
        }
        columns |= {kind: [one.get(kind) for one in skills] for kind in kinds if kind not in columns}
        text = dict.fromkeys(columns, pl.String)
        self.about.append(pl.DataFrame({name: list(given) for name, given in columns.items()}, schema=text))

    def in_reading_order(self) -> pl.DataFrame:
        """One row a sample: sample, task, text, cluster, a column a kind of skill; by task and name.

        A number at the end of a name counts as a number. There may be millions, so they are put in order
        once, and the parts and the set of names let go.
        """
        if len(self.about) == 1 and self.in_order:
            return self.about[0]
        self.known.clear()
        texts = dict.fromkeys(("sample", "task", "text", "cluster"), pl.String)
        tasks: dict[str, list[pl.DataFrame]] = {}
        for part in self.about:
            for one in part.partition_by("task"):
                tasks.setdefault(one["task"][0], []).append(one)
        self.about.clear()
        ordered = [_in_order(pl.concat(tasks.pop(task), how="diagonal")) for task in sorted(tasks)]
        about = pl.concat(ordered, how="diagonal") if ordered else pl.DataFrame(schema=texts)
        self.about, self.in_order = [about], True
        return about


def _hashed(texts: Sequence[str | None]) -> pl.Series:
    """Eight bytes for each text; what was not said stays so."""
    said = pl.Series("content", texts, pl.String)
    return pl.select(pl.when(said.is_not_null()).then(said.hash())).to_series()


def _in_order(about: pl.DataFrame) -> pl.DataFrame:
    """Samples of a task by their names before the last digits, these as a number, and 007 before 07.

    Names are ranked first: sorting by several keys is thirty times as fast when they are numbers.
    """
    name = pl.col("sample")
    number = name.str.extract(r"([0-9]+)$").cast(pl.Int64, strict=False)
    start = pl.when(number.is_null()).then(name).otherwise(name.str.replace(r"[0-9]+$", ""))
    keys = about.select(
        start.rank("dense").alias("start"),
        number.fill_null(-1).alias("number"),
        (-name.str.len_bytes().cast(pl.Int64)).alias("zeros"),
    )
    return about[np.lexsort([keys[key].to_numpy() for key in ("zeros", "number", "start")])]


def _names(run: Run, join: Join) -> list[str]:
    """The name of each row's sample: task/id, id where ids are unique anywhere, task/hash by content."""
    prefix = f"{run.task}/" if run.named_by_task else ""
    if join == "id" and not run.unstable_ids:
        return [prefix + row.sample for row in run.rows]
    by_id: dict[str, str] = {}
    seen: Counter[str] = Counter()
    for row in run.rows:
        if row.sample not in by_id:
            by_id[row.sample] = _by_content(row, seen)
    return [prefix + by_id[row.sample] for row in run.rows]


def _by_content(row: Row, seen: Counter[str]) -> str:
    """The hash, numbered when a run asks the same thing more than once."""
    if row.content is None:
        return row.sample
    name = row.content[:12]
    seen[name] += 1
    return name if seen[name] == 1 else f"{name}#{seen[name]}"
