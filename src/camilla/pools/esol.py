"""The ESOL pool: eight regressors on fingerprints of 1,127 molecules, 5-fold (Liu et al., 2024, Table 5).

The fingerprint (Morgan, radius 2, 256 bits) and the unshuffled folds are those of the authors' published
training script; each learner has scikit-learn's or CatBoost's own settings.
"""

from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla.errors import DataError
from camilla.extras import needing
from camilla.names import quoted
from camilla.pools.description import DataSet, Folds, Pool, Preparation
from camilla.pools.grids import CATBOOST, Grid, made
from camilla.table.frame_files import column_names, read_frame

SMILES, TARGET, USED = "smiles", "measured log solubility in mols per litre", "in_camilla_1127"
BITS, RADIUS = 256, 2

GRIDS = (
    Grid("LR", "sklearn.linear_model:LinearRegression", {}, cost=0.02),
    Grid("RF", "sklearn.ensemble:RandomForestRegressor", {}, cost=1.5),
    Grid("KRN", "sklearn.neighbors:KNeighborsRegressor", {}, cost=0.05),
    Grid("GBR", "sklearn.ensemble:GradientBoostingRegressor", {}, cost=0.5),
    Grid("ETR", "sklearn.ensemble:ExtraTreesRegressor", {}, cost=1.5),
    Grid("Ridge", "sklearn.linear_model:Ridge", {}, cost=0.02),
    Grid(
        "cb",
        "catboost:CatBoostRegressor",
        {},
        CATBOOST,
        cost=3.0,
    ),
    Grid("Ada", "sklearn.ensemble:AdaBoostRegressor", {}, {"loss": "square"}, cost=0.3),
)


def fingerprints(smiles: list[str]) -> NDArray[np.float64]:
    """Morgan fingerprints, one row of bits a molecule."""
    with needing("the pool esol"):
        from rdkit import Chem, RDLogger
        from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator

    RDLogger.DisableLog("rdApp.*")  # type: ignore[attr-defined]
    molecules = [Chem.MolFromSmiles(text) for text in smiles]
    if bad := [text for text, molecule in zip(smiles, molecules, strict=True) if molecule is None]:
        raise DataError(f"{len(bad)} SMILES cannot be read as molecules: {quoted(bad)}.")
    generator = GetMorganGenerator(radius=RADIUS, fpSize=BITS)
    return np.array([generator.GetFingerprintAsNumPy(molecule) for molecule in molecules], np.float64)


def esol_data(path: Path) -> DataSet:
    """delaney-processed.csv: the molecules of the paper where a column marks them, else all.

    Samples are called by their row in the file, from 0.
    """
    file = path / "delaney-processed.csv" if path.is_dir() else path
    marked = USED in column_names(file)
    frame = read_frame(file, columns=[SMILES, TARGET, *([USED] if marked else [])]).with_row_index("row")
    if marked:
        frame = frame.filter(pl.col(USED).cast(pl.String).str.to_lowercase().is_in(["1", "true"]))
    bits = fingerprints(frame[SMILES].to_list())
    return DataSet(
        "esol",
        pl.DataFrame(bits, schema=[f"bit_{bit}" for bit in range(BITS)]),
        frame[TARGET].to_numpy().astype(np.float64),
        tuple(frame["row"].cast(pl.String).to_list()),
    )


def esol_pool(path: Path, *, seed: int = 0) -> Pool:
    """Solubility from bits as they are, five folds in the order of the file."""
    chosen = made(GRIDS)
    return Pool(
        "esol", "values", [esol_data(path)], chosen.learners, Folds(5, shuffle=False),
        Preparation(scale="none"), seed, notes=chosen.notes,
    )  # fmt: skip
