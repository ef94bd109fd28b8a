"""The core without its extras: what works, and what each command says that needs one.

Packages are made absent in a process of its own, by a finder that knows none of them.
"""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

import jax
import polars as pl
import pytest

import camilla
from camilla.extras import EXTRAS, NAMES

ROOT = Path(__file__).parents[1]
ABSENT = """
import sys

class Absent:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in {packages!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent)
"""
COMMANDS = """
import json, sys
from pathlib import Path
from command_line import camilla
ran = [camilla(*words, cwd=Path.cwd()) for words in json.load(sys.stdin)]
print(json.dumps([(one.returncode, one.stdout, one.stderr) for one in ran]))
"""


class Ended(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def without(packages: set[str], commands: list[str], folder: Path) -> dict[str, Ended]:
    """How commands end in the folder, one after the other, where these packages are not installed."""
    (folder / "absent").mkdir()
    (folder / "absent/sitecustomize.py").write_text(ABSENT.format(packages=packages))
    path = [str(folder / "absent"), str(Path(__file__).parent), *os.environ.get("PYTHONPATH", "").split(":")]
    run = subprocess.run(
        [sys.executable, "-c", COMMANDS], cwd=folder, env=os.environ | {"PYTHONPATH": ":".join(path)},
        input=json.dumps([command.split() for command in commands]), capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return {command: Ended(*end) for command, end in zip(commands, json.loads(run.stdout), strict=True)}


WORK = [
    "compare runs.csv learner-00 learner-11",
    "rank runs.csv",
    "epp scores.csv -o board",
    "diagnose runs.csv -o diagnosis",
    "show diagnosis",
    "show neural",
    "predict neural",
    "report diagnosis -o report.html",
    "demo",
    "items runs.csv",
    "select runs.csv -n 10 -o subset",
    "adapt runs.csv --replay --splits 1 --shares 0.3",
    "check runs.csv",
    "power runs.csv",
    "dif runs.csv --group groups.csv",
    "skills runs.csv -o skills.csv",
    "load runs.csv -o loaded.parquet",
    "predict diagnosis",
    "place diagnosis runs.csv",
    "experiment reliability runs.csv --with irt --seeds 1 --jobs 1",
]
REFUSED = {
    "diagnose runs.csv -o d --with camilla": ("jax", "neural"),
    "diagnose runs.csv -o d --with irt:as_published": ("jax", "neural"),
    "place neural runs.csv": ("jax", "neural"),
    "plot spread diagnosis -o spread.svg": ("matplotlib", "plots"),
    "experiment reliability runs.csv --with irt --seeds 1 --jobs 2": ("joblib", "pools"),
    "pool classifiers runs.csv -o pool": ("joblib", "pools"),
    "rank sheet.xlsx": ("fastexcel", "excel"),
}


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ended]:
    """Every command without any package of an extra."""
    folder = tmp_path_factory.mktemp("core")
    table = camilla.simulate(24, 60, seed=1).table
    table.write(folder / "runs.csv")
    (folder / "sheet.xlsx").write_bytes(b"PK")
    groups = ["x", "y"] * 12
    pl.DataFrame({"learner": table.learners, "group": groups}).write_csv(folder / "groups.csv")
    scores = [(f"m{i}", f"r{k}", 0.1 * i + (i * 7 + k * 3) % 5) for i in range(5) for k in range(20)]
    frame = pl.DataFrame(scores, schema=["player", "round", "score"], orient="row")
    frame.write_csv(folder / "scores.csv")
    short = {"hidden": (2,), "training": camilla.Training(epochs=1, patience=2)}
    jax.config.update("jax_disable_most_optimizations", True)
    with pytest.warns(camilla.ConvergenceWarning):
        neural = camilla.diagnose(table, "camilla", dimensions=2, precision=3.0, **short)
    jax.config.update("jax_disable_most_optimizations", False)
    neural.save(folder / "neural")
    return without(set(EXTRAS), [*WORK, *REFUSED], folder)


@pytest.mark.parametrize("command", WORK)
def test_the_core_does_its_work(command: str, ended: dict[str, Ended]) -> None:
    assert ended[command].returncode == 0, ended[command].stderr


@pytest.mark.parametrize("command", REFUSED)
def test_what_needs_an_extra_says_the_line_that_installs_it(command: str, ended: dict[str, Ended]) -> None:
    package, extra = REFUSED[command]
    end = ended[command]
    assert end.returncode == 1
    assert re.fullmatch(rf"error: .+ needs? {package}: pip install 'camilla\[{extra}\]'\.\n", end.stderr)
    assert end.stdout == ""


def test_a_leaderboard_is_written_without_pictures_and_that_is_said(ended: dict[str, Ended]) -> None:
    end = ended["epp scores.csv -o board"]
    assert "note: only tables are written; " in end.stderr
    assert "pip install 'camilla[plots]'" in end.stderr


def test_parts_of_a_pool_name_their_own_extras(tmp_path: Path) -> None:
    """scikit-learn and joblib are there; a cluster and molecules are not."""
    smiles = "smiles,measured log solubility in mols per litre\n" + "CCO,-0.7\nCCC,-1.2\n" * 10
    (tmp_path / "delaney-processed.csv").write_text(smiles)
    rows = "\n".join(f"{i % 7},{i % 3},{'yes' if i % 2 else 'no'}" for i in range(40))
    (tmp_path / "small.csv").write_text(f"a,b,class\n{rows}\n")
    esol, ray = "pool esol . -o one", "pool classifiers small.csv -o two --family artificial --backend ray"
    end = without({"ray", "rdkit"}, [esol, ray], tmp_path)
    assert (end[esol].returncode, end[ray].returncode) == (1, 1)
    assert end[esol].stderr.endswith("error: the pool esol needs rdkit: pip install 'camilla[pools]'.\n")
    assert end[ray].stderr.endswith("error: the backend ray needs ray: pip install 'camilla[cluster]'.\n")


def test_every_package_is_in_the_extra_that_is_named() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    for package, extra in EXTRAS.items():
        assert any(one.startswith(NAMES.get(package, package)) for one in extras[extra]), package
        assert not any(one.startswith(NAMES.get(package, package)) for one in project["dependencies"])
