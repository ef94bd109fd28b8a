"""`camilla ensemble`: which learners answer better together."""

from pathlib import Path
from typing import Annotated

import typer

from camilla.cli import options
from camilla.cli.options import TableOptions, reads_table
from camilla.display import aside, counted, print_json, progress, say

OF_ANSWERS = {"learner", "sample", "answer"}  # options that apply to answers alone


@reads_table("cluster", "key", *options.CONTENT)
def ensemble(
    tables: Annotated[
        list[Path],
        typer.Argument(
            metavar="TABLE…", help="Responses with answers: a table, or logs; several are joined."
        ),
    ],
    sizes: Annotated[str, typer.Option(help="Committee sizes to try, comma-separated.")] = "3,5,9",
    vote: Annotated[
        str | None, typer.Option(help="majority, log-odds or learned; by default chosen from the data.")
    ] = None,
    two_answers: Annotated[
        bool, typer.Option("--two-answers", help="Right/wrong table: samples have two possible answers.")
    ] = False,
    splits: Annotated[int, typer.Option(help="How many times the samples are split into halves.")] = 10,
    level: Annotated[float, typer.Option(help="Coverage of the intervals.")] = 0.95,
    pairs: Annotated[int, typer.Option(min=0, help="How many pairs of members to print.")] = 6,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="File for the committee (.json), or with --apply for its answers (.csv, …).",
        ),
    ] = None,
    apply: Annotated[
        Path | None,
        typer.Option(help="Committee file of an earlier run: let it vote on the answers in TABLE."),
    ] = None,
    *,
    columns: TableOptions,
    seed: options.SeedOption = 0,
    json: options.JsonOption = False,
) -> None:
    """Choose a committee of learners, evaluated on held-out samples.

    Example: camilla ensemble answers.csv --sizes 3,5 -o committee.json
    """
    from camilla.learners.decision_files import COMMITTEE
    from camilla.learners.ensemble import ensemble

    if apply is not None:
        _apply(apply, tables, output, columns, json=json)
        return
    options.keep_input(output, tables)
    wanted = _sizes(sizes)
    if output is not None:
        COMMITTEE.check_name(output)
    responses = columns.read(*tables, content=True)
    with progress("choosing a committee") as watch:
        found = ensemble(
            responses, sizes=wanted, vote=vote, two_answers=two_answers, splits=splits, level=level,
            seed=seed, watch=watch,
        )  # fmt: skip
    if output is not None:
        found.committee.save(output)
    if json:
        print_json(found.to_document(), "ensemble")
        return
    say(found.text(pairs=pairs))
    if output is not None:
        what = "Committee" if found.better else "The best single learner, as a committee of one,"
        say(f"{what} written to {output}. Use it with: camilla ensemble ANSWERS --apply {output} -o FILE")


def _sizes(text: str) -> list[int]:
    from camilla.errors import SettingError

    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise SettingError(f"--sizes takes comma-separated whole numbers, not {text!r}.") from None


def _apply(
    saved: Path, tables: list[Path], output: Path | None, columns: TableOptions, *, json: bool
) -> None:
    """Votes of a saved committee on answers, which need no responses."""
    from camilla.errors import SettingError
    from camilla.learners.committee import Committee
    from camilla.table.files import checked_ending, write_frame

    columns.refuse("with --apply", but=OF_ANSWERS)
    if len(tables) > 1:
        raise SettingError(f"--apply takes one file of answers; got {len(tables)}.")
    if output is None and not json:
        raise SettingError("--apply needs -o FILE for the answers of the committee, or --json.")
    if output is not None:
        checked_ending(output)
        options.keep_input(output, [saved, *tables])
    committee = Committee.load(saved)
    named = {name: value for name in OF_ANSWERS if (value := getattr(columns, name)) is not None}
    found = committee.apply(tables[0], **named)
    if output is not None:
        write_frame(found, output)
        aside(f"Answers to {counted(found.height, 'sample')} written to {output}.")
    if json:
        document = {"verdict": "answered", "committee": committee.to_document(), "answers": found.to_dicts()}
        print_json(document, "ensemble-answers")
