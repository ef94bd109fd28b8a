"""`camilla place`: new learners on the scale of a saved diagnosis, the pool left as it is."""

from camilla.cli import options
from camilla.cli.options import TableOptions, reads_table
from camilla.display import print_frame, print_json


@reads_table()
def place(
    diagnosis: options.SavedOption,
    new: options.TableOption,
    *,
    columns: TableOptions,
    json: options.JsonOption = False,
) -> None:
    """Place new learners in a saved diagnosis without refitting: ability, standard error, rank.

    Example: camilla place diagnosis new.csv
    """
    from camilla.diagnosis import Diagnosis

    found = Diagnosis.load(diagnosis)
    table = columns.read(new)
    placed = found.place(table)
    if json:
        skills = found.place_skills(table).to_dicts()
        document = {"verdict": "placed", "learners": placed.to_dicts(), "skills": skills}
        print_json(document | {"provenance": found.provenance}, "place")
        return
    print_frame(
        placed.select("learner", "rank", "ability", "se", "low", "high", "accuracy", "n", "n_unknown"),
        title=f"placed among {len(found.learner_names)} learners",
    )
