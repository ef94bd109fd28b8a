"""Finished work on disk: one small file per learner and data set, so that a killed run goes on."""

import hashlib
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cache
from importlib.metadata import packages_distributions, version
from pathlib import Path
from typing import Any

import joblib
import msgspec

from camilla.errors import DataError
from camilla.pools.description import DataSet, Learner, Pool, Preparation, Split
from camilla.pools.fitting import Outcome
from camilla.provenance import package_versions
from camilla.table.files import whole_file

PACKAGES = (
    "scikit-learn",
    "numpy",
    "scipy",
    "lightgbm",
    "xgboost-cpu",
    "xgboost",
    "catboost",
    "rdkit",
    "joblib",
)


EVERYONES = ("scikit-learn", "numpy", "scipy")  # preparation and folds are theirs


@cache
def versions() -> Mapping[str, str]:
    """Of the packages that results may hang on, as far as they are installed."""
    return package_versions(*PACKAGES)


def data_hash(data: DataSet) -> str:
    """SHA-256 of names, features and target, whatever file they came from."""
    text = f"{data.name}\n{data.features.write_csv()}\n{data.samples}\n{data.classes}".encode()
    return hashlib.sha256(text + data.target.tobytes()).hexdigest()


def fingerprint(learner: Learner) -> str:
    """Of the class and its settings; what has no settings is hashed whole."""
    kind: Any = type(learner.estimator)
    params: Any = learner.estimator
    if hasattr(params, "get_params"):
        params = params.get_params()
    return f"{kind.__module__}.{kind.__qualname__} {joblib.hash(params)}{_source(kind)}"


def packages_of(learner: Learner) -> dict[str, str]:
    """Versions of what its predictions hang on: everyone's, and the packages its classes come from.

    So a package installed or renewed costs the learners it makes and no other.
    """
    parts = [learner.estimator]
    if hasattr(learner.estimator, "get_params"):
        parts += learner.estimator.get_params().values()
    rooms = {str(getattr(part, "__module__", "")).split(".")[0] for part in parts}
    names = {name for room in rooms for name in _distributions().get(room, ())}
    return {name: _version(name) for name in sorted(names.union(EVERYONES))}


_version = cache(version)
_distributions = cache(packages_distributions)


@cache
def _source(kind: type) -> str:
    """The code of a class that comes with no package, and so with no version, hashed."""
    room = kind.__module__.split(".")[0]
    if room == "camilla" or room in _distributions():
        return ""
    try:
        return " " + hashlib.sha256(inspect.getsource(kind).encode()).hexdigest()
    except (OSError, TypeError):  # made at a prompt
        return ""


def split_hash(splits: Sequence[Split]) -> str:
    """Of the row numbers."""
    return str(joblib.hash([(split.train, split.test) for split in splits]))


def key_of(pool: Pool, data: str, rows: str, learner: Learner) -> str:
    """Everything the predictions hang on, hashed; an outcome with another key is computed anew."""
    seed = (pool.seed, pool.shared_seed or learner.name)
    made_by = fingerprint(learner), packages_of(learner)
    parts = (data, rows, pool.task, _unlike_default(pool.preparation), seed, *made_by)
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]


def _unlike_default(preparation: Preparation) -> dict[str, Any]:
    """So that a setting added one day does not make old outcomes strangers."""
    plain = Preparation()
    return {key: value for key, value in asdict(preparation).items() if value != getattr(plain, key)}


class Journal:
    """The folder of outcomes of one pool."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DataError(f"{folder}: cannot be made a folder: {error.strerror}.") from None

    def write(self, outcome: Outcome) -> None:
        """Beside the target, then moved into place: a reader never meets half an outcome."""
        path = self.folder / f"{outcome.key}.msgpack"
        with whole_file(path) as draft:
            draft.write_bytes(msgspec.msgpack.encode(outcome))

    def read(self, key: str) -> Outcome | None:
        """None where there is none, or where what lies there cannot be read."""
        try:
            outcome = msgspec.msgpack.decode((self.folder / f"{key}.msgpack").read_bytes(), type=Outcome)
        except (FileNotFoundError, msgspec.DecodeError):
            return None
        return outcome if outcome.key == key else None
