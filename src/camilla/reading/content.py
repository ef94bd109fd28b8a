"""What runs and tables ask and answer: put away while logs are read, found again by the names of the table.

Each run's content goes to Parquet files in a temporary folder as it is read. Which runs count, what their
samples are called in the end and which trial a response is, is known only when all runs are joined; so the
files stay as they are, and `Spilled` holds what leads from the table's names to their rows.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla.errors import DataError
from camilla.table.columns import Encoded, Origin, name_column, response_column
from camilla.table.content import (
    ANSWERED,
    ASKED,
    LONGEST,
    SCHEMA,
    SHRINKING,
    ContentOf,
    KeptContent,
    ScratchFolder,
    cut,
    encodable,
    of_samples,
    scratch_content,
)
from camilla.table.frames import Roles
from camilla.table.responses import ResponseTable

FULL = 16 << 20  # characters that are gathered before they are written
TOGETHER = 2000  # answers that are taken out of a run at once
ANSWER_PARTS: dict[str, Any] = {
    "sample": pl.String,
    "run": pl.Int32,
    "at": pl.Int32,  # in the order of the log
    "trial": pl.Int32,
    "answer": pl.String,
    "reason": pl.String,
    "extracted": pl.String,
    "metric": pl.String,
    "filter": pl.String,
}
ASKED_PARTS: dict[str, Any] = {"sample": pl.String, "mark": pl.UInt64} | ASKED
TEXTS = ("answer", "reason", "extracted")


class Asked(NamedTuple):
    """What a sample asks, as a log shows it: untrusted text, "" where the log says nothing."""

    prompt: str = ""
    reference: str = ""
    choices: tuple[str, ...] = ()
    image: str = ""  # a path or link


class Answered(NamedTuple):
    """What a learner answered in one trial of a sample, and why its judge scored it so.

    `extracted` is what the harness took from the answer to score it. Where answers or reasons differ between
    metrics or filters, these are named; None holds for all.
    """

    sample: str
    trial: int
    answer: str = ""
    reason: str = ""
    extracted: str = ""
    metric: str | None = None
    filter: str | None = None


class Content(NamedTuple):
    """What the samples of a run ask, by name, and what the learner answered."""

    asked: Mapping[str, Asked]  # only asked for samples that no run before described
    answers: Iterable[Answered]


class Spill:
    """Content of the runs that were read so far, in files of a temporary folder."""

    def __init__(self) -> None:
        self.folder: ScratchFolder | None = None
        self.answer_parts: list[str] = []
        self.asked_parts: list[str] = []
        self.n_runs = 0
        self._known: set[tuple[str, str]] = set()
        self._answers: dict[str, list[Any]] = {name: [] for name in ANSWER_PARTS}
        self._asked: list[tuple[str, str, Asked]] = []
        self._gathered = 0  # characters

    def add(
        self, content: Content, named: Mapping[str, str], marks: Mapping[str, str | None], source: str
    ) -> int:
        """Takes in the content of a run, and gives it a number.

        `named` is what the run's samples are called in the collection, `marks` are hashes of what they ask;
        without one, what a file says of a sample holds for the file alone.
        """
        number = self.n_runs
        self.n_runs += 1
        for sample, name in named.items():
            key = (name, marks.get(sample) or _of_file(source))
            if key in self._known or (asked := content.asked.get(sample)) is None:
                continue
            self._known.add(key)
            self._asked.append((*key, _cut_asked(asked)))
            self._gathered += len(asked.prompt) + len(asked.reference)
            self._flush_if_full()
        answers, at = iter(content.answers), 0
        while some := list(islice(answers, TOGETHER)):
            self._take(some, number, named, at)
            at += len(some)
            self._flush_if_full()
        return number

    def _take(self, answers: Sequence[Answered], number: int, named: Mapping[str, str], at: int) -> None:
        told = [one for one in answers if one.sample in named and (one.answer or one.reason or one.extracted)]
        if not told:
            return
        sample, trial, answer, reason, extracted, metric, filter = zip(*told, strict=True)
        gathered = self._answers
        gathered["sample"] += map(named.__getitem__, sample)
        gathered["run"] += [number] * len(told)
        gathered["at"] += range(at, at + len(told))
        for name, values in (("trial", trial), ("metric", metric), ("filter", filter)):
            gathered[name] += values
        for name, texts in zip(TEXTS, (answer, reason, extracted), strict=True):
            lengths = list(map(len, texts))
            gathered[name] += texts if max(lengths) <= LONGEST else map(cut, texts)
            self._gathered += min(sum(lengths), len(texts) * LONGEST)

    def _flush_if_full(self) -> None:
        if self._gathered > FULL:
            self.flush()

    def flush(self) -> None:
        """Writes what was gathered; each file is sorted by sample, in the order of the log within one."""
        if self._answers["sample"]:
            self._write(_frame(self._answers, ANSWER_PARTS, TEXTS), self.answer_parts, "answers")
            self._answers = {name: [] for name in ANSWER_PARTS}
        if self._asked:
            names, marks, asked = zip(*self._asked, strict=True)
            prompt, reference, choices, image = zip(*asked, strict=True)
            columns = {"sample": names, "prompt": prompt, "reference": reference, "image": image}
            texts = _frame(columns, dict.fromkeys(columns, pl.String), tuple(columns))
            told = pl.col("prompt", "reference", "image")
            frame = texts.with_columns(
                pl.when(told != "").then(told),
                mark=marked(pl.Series(marks, dtype=pl.String)),
                choices=pl.Series(
                    [[encodable(one) for one in some] or None for some in choices], dtype=ASKED["choices"]
                ),
            )
            self._write(frame.select(*ASKED_PARTS), self.asked_parts, "asked")
            self._asked = []
        self._gathered = 0

    def _write(self, frame: pl.DataFrame, parts: list[str], kind: str) -> None:
        self.folder = self.folder or ScratchFolder()
        ordered = frame.sort("sample", maintain_order=True)
        parts.append(str(self.folder.write(ordered, f"{kind}-{len(parts)}.parquet")))


def _cut_asked(asked: Asked) -> Asked:
    if max(len(asked.prompt), len(asked.reference)) <= LONGEST and not asked.choices and not asked.image:
        return asked
    prompt, reference, image = (cut(text) for text in (asked.prompt, asked.reference, asked.image))
    return Asked(prompt, reference, tuple(cut(one) for one in asked.choices), image)


def _frame(columns: Mapping[str, Any], schema: Mapping[str, Any], texts: Sequence[str]) -> pl.DataFrame:
    try:
        return pl.DataFrame(dict(columns), schema=dict(schema))
    except UnicodeEncodeError:
        clean = {name: [encodable(text) for text in columns[name]] for name in ("sample", *texts)}
        return pl.DataFrame(dict(columns) | clean, schema=dict(schema))


def marked(marks: pl.Series) -> pl.Series:
    """Hashes of samples, or names of files where there is none, in eight bytes."""
    return marks.hash()


class SpilledRun(NamedTuple):
    """A run that was joined: the number of its content, if it has some, and what leads to it."""

    number: int | None
    learner: str
    prefix: str  # that its samples' names were given later
    metric: str  # what scores its task
    filter: str
    source: str


class Places(NamedTuple):
    """What leads from a table to the spilled rows; samples are indices into `names`.

    `runs`: run, learner, prefix, metric, filter. `trials`: run, sample, trial, again, place; `place` is the
    trial in the table, null for what has no response; `again` counts rows of one trial. `asked`: sample, old
    name, mark.
    """

    names: pl.Series
    runs: pl.DataFrame
    trials: pl.DataFrame
    asked: pl.DataFrame


def _places(rows: pl.DataFrame, names: pl.Series, runs: Sequence[SpilledRun]) -> Places:
    """The places of joined rows; `run` of a row is an index into `runs`, `place` −1 without a response."""
    number = pl.Series([one.number for one in runs], dtype=pl.Int32)
    prefix = pl.Series([one.prefix for one in runs], dtype=pl.String)
    source = marked(pl.Series([_of_file(one.source) for one in runs], dtype=pl.String))
    rows = rows.with_columns(
        number=number.gather(rows["run"]),
        mark=pl.col("content").fill_null(source.gather(rows["run"])),
        place=pl.when(pl.col("place") >= 0).then("place"),
    ).filter(pl.col("number").is_not_null())
    cell = ("run", "sample", "trial")
    once = rows.select(pl.struct(cell).n_unique()).item() == rows.height
    again = pl.lit(0, pl.Int64) if once else pl.int_range(pl.len(), dtype=pl.Int64).over(cell)
    trials = rows.select(pl.col("number").alias("run"), "sample", "trial", "place", again=again)
    first = rows.unique(["sample", "mark"], keep="first", maintain_order=True)
    name = names.gather(first["sample"])
    of_run = prefix.gather(first["run"])
    asked = first.select("sample", "mark", old=name)
    if any(one.prefix for one in runs):
        bare = pl.DataFrame({"name": name, "prefix": of_run}).select(
            pl.col("name").str.strip_prefix(pl.col("prefix"))
        )
        asked = pl.concat([asked.with_columns(old=bare["name"]), asked])
    columns = [(one.number, one.learner, one.prefix, one.metric, one.filter) for one in runs]
    schema = {"run": pl.Int32} | dict.fromkeys(("learner", "prefix", "metric", "filter"), pl.String)
    described = pl.DataFrame(columns, schema=schema, orient="row").drop_nulls("run")
    return Places(names, described, trials, asked)


def _of_file(source: str) -> str:
    """The mark of what a file says without a hash of what is asked."""
    return f"\0{source}"


class Spilled:
    """Spilled rows under the names and trials of a table."""

    def __init__(self, spill: Spill, places: Places) -> None:
        spill.flush()
        self.folder = spill.folder
        self.answer_parts = tuple(spill.answer_parts)
        self.asked_parts = tuple(spill.asked_parts)
        self.places = places
        self._index = pl.DataFrame({"name": places.names}).with_row_index("index")

    @property
    def size(self) -> int:
        files = [] if self.folder is None else list(self.folder.path.iterdir())
        return SHRINKING * sum(file.stat().st_size for file in files)

    def counts(self) -> pl.DataFrame:
        rows = pl.concat([self.places.trials["sample"], self.places.asked["sample"]])
        counts = rows.value_counts(name="rows")
        return counts.select(
            sample=self.places.names.gather(counts["sample"]), rows=pl.col("rows").cast(pl.Int64)
        )

    def _indices(self, samples: Sequence[str]) -> pl.DataFrame:
        wanted = pl.DataFrame({"name": list(samples)}, schema={"name": pl.String})
        return self._index.join(wanted, on="name", how="semi")

    def asked(self, samples: Sequence[str]) -> pl.DataFrame:
        index = self._indices(samples)
        places = self.places.asked.join(index, left_on="sample", right_on="index", maintain_order="left")
        found = _scanned(self.asked_parts, places["old"].unique().to_list(), ASKED_PARTS)
        named = places.drop("sample").join(
            found, left_on=["old", "mark"], right_on=["sample", "mark"], maintain_order="left"
        )
        first = named.unique("name", keep="first", maintain_order=True)
        return first.select(pl.col("name").alias("sample"), *ASKED)

    def answers(self, samples: Sequence[str]) -> pl.DataFrame:
        index, runs = self._indices(samples), self.places.runs
        places = self.places.trials.join(index, left_on="sample", right_on="index").drop("sample")
        old = {name.removeprefix(prefix) for prefix in runs["prefix"].unique() for name in index["name"]}
        old.update(index["name"])
        found = _scanned(self.answer_parts, list(old), ANSWER_PARTS).join(runs, on="run", suffix="_chosen")
        found = _of_chosen(found.sort("run", "at")).with_columns(name=prefixed("sample", pl.col("prefix")))
        same = ("run", "name", "trial", "metric", "filter")
        named = found.with_columns(again=pl.int_range(pl.len()).over(same))
        placed = named.join(places, on=["run", "name", "trial", "again"])
        said = pl.col(list(ANSWERED))
        return placed.select(
            pl.col("name").alias("sample"), "learner", pl.col("place").alias("trial"),
            pl.when(said != "").then(said),
        )  # fmt: skip


def _of_chosen(found: pl.DataFrame) -> pl.DataFrame:
    """The answers under what scores their task, and those that hold for every metric and filter.

    A mean over judges has answers of none of them: then the first's are taken, without its reason.
    """
    metric, filter = pl.col("metric"), pl.col("filter")
    found = found.filter(filter.is_null() | (filter == pl.col("filter_chosen")))
    meant = metric == pl.col("metric_chosen")
    first = metric == metric.drop_nulls().first().over("run", "sample")
    absent = ~meant.fill_null(value=False).any().over("run", "sample")
    stand_in = metric.is_not_null() & absent
    found = found.with_columns(reason=pl.when(~stand_in).then("reason"))
    return found.filter(metric.is_null() | meant | (stand_in & first))


def prefixed(column: str, prefix: pl.Expr) -> pl.Expr:
    """Names with a prefix, unless they have it already."""
    name = pl.col(column)
    return pl.when(name.str.starts_with(prefix)).then(name).otherwise(prefix + name)


def _scanned(parts: Sequence[str], samples: Sequence[str], schema: Mapping[str, Any]) -> pl.DataFrame:
    """The rows of these samples in the order of the files."""
    scans = [of_samples(pl.scan_parquet(part, glob=False), samples) for part in parts]
    return pl.concat([pl.DataFrame(schema=dict(schema)), *(pl.collect_all(scans) if scans else ())])


def kept_content(
    spill: Spill, rows: pl.DataFrame, names: pl.Series, runs: Sequence[SpilledRun]
) -> KeptContent | None:
    """A handle on the content of joined rows; None where the runs of the table say nothing.

    `sample` of a row is an index into `names`, `run` into `runs`, and `place` is its trial in the table, −1
    for a row without a response.
    """
    if all(one.number is None for one in runs):
        return None
    spilled = Spilled(spill, _places(rows, names, runs))
    if not spilled.answer_parts and not spilled.asked_parts:
        return None
    return KeptContent((ContentOf(spilled, {}),))


# What tables say, in columns of these names.
OF_SAMPLES = tuple(ASKED)  # prompt, reference, choices, image
OF_RESPONSES = ("answer", "reason")


def rows_of_judge(judges: Encoded, taken: str) -> NDArray[np.integer]:
    """The rows of the judge that was taken; of a mean over judges, those of the first."""
    code = judges.names.index(taken) if taken in judges.names else 0
    return np.flatnonzero(judges.codes == code)


def with_long_content(
    table: ResponseTable,
    columns: Mapping[str, str],
    roles: tuple[str, str, str],
    frame: pl.DataFrame,
    origin: Origin,
) -> ResponseTable:
    """The table with what its frame says; `roles` are the columns of learner, sample and response."""
    learner, sample = (name_column(frame, role, origin).column("name") for role in roles[:2])
    trial = _trials(table, np.flatnonzero(~np.isnan(response_column(frame[roles[2]], origin))), frame.height)
    answers = pl.DataFrame({"sample": sample, "learner": learner, "trial": trial})
    answers = answers.with_columns(
        [_texts(frame[columns[field]]).alias(field) for field in OF_RESPONSES if field in columns]
    )
    asked = _asked_in(frame, sample, columns)
    return replace(table, content=scratch_content(_whole([asked, answers])))


def with_mapped_content(
    table: ResponseTable,
    frame: pl.DataFrame,
    roles: Roles,
    origin: Origin,
    values: Mapping[str, Sequence[Any]],
) -> ResponseTable:
    """The table with the prompts, references and answers that a recipe found beside its frame."""
    roles_found = [role for role in ("prompt", "reference") if role in values]
    found = {role: [_as_text(one) for one in values[role]] for role in roles_found}
    columns = {role: f"\0{role}" for role in found}
    frame = frame.with_columns(pl.Series(columns[role], texts, pl.String) for role, texts in found.items())
    columns |= {} if roles.answer is None else {"answer": roles.answer}
    return with_long_content(table, columns, (roles.learner, roles.sample, roles.response), frame, origin)


def _as_text(value: Any) -> str | None:
    return None if value is None else encodable(value if isinstance(value, str) else str(value))


def _trials(table: ResponseTable, kept: NDArray[np.integer], n_rows: int) -> pl.Series:
    """The trial that each row of a frame is in its table, null for a row without a response.

    Of a mean over judges some responses are not in the table: then trials are those of the rows.
    """
    trial = np.zeros(len(kept), np.int32)
    if table.trial is not None and len(table.trial) == len(kept):
        trial = table.trial
    place = np.full(n_rows, -1, np.int32)
    place[kept] = trial
    return pl.select(pl.when(pl.Series(place) >= 0).then(pl.Series(place))).to_series()


def with_wide_content(
    table: ResponseTable, frame: pl.DataFrame, columns: Mapping[str, str], id: str, origin: Origin
) -> ResponseTable:
    """The table with what its frame, whose rows are samples, says of them."""
    if not columns:
        return table
    asked = _asked_in(frame, name_column(frame, id, origin).column("name"), columns)
    return replace(table, content=scratch_content(_whole([asked])))


def _asked_in(frame: pl.DataFrame, sample: pl.Series, columns: Mapping[str, str]) -> pl.DataFrame:
    """One row per sample: of several values the first."""
    values = {
        field: _choice_lists(frame[columns[field]]) if field == "choices" else _texts(frame[columns[field]])
        for field in OF_SAMPLES
        if field in columns
    }
    named = pl.DataFrame({"sample": sample} | values)
    return named.group_by("sample", maintain_order=True).agg(pl.exclude("sample").drop_nulls().first())


def _whole(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    return pl.concat([pl.DataFrame(schema=SCHEMA), *frames], how="diagonal")


def _texts(series: pl.Series) -> pl.Series:
    """Cells as text, null where there is none."""
    if series.dtype.is_nested() or series.dtype in (pl.Object, pl.Binary):
        raise DataError(f"column {series.name!r} has the type {series.dtype}; expected text.")
    texts = series.cast(pl.String).replace("", None)
    if (texts.str.len_chars() > LONGEST).any():
        texts = texts.map_elements(cut, return_dtype=pl.String)
    return texts


def _choice_lists(series: pl.Series) -> pl.Series:
    """Lists as they are, a JSON list as one, any other text as a single choice."""
    if not isinstance(series.dtype, pl.List):
        parsed = [None if text is None else _listed(text) for text in _texts(series)]
        return pl.Series(series.name, parsed, dtype=ASKED["choices"])
    lists = series.cast(ASKED["choices"])
    return lists.list.eval(pl.element().drop_nulls()).rename(series.name)


def _listed(text: str) -> list[str]:
    try:
        found = json.loads(text) if text.lstrip()[:1] == "[" else None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, list):
        return [text]
    return [cut(one if isinstance(one, str) else str(one)) for one in found]
