"""`camilla evaluate`: which diagnoser predicts unseen responses best."""

from typing import Annotated

import typer

from camilla.cli import options
from camilla.cli.output import print_frame, print_json, progress


def evaluate(
    table: options.Table,
    with_: Annotated[
        str, typer.Option("--with", help="Diagnosers, comma-separated, settings after colons.")
    ] = "vanilla,irt,mirt",
    seeds: Annotated[str, typer.Option(help="Seeds of the splits, comma-separated.")] = "1,21,42",
    rows: options.Rows = None,
    skills: options.Skills = None,
    learner: options.Learner = None,
    sample: options.Sample = None,
    response: options.Response = None,
    trial: options.Trial = None,
    weight: options.Weight = None,
    missing: options.Missing = None,
    ignore: options.Ignore = None,
    json: options.Json = False,
) -> None:
    """Score diagnosers on responses they have not seen: mean and 95 % interval over seeds."""
    from camilla.experiments.reliability import SCORES, summary
    from camilla.experiments.reliability import evaluate as score

    responses = options.read_table(
        table, rows=rows, skills=skills, learner=learner, sample=sample, response=response, trial=trial,
        weight=weight, missing=missing, ignore=ignore,
    )  # fmt: skip
    with progress("evaluating") as watch:
        results = score(responses, _names(with_), seeds=_numbers(seeds), watch=watch)
    if json:
        print_json(
            {
                "data_hash": responses.digest(),
                "results": results.to_dicts(),
                "summary": summary(results).to_dicts(),
            }
        )
        return
    means = summary(results)
    kept = [score for score in SCORES if means[score].null_count() < means.height]
    low_high = [name for score in kept[-4:] for name in (score, f"{score}_low", f"{score}_high")]
    columns = ["diagnoser", "seeds", *kept[:-4], *low_high, "seconds"]
    print_frame(
        means.select(columns), title="mean over seeds on unseen responses, 95 % intervals (Student's t)"
    )


def _names(text: str) -> list[str]:
    return [name for name in (part.strip() for part in text.split(",")) if name]


def _numbers(text: str) -> list[int]:
    from camilla.errors import SettingError

    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise SettingError(f"--seeds takes whole numbers with commas, not {text!r}.") from None
