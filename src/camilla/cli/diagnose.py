"""`camilla diagnose`: responses in, a saved diagnosis and a leaderboard out."""

import os
import shutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from camilla.cli import options
from camilla.cli.completing import diagnosers, one_of
from camilla.cli.options import TableOptions, reads_table
from camilla.cli.show import show_document
from camilla.display import print_json, progress, say
from camilla.errors import SettingError

if TYPE_CHECKING:
    from camilla.arrays import Watch
    from camilla.diagnosis import Diagnosis
    from camilla.table.responses import ResponseTable
    from camilla.table.skills import SkillMap


@reads_table("skills", "skill_graph", *options.FEATURES, *options.CONTENT)
def diagnose(
    table: options.TableOption,
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder to write the diagnosis to.")],
    with_: Annotated[
        str,
        typer.Option(
            "--with", help="Diagnoser, with settings if any: mirt:dimensions=5.", autocompletion=diagnosers
        ),
    ] = "auto",
    across_blocks: options.AcrossBlocksOption = False,
    shards: options.ShardsOption = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            help="Processes for bayes:chains=4, or workers for shards; one per core by default.",
            callback=options.checked_jobs,
        ),
    ] = None,
    backend: options.BackendOption = "loky",
    device: Annotated[
        str, typer.Option(help="Where to fit: auto, cpu or gpu.", autocompletion=one_of("auto", "cpu", "gpu"))
    ] = "auto",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Estimate the time and memory that the fit needs, and stop.")
    ] = False,
    *,
    columns: TableOptions,
    seed: options.SeedOption = 0,
    json: options.JsonOption = False,
) -> None:
    """Diagnose every learner and sample of a response table.

    Example: camilla diagnose responses.csv --skills skills.csv -o diagnosis
    """
    from camilla.diagnosis_folder import make_way

    options.checked_one("device", device, ("auto", "cpu", "gpu"))
    large = shards is not None or columns.is_large(table)
    if dry_run:
        say_plan(table, with_, columns, json=json)
        return
    if device == "cpu":
        os.environ["JAX_PLATFORMS"] = "cpu"
    if large:
        found = _run_large(
            table, output, with_, columns, across_blocks=across_blocks, shards=shards, jobs=jobs,
            backend=backend, device=device, seed=seed,
        )  # fmt: skip
    else:
        responses = columns.read(table, content=True)
        make_way(output)
        jobs, backend = _spread(with_, jobs, backend)
        found = run(responses, with_, seed, across_blocks=across_blocks, jobs=jobs, backend=backend)
        found.save(output)
    if json:
        print_json(show_document(found), "diagnosis")
    else:
        say(found.text(learners=10, samples=5))
        say(f"Diagnosis written to {output}. Show it again with: camilla show {output}")


def _run_large(
    table: Path, output: Path, text: str, columns: TableOptions,
    *, across_blocks: bool, shards: Path | None, jobs: int | None, backend: str, device: str, seed: int,
) -> "Diagnosis":  # fmt: skip
    """The diagnosis of files in shards; a folder of shards that nobody asked for goes when it is written."""
    from camilla.diagnosing_large import diagnose_large
    from camilla.diagnosis_folder import make_way

    columns.refuse("on a table read in shards", but=("learner", "sample", "response", "no_content"))
    folder = shards or output.with_name(f"{output.name}.shards")
    _keep_apart(folder, output)
    make_way(output)
    with fitting(text) as watch:
        found = diagnose_large(
            table, text, shards=folder, across_blocks=across_blocks, jobs=-1 if jobs is None else jobs,
            backend=backend, device=device, seed=seed, watch=watch, **columns.columns(),
        )  # fmt: skip
    found.save(output)
    if shards is None:
        shutil.rmtree(folder, ignore_errors=True)
    return found


def _keep_apart(shards: Path, output: Path) -> None:
    """Refuses folders of which one would be replaced together with the other."""
    both = {shards.resolve(), output.resolve()}
    if len(both) < 2 or any(both.intersection(path.parents) for path in both):
        raise SettingError(
            f"--shards {shards} and -o {output} are one folder, or one lies in the other. Give two that are "
            "apart."
        )


def _spread(text: str, jobs: int | None, backend: str) -> tuple[int, str]:
    """Processes for the chains of a diagnoser; one chain has none, and defaults of a file then do nothing."""
    from camilla.diagnosing import contender
    from camilla.parallel import HERE

    if contender(text).settings.get("chains", 1) != 1:
        return -1 if jobs is None else jobs, backend
    by_file = options.FROM_FILE.get()
    return 1 if jobs is None or "jobs" in by_file else jobs, HERE if "backend" in by_file else backend


def say_plan(table: Path, text: str, columns: TableOptions, *, json: bool) -> None:
    """What a fit would take, measured on a part of the files."""
    from camilla.fit_plan import plan_fit

    columns.refuse("with --dry-run", but=("learner", "sample", "response", "no_content"))
    plan = plan_fit(table, text, **columns.columns())
    print_json(plan.document(), "fit-plan") if json else say(plan.text())


def run(
    table: "ResponseTable", text: str, seed: int,
    *, across_blocks: bool = False, jobs: int = 1, backend: str = "loky",
) -> "Diagnosis":  # fmt: skip
    """The diagnosis that `--with` asks for; standard error says so where a fit did not converge."""
    from camilla.diagnosing import diagnose as fit

    with fitting(text) as watch:
        found = fit(
            table, text, seed=seed, across_blocks=across_blocks, jobs=jobs, backend=backend, watch=watch
        )
    if found.readout.explicit and table.skill_map is not None:
        warn_of_skills(table.skill_map)
    return found


@contextmanager
def fitting(name: str) -> "Iterator[Watch]":
    """Progress while a diagnoser is fitted, and its warnings when it is done, on standard error."""
    with progress(f"diagnosing with {name}") as watch, warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        yield watch
    for warning in said:
        say(f"warning: {warning.message}", err=True)


def warn_of_skills(skill_map: "SkillMap") -> None:
    """Says on standard error which skills never occur alone, so that nobody reads too much into them."""
    from camilla.names import quoted

    if mixed := skill_map.never_alone():
        say(
            f"warning: no sample needs {quoted(mixed)} alone, so their mastery is not measured directly: it "
            "is what the other skills leave unexplained.",
            err=True,
        )
