"""Learners that answer alike are said wherever learners are counted, in the words of diagnose."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import camilla
from camilla.samples.adapt import answers
from camilla.samples.forms import document
from camilla.samples.select import Subset
from camilla.table.responses import ResponseTable


def world(*, copied: bool) -> ResponseTable:
    """30 learners of three answers on 60 samples; of two the second answers as the first."""
    rng = np.random.default_rng(0)
    truth, level = rng.integers(0, 3, 60), rng.uniform(0.4, 0.9, 30)
    said = np.where(rng.random((30, 60)) < level[:, None], truth, (truth + rng.integers(1, 3, (30, 60))) % 3)
    if copied:
        said[7] = said[3]
    names = [f"m{i:02}" for i in range(30)]
    return ResponseTable.from_predictions(dict(zip(names, said, strict=True)), truth, classes=range(3))


SAYS: dict[str, Callable[[ResponseTable], list[str]]] = {
    "select": lambda table: [*camilla.select(table, 10, folds=2, repeats=1).notes],
    "skills": lambda table: [*camilla.skills(table, 2).notes],
    "ensemble": lambda table: [*camilla.ensemble(table, sizes=(3,), splits=2).notes],
    "adapt": lambda table: [*camilla.adapt(table, budget=2, dimensions=1).notes],
    "replay": lambda table: [*camilla.replay(table, shares=0.25, splits=1, dimensions=1).notes],
}


@pytest.mark.parametrize("name", SAYS)
def test_a_copy_is_said_as_diagnose_says_it(name: str) -> None:
    table = world(copied=True)
    (note,) = [one for one in camilla.diagnose(table, "vanilla").provenance["notes"] if "alike" in one]
    assert note.startswith("'m03', 'm07' answer alike on all 60 samples")
    assert note in SAYS[name](table)
    assert not any("alike" in one for one in SAYS[name](world(copied=False)))


def test_notes_are_printed_and_in_the_documents() -> None:
    table = world(copied=True)
    chosen = camilla.select(table, 10, folds=2, repeats=1)
    assert "note: 'm03', 'm07' answer alike" in chosen.text()
    assert document(chosen)["notes"] == [*chosen.notes]
    replay = camilla.replay(table, shares=0.25, splits=1, dimensions=1)
    assert "note: 'm03', 'm07' answer alike" in replay.text()
    assert replay.to_document()["notes"] == [*replay.notes]
    assert "answer alike" in next(answers(camilla.adapt(table, budget=2, dimensions=1), []))


def test_numbers_that_may_be_no_rows_of_the_data_set_are_said_to_be_taken_for_them() -> None:
    """Ids of questions that end in a number, as in any CSV: lm-eval would run other samples."""
    frame = pl.DataFrame({"sample": ["mmlu/1702", "mmlu/88"], "task": [None, None], "weight": [0.5, 0.5]})
    subset = Subset(frame, 0.1, 0.02, pl.DataFrame(), None, {})
    said = document(subset)
    assert said["lm_eval_samples"] == {"mmlu": [88, 1702]}
    (note,) = said["notes"]
    assert "takes the number in a sample's name for its doc_id" in note
    unnamed = replace(subset, samples=frame.with_columns(sample=pl.Series(["a", "b"])))
    assert document(unnamed)["notes"] == []
