"""Options that several commands share, and the one way they turn into a table."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from camilla.data.responses import ResponseTable

Table = Annotated[Path, typer.Argument(help="Responses: CSV, TSV, JSONL or Parquet, long or wide; or logs.")]
Rows = Annotated[str | None, typer.Option(help="Wide table: what its rows are, samples or learners.")]
Skills = Annotated[
    str | None, typer.Option(help="Skill map: FILE (0/1 table) or FILE:column,column; :column of TABLE.")
]
SkillGraphFile = Annotated[
    Path | None, typer.Option("--skill-graph", help="File of edges between skills: columns parent, child.")
]
Learner = Annotated[str | None, typer.Option(help="Column of the learner.")]
Sample = Annotated[str | None, typer.Option(help="Column of the sample.")]
Response = Annotated[str | None, typer.Option(help="Column of the response.")]
Trial = Annotated[str | None, typer.Option(help="Column that numbers repeated responses.")]
Task = Annotated[str | None, typer.Option(help="Column of the task of a sample.")]
Cluster = Annotated[str | None, typer.Option(help="Column of the cluster of a sample.")]
Weight = Annotated[str | None, typer.Option(help="Column of the weight of a response.")]
Missing = Annotated[
    list[str] | None, typer.Option(help="Text that stands for a missing response; may be repeated.")
]
Ignore = Annotated[
    list[str] | None, typer.Option(help="Wide table: a column that holds no responses; may be repeated.")
]
Json = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]
Seed = Annotated[int, typer.Option(help="Seed of everything random.")]
Saved = Annotated[Path, typer.Argument(metavar="DIR", help="A diagnosis written by camilla diagnose.")]


def read_table(
    path: Path, *,
    rows: str | None, skills: str | None, learner: str | None, sample: str | None, response: str | None,
    trial: str | None, weight: str | None, missing: list[str] | None, ignore: list[str] | None,
    skill_graph: Path | None = None, task: str | None = None, cluster: str | None = None,
) -> "ResponseTable":  # fmt: skip
    """The table a command was given; what was done to fit the skill map is said on standard error."""
    from camilla.errors import SettingError
    from camilla.loaders.metadata_clusters import with_clusters
    from camilla.loaders.tables import read

    if rows not in (None, "samples", "learners"):
        raise SettingError(f"--rows is samples or learners, not {rows!r}.")
    named = (rows, learner, sample, response, trial, weight, missing, ignore, task)
    if not any(named) and (table := read_logs(path, skills, skill_graph)) is not None:
        return table if cluster is None else with_clusters(table, cluster)
    table = read(
        path, rows=rows, skills=skills, learner=learner, sample=sample, response=response,  # type: ignore[arg-type]
        trial=trial, weight=weight, missing=tuple(missing or ()), ignore=tuple(ignore or ()),
        skill_graph=skill_graph, task=task, cluster=cluster,
    )  # fmt: skip
    if table.skill_map is not None:
        for note in table.skill_map.notes:
            typer.echo(f"note: {note}", err=True)
    return table


def read_logs(path: Path, skills: str | None, skill_graph: Path | None) -> "ResponseTable | None":
    """The table in a log or a folder of logs, None if the path is a table file; says what was found."""
    from camilla.loaders.account import briefly
    from camilla.loaders.logs import holds_logs, load_logs
    from camilla.loaders.metadata_skills import with_skill_source
    from camilla.loaders.skill_files import skill_source
    from camilla.loaders.skill_graphs import read_skill_graph

    if not holds_logs(path):
        return None
    loaded = load_logs([path])
    for line in briefly(loaded):
        typer.echo(f"note: {line}", err=True)
    source = None if skills is None else skill_source(skills)
    own = () if source is None or source.file is not None else source.columns
    table = with_skill_source(loaded.table, source, own)
    if skill_graph is None:
        return table
    return table.with_skills(table.skill_map, graph=read_skill_graph(skill_graph))
