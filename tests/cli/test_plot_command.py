"""`camilla plot` as a user meets it."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

from camilla import ResponseTable, diagnose
from camilla.table.skills import SkillMap
from command_line import camilla


def plot(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    return camilla("plot", *arguments, cwd=cwd)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A saved diagnosis of eight learners and two skills, and families of its learners."""
    made = tmp_path_factory.mktemp("plot")
    rng = np.random.default_rng(3)
    matrix = (rng.random((8, 40)) < np.linspace(0.2, 0.9, 8)[:, None]).astype(float)
    table = ResponseTable.from_matrix(matrix, learners=[f"m{i}" for i in range(8)])
    diagnose(table.with_skills(SkillMap.from_labels(["a", "b"] * 20)), "camilla-base").save(
        made / "diagnosis"
    )
    (made / "families.csv").write_text("learner,family\n" + "".join(f"m{i},f{i % 2}\n" for i in range(8)))
    return made


def test_one_picture_and_all_of_them(folder):
    one = plot("ability-accuracy", "diagnosis", "-o", "one.svg", "--families", "families.csv", cwd=folder)
    assert one.returncode == 0, one.stderr
    assert (folder / "one.svg").read_text().startswith("<?xml")
    every = plot("all", "diagnosis", "-o", "pictures", cwd=folder)
    assert every.returncode == 0, every.stderr
    names = sorted(path.name for path in (folder / "pictures").iterdir())
    assert len(names) == 20, "ten pictures, SVG and PNG; the latent mask is camilla's alone"
    assert "note: the picture mask-map shows latent skill masks" in every.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["pie", "diagnosis", "-o", "x.svg"], 2, "no picture 'pie'"),
        (["radar", "diagnosis", "-o", "x.gif"], 2, "ends in none"),
        (["radar", "diagnosis", "-o", "x.svg", "--learner", "m99"], 1, "no learner 'm99'"),
        (["mask-map", "diagnosis", "-o", "x.svg"], 1, "Diagnose with camilla"),
        (["radar", "nowhere", "-o", "x.svg"], 1, "nowhere"),
        (["factors", "diagnosis", "-o", "no/such/x.svg"], 1, "there is no folder"),
        (["stability", "families.parquet", "-o", "x.svg"], 1, "families.parquet"),
        (["spread", "diagnosis", "-o", "x.svg", "--families", "one.csv"], 1, "one.csv"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_and_nothing_is_written(folder, arguments, code, message):
    (folder / "families.parquet").write_bytes(b"no parquet")
    done = plot(*arguments, cwd=folder)
    assert done.returncode == code
    assert message in done.stderr
    assert done.stderr.count("error:") == 1
    assert "Traceback" not in done.stderr
    assert not (folder / "x.svg").exists()
