"""Camilla on Titanic, time to the paper's quality

353 classifiers on 418 passengers, 6:2:2 over cells. The clock stops at the first epoch whose validation has
AUC ≥ .960 and RMSE ≤ .267, the best figures of the paper. Validation scores are computed after every epoch.
Beside ours is a plain PyTorch loop of the published training. It has 5 latent skills, hidden layers of 128
and 64, dropout .5, and batches of 256 from a DataLoader. It trains with Adam at .005, with weights clamped at
0 after every step. Ours are the default settings. The row `placed` adds what a full fit does once at its end:
every learner placed exactly with the samples frozen.
"""

import importlib.util
import tempfile

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

TITANIC = "camilla_responses/titanic_353x418.parquet"
AUC, RMSE = 0.960, 0.267
MOST_EPOCHS = 40
SEED = 0


def reached(auc: float, rmse: float) -> bool:
    return auc >= AUC and rmse <= RMSE


def train_camilla(folder: str, n_epochs: str, placing: str) -> Row:
    """Trains twice, once with compiling and once without; validation is looked at after every epoch.

    With 0 epochs it searches the fewest that reach the quality.
    """
    with phase("import"):
        import numpy as np

        from camilla.fitting import neural
        from camilla.fitting.layout import Size
        from camilla.fitting.training import Training, neural_logit
        from camilla.models.camilla import Camilla
        from camilla.statistics.prediction import auc, rmse
    train, valid, _ = dealt(folder)
    size = Size(train.n_learners, train.n_samples)
    neural.PLACE_CELLS = len(train.response) if placing == "placed" else 0

    def trained(epochs: int) -> Row:
        diagnoser = Camilla(size, training=Training(epochs=epochs, patience=epochs))
        rng = np.random.default_rng(SEED)
        solution = neural.solve(diagnoser, train.layout(), rng, lambda line: None, valid=valid.layout())
        logit = neural_logit(diagnoser, solution.params, valid.learner, valid.sample)
        chance = 1 / (1 + np.exp(-logit))
        return {"epochs": epochs, "auc": auc(valid.response, logit), "rmse": rmse(valid.response, chance)}

    if n_epochs == "0":
        found = trained(1)
        while not reached(found["auc"], found["rmse"]) and found["epochs"] < MOST_EPOCHS:
            found = trained(found["epochs"] + 1)
        return found
    with phase("with compiling"):
        trained(int(n_epochs))
    with phase("training"):
        found = trained(int(n_epochs))
    return found | {"versions": versions("camilla", "jax", "numpy")}


def train_torch(folder: str) -> Row:
    """The published training, in a plain loop."""
    with phase("import"):
        import torch

        from camilla.statistics.prediction import auc, rmse
        from torch_camilla import epochs
    train, valid, _ = dealt(folder)
    torch.manual_seed(SEED)
    with phase("training"):
        for epoch, chance in zip(range(1, MOST_EPOCHS + 1), epochs(train, valid), strict=False):
            p = chance.numpy()
            found = {"epochs": epoch, "auc": auc(valid.response, p), "rmse": rmse(valid.response, p)}
            if reached(found["auc"], found["rmse"]):
                break
    return found | {"versions": versions("torch", "numpy")}


def _row(name: str, cost: Cost, spent: float, peer: float | None) -> Row:
    found = cost.found
    short = "" if reached(found["auc"], found["rmse"]) else " (not reached)"
    return {
        "Camilla on Titanic": name + short,
        "CPU s": seconds(spent),
        "less than PyTorch": "–" if peer is None else times(peer, spent),
        "import, CPU s": seconds(cost.phases["import"]),
        "epochs": found["epochs"],
        "AUC": f"{found['auc']:.4f}",
        "RMSE": f"{found['rmse']:.4f}",
        "peak MB": f"{cost.peak_mb:.0f}",
        "versions": found["versions"],
    }


def main() -> list[Row]:
    data = data_folder("camilla_titanic")
    if data is None:
        return []
    rows: list[Row] = []
    peer = None
    with tempfile.TemporaryDirectory() as folder:
        measured(__file__, "deal", data / TITANIC, folder, "samples", 6, 2, 2)
        if importlib.util.find_spec("torch"):
            torch_loop = best_of_three("training", __file__, "train_torch", folder)
            peer = torch_loop.phases["training"]
            rows.append(_row("plain PyTorch loop, as published", torch_loop, peer, peer))
        else:
            print("torch is not installed; ours runs alone")
        n_epochs = measured(__file__, "train_camilla", folder, 0, "unplaced").found["epochs"]
        for placing, name in (("unplaced", "camilla"), ("placed", "camilla, placed")):
            cost = best_of_three("training", __file__, "train_camilla", folder, n_epochs, placing)
            rows.append(_row(name, cost, cost.phases["training"], peer))
            rows.append(_row(f"{name}, compiling included", cost, cost.phases["with compiling"], peer))
    print_table("Camilla on Titanic, time to the paper's quality", rows)
    return rows


if __name__ == "__main__":
    serve((deal, train_camilla, train_torch), main)
