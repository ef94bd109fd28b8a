"""2PL compared with py-irt

The table math500 has 140 language-model runs on 500 problems. A fifth of the cells is masked, and AUC and
log-loss are on the masked cells. The peer py-irt runs its 2,000 epochs of variational inference with its
default priors, which keep every difficulty near 0, and with its hierarchical priors. The column `fit` is from
arrays to parameters; `process` is everything, interpreter and imports included. In addition,
`camilla.diagnose` chooses the precision on validation, fits again on all responses, and works out standard
errors.
"""

import importlib.util
import json
import sys
import tempfile
from pathlib import Path

from jobs import (
    Cost,
    Row,
    best_of_three,
    data_folder,
    measured,
    phase,
    print_table,
    seconds,
    serve,
    times,
    versions,
)
from parts import deal, dealt

SEED = 0


def fit_camilla(folder: str) -> Row:
    """The 2PL at its default precision, from the engine."""
    with phase("import"):
        import numpy as np

        from camilla.fitting import bilinear
        from camilla.fitting.layout import Size
        from camilla.models.irt import IRT
    seen, masked = dealt(folder)
    with phase("fit"):
        diagnoser = IRT(Size(seen.n_learners, seen.n_samples))
        solution = bilinear.solve(diagnoser, seen.layout(), np.random.default_rng(SEED), lambda line: None)
    logit = bilinear.bilinear_logit(solution.params, masked.learner, masked.sample)
    np.save(Path(folder, "predicted.npy"), 1 / (1 + np.exp(-logit)))
    return {"versions": versions("camilla", "numpy", "scipy")}


def diagnose_camilla(folder: str) -> Row:
    """The same through the public API: settings chosen, standard errors, frames."""
    with phase("import"):
        import numpy as np

        from camilla.diagnosing import diagnose
        from camilla.table.responses import ResponseTable
    seen, masked = dealt(folder)
    matrix = np.full((seen.n_learners, seen.n_samples), np.nan)
    matrix[seen.learner, seen.sample] = seen.response
    table = ResponseTable.from_matrix(matrix)
    with phase("fit"):
        diagnosis = diagnose(table, "irt", seed=SEED)
    expected = diagnosis.predict(table.learners, table.samples)["probability"].to_numpy()
    np.save(Path(folder, "predicted.npy"), expected.reshape(matrix.shape)[masked.learner, masked.sample])
    return {"versions": versions("camilla", "numpy", "scipy", "polars")}


def fit_py_irt(folder: str, *priors: str) -> Row:
    """py-irt's 2PL as its command line trains it, with its default configuration or with other priors."""
    with phase("import"):
        import numpy as np
        import pyro
        from py_irt.config import IrtConfig
        from py_irt.dataset import Dataset
        from py_irt.training import IrtModelTrainer

    seen, masked = dealt(folder)
    responses: dict[str, dict[str, int]] = {}
    for i, j, r in zip(seen.learner, seen.sample, seen.response, strict=True):
        responses.setdefault(str(i), {})[str(j)] = int(r)
    lines = Path(folder, "py-irt.jsonl")
    lines.write_text("\n".join(json.dumps({"subject_id": i, "responses": r}) for i, r in responses.items()))
    data = Dataset.from_jsonlines(lines)
    pyro.set_rng_seed(SEED)
    with phase("fit"):
        config = IrtConfig(model_type="2pl", priors=priors[0] if priors else None)
        trainer = IrtModelTrainer(data_path=lines, config=config, dataset=data, verbose=False)
        trainer.train(device="cpu")
    subject = [data.subject_id_to_ix[str(i)] for i in masked.learner]
    item = [data.item_id_to_ix[str(j)] for j in masked.sample]
    np.save(Path(folder, "predicted.npy"), trainer.irt_model.predict(subject, item))
    return {"versions": versions("py-irt", "pyro-ppl", "torch")}


def score(folder: str) -> Row:
    """AUC and log-loss of the last job's predictions of the masked cells."""
    import numpy as np

    from camilla.statistics.prediction import auc

    response = dealt(folder)[1].response
    p = np.load(Path(folder, "predicted.npy")).clip(1e-7, 1 - 1e-7)
    loss = -np.mean(response * np.log(p) + (1 - response) * np.log1p(-p))
    return {"auc": auc(response, p), "log_loss": float(loss)}


def _row(name: str, cost: Cost, scored: Row, ours: Cost) -> Row:
    return {
        "2PL on math500": name,
        "fit, CPU s": seconds(cost.phases["fit"]),
        "import, CPU s": seconds(cost.phases["import"]),
        "process, CPU s": seconds(cost.process),
        "fit relative to ours": times(cost.phases["fit"], ours.phases["fit"]),
        "AUC": f"{scored['auc']:.4f}",
        "log-loss": f"{scored['log_loss']:.4f}",
        "peak MB": f"{cost.peak_mb:.0f}",
        "versions": cost.found["versions"],
    }


def main() -> list[Row]:
    data = data_folder("irt_peers")
    if data is None:
        return []
    jobs = {"camilla, engine": ["fit_camilla"], "camilla.diagnose": ["diagnose_camilla"]}
    if importlib.util.find_spec("py_irt"):
        jobs["py-irt, defaults"] = ["fit_py_irt"]
        jobs["py-irt, hierarchical priors"] = ["fit_py_irt", "hierarchical"]
    else:
        print(f"py-irt is not installed (it needs Python < 3.12; this is {sys.version.split()[0]})")
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        measured(__file__, "deal", data / "math500/math500.parquet", folder, "long", 8, 2)
        ours = None
        for name, (job, *settings) in jobs.items():
            cost = best_of_three("fit", __file__, job, folder, *settings)
            ours = ours or cost
            rows.append(_row(name, cost, measured(__file__, "score", folder).found, ours))
    print_table("2PL compared with py-irt", rows)
    return rows


if __name__ == "__main__":
    serve((deal, fit_camilla, diagnose_camilla, fit_py_irt, score), main)
