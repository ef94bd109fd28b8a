"""`camilla route`: which learner should answer each sample, at what cost; `camilla route apply` uses it."""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from camilla.cli import options
from camilla.cli.options import TableOptions, reads_table
from camilla.display import aside, counted, print_json, progress, say

APPLY, MAKE = "apply", "make"


class TableOrApply(TyperGroup):
    """`camilla route TABLE …` makes a route; the word apply in place of the table applies one."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Puts in the command that a table stands for."""
        if not args or args[0] not in (APPLY, MAKE):
            args = [MAKE, *(args or ["--help"])]
        return super().parse_args(ctx, args)


app = typer.Typer(
    name="route",
    cls=TableOrApply,
    help="Choose a learner per sample at a cost, evaluated on held-out samples; or apply a route.",
)


@app.command(APPLY)
def apply(
    route: Annotated[Path, typer.Argument(metavar="ROUTE", help="A route that camilla route wrote: .json.")],
    samples: Annotated[
        Path, typer.Argument(metavar="NEW", help="Samples with the features of the route, one per row.")
    ],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write sample, learner, expected, cost: .csv, ….")
    ] = None,
    sample: Annotated[str, typer.Option(help="Column that names the samples, if there is one.")] = "sample",
    json: options.JsonOption = False,
) -> None:
    """Say which learner is to answer each sample of a file.

    Example: camilla route apply route.json new.csv -o chosen.csv
    """
    from camilla.errors import SettingError
    from camilla.learners.saved_route import Route
    from camilla.table.files import checked_ending, write_frame

    if output is None and not json:
        raise SettingError("route apply needs -o FILE for the learners it chooses, or --json.")
    if output is not None:
        checked_ending(output)
        options.keep_input(output, [route, samples])
    chosen = Route.load(route).choose(samples, sample=sample)
    if output is not None:
        write_frame(chosen, output)
        aside(f"Learners for {counted(chosen.height, 'sample')} written to {output}.")
    if json:
        print_json({"verdict": "chosen", "samples": chosen.to_dicts()}, "route-apply")


@app.command(MAKE, hidden=True)
@reads_table("skills", "features", "cluster")
def route(
    tables: Annotated[
        list[Path],
        typer.Argument(metavar="TABLE…", help="Responses: a table, or logs; several are joined."),
    ],
    costs: Annotated[
        str | None,
        typer.Option(
            help="Cost of an answer: name=cost,…; or FILE[:column] with learner, cost, or sample too."
        ),
    ] = None,
    budget: Annotated[float | None, typer.Option(help="Mean cost per sample that may be spent.")] = None,
    quality: Annotated[float | None, typer.Option(help="Mean response to reach at the lowest cost.")] = None,
    confidence: Annotated[
        str | None,
        typer.Option(
            help="Confidence of the learners: FILE[:column] or :column of TABLE. Makes cascades possible."
        ),
    ] = None,
    first: Annotated[
        str | None, typer.Option(help="First learner of a cascade; by default the cheapest.")
    ] = None,
    portfolio: Annotated[str, typer.Option(help="Sizes of portfolios to choose, comma-separated.")] = "2,3",
    methods: Annotated[
        str, typer.Option(help="Methods to predict responses, comma-separated.")
    ] = "tasks,regression,neighbours",
    folds: Annotated[int, typer.Option(help="Parts of the samples for cross-fitting.")] = 5,
    partitions: Annotated[
        int | None,
        typer.Option(help="How often samples are divided into folds: 5, or 3 from 5,001 samples on."),
    ] = None,
    level: Annotated[float, typer.Option(help="Coverage of the intervals.")] = 0.95,
    budgets: Annotated[int, typer.Option(min=0, help="How many budgets of the frontier to print.")] = 6,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write the route to use: .json.")
    ] = None,
    *,
    columns: TableOptions,
    seed: options.SeedOption = 0,
    json: options.JsonOption = False,
) -> None:
    """Choose a learner per sample at a cost, evaluated on held-out samples.

    `camilla route apply ROUTE NEW -o FILE` uses a route that was written with -o.

    You can omit the word make.

    Example: camilla route make answers.csv --features :prompt --costs small=1,large=20 -o route.json
    """
    from camilla.learners.decision_files import ROUTE
    from camilla.learners.route import route

    options.keep_input(output, tables)
    if output is not None:
        ROUTE.check_name(output)
    sizes = _numbers(portfolio, "portfolio")
    responses = columns.read(*tables)
    with progress("routing") as watch:
        found = route(
            responses, costs=_of_table(costs, tables, "costs"),
            confidence=_of_table(confidence, tables, "confidence"), first=first, budget=budget,
            quality=quality, portfolio=sizes, methods=[name.strip() for name in methods.split(",")],
            folds=folds, partitions=partitions, level=level, seed=seed, watch=watch,
        )  # fmt: skip
    if output is not None:
        found.route.save(output)
    if json:
        print_json(found.to_document(), "route")
        return
    say(found.text(budgets=budgets))
    if output is not None:
        say(f"Route written to {output}. Use it with: camilla route apply {output} NEW.csv -o FILE")


def _of_table(source: str | None, tables: list[Path], option: str) -> Any:
    """FILE[:column] as it is; :column is of the table itself."""
    from camilla.errors import SettingError

    if source is None or not source.startswith(":"):
        return source
    if len(tables) > 1:
        raise SettingError(f"--{option} {source} is of one table; got {len(tables)}. Give FILE:column.")
    return f"{tables[0]}{source}"


def _numbers(text: str, option: str) -> list[int]:
    from camilla.errors import SettingError

    try:
        return [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise SettingError(f"--{option} takes whole numbers with commas, not {text!r}.") from None
