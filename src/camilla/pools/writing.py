"""The folder of a pool: tables, and where all of it came from."""

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl

import camilla
from camilla.data.writing import write_frame
from camilla.pools.description import Learner
from camilla.pools.joining import error_responses, join_predictions
from camilla.pools.journal import versions
from camilla.pools.results import Results


def write_results(results: Results, folder: Path, *, join: Path | None = None) -> dict[str, Any]:
    """Writes the tables and `pool.json`; returns what the latter says.

    Scores: scores.parquet (data_set, sample, truth, a column a learner, duplicates left out) and
    folds.parquet. Labels and values: predictions.parquet, responses.parquet (long) and skills.parquet.
    `join` names a file with predictions of further learners on the same samples, for values.
    """
    copies = results.duplicates()
    frame = results.predictions()
    if results.pool.task == "scores":
        write_frame(frame.drop("fold", *copies), folder / "scores.parquet")
        write_frame(frame.select("data_set", "sample", "fold"), folder / "folds.parquet")
    else:
        table = results.responses()
        if join is not None:
            frame = join_predictions(frame, join)
            table = error_responses(frame)
        write_frame(frame, folder / "predictions.parquet")
        table.write(folder / "responses.parquet")
        if (skills := results.skills()) is not None:
            write_frame(skills, folder / "skills.parquet")
    fits = results.fits()
    write_frame(fits, folder / "fits.parquet")
    write_frame(_learners(results, copies), folder / "learners.parquet")
    document = provenance(results, copies, fits) | ({} if join is None else {"joined": join.name})
    beside = folder / f".pool.json.{os.getpid()}"
    beside.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    beside.replace(folder / "pool.json")
    return document


def provenance(results: Results, copies: dict[str, str], fits: pl.DataFrame) -> dict[str, Any]:
    """Settings, versions, seeds and hashes; what failed, what was a copy, what was mapped or left out."""
    pool = results.pool
    failed = fits.filter(pl.col("error").is_not_null())
    return {
        "pool": pool.name,
        "task": pool.task,
        "camilla": camilla.__version__,
        "versions": dict(versions()),
        "seed": pool.seed,
        "shared_seed": pool.shared_seed,
        "validation": {"kind": type(pool.validation).__name__.lower(), **asdict(pool.validation)},
        "preparation": asdict(pool.preparation),
        "data": [
            {
                "data_set": one.data.name,
                "samples": one.data.n_samples,
                "predicted": int((one.fold >= 0).sum()),
                "incomplete_rows_left_out": one.data.n_incomplete,
                "features": one.parts[0].train.shape[1],
                "classes": list(one.data.classes),
                "sha256": one.hash,
            }
            for one in results.prepared
        ],
        "learners": len(pool.learners),
        "fits": fits.height,
        "cpu_seconds": round(float(fits["seconds"].sum()), 3),
        "last_run": {"outcomes_computed": results.n_computed, "wall_seconds": round(results.seconds, 1)},
        "fits_with_warnings": fits.filter(pl.col("warnings").list.len() > 0).height,
        "failed": failed.select("learner", "data_set", "fold", "error").to_dicts(),
        "duplicates": copies,
        "notes": list(pool.notes),
    }


def _learners(results: Results, copies: dict[str, str]) -> pl.DataFrame:
    rows = [
        _learner(learner) | {"duplicate_of": copies.get(learner.name)} for learner in results.pool.learners
    ]
    return pl.DataFrame(rows, infer_schema_length=None, schema_overrides={"duplicate_of": pl.String})


def _learner(learner: Learner) -> dict[str, str | None]:
    kind = type(learner.estimator)
    return {
        "learner": learner.name,
        "family": learner.family,
        "made_by": f"{kind.__module__}.{kind.__qualname__}",
        "settings": json.dumps(learner.settings, default=str),
    }
