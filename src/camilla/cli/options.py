"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

from camilla.errors import SettingError

LARGEST_SEED = 2**32 - 1  # of the generators that learners of a pool are given


def checked_seed(seed: int) -> int:
    """The seed, if every generator takes it."""
    if not 0 <= seed <= LARGEST_SEED:
        raise SettingError(f"a seed is a whole number from 0 to {LARGEST_SEED}; {seed} came.")
    return seed


def checked_jobs(jobs: int) -> int:
    """The number of processes, if it is one."""
    if jobs == 0:
        raise SettingError("--jobs is a number of processes, or -1 for one a core; 0 came.")
    return jobs


def checked_one(option: str, value: str, known: tuple[str, ...]) -> str:
    """The value, if the option has it."""
    if value not in known:
        raise SettingError(f"--{option} is one of {', '.join(known)}, not {value!r}.")
    return value


Table = Annotated[Path, typer.Argument(help="Responses: CSV, TSV, JSONL or Parquet, long or wide; or logs.")]
SkillGraphFile = Annotated[
    Path | None, typer.Option("--skill-graph", help="File of edges between skills: columns parent, child.")
]
Sample = Annotated[str | None, typer.Option(help="Column of the sample.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]
Seed = Annotated[int, typer.Option(help="Seed of everything random.", callback=checked_seed)]
Saved = Annotated[Path, typer.Argument(metavar="DIR", help="A diagnosis written by camilla diagnose.")]
