"""`camilla compare`: whether B differs from A, by how much, on what."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from camilla.cli import options
from camilla.cli.options import TableOptions, reads_table
from camilla.display import brief, percent, print_frame, print_json

if TYPE_CHECKING:
    from camilla.learners.compare import Comparison, Effect

WORSE = 3  # exit code of --fail-if-worse


@reads_table("cluster")
def compare(
    inputs: Annotated[
        list[str],
        typer.Argument(metavar="TABLE A B", help="A table and two learners, or two tables or log folders."),
    ],
    fail_if_worse: Annotated[
        bool, typer.Option("--fail-if-worse", help="Exit code 3 when B is significantly worse than A.")
    ] = False,
    margin: Annotated[
        float | None,
        typer.Option(help="With --fail-if-worse: exit code 3 unless B is surely at most this much below A."),
    ] = None,
    flips: Annotated[int, typer.Option(min=0, help="How many flipped samples to print each way.")] = 5,
    level: Annotated[float, typer.Option(help="Coverage of the intervals.")] = 0.95,
    *,
    columns: TableOptions,
    json: options.JsonOption = False,
) -> None:
    """Compare two learners on the samples both answered: difference, interval, test, flips."""
    from camilla.errors import SettingError
    from camilla.learners.compare import compare_two, read_two

    if margin is not None and not (fail_if_worse and 0 <= margin < 1):
        raise SettingError(f"--margin {margin:g} goes with --fail-if-worse and lies in 0 ≤ margin < 1.")

    if len(inputs) == 3:
        table, a, b = columns.read(Path(inputs[0])), inputs[1], inputs[2]
    elif len(inputs) == 2:
        table, a, b, notes = read_two(inputs[0], inputs[1], **columns.options())
        columns.say(notes)
    else:
        raise SettingError(
            f"{len(inputs)} arguments came; wanted TABLE A B (two learners of one table), or two tables."
        )
    columns.refuse_idle_weight(table)
    found = compare_two(table, a, b, level=level)
    if json:
        print_json(found.to_document())
    else:
        _print(found, flips)
    if fail_if_worse and found.is_worse(margin):
        typer.echo(f"failed: {_reason(found, margin)}", err=True)
        raise typer.Exit(WORSE)


def _print(found: "Comparison", flips: int) -> None:
    import polars as pl

    overall = found.overall
    typer.echo(f"A {brief(found.a)}: {overall.mean_a:.3f}   B {brief(found.b)}: {overall.mean_b:.3f}")
    typer.echo(_sentence(overall, found.level))
    if found.tasks:
        columns = ("task", "n", "mean_a", "mean_b", "difference", "low", "high", "holm_p", "won", "lost")
        tasks = pl.DataFrame([{name: getattr(task, name) for name in columns} for task in found.tasks])
        frame = tasks.with_columns(pl.col("low", "high").fill_nan(None))
        print_frame(
            frame,
            title=f"\nby task, {percent(found.level)} intervals, p-values by Holm over {frame.height} tasks",
        )
    if found.noise is not None:
        typer.echo(
            f"Trials: {percent(found.noise.share)} of the variance of a sample's difference is chance within "
            f"samples; a rerun of the same samples would move B − A by ± {found.noise.se_rerun:.3f} (1 se)."
        )
    for word, flipped in (("lost", pl.col("b") < pl.col("a")), ("won", pl.col("b") > pl.col("a"))):
        part = found.flipped.filter(flipped)
        if part.height and flips:
            names = ", ".join(brief(name) for name in part["sample"].head(flips))
            rest = part.height - flips
            typer.echo(f"B {word} {part.height}: {names}" + (f" and {rest} more" if rest > 0 else ""))
    for note in found.notes:
        typer.echo(f"note: {note}")


def _reason(found: "Comparison", margin: float | None) -> str:
    if margin is None:
        return f"{brief(found.b)} is worse than {brief(found.a)}."
    return f"it is not shown that {brief(found.b)} is at most {margin:g} below {brief(found.a)}."


def _sentence(effect: "Effect", level: float) -> str:
    sure = effect.p_value < 1 - level
    verdict = ("B is better" if effect.difference > 0 else "B is worse") if sure else "not told apart"
    if not sure and (effect.low > 0 or effect.high < 0):
        verdict += ", if only just: the test is more cautious than the interval"
    over = "" if effect.n_clusters is None else f" in {effect.n_clusters} clusters"
    interval = "no interval" if effect.low != effect.low else f"{effect.low:+.3f} to {effect.high:+.3f}"
    return (
        f"B − A = {effect.difference:+.3f} ({percent(level)}: {interval}) on {effect.n} shared samples{over}"
        f", p = {effect.p_value:.2g} ({effect.test}): {verdict}."
    )
