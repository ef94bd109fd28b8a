"""One door in: table files and logs, files and folders, as one response table."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from camilla.errors import SettingError
from camilla.reading.joining import Choices, OnError, Runs
from camilla.reading.logs import holds_logs, load_logs
from camilla.reading.runs import Join
from camilla.reading.skills import read_skill_graph, skill_source, with_clusters, with_skill_source
from camilla.reading.tables import read_table
from camilla.table.frames import WideRows
from camilla.table.responses import ResponseTable

ONLY_TABLES = ("rows", "learner", "sample", "response", "trial", "task", "weight", "missing", "ignore")
ONLY_LOGS = ("format", "tasks", "metric", "filter", "on_error", "runs", "join")


def read(
    *paths: str | Path,
    rows: WideRows | None = None,
    learner: str | None = None,
    sample: str | None = None,
    response: str | None = None,
    trial: str | None = None,
    task: str | None = None,
    cluster: str | None = None,
    weight: str | None = None,
    skills: str | Path | Sequence[str] | None = None,
    skill_graph: str | Path | None = None,
    missing: str | Sequence[str] = (),
    ignore: str | Sequence[str] = (),
    format: str | None = None,
    tasks: str | Sequence[str] = (),
    metric: str | None = None,
    filter: str | None = None,
    on_error: OnError | None = None,
    runs: Runs | None = None,
    join: Join | None = None,
) -> ResponseTable:
    """The responses in a table file, or in logs of evaluation harnesses: files, folders, or several of both.

    Parameters
    ----------
    paths
        One table file (CSV, TSV, JSONL, Parquet), or logs of any known format. Folders are looked through;
        what lies in them and several paths are joined into one table.
    rows
        What the rows of a wide table are: "samples" or "learners". Without it a table is long, with one row
        per response.
    learner, sample, response
        Columns of a long table, where they have other names than learner or id, sample or item, response or
        resp. In a wide table `sample` or `learner` is the column of row names, by default the first.
    trial, weight, task, cluster
        Columns of a table: number of a repeated response, its weight, task and cluster of the sample. Of
        logs, `cluster` is what they say of samples.
    skills
        FILE (a 0/1 table), FILE:column,column (categories), or :column of the table or logs themselves, for
        which a list of columns also stands.
    skill_graph
        File of edges parent, child between skills.
    missing
        Texts that stand for a missing response; an empty cell always does.
    ignore
        Columns of a wide table that hold no responses.
    format, tasks, metric, filter, on_error, runs, join
        Of logs: only this format; only tasks of these names or patterns; which metric is the response, and
        behind which filter; what becomes of samples with errors ("null", "zero", "drop", "score"); whether
        the "newest" run of a learner counts or all as "trials"; whether samples are the same by "id" or by
        "content".

    Returns
    -------
    ResponseTable
        What `ResponseTable.write` made comes back with its trials, weights, tasks and clusters; of Parquet
        also with metadata and skills.

    Examples
    --------
    >>> import camilla, tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp(), "runs.csv")
    >>> _ = file.write_text("learner,sample,response\\na,1,1\\na,2,0\\nb,1,0\\nb,2,0\\n")
    >>> camilla.read(file)
    ResponseTable(2 learners × 2 samples, 4 responses)
    """
    named = [Path(path) for path in paths]
    given = {name: value for name, value in locals().items() if name not in ("paths", "named") and value}
    if isinstance(skills, Sequence) and not isinstance(skills, str):
        given["skills"] = ":" + ",".join(f'"{column}"' for column in skills)
    if _as_logs(named, given):
        return _read_logs(named, given)
    laid_out = {name: value for name, value in given.items() if name not in ONLY_LOGS}
    if "ignore" in laid_out:
        laid_out["ignore"] = _texts(ignore)
    return read_table(named[0], **laid_out)


def _as_logs(paths: Sequence[Path], given: Mapping[str, Any]) -> bool:
    """Whether the paths are read as logs; an option that would do nothing is an error."""
    of_tables = [name for name in ONLY_TABLES if name in given]
    of_logs = [name for name in ONLY_LOGS if name in given]
    if len(paths) != 1 or paths[0].is_dir() or "format" in given:
        if of_tables:
            what = f"{paths[0]} is a folder of them" if len(paths) == 1 else f"{len(paths)} paths are read so"
            raise SettingError(
                f"{_option(of_tables[0])} does nothing on logs, and {what}; it is for table files."
            )
        return True
    if not of_tables and holds_logs(paths[0]):
        return True
    if of_logs and paths[0].exists():
        raise SettingError(
            f"{_option(of_logs[0])} does nothing on a table file, and {paths[0]} is read as one; "
            "it is for logs."
        )
    return False


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _read_logs(paths: Sequence[Path], given: Mapping[str, Any]) -> ResponseTable:
    choices = Choices(
        _texts(given.get("tasks", ())), given.get("metric"), given.get("filter"),
        given.get("on_error", "null"), given.get("runs", "newest"),
    )  # fmt: skip
    loaded = load_logs(paths, choices, format=given.get("format"), join=given.get("join", "id"))
    return with_extras(loaded.table, given.get("skills"), given.get("skill_graph"), given.get("cluster"))


def with_extras(
    table: ResponseTable, skills: str | Path | None, skill_graph: str | Path | None, cluster: str | None
) -> ResponseTable:
    """A table of logs under the clusters, skills and skill graph that are asked for."""
    if cluster is not None:
        table = with_clusters(table, cluster)
    source = None if skills is None else skill_source(skills)
    own = () if source is None or source.file is not None else source.columns
    table = with_skill_source(table, source, own)
    if skill_graph is None:
        return table
    return table.with_skills(table.skill_map, graph=read_skill_graph(skill_graph))


def _texts(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)
