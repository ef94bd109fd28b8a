"""`camilla adapt`: adaptive testing, live over lines of JSON or played over a stored log."""

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from camilla.cli import options
from camilla.cli.options import TableOptions, reads_table
from camilla.display import print_json, progress, say

if TYPE_CHECKING:
    from camilla.samples.replay import Replay


@reads_table()
def adapt(
    table: options.TableOption,
    replay: Annotated[
        bool,
        typer.Option(
            "--replay", help="Simulate tests on the stored responses instead of asking for new ones."
        ),
    ] = False,
    budget: Annotated[int | None, typer.Option(help="Stop after this many responses.")] = None,
    score_se: Annotated[float | None, typer.Option(help="Stop at this standard error of the score.")] = None,
    ability_se: Annotated[
        float | None, typer.Option(help="Stop at this standard error of the ability.")
    ] = None,
    shares: Annotated[
        str | None,
        typer.Option(help="Replay: shares of the samples to ask, comma-separated; default .05,.1,.15,.25."),
    ] = None,
    calibration: Annotated[
        float | None, typer.Option(help="Replay: share of the learners to calibrate on; default .8.")
    ] = None,
    splits: Annotated[
        int | None, typer.Option(help="Replay: number of random splits of the learners; default 10.")
    ] = None,
    dimensions: Annotated[int | None, typer.Option(help="Dimensions of the larger models.")] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            help="Replay: number of processes; -1: one per core; default 1.", callback=options.checked_jobs
        ),
    ] = None,
    backend: Annotated[
        str | None,
        typer.Option(help="Replay: where they run: loky, threading, multiprocessing or ray; default loky."),
    ] = None,
    *,
    columns: TableOptions,
    seed: options.SeedOption = 0,
    json: options.JsonOption = False,
) -> None:
    """Test a learner adaptively: the most informative samples first, calibrated on the learners of a table.

    Example: camilla adapt responses.csv --replay
    """
    from camilla.samples.adapt import adapt, answers
    from camilla.samples.replay import replay as play

    stops: dict[str, Any] = {"budget": budget, "score_se": score_se, "ability_se": ability_se}
    played = {
        "shares": shares, "calibration": calibration, "splits": splits, "jobs": jobs, "backend": backend,
    }  # fmt: skip
    if replay:
        _refuse(stops, "does nothing in a replay, which asks --shares of the samples")
        given: dict[str, Any] = {name: value for name, value in played.items() if value is not None}
        if shares is not None:
            given["shares"] = _shares(shares)
        responses = columns.read(table)
        with progress("replaying") as watch:
            found = play(responses, dimensions=dimensions, seed=seed, watch=watch, **given)
        _show(found, json=json)
        return
    _refuse(played | {"json": json or None}, "does nothing without --replay")
    responses = columns.read(table)
    with progress("calibrating") as watch:
        test = adapt(responses, dimensions=dimensions, seed=seed, watch=watch, **stops)
    for line in answers(test, sys.stdin):
        say(line)


def _refuse(given: Mapping[str, object], why: str) -> None:
    """An error if any of them was given."""
    from camilla.errors import SettingError

    for name, value in given.items():
        if value is not None:
            raise SettingError(f"--{name.replace('_', '-')} {why}. Leave it out.")


def _show(found: "Replay", *, json: bool) -> None:
    if json:
        print_json(found.to_document(), "adapt")
        return
    say(found.text())


def _shares(text: str) -> tuple[float, ...]:
    from camilla.errors import SettingError

    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise SettingError(f"--shares takes comma-separated numbers, not {text!r}.") from None
