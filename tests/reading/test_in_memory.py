"""What harnesses return in Python is read as their logs are; objects here have their documented fields."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import camilla
from camilla.errors import DataError, SettingError
from camilla.reading.in_memory import are_results

EXAMPLES = Path(__file__).parents[2] / "docs/examples"
INSPECT = Path(__file__).parents[2] / "docs/harnesses/examples/inspect"


def lm_eval_results(folder: Path, **more: Any) -> dict[str, Any]:
    """What simple_evaluate(log_samples=True) returns, of a folder of logs: tuples and NumPy numbers in it."""
    results = json.loads(next(folder.glob("results_*.json")).read_text())
    samples = {}
    for file in folder.glob("samples_*.jsonl"):
        rows = [json.loads(line) for line in file.read_text().splitlines()]
        for row in rows:
            row["acc"], row["arguments"] = np.float64(row["acc"]), [("a question", " an answer")]
        samples[file.stem.removeprefix("samples_").rpartition("_")[0]] = rows
    config = {"model": results["model_name"], "model_args": None}
    keys = ("results", "configs", "versions", "n-shot", "higher_is_better")
    return {key: results[key] for key in keys} | {"samples": samples, "config": config, "date": 1.8e9} | more


class EvalLog:
    """A log of Inspect: `eval`, `samples`, `status`, `location` and the method of all Pydantic models."""

    def __init__(self, path: Path, *, header_only: bool = False) -> None:
        self.document = json.loads(path.read_text())
        self.eval, self.status = self.document["eval"], self.document["status"]
        self.samples = None if header_only else self.document.get("samples")
        self.location = str(path)

    def model_dump_json(self, *, exclude_none: bool, fallback: Any) -> str:
        return json.dumps(self.document)


def inspect_log(learner: str, **options: bool) -> EvalLog:
    return EvalLog(next((INSPECT / learner).glob("*.json")), **options)


def same_responses(one: camilla.ResponseTable, other: camilla.ResponseTable) -> bool:
    frames = [
        table.to_long().sort("learner", "sample").select("sample", "response") for table in (one, other)
    ]
    return frames[0].equals(frames[1])


def test_results_of_lm_eval_are_read_as_their_logs() -> None:
    table = camilla.read(lm_eval_results(EXAMPLES / "logistic"))
    assert table.learners == ("logistic",)
    assert same_responses(table, camilla.read(EXAMPLES / "logistic"))


def test_results_of_lm_eval_are_compared_as_their_logs() -> None:
    found = camilla.compare(*(lm_eval_results(EXAMPLES / name) for name in ("logistic", "ridge")))
    logs = camilla.compare(EXAMPLES / "logistic", EXAMPLES / "ridge")
    assert (found.a, found.b) == ("logistic", "ridge")
    assert found.overall == logs.overall
    assert found.tasks == logs.tasks


def test_the_model_arguments_name_the_learner() -> None:
    config = {"model": "hf", "model_args": "pretrained=org/tiny,dtype=float16"}
    assert camilla.read(lm_eval_results(EXAMPLES / "ridge", config=config)).learners == ("org/tiny",)


def test_of_two_runs_of_one_model_the_newer_counts() -> None:
    old, new = (lm_eval_results(EXAMPLES / name, config={"model": "one"}) for name in ("logistic", "ridge"))
    old["date"] = datetime(2026, 1, 1, tzinfo=UTC).timestamp()
    assert same_responses(camilla.read(new, old), camilla.read(EXAMPLES / "ridge"))


def test_logs_of_inspect_are_read_alone_and_in_lists() -> None:
    expected = camilla.read(INSPECT / "ridge")
    for source in (inspect_log("ridge"), [inspect_log("ridge")]):
        assert same_responses(camilla.read(source), expected)
    assert camilla.read([inspect_log("ridge"), inspect_log("logistic")]).n_learners == 2


def test_logs_of_inspect_are_compared_and_ranked() -> None:
    found = camilla.compare([inspect_log("logistic")], [inspect_log("ridge")])
    assert found.overall == camilla.compare(INSPECT / "logistic", INSPECT / "ridge").overall
    both = [inspect_log("logistic"), inspect_log("ridge")]
    assert camilla.rank(both).learners == ("logistic", "ridge")


def test_a_log_whose_samples_stayed_in_its_file_is_read_from_there() -> None:
    assert same_responses(
        camilla.read(inspect_log("ridge", header_only=True)), camilla.read(INSPECT / "ridge")
    )


def test_results_and_paths_are_read_together() -> None:
    assert camilla.read(lm_eval_results(EXAMPLES / "logistic"), EXAMPLES / "ridge").n_learners == 2


@pytest.mark.parametrize("name", ["2025-05-12T20-28-13-04-00_popularity.json", "log_formats.json"])
def test_real_logs_of_inspect_as_objects(data_folder: Path, name: str) -> None:
    path = data_folder / "fixtures/inspect_ai" / name
    assert same_responses(camilla.read(EvalLog(path)), camilla.read(path))


def test_what_cannot_be_read_says_what_to_do() -> None:
    with pytest.raises(DataError, match="log_samples=True"):
        camilla.read(lm_eval_results(EXAMPLES / "ridge", samples=None))
    gone = inspect_log("ridge", header_only=True)
    gone.location = "moved.json"
    with pytest.raises(DataError, match=r"read_eval_log\(path\)"):
        camilla.read(gone)
    with pytest.raises(SettingError, match="not with a DataFrame"):
        camilla.read(lm_eval_results(EXAMPLES / "ridge"), pl.DataFrame())
    with pytest.raises(SettingError, match="does nothing on logs"):
        camilla.read(lm_eval_results(EXAMPLES / "ridge"), percent=True)


@pytest.mark.parametrize(
    "source", [pl.DataFrame({"a": [1]}), {"a": [1]}, [], [1], "path", Path("path"), None]
)
def test_other_things_are_no_results(source: Any) -> None:
    assert not are_results(source)
