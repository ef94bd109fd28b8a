"""Score tables of the papers, and what EloML and exact fits say of them."""

from pathlib import Path

import polars as pl
import pytest

from camilla.table.tournament import Tournament


@pytest.fixture(scope="session")
def expected(data_folder: Path) -> Path:
    """EloML 0.3.1's output on R 4.2.2 and the exact estimates made beside it."""
    return data_folder.parent / "expected" / "epp"


@pytest.fixture(scope="session")
def vtab(expected: Path) -> Tournament:
    """16 models on 19 tasks of the Visual Task Adaptation Benchmark."""
    frame = pl.read_csv(expected / "vtab_input_long.csv")
    return Tournament.from_long(frame, player="model", round="measure", score="value", scheme="Model/Task")


@pytest.fixture(scope="session")
def auc_scores(expected: Path) -> Tournament:
    """EloML's example: 80 models on 20 splits of one data set."""
    frame = pl.read_csv(expected / "auc_scores_input_long.csv")
    return Tournament.from_long(frame, player="model", round="split", score="auc")
