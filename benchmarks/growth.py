"""Cost from ten thousand to ten million responses

Complete tables drawn from a 2PL. The column `fit` goes from a matrix of responses to parameters at fixed
settings. IRT (2PL) and MIRT (8 dimensions) are fitted to convergence. Camilla is fitted for three epochs
without validation, compiling included, and with the exact placing of learners up to 3 million responses,
where it is done. The column `diagnose` is the public call on a response table at the same settings. It fits
on nine tenths of the responses for the temperature, again on all, and works out standard errors and every
column that is shown. For Camilla it is left out above 10⁵ to keep the run short. Peak memory is that of the
whole process.
"""

import tempfile
from pathlib import Path
from typing import Any

from jobs import Row, measured, phase, print_table, seconds, serve

SHAPES = {"10⁴": (50, 200), "10⁵": (100, 1_000), "10⁶": (250, 4_000), "10⁷": (1_000, 10_000)}
EPOCHS = 3
DIAGNOSED = 100_000  # responses up to which Camilla is also diagnosed
SETTINGS: dict[str, dict[str, Any]] = {
    "irt": {"precision": 3.0},
    "mirt": {"dimensions": 8, "precision": 3.0},
    "camilla": {"dimensions": 10, "precision": 1.0},
}


def simulate(folder: str, n_learners: str, n_samples: str) -> Row:
    """Job: right or wrong with chance σ(a(θ − b)), as bytes [learners, samples]."""
    import numpy as np

    rng = np.random.default_rng(0)
    ability, difficulty = rng.normal(size=int(n_learners)), rng.normal(size=int(n_samples))
    discrimination = rng.lognormal(0, 0.3, int(n_samples))
    logit = discrimination * (ability[:, None] - difficulty)
    right = rng.random(logit.shape) < 1 / (1 + np.exp(-logit))
    np.save(Path(folder, "right.npy"), right.astype(np.uint8))
    return {}


def _settings(name: str) -> dict[str, Any]:
    if name != "camilla":
        return SETTINGS[name]
    from camilla.fitting.training import Training

    return SETTINGS[name] | {"training": Training(epochs=EPOCHS, patience=EPOCHS)}


def fit(folder: str, name: str) -> Row:
    """Job: matrix to parameters."""
    import numpy as np

    from camilla.fitting import fit as engine
    from camilla.fitting.layout import DenseLayout, Size
    from camilla.fitting.protocol import Solution
    from camilla.models import DIAGNOSERS

    as_long = Solution(None, 0.0, 0.0, EPOCHS, True)  # as many epochs, no validation
    right = np.load(Path(folder, "right.npy"))
    diagnoser = DIAGNOSERS[name](Size(*right.shape), **_settings(name))
    with phase("cost"):
        layout = DenseLayout(np.ones(right.T.shape, np.float32), right.T)
        solution = engine.solve(diagnoser, layout, 0, lambda line: None, earlier=as_long)
    return {"steps": solution.steps}


def diagnose(folder: str, name: str) -> Row:
    """Job: response table to diagnosis."""
    import warnings

    import numpy as np

    from camilla.diagnosing import diagnose as camilla_diagnose
    from camilla.table.responses import ResponseTable

    table = ResponseTable.from_matrix(np.load(Path(folder, "right.npy")))
    warnings.simplefilter("ignore")  # so few epochs cannot converge
    with phase("cost"):
        diagnosis = camilla_diagnose(table, name, **_settings(name))
    return {"steps": diagnosis.provenance["steps"]}


def main() -> list[Row]:
    rows: list[Row] = []
    for size, (n_learners, n_samples) in SHAPES.items():
        with tempfile.TemporaryDirectory() as folder:
            measured(__file__, "simulate", folder, n_learners, n_samples)
            for name in SETTINGS:
                fitted = measured(__file__, "fit", folder, name)
                row = {
                    "responses": size,
                    "learners × samples": f"{n_learners:,} × {n_samples:,}",
                    "diagnoser": name,
                    "steps": fitted.found["steps"],
                    "fit, CPU s": seconds(fitted.phases["cost"]),
                    "fit, peak MB": f"{fitted.peak_mb:,.0f}",
                    "diagnose, CPU s": "–",
                    "diagnose, peak MB": "–",
                }
                if name != "camilla" or n_learners * n_samples <= DIAGNOSED:
                    diagnosed = measured(__file__, "diagnose", folder, name)
                    row["diagnose, CPU s"] = seconds(diagnosed.phases["cost"])
                    row["diagnose, peak MB"] = f"{diagnosed.peak_mb:,.0f}"
                rows.append(row)
    print_table("Cost from ten thousand to ten million responses", rows)
    return rows


if __name__ == "__main__":
    serve((simulate, fit, diagnose), main)
