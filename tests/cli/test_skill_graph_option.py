"""--skill-graph as a user meets it: real processes, real files."""

import json
from pathlib import Path

import pytest

from command_line import camilla


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """long.csv of four learners on eight samples, skills.csv: even and odd ones."""
    rows = [f"m{i},q{j},{int((i * j) % 3 > 0)}" for i in range(4) for j in range(8)]
    (tmp_path / "long.csv").write_text("\n".join(["learner,sample,response", *rows]))
    skills = [f"q{j},{int(j % 2 == 0)},{j % 2}" for j in range(8)]
    (tmp_path / "skills.csv").write_text("\n".join(["sample,even,odd", *skills]))
    return tmp_path


def test_a_skill_graph_is_read_checked_and_kept(folder: Path) -> None:
    """A cycle and an unknown skill end with one line; a good graph reaches the diagnosis."""
    (folder / "cycle.csv").write_text("parent,child\neven,odd\nodd,even\n")
    (folder / "strange.csv").write_text("parent,child\neven,prime\n")
    (folder / "graph.json").write_text('[{"parent": "even", "child": "odd"}]')
    given = ("diagnose", "long.csv", "--with", "skill-vanilla", "-o", "out", "--skills", "skills.csv")
    for file, said in (
        ("cycle.csv", "cycle.csv: a skill graph has no cycles, and this one has 'even' → 'odd' → 'even'"),
        ("strange.csv", "the skill graph names 'prime', which the skill map does not have"),
    ):
        run = camilla(*given, "--skill-graph", file, cwd=folder)
        assert run.returncode == 1
        assert said in run.stderr.replace("'odd' → 'even' → 'odd'", "'even' → 'odd' → 'even'")
        assert "Traceback" not in run.stderr
        assert not (folder / "out").exists()
    run = camilla(*given, "--skill-graph", "graph.json", "--json", cwd=folder)
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["provenance"]["skill_graph"] == [["even", "odd"]]


def test_a_diagnoser_of_skills_that_build_on_each_other_asks_for_a_graph(folder: Path) -> None:
    run = camilla(
        "diagnose", "long.csv", "--skills", "skills.csv", "--with", "hier-ncd", "-o", "out", cwd=folder
    )
    assert run.returncode == 1
    assert "hier-ncd needs a skill graph" in run.stderr
    run = camilla("diagnose", "long.csv", "--with", "qc-cdm:mode=3", "-o", "out", cwd=folder)
    assert run.returncode == 2
    assert "mode must be one of 1, 2, 12; got 3" in run.stderr
