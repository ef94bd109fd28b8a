"""The public logs of docs/results/logs.md as response tables; they lie in the folder CAMILLA_DATA."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import camilla

Rows = list[dict[str, Any]]  # figures of a part
Found = dict[str, dict[str, Any]]  # by part: rows and seconds


def swebench() -> camilla.ResponseTable:
    return camilla.read(data_file("swebench/swebench_verified_agents.parquet"), rows="samples", task="repo")


def helm() -> camilla.ResponseTable:
    frame = pl.read_parquet(data_file("helm_lite/helm_lite_items_x_30models.parquet"))
    name = pl.format("{}#{}", "scenario", "item").alias("sample")
    table = camilla.ResponseTable.from_wide(
        frame.select(name, pl.exclude("scenario", "item")), rows="samples"
    )
    return replace(table, task=tuple(frame["scenario"]))


def metabench() -> camilla.ResponseTable:
    return camilla.read(data_file("metabench/metabench.parquet"), sample="item", task="scenario")


def gsm8k() -> camilla.ResponseTable:
    """The learners that answered all 486 problems."""
    table = metabench()
    table = table.take_samples([j for j, task in enumerate(table.task or ()) if task == "gsm8k"])
    counts = np.bincount(table.learner, minlength=table.n_learners)
    return table.take_learners(np.flatnonzero(counts == table.n_samples))


def data_file(name: str) -> Path:
    return Path(os.environ["CAMILLA_DATA"]) / name
