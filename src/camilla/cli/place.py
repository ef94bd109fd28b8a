"""`camilla place`: new learners on the scale of a saved diagnosis, its samples frozen."""

from camilla.cli import options
from camilla.cli.output import print_frame, print_json
from camilla.cli.table_options import TableOptions, reads_table


@reads_table()
def place(
    diagnosis: options.Saved,
    new: options.Table,
    *,
    columns: TableOptions,
    json: options.Json = False,
) -> None:
    """Place new learners without refitting anything: ability, standard error, rank in the pool."""
    from camilla.diagnosis import Diagnosis

    found = Diagnosis.load(diagnosis)
    table = columns.read(new)
    placed = found.place(table)
    if json:
        skills = found.place_skills(table).to_dicts()
        print_json({"provenance": found.provenance, "learners": placed.to_dicts(), "skills": skills})
        return
    print_frame(
        placed.select("learner", "rank", "ability", "se", "low", "high", "accuracy", "n", "n_unknown"),
        title=f"placed among {len(found.learner_names)} learners, samples frozen",
    )
