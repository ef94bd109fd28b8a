"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

Table = Annotated[Path, typer.Argument(help="Responses: CSV, TSV, JSONL or Parquet, long or wide; or logs.")]
SkillGraphFile = Annotated[
    Path | None, typer.Option("--skill-graph", help="File of edges between skills: columns parent, child.")
]
Sample = Annotated[str | None, typer.Option(help="Column of the sample.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]
Seed = Annotated[int, typer.Option(help="Seed of everything random.")]
Saved = Annotated[Path, typer.Argument(metavar="DIR", help="A diagnosis written by camilla diagnose.")]
