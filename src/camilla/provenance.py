"""What a result rests on."""

import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import camilla
from camilla.errors import DataError
from camilla.names import nearest
from camilla.table.columns import PLAIN
from camilla.table.responses import ResponseTable
from camilla.table.shards import ShardFolder


def made_of(table: ResponseTable, **settings: Any) -> dict[str, Any]:
    """Sizes and hash of the table, settings, and versions."""
    return {
        "data_hash": table.digest(),
        "n_learners": table.n_learners,
        "n_samples": table.n_samples,
        "n_responses": table.n_responses,
        "n_clusters": None if table.cluster is None else len(set(table.cluster)),
        "response_scale": table.scale._asdict(),
        "settings": settings,
        "versions": versions(),
    }


def made_of_shards(folder: ShardFolder, **settings: Any) -> dict[str, Any]:
    """The same of responses that stay in their files."""
    return {
        "data_hash": folder.digest,
        "n_learners": len(folder.learners),
        "n_samples": len(folder.samples),
        "n_responses": folder.n_responses,
        "n_clusters": None,
        "response_scale": PLAIN._asdict(),
        "settings": settings,
        "versions": versions(),
        "out_of_core": True,
    }


def versions(*more: str) -> dict[str, str]:
    """Of what computes every result, and of `more` packages."""
    packages = package_versions("numpy", "scipy", "polars", *more)
    return {"camilla": camilla.__version__, "python": platform.python_version(), **packages}


def package_versions(*packages: str) -> dict[str, str]:
    """Of the packages that are installed."""
    found = {}
    for name in packages:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def place_of(table: ResponseTable, learner: str) -> int:
    """The index of a learner, by name."""
    if learner not in table.learners:
        raise DataError(f"no learner {learner!r} in the table. {nearest(learner, table.learners)}")
    return table.learners.index(learner)
