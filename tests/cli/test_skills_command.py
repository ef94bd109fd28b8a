"""skills as a user meets it: what is written can be used, what is said can be traced."""

import json
import re
from pathlib import Path

import polars as pl

from camilla.reading.inputs import read
from camilla.table.examples import simulate
from command_line import camilla


def test_skills_are_found_where_all_samples_are_called_alike_and_say_what_they_rest_on(
    tmp_path: Path,
) -> None:
    """`simulate` calls its samples sample-00, …: the word names no skill, nor meets the column of names."""
    table = simulate(40, 30, seed=1).table
    table.write(tmp_path / "sim.csv")
    ran = camilla("skills", "sim.csv", "-o", "sk.csv", "--number", "2", "--seed", "5", "--json", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)
    names = [row["skill"] for row in told["skills"]]
    assert sorted(pl.read_csv(tmp_path / "sk.csv").columns) == sorted(["sample", *names])
    back = read(tmp_path / "sim.csv", skills=tmp_path / "sk.csv").skill_map
    assert back is not None
    assert sorted(back.mask.sum(axis=0)) == sorted(row["samples"] for row in told["skills"])
    made = told["provenance"]
    assert made["data_hash"] == table.digest()
    assert made["settings"] == {"number": 2, "by": "sample", "seed": 5}
    assert "camilla" in made["versions"]


def test_groups_that_are_no_better_than_random_ones_are_called_nothing(tmp_path: Path) -> None:
    """One ability answers every sample: whatever is found is noise, and is written all the same."""
    simulate(30, 60, seed=0).table.write(tmp_path / "sim.csv")
    ran = camilla("skills", "sim.csv", "-o", "sk.csv", "--number", "3", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert re.search("Nothing to find: \\d+ of 10 random groupings rank held-out learners", ran.stdout)
    assert "Use it with" not in ran.stdout
    assert pl.read_csv(tmp_path / "sk.csv").height == 60
