"""What a command is told of its table: the options, declared once, and the one way they turn into a table."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from camilla.cli import options

if TYPE_CHECKING:
    from camilla.data.responses import ResponseTable


@dataclass(frozen=True)
class TableOptions:
    """How a table is laid out; every field is an option, in the order of the help text."""

    rows: Annotated[str | None, typer.Option(help="Wide table: what its rows are, samples or learners.")]
    skills: Annotated[
        str | None, typer.Option(help="Skill map: FILE (0/1 table) or FILE:column,column; :column of TABLE.")
    ]
    skill_graph: options.SkillGraphFile
    learner: Annotated[str | None, typer.Option(help="Column of the learner.")]
    sample: options.Sample
    response: Annotated[str | None, typer.Option(help="Column of the response.")]
    trial: Annotated[str | None, typer.Option(help="Column that numbers repeated responses.")]
    task: Annotated[str | None, typer.Option(help="Column of the task of a sample.")]
    cluster: Annotated[str | None, typer.Option(help="Column of the cluster of a sample.")]
    weight: Annotated[str | None, typer.Option(help="Column of the weight of a response.")]
    missing: Annotated[
        list[str] | None, typer.Option(help="Text that stands for a missing response; may be repeated.")
    ]
    ignore: Annotated[
        list[str] | None, typer.Option(help="Wide table: a column that holds no responses; may be repeated.")
    ]

    def read(self, path: Path) -> "ResponseTable":
        """The table a command was given; what was done to fit the skill map is said on standard error."""
        from camilla.errors import SettingError
        from camilla.loaders.metadata_clusters import with_clusters
        from camilla.loaders.tables import read

        if self.rows not in (None, "samples", "learners"):
            raise SettingError(f"--rows is samples or learners, not {self.rows!r}.")
        if not self._name_columns() and (table := read_logs(path, self.skills, self.skill_graph)) is not None:
            return table if self.cluster is None else with_clusters(table, self.cluster)
        given = vars(self) | {"missing": tuple(self.missing or ()), "ignore": tuple(self.ignore or ())}
        table = read(path, **given)
        if table.skill_map is not None:
            for note in table.skill_map.notes:
                typer.echo(f"note: {note}", err=True)
        return table

    def _name_columns(self) -> bool:
        """Whether anything was said that only a table file has."""
        also_of_logs = {"skills", "skill_graph", "cluster"}
        return any(value for name, value in vars(self).items() if name not in also_of_logs)


def reads_table(*also: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Puts the options of a table, with `also` of skills, skill_graph, task and cluster, where a command has
    its parameter `columns`, and hands them to it as one TableOptions.
    """
    hints = get_type_hints(TableOptions, include_extras=True)
    absent = {"skills", "skill_graph", "task", "cluster"} - set(also)
    nothing = dict.fromkeys(absent)
    offered = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=hint)
        for name, hint in hints.items()
        if name not in absent
    ]

    def offering(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command)
        parameters = [
            one
            for name, own in signature.parameters.items()
            for one in (offered if name == "columns" else [own])
        ]

        @wraps(command)
        def run(**given: Any) -> None:
            said = {option.name: given.pop(option.name) for option in offered}
            command(**given, columns=TableOptions(**said, **nothing))

        run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return run

    return offering


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
