"""MIRT with 30 dimensions on Titanic

353 classifiers on 418 passengers; fitted to 60 % of the cells at precision 3, tested on 20 %. The column
`fit` is from arrays to parameters and must stay below 2 CPU seconds; `process` includes interpreter and
imports.
"""

import tempfile

from jobs import Row, best_of_three, data_folder, measured, phase, print_table, seconds, serve, versions
from parts import deal, dealt

TITANIC = "camilla_responses/titanic_353x418.parquet"


def fit_mirt(folder: str) -> Row:
    """MIRT, K = 30, from the engine."""
    with phase("import"):
        import numpy as np

        from camilla.fitting import bilinear
        from camilla.fitting.layout import Size
        from camilla.models.mirt import MIRT
        from camilla.statistics.prediction import auc, rmse
    train, _, test = dealt(folder)
    with phase("fit"):
        diagnoser = MIRT(Size(train.n_learners, train.n_samples), dimensions=30, precision=3.0)
        solution = bilinear.solve(diagnoser, train.layout(), np.random.default_rng(0), lambda line: None)
    p = 1 / (1 + np.exp(-bilinear.bilinear_logit(solution.params, test.learner, test.sample)))
    return {
        "steps": solution.steps,
        "converged": solution.converged,
        "auc": auc(test.response, p),
        "rmse": rmse(test.response, p),
        "versions": versions("camilla", "numpy", "scipy"),
    }


def main() -> list[Row]:
    data = data_folder("mirt_titanic")
    if data is None:
        return []
    with tempfile.TemporaryDirectory() as folder:
        measured(__file__, "deal", data / TITANIC, folder, "samples", 6, 2, 2)
        cost = best_of_three("fit", __file__, "fit_mirt", folder)
    rows = [
        {
            "MIRT on Titanic": "camilla, engine",
            "fit, CPU s": seconds(cost.phases["fit"]),
            "import, CPU s": seconds(cost.phases["import"]),
            "process, CPU s": seconds(cost.process),
            "steps": f"{cost.found['steps']}{'' if cost.found['converged'] else ', not converged'}",
            "AUC": f"{cost.found['auc']:.4f}",
            "RMSE": f"{cost.found['rmse']:.4f}",
            "peak MB": f"{cost.peak_mb:.0f}",
            "versions": cost.found["versions"],
        }
    ]
    print_table("MIRT with 30 dimensions on Titanic", rows)
    return rows


if __name__ == "__main__":
    serve((deal, fit_mirt), main)
