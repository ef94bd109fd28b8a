"""The response log that comes with the package."""

from importlib import resources

import polars as pl

from camilla.table.responses import ResponseTable
from camilla.table.skills import SkillMap


def digits() -> ResponseTable:
    """42 scikit-learn classifiers on its 1,797 handwritten digits, right or wrong; ten skills: the digits.

    Five-fold cross-validated, so no learner was fitted to a sample that it answers. Learners reach from
    guessing to .99. Made by scripts/make_digits.py.
    """
    log = pl.read_parquet(resources.files("camilla.table").joinpath("digits.parquet").read_bytes())
    table = ResponseTable.from_wide(log.drop("digit"), rows="samples", id="sample")
    return table.with_skills(SkillMap.from_labels(log["digit"].to_list()))
