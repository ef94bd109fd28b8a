"""From Parquet files to a diagnosis, in shards

Tables of a 2PL world for irt and its peers, and of a world with eight dimensions for the others, with 30 % of
the cells missing, and sparse ones with 90 %, written as Parquet with one row per response. `fit` starts from
the shards and ends at the mode (the largest move of an ability below 10⁻⁶); Camilla's is its second epoch,
for the first one compiles; `diagnose` is everything from the files to the frames. One
thread. Bytes are peak memory above that of the smallest table, for each response. Peers fit the same
responses from arrays in memory with their defaults (py-irt: 2,000 epochs of variational inference;
torch_measure: up to 1,000 epochs of Adam). A peer that would take more than two CPU minutes,
judged by its speed on the smaller table, is not run, and its time is extrapolated.
"""

import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from subprocess import CalledProcessError
from typing import Any

from jobs import Cost, Row, measured, phase, print_table, seconds, serve

SHAPES = {
    "10⁵": (200, 700, 0.7),
    "10⁶": (500, 2_900, 0.7),
    "10⁷": (1_000, 14_300, 0.7),
    "10⁸": (4_000, 35_700, 0.7),
    "10⁵, sparse": (500, 2_000, 0.1),
    "10⁷, sparse": (5_000, 20_000, 0.1),
    "10⁸, sparse": (20_000, 50_000, 0.1),
}
SETTINGS = {"irt": "irt:precision=1", "mirt, 8 dimensions": "mirt:dimensions=8:precision=3", "camilla": ""}
ON_SPARSE = {"irt", "camilla"}
PEERS = {
    "irt": (("py-irt 2PL", "fit_py_irt", "1"), ("torch_measure TwoPL", "fit_torch_measure", "1")),
    "mirt, 8 dimensions": (
        ("py-irt multidim 2PL", "fit_py_irt", "8"),
        ("torch_measure LogisticFM", "fit_torch_measure", "8"),
    ),
}
LONGEST = 120  # CPU seconds of a peer


def simulate(folder: str, n_learners: str, n_samples: str, share: str, dims: str) -> Row:
    """Job: right or wrong with chance σ(a · θ + c), this share of the cells observed."""
    import numpy as np
    import polars as pl

    rng = np.random.default_rng(0)
    n, m = int(n_learners), int(n_samples)
    ability = rng.normal(size=(n, int(dims))).astype(np.float32)
    mean, spread = (1, 0.4) if dims == "1" else (0.5, 0.5)
    names = pl.Series([f"learner-{i:05}" for i in range(n)])
    step = max(1, 5_000_000 // n)
    for number, start in enumerate(range(0, m, step)):
        rows = min(step, m - start)
        logit = rng.normal(mean, spread, (rows, int(dims))).astype(np.float32) @ ability.T
        logit += rng.normal(size=(rows, 1)).astype(np.float32)
        right = rng.random(logit.shape, dtype=np.float32) < 1 / (1 + np.exp(-logit))
        sample, learner = np.nonzero(rng.random(logit.shape, dtype=np.float32) < float(share))
        samples = pl.Series([f"sample-{start + j:06}" for j in range(rows)])
        columns = {"learner": names[learner.astype(np.uint32)], "sample": samples[sample.astype(np.uint32)]}
        frame = pl.DataFrame(columns | {"response": right[sample, learner].astype(np.uint8)})
        frame.write_parquet(Path(folder, f"part-{number:03}.parquet"))
    np.save(Path(f"{folder}.ability.npy"), ability[:, 0])
    return {}


def _agreement(folder: str, ability: Any) -> float:
    """Correlation with the abilities that the responses were drawn from."""
    import numpy as np

    return float(abs(np.corrcoef(np.load(f"{folder}.ability.npy"), ability)[0, 1]))


def shards(folder: str) -> Row:
    """Job: files to shards."""
    from camilla.table.shards import LongColumns, make_shards, table_files

    with phase("cost"):
        found = make_shards(
            table_files(Path(folder)), Path(f"{folder}.shards"), LongColumns(), lambda line: None
        )
    return {"responses": found.n_responses, "bytes": found.bytes}


def fit(folder: str, name: str) -> Row:
    """Job: shards to parameters."""
    from typing import Any

    from camilla.diagnosing_large import start_of_shards
    from camilla.fitting.alternating import fit_by_turns
    from camilla.fitting.layout import Size
    from camilla.fitting.shard_layout import ShardLayout
    from camilla.fitting.shards import Threads
    from camilla.models.irt import IRT
    from camilla.models.mirt import MIRT
    from camilla.table.shards import open_shards

    found = open_shards(Path(f"{folder}.shards"))
    assert found is not None
    size = Size(len(found.learners), len(found.samples))
    model: Any = IRT(size, precision=1.0) if name == "irt" else MIRT(size, dimensions=8, precision=3.0)
    problem = model.problem()
    with phase("cost"):
        start = start_of_shards(ShardLayout(found.shards), problem.free.shape[1], 0)
        reached = fit_by_turns(problem, Threads(found.shards, 1), start, lambda line: None)
    agreement = _agreement(folder, reached.ability[:, 0]) if name == "irt" else None
    return {"sweeps": reached.sweeps, "agreement": agreement}


def fit_camilla(folder: str) -> Row:
    """Job: an epoch of Camilla's network on shards; the first one, which compiles, is not counted."""
    from contextlib import ExitStack

    from camilla.fitting import fit as engine
    from camilla.fitting.layout import Size
    from camilla.fitting.protocol import Solution
    from camilla.fitting.shard_layout import ShardLayout
    from camilla.models.camilla import Camilla
    from camilla.table.shards import open_shards

    found = open_shards(Path(f"{folder}.shards"))
    assert found is not None
    diagnoser = Camilla(Size(len(found.learners), len(found.samples)), dimensions=10, precision=1.0)
    two_epochs = Solution(None, 0.0, 0.0, 2, True)  # as many, no validation
    lines, second = [], ExitStack()

    def watch(line: str) -> None:
        lines.append(line)
        second.enter_context(phase("cost")) if len(lines) == 1 else second.close()

    layout = ShardLayout(found.shards)
    engine.solve(diagnoser, layout, 0, watch, earlier=two_epochs, settle=False)
    return {"sweeps": 1, "agreement": None}


def _responses(folder: str) -> Any:
    """(learner, sample, response) of all rows, names as whole numbers."""
    import polars as pl

    frame = pl.read_parquet(Path(folder, "*.parquet"))
    codes = [
        frame[name].str.split("-").list.last().cast(pl.Int64).to_numpy() for name in ("learner", "sample")
    ]
    return *codes, frame["response"].to_numpy(writable=True)


def fit_py_irt(folder: str, dims: str) -> Row:
    """Job: py-irt's 2PL, or its multidimensional one, as its command line trains it."""
    import json

    from py_irt.config import IrtConfig
    from py_irt.dataset import Dataset
    from py_irt.training import IrtModelTrainer

    learner, sample, response = _responses(folder)
    answers: dict[str, dict[str, int]] = {}
    for i, j, right in zip(learner.tolist(), sample.tolist(), response.tolist(), strict=True):
        answers.setdefault(str(i), {})[str(j)] = right
    lines = Path(f"{folder}.jsonl")
    with lines.open("w") as file:
        for name, of_learner in answers.items():
            file.write(json.dumps({"subject_id": name, "responses": of_learner}) + "\n")
    data = Dataset.from_jsonlines(lines)
    kind = {"model_type": "2pl"} if dims == "1" else {"model_type": "multidim_2pl", "dims": int(dims)}
    with phase("cost"):
        trainer = IrtModelTrainer(data_path=lines, config=IrtConfig(**kind), dataset=data, verbose=False)
        trainer.train(device="cpu")
    if dims != "1":
        return {"agreement": None}
    ability = trainer.last_params["ability"]
    order = [data.subject_id_to_ix[str(i)] for i in range(len(ability))]
    return {"agreement": _agreement(folder, [ability[k] for k in order])}


def fit_torch_measure(folder: str, dims: str) -> Row:
    """Job: torch_measure's TwoPL, or its factor model."""
    import sys
    from types import ModuleType

    # torch_measure cannot be imported without tabpfn, which none of these models uses.
    tabpfn: Any = ModuleType("tabpfn")
    tabpfn.TabPFNClassifier = None
    sys.modules.setdefault("tabpfn", tabpfn)
    import torch
    from torch_measure.fitting.mle import mle_fit
    from torch_measure.models import LogisticFM, TwoPL

    torch.manual_seed(0)
    learner, sample, response = (torch.from_numpy(part) for part in _responses(folder))
    n_learners, n_samples = int(learner.max()) + 1, int(sample.max()) + 1
    model = TwoPL(n_learners, n_samples) if dims == "1" else LogisticFM(n_learners, n_samples, int(dims))
    with phase("cost"):
        history = mle_fit(model, learner, sample, response, verbose=False)
    agreement = _agreement(folder, model.ability.detach().numpy()) if dims == "1" else None
    return {"sweeps": len(history["losses"]), "agreement": agreement}


def diagnose(folder: str, text: str) -> Row:
    """Job: files to a diagnosis."""
    from camilla.diagnosing_large import diagnose_large

    with phase("cost"):
        diagnose_large(folder, text, shards=f"{folder}.other", device="cpu", watch=lambda line: None)
    return {}


class _Table:
    """The measurements of one table, each as a row beside those of the smallest."""

    def __init__(self, size: str, name: str, folder: Path) -> None:
        self.size, self.shape, self.folder = size, SHAPES[size], folder
        folder.mkdir()
        measured(__file__, "simulate", folder, *self.shape, 1 if name == "irt" else 8)
        self.shards = measured(__file__, "shards", folder)
        self.responses = int(self.shards.found["responses"])

    def row(self, name: str, fitted: Cost, base: float, whole: Cost | None = None, above: float = 0.0) -> Row:
        cost, per, sweeps = fitted.phases["cost"], 1 / self.responses, fitted.found.get("sweeps")
        agreement = fitted.found["agreement"]
        n_learners, n_samples, _ = self.shape
        return {
            "responses": self.size,
            "learners × samples": f"{n_learners:,} × {n_samples:,}",
            "diagnoser": name,
            "sweeps": sweeps or "–",
            "fit, CPU s": seconds(cost),
            "fit, ns per response": f"{cost * per * 1e9:,.0f}",
            "fit, peak MB": f"{fitted.peak_mb:,.0f}",
            "fit, bytes per response": f"{(fitted.peak_mb - base) * 2**20 * per:.1f}",
            "diagnose, CPU s": "–" if whole is None else seconds(whole.phases["cost"]),
            "diagnose, bytes per response": "–"
            if whole is None
            else f"{(whole.peak_mb - above) * 2**20 * per:.1f}",
            "correlation with the truth": "–" if agreement is None else f"{agreement:.4f}",
        }


def main(names: Sequence[str] = tuple(SETTINGS)) -> list[Row]:
    rows: list[Row] = []
    base: dict[tuple[str, str], float] = {}
    pace: dict[str, float] = {}
    for size in SHAPES:
        kind = "sparse" if "sparse" in size else "dense"
        for name in names if kind == "dense" else ON_SPARSE & set(names):
            with tempfile.TemporaryDirectory() as above:
                table = _Table(size, name, Path(above, "runs"))
                rows.append(_ours(table, name, kind, base))
                print(rows[-1], flush=True)
                if kind == "dense":
                    rows += [_peer(table, *peer, base, pace) for peer in PEERS.get(name, ())]
    print_table("From Parquet files to a diagnosis, in shards", rows)
    return rows


def _ours(table: _Table, name: str, kind: str, base: dict[tuple[str, str], float]) -> Row:
    run = partial(measured, __file__)
    if name == "camilla":
        fitted = run("fit_camilla", table.folder)
        return table.row(name, fitted, base.setdefault((name, kind), fitted.peak_mb))
    fitted, whole = run("fit", table.folder, name), run("diagnose", table.folder, SETTINGS[name])
    of_fit = base.setdefault((name, kind), fitted.peak_mb)
    of_whole = base.setdefault((SETTINGS[name], kind), whole.peak_mb)
    return table.row(name, fitted, of_fit, whole, of_whole)


def _peer(
    table: _Table, peer: str, job: str, dims: str, base: dict[tuple[str, str], float], pace: dict[str, float]
) -> Row:
    """What a peer takes, or why that is not known; its pace is CPU seconds per response, 0 where it fails."""
    n_learners, n_samples, _ = table.shape
    told = {
        "responses": table.size,
        "learners × samples": f"{n_learners:,} × {n_samples:,}",
        "diagnoser": peer,
    }
    expected = pace.get(peer, float("nan")) * table.responses
    if expected == 0 or expected > LONGEST:
        said = "fails" if expected == 0 else f"about {seconds(expected)}"
        return told | {"sweeps": "–", "fit, CPU s": said} | dict.fromkeys(LAST_COLUMNS, "–")
    try:
        found = measured(__file__, job, table.folder, dims)
    except CalledProcessError:
        pace[peer] = 0.0
        return _peer(table, peer, job, dims, base, pace)
    pace[peer] = found.phases["cost"] / table.responses
    row = table.row(peer, found, base.setdefault((peer, "dense"), found.peak_mb))
    print(row, flush=True)
    return row


LAST_COLUMNS = (
    "fit, ns per response", "fit, peak MB", "fit, bytes per response", "diagnose, CPU s",
    "diagnose, bytes per response", "correlation with the truth",
)  # fmt: skip


if __name__ == "__main__":
    serve((simulate, shards, fit, fit_camilla, fit_py_irt, fit_torch_measure, diagnose), main)
