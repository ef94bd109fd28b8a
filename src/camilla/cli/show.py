"""`camilla show`: what a saved diagnosis says."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from camilla.cli import options
from camilla.display import print_frame, print_json
from camilla.names import shown

if TYPE_CHECKING:
    import polars as pl

    from camilla.diagnosis import Diagnosis


def show(
    diagnosis: options.SavedOption,
    learners: Annotated[int, typer.Option(min=0, help="How many learners to print.")] = 20,
    samples: Annotated[int, typer.Option(min=0, help="How many of the hardest samples to print.")] = 10,
    learner: Annotated[str | None, typer.Option(help="One learner: its ability on each skill.")] = None,
    json: options.JsonOption = False,
) -> None:
    """Show a saved diagnosis: leaderboard, hardest samples, or one learner's skills."""
    from camilla.diagnosis import Diagnosis

    found = Diagnosis.load(diagnosis)
    if json:
        print_json(show_document(found))
    elif learner is not None:
        print_learner(found, learner)
    else:
        print_diagnosis(found, learners=learners, samples=samples)


def show_document(found: "Diagnosis") -> dict[str, Any]:
    """Everything a person reads, as data."""
    return {
        "provenance": found.provenance,
        "learners": found.learners.to_dicts(),
        "samples": found.samples.to_dicts(),
        "skills": found.skills.to_dicts(),
    }


def print_diagnosis(found: "Diagnosis", *, learners: int, samples: int) -> None:
    """The leaderboard, the hardest samples, and one line on how it was made."""
    made = found.provenance
    print_frame(
        found.learners.head(learners).select(
            "rank", "learner", "ability", "low", "high", "accuracy", "accuracy_low", "accuracy_high"
        ),
        title=f"{made['n_learners']} learners by ability ({made['scale']}), {made['interval']}",
    )
    hardest = _with_intervals(found.samples.sort("accuracy", "expected", "sample").head(samples))
    print_frame(hardest, title=f"{hardest.height} hardest of {made['n_samples']} samples")
    chosen = ", ".join(f"{name} {value}" for name, value in made["chosen_on_validation"].items())
    tried = dict.fromkeys(trial["diagnoser"] for trial in made["candidates"])
    if tried:
        others = ", ".join(name for name in tried if name != made["diagnoser"])
        beaten = f" before {others} on held-out responses." if others else ": one dimension is enough."
        typer.echo(f"auto chose {made['diagnoser']}{beaten}")
    typer.echo(
        f"{made['diagnoser']}" + (f" ({chosen}, chosen on held-out responses)" if chosen else "")
        + f", seed {made['seed']}, data {made['data_hash'][:12]}, "
        + ("converged." if made["converged"] else f"NOT converged after {made['steps']} steps.")
    )  # fmt: skip


def _with_intervals(samples: "pl.DataFrame") -> "pl.DataFrame":
    """What is printed of samples: a difficulty only where the discrimination is told from 0.

    Difficulty is the intercept over the discrimination: around 0 it may come out as anything.
    """
    import polars as pl

    def with_interval(name: str) -> "pl.Expr":
        value, low, high = (pl.col(column).round(2) for column in (name, f"{name}_low", f"{name}_high"))
        return (
            pl.when(low.is_null())
            .then(value.cast(pl.String))
            .otherwise(pl.format("{} ({} to {})", value, low, high))
        )

    unsure = (pl.col("discrimination_low") <= 0) & (pl.col("discrimination_high") >= 0)
    return samples.select(
        "sample",
        "accuracy",
        "expected",
        pl.when(unsure).then(None).otherwise(with_interval("difficulty")).alias("difficulty"),
        with_interval("discrimination").alias("discrimination"),
        "infit",
    )


def print_learner(found: "Diagnosis", name: str) -> None:
    """One learner's ability and plain accuracy on each skill."""
    import polars as pl

    from camilla.errors import DataError
    from camilla.names import nearest

    if name not in found.learner_names:
        raise DataError(f"no learner {name!r} in this diagnosis. {nearest(name, found.learner_names)}")
    rows = found.skills.filter(pl.col("learner") == name).sort("ability", descending=True)
    print_frame(
        rows.select(
            "skill", "ability", "low", "high", "mastery", "accuracy", "accuracy_low", "accuracy_high"
        ),
        title=f"{shown(name)} by skill, {found.provenance['interval']}",
    )
