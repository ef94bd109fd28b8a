"""`camilla skills`: responses in, a skill map that holds on other learners out."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from camilla.cli import options
from camilla.cli.options import TableOptions, reads_table
from camilla.display import aside, print_json, progress, say
from camilla.names import shown

if TYPE_CHECKING:
    from camilla.samples.skills import FoundSkills


@reads_table()
def skills(
    table: options.TableOption,
    output: Annotated[Path, typer.Option("-o", "--output", help="Skill map to write: .csv, .parquet, ….")],
    number: Annotated[
        int | None,
        typer.Option(
            help="Number of skills (of families, with --by attribute); by default chosen from the data."
        ),
    ] = None,
    by: Annotated[
        str, typer.Option(help="What is grouped: sample, task, or attribute (skills × families of tasks).")
    ] = "sample",
    skills: Annotated[
        str | None, typer.Option(help="Skill map whose skills are attributes: FILE or FILE:column,column.")
    ] = None,
    *,
    columns: TableOptions,
    seed: options.SeedOption = 0,
    json: options.JsonOption = False,
) -> None:
    """Find skills: groups of samples that rank learners alike, validated on held-out learners.

    Example: camilla skills responses.csv --number 5 -o skills.csv
    """
    from camilla.provenance import made_of
    from camilla.reading.skills import skill_source
    from camilla.samples.skills import skills as find
    from camilla.table.files import checked_ending, write_frame

    checked_ending(output)
    source = None if skills is None else skill_source(skills).file
    options.keep_input(output, [table] if source is None else [table, Path(source)])
    responses = replace(columns, skills=skills).read(table)
    with progress("finding skills") as watch:
        found = find(responses, number, by=by, seed=seed, watch=watch)  # type: ignore[arg-type]
    write_frame(found.skill_map.to_frame(responses.samples), output)
    if json:
        made = made_of(responses, number=number, by=by, seed=seed)
        print_json(_document(found) | {"provenance": made}, "skills")
        return
    for note in found.notes:
        aside(f"note: {note}")
    say(found.text())
    made_at, read_from = shown(str(output)), shown(str(table))
    use = f" Use it with: camilla diagnose {read_from} --skills {made_at} …" if found.judgement.holds else ""
    say(f"Skill map written to {made_at}.{use}")


def _document(found: "FoundSkills") -> dict[str, Any]:
    return {
        "verdict": "hold" if found.judgement.holds else "do not hold",
        "judgement": found.judgement.summary,
        "skills": found.judgement.skills.to_dicts(),
        "found_on": list(found.found_on),
        "judged_on": list(found.judged_on),
        "notes": list(found.notes),
    }
