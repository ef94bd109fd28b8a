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
    skill_graph: options.SkillGraphFile = None,
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
    from camilla.experiments.reliability import evaluate as score
    from camilla.experiments.reliability import summary

    responses = options.read_table(
        table, rows=rows, skills=skills, learner=learner, sample=sample, response=response, trial=trial,
        weight=weight, missing=missing, ignore=ignore, skill_graph=skill_graph,
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
    plain, wide = (("acc", "f1"), ("auc", "rmse")) if responses.is_binary else ((), ("mae", "rmse"))
    with_interval = [column for name in wide for column in (name, f"{name}_low", f"{name}_high")]
    print_frame(
        means.select("diagnoser", "seeds", *plain, *with_interval, "seconds"),
        title="mean over seeds on unseen responses, 95 % intervals (Student's t)",
    )


def _names(text: str) -> list[str]:
    return [name for name in (part.strip() for part in text.split(",")) if name]


def _numbers(text: str) -> list[int]:
    from camilla.errors import SettingError

    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise SettingError(f"--seeds takes whole numbers with commas, not {text!r}.") from None
