"""One door in: table files and logs, files and folders, frames, as one response table."""

import gc
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TypeAlias, TypedDict, TypeVar, Unpack

import polars as pl

from camilla.errors import CamillaError, CamillaWarning, DataError, LayoutError, SettingError
from camilla.names import nearest
from camilla.reading.account import Files, Reading, judge_notes, none_known, repeated_rows_note
from camilla.reading.content import Spill
from camilla.reading.features import own_columns, with_features
from camilla.reading.formats import all_formats, loader_of
from camilla.reading.in_memory import are_results, as_logs
from camilla.reading.joining import Choices, OnError, Runs, merge
from camilla.reading.judges import add_mean, answers_of_logs, answers_of_tables, named_mean, passed_over
from camilla.reading.mapped import loader, read_mapped
from camilla.reading.parts import expanded, parts_under, together
from camilla.reading.proposing import proposal
from camilla.reading.recipes import Recipe, recipe_given
from camilla.reading.runs import Collection, Join, check_settings, read_universe, told_apart
from camilla.reading.skills import (
    key_source,
    read_skill_graph,
    skill_source,
    with_clusters,
    with_key,
    with_skill_source,
)
from camilla.reading.sniffing import Format, Loader, Match, files_under, match, peek
from camilla.reading.tables import read_table
from camilla.table.columns import PLAIN, Scale
from camilla.table.frames import WideRows, as_polars
from camilla.table.responses import ResponseTable

SURE = 0.5
ONLY_TABLES = (
    "rows", "learner", "sample", "response", "trial", "task", "weight", "answer", "reason", "prompt",
    "reference", "choices", "image", "missing", "ignore", "percent", "judge", "scale", "lower_is_better",
)  # fmt: skip
COLLECTING = ("format", "join", "learner_by", "skip_damaged", "content")
FEATURES = ("features", "learner_features")
OF_BOTH = ("skills", "skill_graph", "cluster", "key", "metric", "content", *FEATURES)
Item = TypeVar("Item")
TableLike: TypeAlias = Any  # a response table, a dataframe, or the path of a table or of logs


class ReadOptions(TypedDict, total=False):
    """What can be said of tables and logs; `read` explains each."""

    rows: WideRows | None
    learner: str | None
    sample: str | None
    response: str | None
    trial: str | None
    task: str | None
    cluster: str | None
    weight: str | None
    key: str | None
    answer: str | None
    judge: str | None
    reason: str | None
    prompt: str | None
    reference: str | None
    choices: str | None
    image: str | None
    skills: str | Path | Sequence[str] | None
    skill_graph: str | Path | None
    features: Any
    learner_features: Any
    missing: str | Sequence[str]
    ignore: str | Sequence[str]
    percent: bool
    scale: str | Sequence[float] | None
    lower_is_better: bool
    map: str | Path | Mapping[str, Any] | None
    format: str | None
    tasks: str | Sequence[str]
    metric: str | None
    filter: str | None
    on_error: OnError
    runs: Runs
    join: Join
    learner_by: str | Sequence[str]
    universe: str | Path | Sequence[str]
    skip_damaged: bool
    one_benchmark: bool
    content: bool


def read(*sources: Any, **options: Unpack[ReadOptions]) -> ResponseTable:
    """Reads responses from a table file, from logs of evaluation harnesses, or from a dataframe.

    Parameters
    ----------
    *sources
        One table file (CSV, TSV, JSONL, JSON, Parquet, Excel, packed with gzip or not; "-" is standard
        input), one dataframe (Polars, pandas, PyArrow, …), or logs of any known format. Folders are looked
        through.
        Several paths are read as logs, tables among them, and joined into one table. What a harness returned
        in Python is read too: the dictionary of lm-eval's `simple_evaluate(log_samples=True)`, and what
        Inspect's `eval()` returns.
    rows : {"samples", "learners"}, optional
        What the rows of a wide table are. Without it a table is long, with one row per response.
    learner, sample, response : str, optional
        Columns of a long table that have other names than learner or id, sample or item, response or resp.
        In a wide table `sample` or `learner` is the column of row names, by default the first.
    trial, weight, task, cluster : str, optional
        Columns of a table: the number of a repeated response, its weight, the task and the cluster of the
        sample. For logs, `cluster` names what they say of samples.
    key, answer : str, optional
        Where the right answer to a sample is, FILE:column or a column of the table or of what logs say of
        samples; and the column of a long table with what the learner answered.
    judge : str, optional
        Column of a long table that names who gave a response, where several judges score the same answers;
        by default a column of that name.
    prompt, reference, choices, image, reason : str, optional
        Columns of what a sample asks, its right answer, choices and picture, and of a long table why a judge
        scored a response so, where they have other names. `table.content` has them and the answers.
    skills : str, path or list of str, optional
        FILE (a 0/1 table), FILE:column,column (categories), or :column of the table or logs themselves. A
        list names several such columns.
    skill_graph : str or path, optional
        A file of edges between skills, with columns parent and child.
    features, learner_features : str, path, dataframe, Features or list of them, optional
        What is known of samples, or of learners, before any response: FILE or FILE:column,column, an `.npy`
        matrix with its rows in the table's order, or :column of the table or logs themselves.
    missing : str or list of str, optional
        Texts that stand for a missing response. An empty cell always does.
    ignore : str or list of str, optional
        Columns of a wide table that hold no responses.
    percent : bool, optional
        Responses of a table run from 0 to 100.
    scale : str or pair of numbers, optional
        Responses of a table run from the first to the second: "1:10" or (1, 10).
    lower_is_better : bool, optional
        The lowest response of the scale is the best; it becomes 1.
    map : str, dict or path, optional
        A recipe that says where in a file of any layout the roles are, for files and folders alike:
        "learner=model,sample=results[].id,response=results[].score,scale=1:10", the same as a dictionary, or
        the path of a TOML file.
    format : str, optional
        Logs: read only files of this format.
    tasks : str or list of str, optional
        Logs: only tasks of these names, or patterns such as "mmlu_*".
    metric, filter : str, optional
        Logs: the metric that is the response, and the filter behind which it was computed. In a table with
        a column of judges `metric` names the judge. "all" is the mean over all metrics or judges, on answers
        that all of them scored.
    on_error : {"null", "zero", "drop", "score"}, optional
        Logs: what becomes of samples that are unscored, errored or truncated. By default ("null") they are
        missing, but a sample that hit a limit and has a score counts as the harness scored it.
    runs : {"newest", "trials"}, optional
        Logs: whether the newest run of a learner on a task counts, or all of them as trials.
    join : {"id", "content"}, optional
        Logs: whether samples are the same by id, with contents compared, or by content.
    learner_by : str or list of str, optional
        Logs: settings of runs that tell learners of the same model apart.
    universe : path or list of str, optional
        Logs: all samples of the benchmark, or a file of them, for logs that name only what was solved.
    skip_damaged : bool, optional
        Logs: leave out files that cannot be read.
    one_benchmark : bool, optional
        Logs: files that name no task hold the same samples, so a sample of one name is the same in all. By
        default they are told apart unless their names say that they are one benchmark.
    content : bool, optional
        False: prompts, references and answers are not kept. Else `table.content` has them, in files.

    Returns
    -------
    ResponseTable
        What `ResponseTable.write` made comes back with its trials, weights, tasks and clusters; of Parquet
        also with metadata and skills. `read_with_account` also says what was found, chosen and left out.

    Warns
    -----
    CamillaWarning
        Rows repeat a learner and sample, and nothing says that they are trials. Several metrics or judges
        score the same answers, not all alike, and nothing says which is meant.

    Examples
    --------
    >>> import camilla, polars
    >>> frame = polars.DataFrame({"learner": ["a", "a", "b"], "sample": [1, 2, 1], "response": [1, 0, 0]})
    >>> camilla.read(frame)
    ResponseTable(2 learners × 2 samples, 3 responses)
    """
    reading = read_with_account(*sources, **options)
    _warn(reading)
    return reading.table


def read_with_account(*sources: Any, **options: Unpack[ReadOptions]) -> Reading:
    """Reads responses as `read` does, and keeps the account of what was read.

    Use it to see which files were found, which metric was chosen, and what was left out.

    Parameters
    ----------
    *sources
        As in `camilla.read`.
    **options
        As in `camilla.read`.

    Returns
    -------
    Reading
        `table` has the responses, `matches` the matches between players where logs hold some. `notes()`
        gives what a reader of results must know, `lines()` everything in words, `document()` everything as
        plain data.

    Raises
    ------
    DataError
        A file cannot be read, or no known log is under the paths.

    Examples
    --------
    >>> frame = pl.DataFrame({"learner": ["a", "a", "b"], "sample": [1, 1, 1], "response": [1, 0, 0]})
    >>> reading = camilla.read_with_account(frame)
    >>> reading.table
    ResponseTable(2 learners × 1 samples, 3 responses)
    >>> reading.repeated_rows
    1
    """
    given = checked_options(options)
    if not sources:
        raise DataError("no path was given.")
    if any(map(are_results, sources)):
        return _read_results(sources, given)
    if len(sources) == 1 and not isinstance(sources[0], str | Path):
        return _read_one(as_frame(sources[0]), given, "the dataframe")
    if wrong := [source for source in sources if not isinstance(source, str | Path)]:
        raise SettingError(f"several sources are paths of logs; a {type(wrong[0]).__name__} is among them.")
    paths = expanded([Path(source) for source in sources])
    if parts := _parts(paths, given):
        return _read_parts(parts, given, str(sources[0]))
    if "map" in given or read_as_logs(paths, given):
        return with_extras(load_logs(paths, **log_options(given)), given)
    return _read_one(paths[0], given, str(paths[0]))


def _read_results(sources: Sequence[Any], given: Mapping[str, Any]) -> Reading:
    """What harnesses returned in Python, and paths of logs among it."""
    if wrong := [one for one in sources if not (are_results(one) or isinstance(one, str | Path))]:
        raise SettingError(
            f"results of a harness are read with other logs, not with a {type(wrong[0]).__name__}."
        )
    with as_logs(Path(one) if isinstance(one, str) else one for one in sources) as paths:
        read_as_logs([*paths, *paths], given)  # options of tables are errors
        return with_extras(load_logs(paths, **log_options(given)), given)


def as_table(source: TableLike, *, rows: WideRows | None = None) -> ResponseTable:
    """A response table from whatever a caller has: a table, a dataframe, or the path of a file or folder."""
    if isinstance(source, ResponseTable):
        return source
    if not isinstance(source, str | Path) and not are_results(source):
        source = as_frame(source)
    reading = read_with_account(source, rows=rows)
    _warn(reading)
    return reading.table


def as_frame(source: Any) -> pl.DataFrame:
    """Any dataframe as a Polars one; what is none is an error that says what is taken."""
    if isinstance(source, ResponseTable):
        raise DataError("this is a response table already; use it as it is.")
    try:
        return as_polars(source)
    except DataError as error:
        if not str(error).startswith("expected a dataframe"):
            raise
        raise DataError(
            "expected a response table, a dataframe, or the path of a table or of logs; got "
            f"{type(source).__name__}. A matrix becomes a table with ResponseTable.from_matrix."
        ) from error


def _warn(reading: Reading) -> None:
    repeated = reading.repeated_rows if reading.merged is None else reading.merged.twice
    passed = [one for one in reading.passed_over if one.matters]
    for note in (*repeated_rows_note(repeated), *judge_notes(passed)):
        warnings.warn(note, CamillaWarning, stacklevel=4)


def checked_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that say something, single names as lists."""
    known = list(ReadOptions.__annotations__)
    if unknown := [name for name in options if name not in known]:
        raise SettingError(f"nothing about reading is called {unknown[0]!r}. {nearest(unknown[0], known)}")
    if (rows := options.get("rows")) not in (None, "samples", "learners"):
        raise SettingError(f"rows is 'samples' or 'learners', not {rows!r}.")
    off = {name for name, value in options.items() if value is False and name != "content"}
    given = {name: value for name, value in options.items() if value is not None and name not in off}
    for name in ("missing", "ignore", "tasks", "learner_by"):
        if isinstance(given.get(name), str):
            given[name] = (given[name],)
    return {name: value for name, value in given.items() if name in FEATURES or value not in (None, (), [])}


def read_as_logs(paths: Sequence[Path], given: Mapping[str, Any]) -> bool:
    """Whether paths are read as logs or as one table file; an option that would do nothing is an error.

    Several paths, folders, and files that look like a log are; not a file whose columns are named.
    """
    if "map" in given:
        return True
    of_tables = [name for name in ONLY_TABLES if name in given]
    of_logs = [name for name in given if name not in (*ONLY_TABLES, *OF_BOTH)]
    if len(paths) > 1 or paths[0].is_dir() or "format" in given:
        if of_tables:
            what = f"{len(paths)} paths are read so" if len(paths) > 1 else f"{paths[0]} is a folder of them"
            raise SettingError(
                f"{_option(of_tables[0])} does nothing on logs, and {what}; it is for table files."
            )
        return True
    if not of_tables and paths[0].is_file():
        best = match(peek(paths[0]), all_formats())
        if best is not None and best.format != "table" and best.sniffed.confidence >= SURE:
            return True
    if of_logs and paths[0].exists():
        raise SettingError(
            f"{_option(of_logs[0])} does nothing on a table file, and {paths[0]} is read as one; "
            "it is for logs."
        )
    return False


def _parts(paths: Sequence[Path], given: Mapping[str, Any]) -> list[Path]:
    """The Parquet files below these paths if they are parts of one long table and nothing asks for logs."""
    of_logs = [name for name in given if name not in (*ONLY_TABLES, *OF_BOTH)]
    return [] if of_logs or "rows" in given else parts_under(paths, given)


def _read_parts(files: Sequence[Path], given: Mapping[str, Any], called: str) -> Reading:
    """One table of all files; an error names the file and the row in it."""
    try:
        reading = _read_one(together(files), given, called)
    except DataError:
        for file in files:
            read_table(file, **given)
        raise
    names = [str(file) for file in files]
    return replace(reading, files=Files(read={"table": names}, reasons={"table": "parts of one table"}))


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _read_one(source: Path | pl.DataFrame, given: Mapping[str, Any], called: str) -> Reading:
    if idle := [name for name in given if name not in (*ONLY_TABLES, *OF_BOTH)]:
        raise SettingError(
            f"{_option(idle[0])} does nothing on a table, and {called} is one; it is for "
            f"{'files' if idle[0] == 'map' else 'logs'}."
        )
    try:
        read = read_table(source, **_without_features(given))
    except LayoutError as error:
        if isinstance(source, pl.DataFrame) or "rows" in given:
            raise
        raise LayoutError(f"{error} {proposal([source])}") from error
    files = Files(read={"table": [called]}, reasons={"table": "one table"})
    described = read.table.sample_metadata is not None or read.table.learner_metadata is not None
    table = with_features(read.table, given, None if described else source)
    return Reading(
        table, None, files, repeated_rows=read.repeated,
        passed_over=() if read.passed_over is None else [read.passed_over],
        judged=partial(answers_of_tables, read.judged) if read.judged else None, table_notes=read.notes,
    )  # fmt: skip


def _without_features(given: Mapping[str, Any]) -> dict[str, Any]:
    """What the reader of a table is to know; features in its own columns are no responses."""
    plain = {name: value for name, value in given.items() if name not in FEATURES}
    own = [name for name in own_columns(given) if name not in (plain.get("task"), plain.get("cluster"))]
    if own and "rows" in given:
        plain["ignore"] = tuple(dict.fromkeys([*plain.get("ignore", ()), *own]))
    return plain


def log_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of logs as `load_logs` takes them."""
    universe = given.get("universe", ())
    all_samples = read_universe(Path(universe)) if isinstance(universe, str | Path) else tuple(universe)
    choices = Choices(
        tuple(given.get("tasks", ())), given.get("metric"), given.get("filter"),
        given.get("on_error", "null"), given.get("runs", "newest"), all_samples,
        given.get("one_benchmark", False),
    )  # fmt: skip
    others = {name: given[name] for name in COLLECTING if name in given}
    if "map" in given:
        others["recipe"] = recipe_given(given)
    return {"choices": choices} | others


def with_extras(reading: Reading, given: Mapping[str, Any]) -> Reading:
    """Logs under the clusters, skills and skill graph that are asked for."""
    if not any(name in given for name in OF_BOTH):
        return reading
    table = reading.table
    if "cluster" in given:
        table = with_clusters(table, given["cluster"])
    if "key" in given:
        table = with_key(table, key_source(given["key"]))
    if "skills" in given:
        source = skill_source(given["skills"])
        table = with_skill_source(table, source, source.columns if source.file is None else ())
    if "skill_graph" in given:
        table = table.with_skills(table.skill_map, graph=read_skill_graph(given["skill_graph"]))
    return reading.with_table(with_features(table, given, None))


def load_logs(
    paths: Sequence[Path],
    choices: Choices | None = None,
    *,
    format: str | None = None,
    join: Join = "id",
    learner_by: Sequence[str] = (),
    skip_damaged: bool = False,
    recipe: Recipe | None = None,
    content: bool = True,
    watch: Callable[[str], None] = lambda line: None,
) -> Reading:
    """Every log under the paths, joined; settings in `learner_by` tell learners of one model apart.

    With a `recipe` any file is read by it; a single one is a table like any other.
    """
    plainly = choices in (None, Choices()) and join == "id" and not learner_by
    if plainly and recipe is None and format is None and (parts := parts_under(expanded(paths), {})):
        return _read_parts(parts, {"content": content}, str(paths[0]))
    if recipe is not None and len(paths) == 1 and not paths[0].is_dir() and plainly:
        return _read_by_recipe(paths[0], recipe, content=content)
    collected = collect(
        paths, format=format, join=join, learner_by=learner_by, skip_damaged=skip_damaged, recipe=recipe,
        content=content, watch=watch,
    )  # fmt: skip
    reading = joined(collected, choices)
    return with_extras(reading, {"key": "key"} if recipe is not None and "key" in recipe.fields else {})


def _read_by_recipe(path: Path, recipe: Recipe, *, content: bool) -> Reading:
    try:
        read = read_mapped(path, recipe, content=content)
    except LayoutError as error:
        raise LayoutError(f"{error} {proposal([path])}") from error
    files = Files(read={"map": [str(path)]}, reasons={"map": f"by the recipe {recipe.text}"})
    return Reading(read.table, None, files, repeated_rows=read.repeated)


class Collected(NamedTuple):
    """The runs of all logs under some paths, each decoded once, not joined yet."""

    collection: Collection
    files: Files
    matches: list[pl.DataFrame]
    scale: Scale = PLAIN  # of the responses, before they were rescaled


def collect(
    paths: Sequence[Path],
    *,
    format: str | None = None,
    join: Join = "id",
    learner_by: Sequence[str] = (),
    skip_damaged: bool = False,
    recipe: Recipe | None = None,
    content: bool = True,
    watch: Callable[[str], None] = lambda line: None,
) -> Collected:
    """Reads every log under the paths, or every file by a recipe."""
    if not paths:
        raise DataError("no path was given.")
    formats = all_formats(format) if recipe is None else {"map": loader(recipe)}
    collection = Collection(join, spill=Spill() if content else None)
    collected = Collected(collection, Files(), [], PLAIN if recipe is None else recipe.scale)
    files, loaders = collected.files, dict[str, Loader]()
    for path, found in without_collecting(_matched(paths, formats, files, forced=format)):
        watch(f"{sum(map(len, files.read.values()))} files, {path.name}")
        if found.format not in loaders:
            loaders[found.format] = loader_of(formats[found.format])
        try:
            _take(path, loaders[found.format], collected, learner_by)
        except CamillaError as error:
            if isinstance(error, LayoutError) and recipe is not None and path not in paths:
                files.unknown.append(str(path))
                continue
            if not skip_damaged:
                _raise_with_remedy(error, alone=list(paths) == [path])
            files.damaged[str(path)] = str(error)
            continue
        files.read.setdefault(found.format, []).append(str(path))
        files.reasons.setdefault(found.format, found.sniffed.reason)
    check_settings(collected.collection, learner_by)
    if not files.read:
        raise LayoutError(none_known(paths, files, list(formats)))
    _note_silent(collected)
    return collected


def _note_silent(collected: Collected) -> None:
    """Keeps which logs have no sample, and which have no metric that could be a response."""
    for one in collected.collection.kept:
        if one.frame.height == 0 and one.run.left_out:
            reasons = (f"{metric} is {reason}" for metric, reason in one.run.left_out.items())
            collected.files.unusable[one.run.source] = ", ".join(reasons)
        elif one.frame.height == 0:
            collected.files.empty.append(one.run.source)


def _raise_with_remedy(error: CamillaError, *, alone: bool) -> NoReturn:
    """The error of a file; of one among several with the option that leaves such files out."""
    if alone:
        raise error
    raise DataError(f"{error} To leave out files that cannot be read: --skip-damaged.") from error


def joined(collected: Collected, choices: Choices | None = None) -> Reading:
    """The runs as one table, the matches as one frame."""
    collection, files, battles, scale = collected
    matches = pl.concat(battles, how="diagonal_relaxed") if battles else None
    if battles and not collection.kept:
        return Reading(None, matches, files)
    choices = add_mean(collection, choices or Choices())
    merged = merge(collection, choices)
    codes = collection.codes
    passed, every = passed_over(merged, codes), partial(answers_of_logs, merged, codes, choices)
    merged = replace(merged, chosen=named_mean(merged.chosen), kept=[])
    reading = Reading(merged.table, matches, files, merged, passed_over=passed, judged=every)
    return reading.with_table(replace(merged.table, scale=scale))


def without_collecting(items: Iterable[Item]) -> Iterator[Item]:
    """The items, with the search for cycles off meanwhile: rows have none, and it doubles the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield from items
    finally:
        if was_on:
            gc.enable()


def _take(path: Path, loader: Loader, collected: Collected, learner_by: Sequence[str]) -> None:
    """All runs of a file, or none if it breaks off: they are counted in only when all are read."""
    if loader.matches is not None:
        collected.matches.append(loader.matches(path))
    for run in list(loader.runs(path)):
        collected.collection.add(told_apart(run, learner_by))


def _matched(
    paths: Sequence[Path], formats: Mapping[str, Format | Loader], files: Files, *, forced: str | None
) -> list[tuple[Path, Match]]:
    """Files with the loader that is surest of them, in the order of their paths.

    Each file once, however many of the paths lead to it.
    """
    found: dict[Path, Match] = {}
    seen: set[Path] = set()
    for one in files_under(paths):
        if (place := one.path.resolve()) in seen:
            continue
        seen.add(place)
        best = match(one, formats)
        if best is None and forced is not None and one.path in paths:
            raise DataError(f"{one.path}: does not look like {forced}. Leave out --format to see what it is.")
        if best is None:
            files.unknown.append(str(one.path))
        elif best.sniffed.companion:
            files.companions[best.format] = files.companions.get(best.format, 0) + 1
        else:
            found[one.path] = best
    return sorted(found.items())
