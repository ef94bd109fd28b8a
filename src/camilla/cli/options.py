"""Options that commands share, and how they reach a command as one value."""

import inspect
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_type_hints

import typer

from camilla.cli.completing import one_of
from camilla.display import aside
from camilla.errors import SettingError

Command = Callable[..., None]
Decorator = Callable[[Command], Command]

WANTS_JSON: ContextVar[bool] = ContextVar("wants_json", default=False)
# The options that [tool.camilla] has set: where they can do nothing, that is no error.
FROM_FILE: ContextVar[frozenset[str]] = ContextVar("from_file", default=frozenset())


def gathers(
    parameter: str, kind: type[Any], *, without: Collection[str] = (), panels: Mapping[str, str] | None = None
) -> Decorator:
    """Offers the fields of `kind` as options instead of a command's `parameter`, and hands them over as one.

    The help text shows them after the command's own options, in the panels that are named. Fields in
    `without` are not offered and keep their defaults.
    """
    hints = get_type_hints(kind, include_extras=True)
    offered = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=field.default,
            annotation=_in_panel(hints[field.name], (panels or {}).get(field.name)),
        )
        for field in fields(kind)
        if field.name not in without
    ]

    def gathering(command: Command) -> Command:
        signature = inspect.signature(command)
        own = [option for name, option in signature.parameters.items() if name != parameter]
        parameters = [*own, *offered]

        @wraps(command)
        def run(**given: Any) -> None:
            said = {option.name: given.pop(option.name) for option in offered}
            command(**given, **{parameter: kind(**said)})

        run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return run

    return gathering


def _in_panel(annotation: Any, panel: str | None) -> Any:
    """The annotation of an option, shown in a panel of the help text."""
    kind, option = get_args(annotation)
    option = copy(option)
    option.rich_help_panel = panel
    return Annotated[kind, option]


LARGEST_SEED = 2**32 - 1  # of the generators that learners of a pool are given


def checked_seed(seed: int) -> int:
    """The seed, if every generator takes it."""
    if not 0 <= seed <= LARGEST_SEED:
        raise SettingError(f"a seed is a whole number from 0 to {LARGEST_SEED}; got {seed}.")
    return seed


def checked_jobs(jobs: int | None) -> int | None:
    """The number of processes, if it is one."""
    if jobs == 0:
        raise SettingError("--jobs is a number of processes, or -1 for one per core; got 0.")
    return jobs


def keep_input(output: Path | None, inputs: Iterable[Path]) -> None:
    """Refuses to write a command's output over what it reads."""
    if output is None or not output.exists():
        return
    if any(one.exists() and output.samefile(one) for one in inputs):
        raise SettingError(
            f"{output}: is an input of this command and would be overwritten. Give -o another path."
        )


def checked_one(option: str, value: str, known: tuple[str, ...]) -> str:
    """The value, if the option has it."""
    if value not in known:
        raise SettingError(f"--{option} is one of {', '.join(known)}, not {value!r}.")
    return value


TableOption = Annotated[
    Path, typer.Argument(help="Responses: CSV, TSV, JSONL or Parquet, long or wide; or logs.")
]
SkillGraphFile = Annotated[
    Path | None, typer.Option("--skill-graph", help="Table of edges between skills: columns parent, child.")
]
SampleOption = Annotated[str | None, typer.Option(help="Column of the sample.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
QuietOption = Annotated[
    bool, typer.Option("--quiet", help="Print no notes and no progress; results, warnings and errors stay.")
]
SeedOption = Annotated[int, typer.Option(help="Random seed.", callback=checked_seed)]
JobsOption = Annotated[
    int, typer.Option(help="Number of processes; -1: one per core.", callback=checked_jobs)
]
BackendOption = Annotated[
    str,
    typer.Option(
        help="Where processes run: loky, threading, multiprocessing (joblib's), or ray, a cluster.",
        autocompletion=one_of("loky", "threading", "multiprocessing", "ray"),
    ),
]
ShardsOption = Annotated[
    Path | None,
    typer.Option(help="For tables larger than memory: TABLE is Parquet, read in parts kept in this folder."),
]
AcrossBlocksOption = Annotated[
    bool,
    typer.Option(
        "--across-blocks", help="Rank learners together even if no shared learner or sample connects them."
    ),
]
MapOption = Annotated[
    str | None,
    typer.Option(
        "--map",
        metavar="RECIPE",
        help="Recipe for files of any layout: learner=model,sample=id,response=score, or a .toml file.",
    ),
]
ScaleOption = Annotated[
    str | None,
    typer.Option("--scale", metavar="LOW:HIGH", help="Responses run from LOW to HIGH."),
]
LowerOption = Annotated[bool, typer.Option("--lower-is-better", help="The lowest response is the best.")]
ShowOption = Annotated[
    int, typer.Option("--show", min=0, help="How many samples to show with their prompts and answers.")
]
SavedOption = Annotated[Path, typer.Argument(metavar="DIR", help="Folder written by camilla diagnose.")]


OnErrorOption = Annotated[
    str | None,
    typer.Option(
        help="What samples that failed or hit a limit count as: null (missing), zero, drop or score.",
        autocompletion=one_of("null", "zero", "drop", "score"),
    ),
]
OneBenchmarkOption = Annotated[
    bool,
    typer.Option(
        "--one-benchmark", help="Treat files that name no task as one benchmark: samples are matched by name."
    ),
]


if TYPE_CHECKING:
    from camilla.arrays import Watch
    from camilla.reading.inputs import ReadOptions
    from camilla.reading.recipes import Recipe
    from camilla.table.responses import ResponseTable
    from camilla.table.shards import ShardFolder


@dataclass(frozen=True)
class TableOptions:
    """How a table is laid out; every field is an option, in the order of the help text."""

    rows: Annotated[
        str | None,
        typer.Option(
            help="Wide table: whether its rows are samples or learners.",
            autocompletion=one_of("samples", "learners"),
        ),
    ] = None
    skills: Annotated[
        str | None, typer.Option(help="Skill map: FILE (0/1 table), FILE:column,column, or :column of TABLE.")
    ] = None
    skill_graph: SkillGraphFile = None
    features: Annotated[
        list[str] | None,
        typer.Option(help="Features of samples: FILE, FILE:column,column, .npy, or :column; repeatable."),
    ] = None
    learner_features: Annotated[
        list[str] | None, typer.Option(help="Features of learners, as --features; repeatable.")
    ] = None
    learner: Annotated[str | None, typer.Option(help="Column of the learner.")] = None
    sample: SampleOption = None
    response: Annotated[str | None, typer.Option(help="Column of the response.")] = None
    trial: Annotated[str | None, typer.Option(help="Column that numbers repeated responses.")] = None
    task: Annotated[
        str | None,
        typer.Option(help="Column of the task; sample names used in several tasks become task/name."),
    ] = None
    cluster: Annotated[str | None, typer.Option(help="Column of the cluster of a sample.")] = None
    weight: Annotated[str | None, typer.Option(help="Column of the weight of a response.")] = None
    key: Annotated[
        str | None, typer.Option(help="Right answers to samples: column of TABLE, or FILE:column.")
    ] = None
    answer: Annotated[str | None, typer.Option(help="Long table: column of the answer.")] = None
    judge: Annotated[
        str | None,
        typer.Option(help="Long table: column of the judge, if several judges scored the answers."),
    ] = None
    prompt: Annotated[str | None, typer.Option(help="Column of the prompt.")] = None
    reference: Annotated[str | None, typer.Option(help="Column of the right answer, for display.")] = None
    choices: Annotated[str | None, typer.Option(help="Column of a sample's choices: lists, or JSON.")] = None
    image: Annotated[str | None, typer.Option(help="Column of the path or link of a picture.")] = None
    reason: Annotated[str | None, typer.Option(help="Long table: column of the reason for a score.")] = None
    no_content: Annotated[
        bool, typer.Option("--no-content", help="Do not keep prompts, references, answers and reasons.")
    ] = False
    missing: Annotated[
        list[str] | None, typer.Option(help="Text that stands for a missing response; may be repeated.")
    ] = None
    ignore: Annotated[
        list[str] | None, typer.Option(help="Wide table: a column without responses; may be repeated.")
    ] = None
    percent: Annotated[bool, typer.Option("--percent", help="Responses run from 0 to 100.")] = False
    scale: ScaleOption = None
    lower_is_better: LowerOption = False
    map: MapOption = None
    metric: Annotated[
        str | None, typer.Option(help="Metric or judge to use as the response; all: the mean of judges.")
    ] = None
    filter: Annotated[str | None, typer.Option(help="Filter after which the metric was computed.")] = None
    join: Annotated[
        str | None,
        typer.Option(
            help="How samples are matched between logs: by id (contents checked), or by content.",
            autocompletion=one_of("id", "content"),
        ),
    ] = None
    on_error: OnErrorOption = None
    one_benchmark: OneBenchmarkOption = False
    skip_damaged: Annotated[
        bool, typer.Option("--skip-damaged", help="Leave out files that cannot be read.")
    ] = False

    def options(self, *, content: bool = False) -> "ReadOptions":
        """What was given, as `camilla.read` takes it; `content` is whether the command has a use for it."""
        if self.rows not in (None, "samples", "learners"):
            raise SettingError(f"--rows is samples or learners, not {self.rows!r}.")
        if self.join is not None:
            from camilla.reading.runs import Join

            checked_one("join", self.join, get_args(Join))
        if self.on_error is not None:
            from camilla.reading.joining import OnError

            checked_one("on-error", self.on_error, get_args(OnError))
        given = {name: value for name, value in vars(self).items() if value is not None}
        refused = given.pop("no_content")
        return given | {"content": content and not refused}  # type: ignore[return-value]

    def read(self, *paths: Path, content: bool = False) -> "ResponseTable":
        """The table a command was given; standard error says what a reader of its result must know."""
        from camilla.reading.inputs import read_with_account

        reading = read_with_account(*paths, **self.options(content=content))
        notes, table = reading.notes(), reading.table
        self.say(notes)
        return table

    @contextmanager
    def opened(
        self, *paths: Path, shards: Path | None, watch: "Watch", content: bool = False
    ) -> "Iterator[ResponseTable | ShardFolder]":
        """The table; one larger than memory as shards, which go with the command unless a folder is given."""
        from tempfile import TemporaryDirectory

        from camilla.table.shards import read_large

        if shards is None and not self.is_large(*paths):
            yield self.read(*paths, content=content)
            return
        if len(paths) > 1:
            raise SettingError("--shards takes one folder or glob of Parquet files; got several paths.")
        self.refuse("on a table read in shards", but=("learner", "sample", "response", "no_content"))
        with TemporaryDirectory(prefix="camilla-") as temporary:
            yield read_large(paths[0], shards or Path(temporary, "shards"), watch=watch, **self.columns())

    def is_large(self, *paths: Path) -> bool:
        """Whether a path holds Parquet files of more rows than are read into memory unasked."""
        if len(paths) != 1 or self.rows is not None or self.map is not None:
            return False
        if paths[0].is_file() and paths[0].suffix.lower() != ".parquet":
            return False
        from camilla.table.shards import is_large

        return is_large(paths[0])

    def columns(self) -> dict[str, Any]:
        """How the columns of a long table are called."""
        return {name: getattr(self, name) or name for name in ("learner", "sample", "response")}

    def say(self, notes: Iterable[str]) -> None:
        """Notes on standard error."""
        for note in notes:
            aside(f"note: {note}")

    def refuse(self, why: str, *, but: Collection[str] = ()) -> None:
        """An error if any option was given, but these: it would do nothing."""
        allowed = {*but, *FROM_FILE.get()}
        if given := [name for name, value in vars(self).items() if value and name not in allowed]:
            raise SettingError(f"--{given[0].replace('_', '-')} does nothing {why}.")

    def refuse_idle_weight(self, table: "ResponseTable") -> None:
        """An error for a weight where every sample counts once, unless it weighs trials of a sample."""
        if self.weight is None or "weight" in FROM_FILE.get():
            return
        if len(table.cells().response) == table.n_responses:
            raise SettingError(
                "--weight does nothing here: every sample counts once, and no learner has several "
                "responses to the same sample. Leave it out. Commands that count responses, such as "
                "diagnose, use weights."
            )


def recipe(given: dict[str, Any]) -> "Recipe | None":
    """The recipe that `load` was given, with its scale; a scale without a recipe is an error."""
    from camilla.reading.recipes import recipe_given

    said = {name: value for name, value in given.items() if value is not None}
    if "map" in said:
        return recipe_given(said)
    if idle := [name for name in ("scale", "lower_is_better") if name in said]:
        raise SettingError(f"--{idle[0].replace('_', '-')} does nothing without a recipe (--map).")
    return None


TABLE_PANEL, CONTENT_PANEL, LOGS_PANEL = "Table options", "Content options", "Log options"
CONTENT = ("prompt", "reference", "choices", "image", "answer", "reason", "no_content")
FEATURES = ("features", "learner_features")
OF_LOGS = ("metric", "filter", "join", "on_error", "one_benchmark", "skip_damaged")
PANELS = {
    **{field.name: TABLE_PANEL for field in fields(TableOptions)},
    **dict.fromkeys(CONTENT, CONTENT_PANEL),
    **dict.fromkeys(OF_LOGS, LOGS_PANEL),
}
SPECIAL = {"skills", "skill_graph", "cluster", "key", *FEATURES, *CONTENT}  # options of some commands alone


def checked_show(show: int, columns: TableOptions) -> int:
    """How many samples to show, if their content may be kept."""
    if show and columns.no_content:
        raise SettingError(
            "--show does nothing with --no-content: it shows that content. Leave one of them out."
        )
    return show


def reads_table(*also: str) -> Decorator:
    """Gives a command the options of a table as `columns`, `also` some of those that few commands have."""
    return reads_without(*SPECIAL - set(also))


def reads_without(*unused: str) -> Decorator:
    """Gives a command the options of a table as `columns`, but for those it has no use for."""
    return gathers("columns", TableOptions, without=unused, panels=PANELS)
