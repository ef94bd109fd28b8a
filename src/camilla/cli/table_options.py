"""What a command is told of its table: the options, declared once, and the one way they turn into a table."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from camilla.cli import options
from camilla.cli.gathering import Decorator, gathers

if TYPE_CHECKING:
    from camilla.data.responses import ResponseTable
    from camilla.loaders.logs import Loaded

ONLY_LOGS = ("metric", "filter", "join")  # options that act on logs alone
OF_LOGS = ("skills", "skill_graph", "cluster", *ONLY_LOGS)


@dataclass(frozen=True)
class TableOptions:
    """How a table is laid out; every field is an option, in the order of the help text."""

    rows: Annotated[
        str | None,
        typer.Option(help="Wide table: what its rows are, samples or learners."),
    ] = None
    skills: Annotated[
        str | None, typer.Option(help="Skill map: FILE (0/1 table) or FILE:column,column; :column of TABLE.")
    ] = None
    skill_graph: options.SkillGraphFile = None
    learner: Annotated[str | None, typer.Option(help="Column of the learner.")] = None
    sample: options.Sample = None
    response: Annotated[str | None, typer.Option(help="Column of the response.")] = None
    trial: Annotated[str | None, typer.Option(help="Column that numbers repeated responses.")] = None
    task: Annotated[
        str | None,
        typer.Option(help="Column of the task; names that repeat in a wide table become task/name."),
    ] = None
    cluster: Annotated[str | None, typer.Option(help="Column of the cluster of a sample.")] = None
    weight: Annotated[str | None, typer.Option(help="Column of the weight of a response.")] = None
    missing: Annotated[
        list[str] | None, typer.Option(help="Text that stands for a missing response; may be repeated.")
    ] = None
    ignore: Annotated[
        list[str] | None, typer.Option(help="Wide table: a column that holds no responses; may be repeated.")
    ] = None
    metric: Annotated[str | None, typer.Option(help="Logs: metric that is the response.")] = None
    filter: Annotated[str | None, typer.Option(help="Logs: filter behind which the metric was computed.")] = (
        None
    )
    join: Annotated[
        str | None, typer.Option(help="Logs: samples are the same by id (contents checked), or by content.")
    ] = None

    def read(self, path: Path) -> "ResponseTable":
        """The table a command was given; what was done to fit the skill map is said on standard error."""
        from camilla.errors import SettingError
        from camilla.loaders.logs import holds_logs
        from camilla.loaders.tables import read

        if self.rows not in (None, "samples", "learners"):
            raise SettingError(f"--rows is samples or learners, not {self.rows!r}.")
        if path.is_dir():
            self.refuse(f"on logs, and {path} is a folder of them; it is for table files", but=OF_LOGS)
        if not self._given(OF_LOGS) and holds_logs(path):
            return self._with_skills(self.clustered(self.load([path]).table))
        laid_out = {name: value for name, value in vars(self).items() if name not in ONLY_LOGS}
        if path.exists():
            self.refuse(f"on a table file, and {path} is read as one; it is for logs", but=laid_out)
        table = read(
            path, **laid_out | {"missing": tuple(self.missing or ()), "ignore": tuple(self.ignore or ())}
        )
        if table.skill_map is not None:
            for note in table.skill_map.notes:
                typer.echo(f"note: {note}", err=True)
        return table

    def load(self, paths: Sequence[Path], *, called: Mapping[Path, str] | None = None) -> "Loaded":
        """The logs under the paths, joined as the options say; what was found is said on standard error."""
        from camilla.loaders.account import briefly
        from camilla.loaders.collecting import Join
        from camilla.loaders.logs import load_logs
        from camilla.loaders.merging import Choices

        join = options.checked_one("join", self.join or "id", get_args(Join))
        choices = Choices(metric=self.metric, filter=self.filter)
        loaded = load_logs(paths, choices, join=join, called=called)  # type: ignore[arg-type]
        for line in briefly(loaded):
            typer.echo(f"note: {line}", err=True)
        return loaded

    def clustered(self, table: "ResponseTable") -> "ResponseTable":
        """A table of logs under the clusters that are asked for."""
        from camilla.loaders.metadata_clusters import with_clusters

        return table if self.cluster is None else with_clusters(table, self.cluster)

    def _with_skills(self, table: "ResponseTable") -> "ResponseTable":
        from camilla.loaders.metadata_skills import with_skill_source
        from camilla.loaders.skill_files import skill_source
        from camilla.loaders.skill_graphs import read_skill_graph

        source = None if self.skills is None else skill_source(self.skills)
        own = () if source is None or source.file is not None else source.columns
        table = with_skill_source(table, source, own)
        if self.skill_graph is None:
            return table
        return table.with_skills(table.skill_map, graph=read_skill_graph(self.skill_graph))

    def refuse(self, why: str, *, but: Collection[str] = ()) -> None:
        """An error if any option was given, but these: it would do nothing."""
        from camilla.errors import SettingError

        if given := self._given(but):
            raise SettingError(f"--{given[0].replace('_', '-')} does nothing {why}.")

    def refuse_idle_weight(self, table: "ResponseTable") -> None:
        """An error for a weight where every sample counts once, unless it weighs trials of a sample."""
        from camilla.errors import SettingError

        if self.weight is not None and len(table.cells().response) == table.n_responses:
            raise SettingError(
                "--weight does nothing here: every sample counts once, and no learner has several responses "
                "to one sample for weights to weigh. Leave it out; where responses are counted, as in "
                "diagnose, weights act."
            )

    def _given(self, but: Collection[str]) -> list[str]:
        return [name for name, value in vars(self).items() if value and name not in but]


def reads_table(*also: str) -> Decorator:
    """Gives a command the options of a table as `columns`, `also` of skills, skill_graph, cluster."""
    return gathers("columns", TableOptions, without={"skills", "skill_graph", "cluster"} - set(also))
