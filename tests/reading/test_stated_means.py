"""What harnesses state of a run, beside what is read; and the true sentence where nothing can be read."""

import json
from pathlib import Path
from typing import Any

import log_seeds
import numpy as np
import pytest

import camilla
from camilla.errors import DataError
from camilla.reading.account import Reading
from camilla.reading.inputs import load_logs
from camilla.reading.joining import Choices


def written(seed: log_seeds.Seed, folder: Path) -> Path:
    for name, data in seed.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


def inspect_log(folder: Path, samples: Any, name: str = "quiz", **header: Any) -> Path:
    path = folder / f"{name}.json"
    path.write_text(json.dumps(log_seeds.HEADER | header | {"samples": samples}))
    return path


def stated(value: float, **more: Any) -> dict[str, Any]:
    score = {
        "name": "choice",
        "scorer": "choice",
        "metrics": {"accuracy": {"name": "accuracy", "value": value}},
    }
    return {"total_samples": 4, "completed_samples": 4, "scores": [score | more]}


def said(found: Reading) -> list[str]:
    return [note for note in found.notes() if "the harness says" in note]


FAILED = {"scores": {}, "error": {"message": "RateLimitError(slow down)", "traceback": ""}}


def four(*values: Any, **more: Any) -> list[dict[str, Any]]:
    return [log_seeds.inspect_sample(0, value, id=str(at), **more) for at, value in enumerate(values)]


def test_means_that_agree_are_not_mentioned(tmp_path: Path) -> None:
    path = inspect_log(tmp_path, four("C", "I", "C", "I"), results=stated(0.5))
    assert said(load_logs([path])) == []


def test_errors_that_the_harness_counts_as_zero_are_named(tmp_path: Path) -> None:
    """Right, wrong and two errors: 1/4 by the harness, 1/2 of the two that were scored."""
    samples = four("C", "I") + [log_seeds.inspect_sample(0, None, id=name, **FAILED) for name in "xy"]
    path = inspect_log(tmp_path, samples, results=stated(0.25))
    (line,) = said(load_logs([path]))
    assert "the harness says 0.250 by choice, 0.500 was read" in line
    assert "counts 2 samples without a score as 0" in line
    zero = load_logs([path], Choices(on_error="zero"))
    assert said(zero) == []
    assert zero.table.learner_means().mean[0] == 0.25


def test_a_reducer_of_epochs_is_named(tmp_path: Path) -> None:
    """Two epochs, of which one is right: the mean is 1/2, the maximum 1."""
    samples = [log_seeds.inspect_sample(0, value, epoch=at) for at, value in enumerate("CI", 1)]
    path = inspect_log(tmp_path, samples, results=stated(1.0, reducer="max"))
    (line,) = said(load_logs([path]))
    assert "0.500 was read, because the harness reduces epochs by max" in line


def test_a_log_that_holds_some_of_the_samples_is_said_to(tmp_path: Path) -> None:
    """As logs cut for publication: 1 of 2,340 samples, two epochs each."""
    results = stated(0.66) | {"total_samples": 4680, "completed_samples": 4680}
    header = {"eval": log_seeds.HEADER["eval"] | {"config": {"epochs": 2}}, "results": results}
    (line,) = said(load_logs([inspect_log(tmp_path, four("C"), **header)]))
    assert (
        "0.660 by choice, 1.000 was read, because the harness's mean is over 2340 samples, and here over 1"
        in line
    )


def test_samples_that_are_dropped_here_are_named(tmp_path: Path) -> None:
    limited = log_seeds.inspect_sample(0, "C", id="z", limit={"type": "token", "limit": 9})
    path = inspect_log(tmp_path, [*four("C", "I", "I"), limited], results=stated(0.5))
    assert said(load_logs([path])) == []
    (line,) = said(load_logs([path], Choices(on_error="drop")))
    assert "0.333 was read, because 1 sample of the log is left out here" in line


def test_a_limit_that_was_scored_counts_as_the_harness_counts_it_and_is_said(tmp_path: Path) -> None:
    limited = log_seeds.inspect_sample(0, "C", id="z", limit={"type": "token", "limit": 9})
    unscored = log_seeds.inspect_sample(0, None, id="u", scores={}, limit={"type": "time", "limit": 9})
    found = load_logs([inspect_log(tmp_path, [*four("I"), limited, unscored])])
    assert sorted(found.table.response) == [0, 1]
    assert any(note.startswith("limits: 1 score is of a sample that hit a limit") for note in found.notes())
    assert found.document()["missing"]["truncated"] == 1


def lm_eval(folder: Path, stated_mean: float, **results: Any) -> Path:
    seed = log_seeds.lm_eval_filters()
    (results_file,) = (name for name in seed.files if "results_" in name)
    document = json.loads(seed.files[results_file])
    document["results"] = {
        "quiz": {"exact_match,strict-match": stated_mean, "exact_match_stderr,strict-match": 0.1}
        | {"exact_match,flexible-extract": 1.0, "alias": "quiz"}
    }
    return written(
        seed._replace(files=seed.files | {results_file: json.dumps(document | results).encode()}), folder
    )


def test_lm_eval_states_a_mean_for_each_filter(tmp_path: Path) -> None:
    """The two documents: 1 and 0 behind strict-match, 1 and 1 behind flexible-extract."""
    folder = lm_eval(tmp_path, 0.5)
    assert said(load_logs([folder])) == []
    assert said(load_logs([folder], Choices(filter="flexible-extract"))) == []


def test_lm_eval_of_more_documents_than_were_logged(tmp_path: Path) -> None:
    folder = lm_eval(tmp_path, 0.25, **{"n-samples": {"quiz": {"original": 9, "effective": 4}}})
    (line,) = said(load_logs([folder]))
    assert "0.250 by exact_match behind strict-match, 0.500 was read" in line

    assert "the harness counts 2 samples that have no score in the log as 0" in line


def test_another_way_of_aggregating_is_said_to_be_one(tmp_path: Path) -> None:
    (line,) = said(load_logs([lm_eval(tmp_path, 0.77)]))
    assert "the harness weighs or aggregates them in another way" in line


def test_swe_bench_states_resolved_of_all_instances(tmp_path: Path) -> None:
    seed = log_seeds.swe_report(1)
    report = json.loads(seed.files[seed.target]) | {"total_instances": 10, "resolved_instances": 1}
    path = tmp_path / seed.target
    path.write_text(json.dumps(report))
    (line,) = said(load_logs([path]))
    assert "the harness says 0.100 by resolved, 0.500 was read" in line


def helm_run(folder: Path, group: str, metrics: dict[str, list[float]]) -> Path:
    """A run of two instances, as HELM writes it, with the means in stats.json."""
    names = [{"instance_id": f"id{i}", "train_trial_index": 0} for i in range(2)]
    each = [
        one
        | {
            "stats": [
                {"name": {"name": m, "split": "test"}, "count": 1, "mean": v[i]} for m, v in metrics.items()
            ]
        }
        for i, one in enumerate(names)
    ]
    stats = [
        {"name": {"name": m, "split": "test"}, "count": 1, "mean": float(np.mean(v))}
        for m, v in metrics.items()
    ]
    stats.append({"name": {"name": "num_instances", "split": "test"}, "count": 1, "mean": 2.0})
    spec = {"name": f"{group}:model=org_m", "adapter_spec": {"model": "org/m"}, "groups": [group]}
    run = folder / "runs" / f"{group}:model=org_m"
    run.mkdir(parents=True)
    for name, value in (("per_instance_stats", each), ("stats", stats), ("run_spec", spec)):
        (run / f"{name}.json").write_text(json.dumps(value))
    return run


@pytest.mark.parametrize(
    ("group", "main"),
    [("narrative_qa", "f1_score"), ("mmlu", "exact_match"), ("unknown_scenario", "exact_match")],
)
def test_helm_is_read_by_the_main_metric_of_its_scenario(group: str, main: str, tmp_path: Path) -> None:
    """main_name of HELM's schemas; exact_match is listed first in all of these runs."""
    values = {"exact_match": [0.0, 0.0], "f1_score": [0.25, 0.75]}
    found = load_logs([helm_run(tmp_path, group, values)])
    assert found.merged is not None
    (chosen,) = found.merged.chosen.values()
    assert chosen is not None
    assert chosen.pair.metric == main
    assert (chosen.rule == "the harness's main score") is (group != "unknown_scenario")
    assert sorted(found.table.response) == values[main]
    assert said(found) == []


def test_every_sample_that_errored_is_counted_with_its_message(tmp_path: Path) -> None:
    samples = [log_seeds.inspect_sample(0, None, id=str(at), **FAILED) for at in range(3)]
    path = inspect_log(tmp_path, samples, status="error")
    with pytest.raises(
        DataError, match=r"all 3 samples of 'quiz' errored.* 3 with 'RateLimitError\(slow down\)'"
    ):
        load_logs([path])


@pytest.mark.parametrize("samples", [None, []])
@pytest.mark.parametrize("status", ["started", "error", None])
def test_an_inspect_log_without_samples_says_so(samples: Any, status: str | None, tmp_path: Path) -> None:
    path = inspect_log(tmp_path, samples, status=status)
    if status is None:
        document = json.loads(path.read_text())
        del document["status"]
        path.write_text(json.dumps(document))
    with pytest.raises(
        DataError, match=rf"the log of 'quiz' contains no sample \(status: {status or 'started'}\)"
    ):
        load_logs([path])


def test_scores_outside_0_to_1_are_not_called_a_log_without_samples(tmp_path: Path) -> None:
    inspect_log(tmp_path, four("C", "I"))
    inspect_log(tmp_path, four(7, 3), "wide", eval=log_seeds.EVAL | {"model": "org/n"})
    inspect_log(tmp_path, [], "empty", eval=log_seeds.EVAL | {"model": "org/o"})
    found = load_logs([tmp_path])
    assert found.document()["empty_logs"] == [str(tmp_path / "empty.json")]
    assert found.document()["unusable_logs"] == {str(tmp_path / "wide.json"): "choice is outside 0 to 1"}
    assert any("no metric of theirs is a score in [0, 1]: 1 logs" in note for note in found.notes())


def test_one_file_that_cannot_be_read_names_the_option_that_leaves_it_out(tmp_path: Path) -> None:
    inspect_log(tmp_path, four("C", "I"))
    (tmp_path / "broken.eval").write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(
        DataError, match=r"broken[.]eval.*To leave out files that cannot be read: --skip-damaged"
    ):
        load_logs([tmp_path])
    assert load_logs([tmp_path], skip_damaged=True).table.n_samples == 2


@pytest.mark.parametrize("wrong", [[2, 1], [1, 0], [0.5, 2], [1, 2, 3], {"successes": 1}, 7])
def test_py_irt_counts_are_successes_of_trials(wrong: Any, tmp_path: Path) -> None:
    """3 of 5 and 1 of 2 are as many trials; the mean of a sample is the share of successes."""
    path = tmp_path / "subjects.jsonl"
    responses = {"q1": [3, 5], "q2": {"successes": 1, "trials": 2}, "q3": 1, "q4": {"correct": 0, "total": 4}}
    path.write_text(json.dumps({"subject_id": "m", "responses": responses}))
    table = camilla.read(path)
    assert (table.n_responses, table.is_binary) == (12, True)
    cells = table.cells()
    shares = dict(zip([table.samples[j] for j in cells.sample], cells.response, strict=True))
    assert shares == pytest.approx({"q1": 0.6, "q2": 0.5, "q3": 1.0, "q4": 0.0})
    assert sorted(cells.weight) == [1, 2, 4, 5]
    path.write_text(json.dumps({"subject_id": "m", "responses": {"q1": wrong}}))
    with pytest.raises(DataError, match="the response to 'q1' is"):
        camilla.read(path)
