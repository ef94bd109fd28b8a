"""Real tables, where CAMILLA_DATA says they are."""

import os
import shutil
import tempfile
from pathlib import Path

import polars as pl
import pytest
from hypothesis import settings

from camilla.reading.inputs import read
from camilla.table.responses import ResponseTable

# A busy machine is no reason to fail, and the same commit always runs the same examples.
settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")

# A run has a process per core already: threads of each would wait for each other, and most tables here are so
# small that handing them to threads costs more than the work. Who names a number of threads gets it.
for threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "POLARS_MAX_THREADS"):
    os.environ.setdefault(threads, "1")

# Processes of a run share what JAX compiles. Set before any of them starts; a folder of an earlier run on
# another machine is never read.
COMPILED = "JAX_COMPILATION_CACHE_DIR"
COMPILED_HERE = COMPILED not in os.environ
if COMPILED_HERE:
    os.environ[COMPILED] = tempfile.mkdtemp(prefix="camilla-jax-")
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0.1"
    os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "0"


def pytest_unconfigure() -> None:
    """The process that made the folder removes it."""
    if COMPILED_HERE:
        shutil.rmtree(os.environ[COMPILED], ignore_errors=True)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real data sets, which the project does not ship."""
    if "CAMILLA_DATA" not in os.environ:
        pytest.skip("CAMILLA_DATA is not set; it names the folder of real data sets")
    return Path(os.environ["CAMILLA_DATA"])


@pytest.fixture(scope="session")
def titanic(data_folder: Path) -> ResponseTable:
    """353 classifiers on 418 passengers, right or wrong; 8 skills: sex, port and class."""
    skills = data_folder / "titanic/test_with_truth.csv"
    responses = data_folder / "camilla_responses/titanic_353x418.parquet"
    return read(responses, rows="samples", skills=f"{skills}:Sex,Embarked,Pclass")


@pytest.fixture(scope="session")
def cifar100(data_folder: Path) -> ResponseTable:
    """42 classifiers on the 10,000 test images, right or wrong; 100 skills: the fine classes."""
    labels = data_folder / "cifar100_labels/test_labels.parquet"
    responses = data_folder / "camilla_responses/cifar100_test_42x10000.parquet"
    return read(responses, rows="samples", skills=f"{labels}:fine_class")


@pytest.fixture(scope="session")
def esol(data_folder: Path) -> ResponseTable:
    """22 regressors on the solubility of 1,127 molecules, fractional responses, no skills."""
    frame = pl.read_parquet(data_folder / "camilla_responses/esol_22x1127.parquet")
    return ResponseTable.from_errors(frame.drop("id", "label"), frame["label"], samples=frame["id"])


@pytest.fixture(scope="session")
def math500(data_folder: Path) -> ResponseTable:
    """140 language-model runs on 500 problems, right or wrong, no skills."""
    return read(data_folder / "math500/math500.parquet")
