"""Reliability: how well each diagnoser predicts responses it has not seen."""

import re
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from camilla.data.responses import ResponseTable
from camilla.data.split import split
from camilla.data.validity import check_diagnosable
from camilla.diagnoser import Watch
from camilla.diagnosing import diagnoser_named, in_fitting_order, layout_of_table, published_settings, size_of
from camilla.engine import fit as engine
from camilla.errors import DataError, SettingError
from camilla.metrics.prediction import accuracy, auc, log_loss, macro_f1, mae, rmse

SCORES = ("acc", "f1", "auc", "rmse", "mae", "log_loss")


class Contender(NamedTuple):
    """A diagnoser with settings: what `NAME:setting=value:…` says."""

    label: str
    name: str
    settings: dict[str, Any]
    as_published: bool


def contender(text: str) -> Contender:
    """`camilla`, `mirt:dimensions=30:precision=3`, `camilla:hidden=64x32`, `camilla:as_published`."""
    name, *parts = text.strip().split(":")
    diagnoser_named(name)
    settings: dict[str, Any] = {}
    for part in parts:
        if part == "as_published":
            continue
        key, equals, value = part.partition("=")
        if not equals:
            raise SettingError(f"{text!r}: {part!r} is not setting=value. Write NAME:setting=value:….")
        settings[key] = _value(value)
    return Contender(text.strip(), name, settings, "as_published" in parts)


def _value(text: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    if re.fullmatch(r"\d+(x\d+)+", text):
        return tuple(int(part) for part in text.split("x"))
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text


def evaluate(
    table: ResponseTable,
    diagnosers: Sequence[str],
    *,
    seeds: Sequence[int] = (1, 21, 42),
    watch: Watch = lambda line: None,
) -> pl.DataFrame:
    """One row a diagnoser and seed: scores on the fifth of the cells that no fit saw (6:2:2).

    Settings and temperature are chosen on the validation fifth. acc, f1 and auc are of right/wrong
    responses and empty for fractional ones; seconds are CPU seconds of choosing and fitting.
    """
    check_diagnosable(table)
    contenders = [contender(text) for text in diagnosers]
    ordered = in_fitting_order(table)
    rows = []
    for seed in seeds:
        for one in contenders:
            watch(f"{one.label}, seed {seed}")
            rows.append({"diagnoser": one.label, "seed": seed, **_scores(ordered, one, seed, watch)})
    return pl.DataFrame(rows, schema_overrides=dict.fromkeys(("acc", "f1", "auc"), pl.Float64))


def _scores(ordered: ResponseTable, one: Contender, seed: int, watch: Watch) -> dict[str, Any]:
    train, valid, test = split(ordered, by="cell", proportions=(6, 2, 2), seed=seed)
    if min(part.n_responses for part in (train, valid, test)) == 0:
        raise DataError(
            f"{ordered.n_responses} responses are too few to split 6:2:2; ten at least were wanted."
        )
    kind, size = diagnoser_named(one.name), size_of(ordered)
    settings = published_settings(kind, size) | one.settings if one.as_published else one.settings
    started = time.process_time()
    fitted = engine.fit(
        kind, size, layout_of_table(train),
        settings=settings, seed=seed, valid=layout_of_table(valid),
        watch=lambda line: watch(f"{one.label}, seed {seed}: {line}"),
    )  # fmt: skip
    seconds = time.process_time() - started
    cells = test.cells()
    logits = (
        engine.logit(fitted.diagnoser, fitted.solution.params, cells.learner, cells.sample)
        / fitted.temperature
    )
    predicted = 0.5 * (np.tanh(0.5 * logits) + 1)
    binary = ordered.is_binary
    return {
        "acc": accuracy(cells.response, predicted) if binary else None,
        "f1": macro_f1(cells.response, predicted) if binary else None,
        "auc": auc(cells.response, predicted) if binary else None,
        "rmse": rmse(cells.response, predicted),
        "mae": mae(cells.response, predicted),
        "log_loss": log_loss(cells.response, logits),
        "seconds": seconds,
        "converged": fitted.solution.converged,
        "chosen": ", ".join(f"{name} {value}" for name, value in fitted.chosen.items()),
    }


def summary(results: pl.DataFrame) -> pl.DataFrame:
    """Mean over seeds of every score; score_low and score_high are its 95 % interval (Student's t)."""
    from scipy.stats import t as student  # here, because it costs half a second to import

    rows = []
    for (label,), part in results.group_by("diagnoser", maintain_order=True):
        row: dict[str, Any] = {"diagnoser": label, "seeds": part.height}
        for score in SCORES:
            values = part[score].drop_nulls().to_numpy()
            mean = float(values.mean()) if len(values) else None
            half = None
            if mean is not None and len(values) > 1:
                half = float(student.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values)))
            row |= {
                score: mean,
                f"{score}_low": _minus(mean, half),
                f"{score}_high": _minus(mean, half, sign=-1),
            }
        rows.append(row | {"seconds": float(part["seconds"].mean())})  # type: ignore[arg-type]
    return pl.DataFrame(rows, infer_schema_length=None)


def _minus(mean: float | None, half: float | None, *, sign: int = 1) -> float | None:
    return None if mean is None or half is None else mean - sign * half
