"""`camilla load`: logs of evaluation harnesses in, one table of responses out."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from camilla.cli import options
from camilla.display import print_json, progress, say
from camilla.names import shown

if TYPE_CHECKING:
    from camilla.reading.account import Reading


def load(
    paths: Annotated[list[Path], typer.Argument(help="Logs: files, or folders to search.")],
    map: options.MapOption = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Table to write: .csv, .jsonl, …; .parquet also keeps metadata."),
    ] = None,
    format: Annotated[str | None, typer.Option(help="Read only files of this format.")] = None,
    metric: Annotated[str | None, typer.Option(help="Metric to use as the response.")] = None,
    filter: Annotated[str | None, typer.Option(help="Filter after which the metric was computed.")] = None,
    task: Annotated[
        list[str] | None, typer.Option(help="Only this task, or tasks like mmlu_*; may be repeated.")
    ] = None,
    on_error: options.OnErrorOption = None,
    runs: Annotated[
        str, typer.Option(help="Several runs of a learner on a task: keep the newest, or use all as trials.")
    ] = "newest",
    join: Annotated[
        str,
        typer.Option(help="How samples are matched between logs: by id (contents checked), or by content."),
    ] = "id",
    learner_by: Annotated[
        list[str] | None, typer.Option(help="Run setting that distinguishes learners; may be repeated.")
    ] = None,
    samples: Annotated[
        Path | None,
        typer.Option(help="File that lists all samples, for logs that name only the solved ones."),
    ] = None,
    skills_from: Annotated[
        list[str] | None,
        typer.Option(help="Field of a sample in the logs to use as its skill; may be repeated."),
    ] = None,
    as_: Annotated[
        str | None,
        typer.Option("--as", help="every-eval-ever: write JSONL in its instance format instead of a table."),
    ] = None,
    one_benchmark: options.OneBenchmarkOption = False,
    skip_damaged: Annotated[
        bool, typer.Option("--skip-damaged", help="Leave out files that cannot be read, and list them.")
    ] = False,
    scale: options.ScaleOption = None,
    lower_is_better: options.LowerOption = False,
    no_content: Annotated[
        bool, typer.Option("--no-content", help="Do not keep prompts, references, answers and reasons.")
    ] = False,
    json: options.JsonOption = False,
) -> None:
    """Load the logs of evaluation harnesses into one response table.

    Example: camilla load logs/ -o responses.parquet
    """
    from camilla.reading.inputs import load_logs, with_extras

    options.keep_input(output, paths)
    _check_output(output, as_)
    choices = _choices(task, metric, filter, on_error or "null", runs, samples)
    choices = replace(choices, one_benchmark=one_benchmark)
    given = {"map": map, "scale": scale, "lower_is_better": lower_is_better or None, "format": format}
    recipe = options.recipe(given | {"metric": metric, "filter": filter})
    options.checked_one("join", join, ("id", "content"))
    with progress("loading") as watch:
        loaded = load_logs(
            paths, choices, format=format, join=join,  # type: ignore[arg-type]
            learner_by=tuple(learner_by or ()), skip_damaged=skip_damaged, recipe=recipe, watch=watch,
            content=output is not None and as_ is None and not no_content,
        )  # fmt: skip
        if skills_from:
            loaded = with_extras(loaded, {"skills": skills_from})
    written = [] if output is None else _write(loaded, output, as_)
    if json:
        print_json(loaded.document() | {"written": [str(path) for path in written]}, "load")
        return
    for line in loaded.lines():
        say(line)
    for path in written:
        say(f"Written to {shown(str(path))}.")


def _choices(
    tasks: list[str] | None,
    metric: str | None,
    filter: str | None,
    on_error: str,
    runs: str,
    samples: Path | None,
) -> Any:
    from camilla.reading.joining import Choices, OnError, Runs
    from camilla.reading.runs import read_universe

    options.checked_one("on-error", on_error, get_args(OnError))
    options.checked_one("runs", runs, get_args(Runs))
    universe = () if samples is None else read_universe(samples)
    return Choices(tuple(tasks or ()), metric, filter, on_error, runs, universe)  # type: ignore[arg-type]


def _check_output(output: Path | None, as_: str | None) -> None:
    from camilla.errors import SettingError
    from camilla.table.files import checked_ending

    if as_ is not None:
        options.checked_one("as", as_, ("every-eval-ever",))
        if output is None:
            raise SettingError("--as does nothing without -o FILE: it sets the format of that file.")
        if output.suffix.lower() not in (".jsonl", ".ndjson"):
            raise SettingError(f"{output}: {as_} is JSONL; give a name that ends in .jsonl.")
    if output is not None:
        checked_ending(output)


def _write(loaded: "Reading", output: Path, as_: str | None) -> list[Path]:
    """The table, and matches beside it or in its place."""
    from camilla.reading.formats.every_eval_ever import write_instances
    from camilla.table.files import write_frame

    written = []
    if loaded.responses is not None:
        table = loaded.table
        written.append(
            write_instances(table, output) if as_ else table.write(output, provenance=loaded.document())
        )
    if loaded.matches is not None:
        place = output.with_name(f"{output.stem}.matches{output.suffix}") if loaded.merged else output
        written.append(write_frame(loaded.matches, place))
    return written
