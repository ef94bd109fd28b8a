"""`camilla place`: new learners on the scale of a saved diagnosis, its samples frozen."""

from camilla.cli import options
from camilla.cli.output import print_frame, print_json


def place(
    diagnosis: options.Saved,
    new: options.Table,
    rows: options.Rows = None,
    learner: options.Learner = None,
    sample: options.Sample = None,
    response: options.Response = None,
    trial: options.Trial = None,
    weight: options.Weight = None,
    missing: options.Missing = None,
    ignore: options.Ignore = None,
    json: options.Json = False,
) -> None:
    """Place new learners without refitting anything: ability, standard error, rank in the pool."""
    from camilla.diagnosis import Diagnosis

    found = Diagnosis.load(diagnosis)
    table = options.read_table(
        new, rows=rows, skills=None, learner=learner, sample=sample, response=response, trial=trial,
        weight=weight, missing=missing, ignore=ignore,
    )  # fmt: skip
    placed = found.place(table)
    if json:
        skills = found.place_skills(table).to_dicts()
        print_json({"provenance": found.provenance, "learners": placed.to_dicts(), "skills": skills})
        return
    print_frame(
        placed.select("learner", "rank", "ability", "se", "low", "high", "accuracy", "n", "n_unknown"),
        title=f"placed among {len(found.learner_names)} learners, samples frozen",
    )
