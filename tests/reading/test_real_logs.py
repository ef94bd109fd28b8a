"""Logs that real harnesses wrote, against what the harnesses themselves say of them."""

import json
import shutil
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from camilla.errors import DataError
from camilla.reading.formats import FORMATS
from camilla.reading.inputs import load_logs, loader_of, read
from camilla.reading.runs import Content, Run


@pytest.fixture(scope="module")
def fixtures(data_folder: Path) -> Path:
    return data_folder / "fixtures"


def test_all_of_them_load_as_one_folder(fixtures: Path) -> None:
    """32 logs and 13 files that go with them: nothing under the folders is unknown."""
    found = load_logs([path for path in sorted(fixtures.iterdir()) if path.name != "predictions"])
    counts = {name: len(files) for name, files in found.files.read.items()}
    assert counts == {
        "alpaca-eval": 4, "helm": 3, "inspect": 16, "lm-eval": 1, "mt-bench": 1, "promptfoo": 1,
        "swe-bench": 1, "tau-bench": 1, "terminal-bench": 4,
    }  # fmt: skip
    assert found.files.companions == {"helm": 12, "lm-eval": 1}
    assert (found.files.unknown, found.files.damaged) == ([], {})


def test_terminal_bench_is_not_taken_for_swe_bench(fixtures: Path) -> None:
    """Its resolved_ids name a task once per trial that resolved it, which SWE-bench's do not."""
    with pytest.raises(DataError, match="does not look like swe-bench"):
        load_logs([next((fixtures / "terminal_bench").rglob("results.json"))], format="swe-bench")


def every(fixtures: Path, folder: str, ending: str) -> list[Path]:
    return sorted(path for path in (fixtures / folder).rglob(f"*{ending}"))


def test_inspect_accuracies_are_those_of_the_logs(fixtures: Path) -> None:
    """results.scores[0].metrics.accuracy, which Inspect computed over the samples it scored.

    One log has no scorer, and its samples stay missing.
    """
    compared = 0
    for path in every(fixtures, "inspect_ai", ""):
        if path.suffix not in (".eval", ".json"):
            continue
        log = _log(path)
        scores = (log.get("results") or {}).get("scores")
        if not scores:
            with pytest.raises(DataError, match="no sample of 'popularity' has a score"):
                read(path)
            continue
        metrics = scores[0]["metrics"]
        if "accuracy" not in metrics:
            continue
        found = load_logs([path])
        table = found.table
        assert table.learner_means().mean[0] == pytest.approx(metrics["accuracy"]["value"], abs=1e-9), path
        assert found.merged is not None
        assert found.merged.differing == []
        if table.n_samples > 1:
            error = table.learner_means().se[0]
            assert error == pytest.approx(metrics["stderr"]["value"], abs=1e-9), path
        assert table.learners == (log["eval"]["model"],)
        compared += 1
    assert compared >= 13


def _log(path: Path) -> dict:
    if path.suffix == ".json":
        return json.loads(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read("header.json"))


def test_inspect_archive_and_json_of_one_run_agree(fixtures: Path) -> None:
    for name in ("log_formats", "log_read_sample"):
        one, other = (read(fixtures / "inspect_ai" / f"{name}{ending}") for ending in (".eval", ".json"))
        assert one.digest() == other.digest()
        found = load_logs([fixtures / "inspect_ai" / f"{name}{ending}" for ending in (".eval", ".json")])
        assert found.merged is not None
        assert len(found.merged.repeated) == 1
        assert found.merged.conflicts == []


def test_inspect_epochs_are_trials(fixtures: Path) -> None:
    table = read(fixtures / "inspect_ai/log_streaming.eval")
    assert (table.n_samples, table.n_responses) == (2, 4)
    assert table.trial is not None
    assert sorted(table.trial) == [0, 0, 1, 1]


def test_inspect_reduced_scores_stand_in_for_samples_that_were_not_logged(fixtures: Path) -> None:
    """Accuracy 2/3 over three samples, as the log's results say."""
    table = read(fixtures / "inspect_ai/2025-05-12T20-28-13-04-00_no-samples.json")
    assert table.response.tolist() == [1, 1, 0]


@pytest.mark.parametrize("metric", ["exact_match", "quasi_exact_match"])
def test_helm_means_are_those_of_stats_json(fixtures: Path, metric: str) -> None:
    """stats.json has the means over the instances of each split that HELM itself computed."""
    for folder in sorted((fixtures / "helm").iterdir()):
        stats = json.loads((folder / "stats.json").read_bytes())
        splits = [
            _by_split(stats, name)
            for name in ({"name": metric, "split": split} for split in ("valid", "test"))
        ]
        table = read(folder, metric=metric)
        count = sum(n for n, _ in splits)
        assert count == table.n_samples
        mean = sum(n * mean for n, mean in splits) / count
        assert table.learner_means().mean[0] == pytest.approx(mean, abs=1e-9)
        spec = json.loads((folder / "run_spec.json").read_bytes())
        assert table.learners == (spec["adapter_spec"]["model"],)


def test_helm_is_read_by_its_main_metric_and_agrees_with_its_means(fixtures: Path) -> None:
    """narrative_qa by F1, hellaswag and mmlu by exact match; mean and standard error from raw instances."""
    mains = {"narrative_qa": "f1_score", "commonsense": "exact_match", "mmlu": "exact_match"}
    for folder in sorted((fixtures / "helm").iterdir()):
        found = load_logs([folder])
        assert found.merged is not None
        (chosen,) = found.merged.chosen.values()
        main = next(metric for start, metric in mains.items() if folder.name.startswith(start))
        assert chosen is not None
        assert (chosen.pair.metric, chosen.rule) == (main, "the harness's main score")
        assert found.merged.differing == []
        raw = json.loads((folder / "per_instance_stats.json").read_bytes())
        scores = [s["mean"] for one in raw for s in one["stats"] if s["name"]["name"] == main]
        means = found.table.learner_means()
        assert means.mean[0] == pytest.approx(np.mean(scores), abs=1e-12)
        assert means.se[0] == pytest.approx(np.std(scores, ddof=1) / np.sqrt(len(scores)), abs=1e-12)


def _by_split(stats: list[dict], name: dict[str, str]) -> tuple[int, float]:
    """How many instances the split has, and the mean of the metric over them."""
    mean = next((stat["mean"] for stat in stats if stat["name"] == name), 0.0)
    of_split = {"name": "num_instances", "split": name["split"]}
    count = next((stat["sum"] for stat in stats if stat["name"] == of_split), 0)
    return int(count), mean


def test_lm_eval_names_and_hashes(fixtures: Path) -> None:
    """The harness's own hash is SHA-256 of the document, indented by two."""
    folder = fixtures / "lm_eval_every_eval_ever"
    (path,) = folder.glob("*.jsonl")
    table = read(folder)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert table.learners[0].startswith("RylanSchaeffer/mem_Qwen3-93M")
    assert table.samples == tuple(f"math_perturbed_full/{row['doc_id']}" for row in rows)
    scores = [row["exact_match"] for row in rows]
    np.testing.assert_array_equal(table.response, scores)
    means = table.learner_means()
    assert means.mean[0] == pytest.approx(np.mean(scores))
    assert means.se[0] == pytest.approx(np.std(scores, ddof=1) / np.sqrt(len(scores)))


def test_lm_eval_agrees_with_the_results_file_or_says_why_not(fixtures: Path) -> None:
    """results_*.json states the mean of exact_match over all documents of the task."""
    found = load_logs([fixtures / "lm_eval_every_eval_ever"])
    (path,) = (fixtures / "lm_eval_every_eval_ever").glob("results_*.json")
    stated = json.loads(path.read_bytes())["results"]["math_perturbed_full"]["exact_match,none"]
    assert found.merged is not None
    read_mean = found.table.learner_means().mean[0]
    assert (found.merged.differing == []) is bool(abs(stated - read_mean) < 5e-4)


def test_lm_eval_without_its_hashes_is_the_same_log(fixtures: Path, tmp_path: Path) -> None:
    """A log older than the hashes gets those that the harness writes today, so both join."""
    source = fixtures / "lm_eval_every_eval_ever"
    for name in ("old", "new"):
        shutil.copytree(source, tmp_path / name)
    (old,) = (tmp_path / "old").glob("*.jsonl")
    rows = [json.loads(line) for line in old.read_text().splitlines()]
    for row in rows:
        del row["doc_hash"]
    old.chmod(0o644)
    old.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = load_logs([tmp_path])
    assert found.merged is not None
    assert found.merged.conflicts == []
    assert len(found.merged.repeated) == 1


def test_swe_bench_counts_are_those_of_the_report(fixtures: Path) -> None:
    """6 resolved; 76 unresolved and 3 empty patches failed; 6 were never submitted and have no row."""
    path = fixtures / "swebench/multi_swebench_java_results.json"
    report = json.loads(path.read_bytes())
    table = read(path)
    assert table.response.sum() == report["resolved_instances"] == 6
    assert table.n_samples == report["unresolved_instances"] + report["resolved_instances"] + 3 == 85
    error = np.std(table.response, ddof=1) / np.sqrt(table.n_samples)
    assert table.learner_means().se[0] == pytest.approx(error)
    (line,) = (note for note in load_logs([path]).notes() if "the harness says" in note)
    assert f"{6 / report['total_instances']:.3f} by resolved, {6 / 85:.3f} was read" in line
    skilled = read(path, skills=["repo"])
    assert skilled.skill_map is not None
    assert "fasterxml/jackson-core" in skilled.skill_map.skills


def test_alpaca_eval_means_are_those_of_the_preferences(fixtures: Path) -> None:
    for path in every(fixtures, "alpaca_eval", ".json"):
        rows = json.loads(path.read_bytes())
        table = read(path)
        assert table.learners == (rows[0]["generator_2"],)
        scores = [row["preference"] - 1 for row in rows]
        means = table.learner_means()
        assert means.mean[0] == pytest.approx(np.mean(scores), abs=1e-9)
        error = np.std(scores, ddof=1) / np.sqrt(len(scores))
        assert means.se[0] == pytest.approx(error, abs=1e-9)


def test_models_under_one_judge_share_their_samples(fixtures: Path) -> None:
    table = read(fixtures / "alpaca_eval", tasks=["*gpt4_1106_preview"])
    assert (table.n_learners, table.n_samples, table.is_complete) == (2, 12, True)


def runs_of(path: Path, format: str) -> list[Run]:
    return list(loader_of(FORMATS[format]).runs(path))


def content_of(run: Run) -> Content:
    assert run.content is not None
    return run.content()


def mean_and_error(trials: Mapping[Any, Sequence[float]]) -> tuple[float, float]:
    """The mean over all trials, and its standard error with samples as draws: the ratio estimator's."""
    n, total = len(trials), sum(map(len, trials.values()))
    mean = sum(map(sum, trials.values())) / total
    spread = sum((sum(scores) - len(scores) * mean) ** 2 for scores in trials.values())
    return mean, (spread * n / (n - 1)) ** 0.5 / total


def check_means(path: Path, trials: Mapping[Any, Sequence[float]], **options: Any) -> None:
    table = read(path, **options)
    means = table.learner_means()
    mean, error = mean_and_error(trials)
    assert len(set(table.sample)) == len(trials)
    assert table.n_responses == sum(map(len, trials.values()))
    np.testing.assert_allclose([means.mean[0], means.se[0]], [mean, error], rtol=1e-9)


def test_terminal_bench_means_are_those_of_the_trials(fixtures: Path) -> None:
    """A null has no verdict. The lists of ids name a task once for each trial, a null as unresolved."""
    paths = sorted((fixtures / "terminal_bench").rglob("*results.json"))
    assert len(paths) == 4
    for path in paths:
        file = json.loads(path.read_bytes())
        trials: dict[str, list[float]] = {}
        for one in file["results"]:
            if one["is_resolved"] is not None:
                trials.setdefault(one["task_id"], []).append(float(one["is_resolved"]))
        check_means(path, trials)
        table = read(path)
        assert len({one["task_id"] for one in file["results"]}) == table.n_samples
        resolved = np.bincount(table.sample, table.response, table.n_samples)
        for name, count in zip(table.samples, resolved, strict=True):
            assert count == file["resolved_ids"].count(name.removeprefix("terminal-bench/"))
        (run,) = runs_of(path, "terminal-bench")
        assert run.stated == {"is_resolved": file["accuracy"]}
        assert run.n_stated == len({*file["resolved_ids"], *file["unresolved_ids"]}) == 80
        assert file["accuracy"] == len(file["resolved_ids"]) / (file["n_resolved"] + file["n_unresolved"])


def test_terminal_bench_with_errors_as_zero_is_what_the_harness_counts(fixtures: Path) -> None:
    path = fixtures / "terminal_bench/20250902_orchestrator_qwen-3-coder-480B/results.json"
    trials: dict[str, list[float]] = {}
    for one in json.loads(path.read_bytes())["results"]:
        trials.setdefault(one["task_id"], []).append(float(bool(one["is_resolved"])))
    assert set(map(len, trials.values())) == {5}
    check_means(path, trials, on_error="zero")


def test_terminal_bench_attempts_are_trials_and_runs_of_a_submission_are_told(fixtures: Path) -> None:
    (run,) = runs_of(
        fixtures / "terminal_bench/20250902_orchestrator_qwen-3-coder-480B/results.json", "terminal-bench"
    )
    assert sorted(row.trial for row in run.rows if row.sample == "crack-7z-hash") == [0, 1, 2, 3, 4]
    found = load_logs([fixtures / "terminal_bench"])
    assert found.table.learners == (
        "20250711_openhands_claude-4-sonnet",
        "20250829_goose_claude-4-opus",
        "20250902_orchestrator_qwen-3-coder-480B",
    )
    assert found.merged is not None
    (again,) = found.merged.repeated
    assert [Path(source).parent.name for source in again.kept] == ["openhands-sonnet2"]
    both = read(fixtures / "terminal_bench/20250711_openhands_claude-4-sonnet", runs="trials")
    assert both.n_responses == 26  # 14 trials each, of which one each was not judged


def test_tau_bench_means_are_those_of_the_rewards(fixtures: Path) -> None:
    """Average reward and pass^1 of tau_bench/run.py are the mean here: every task has as many trials."""
    path = fixtures / "tau_bench/gpt-4o-airline.json"
    trials: dict[int, list[float]] = {}
    for one in json.loads(path.read_bytes()):
        trials.setdefault(one["task_id"], []).append(one["reward"])
    check_means(path, trials)
    table = read(path)
    assert (table.learners, set(table.task or ())) == (("gpt-4o",), {"tau-bench airline"})
    assert table.trial is not None
    assert sorted(set(table.trial)) == [0, 1, 2, 3]


def test_promptfoo_means_are_those_of_its_metrics(fixtures: Path) -> None:
    """Sum of scores and count of passed tests of the prompt's metrics, over all tests."""
    path = fixtures / "promptfoo/results.json"
    summary = json.loads(path.read_bytes())["results"]
    scores = {one["testIdx"]: [float(one["score"])] for one in summary["results"]}
    check_means(path, scores)
    (run,) = runs_of(path, "promptfoo")
    metrics, stats = summary["prompts"][0]["metrics"], summary["stats"]
    total = stats["successes"] + stats["failures"] + stats["errors"]
    assert run.stated == {"score": metrics["score"] / total, "success": stats["successes"] / total}
    assert mean_and_error(scores)[0] == pytest.approx(run.stated["score"])
    assert (run.learner, run.task, run.main) == (
        "openai:chat:gpt-4o-mini",
        "Prompt eval smoke tests",
        "score",
    )
    assert run.settings == {
        "temperature": "0",
        "max_tokens": "256",
        "provider": "openai:chat:gpt-4o-mini",
        "prompt": "1",
    }
    content = content_of(run)
    assert content.asked["1"].reference == r"regex: \b56\b"
    assert ("1", 0, "64") in [answer[:3] for answer in content.answers]


def test_mt_bench_means_are_those_of_the_ratings(fixtures: Path) -> None:
    """As show_result.py averages them, without -1; a rating r is (r - 1) / 9 here."""
    path = fixtures / "mt_bench/gpt-4_single.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    ratings = [one["score"] for one in lines if one["score"] != -1]
    check_means(path, {at: [(rating - 1) / 9] for at, rating in enumerate(ratings)})
    (run,) = runs_of(path, "mt-bench")
    assert (run.learner, run.main, run.settings) == (
        lines[0]["model"],
        "rating by gpt-4",
        {"scale": "1:10"},
    )
    assert 1 + 9 * read(path).learner_means().mean[0] == pytest.approx(np.mean(ratings))
    skilled = read(path, skills=["category"])
    assert skilled.skill_map is not None
    assert skilled.skill_map.skills == ("roleplay", "writing")  # questions 81 to 90 and 91 to 92
    content = content_of(run)
    for one, answer in zip(lines, content.answers, strict=True):
        asked = content.asked[answer.sample].prompt
        assert asked
        assert f"[Question]\n{asked}\n" in one["user_prompt"]
        assert f"{answer.answer}\n[The End of" in one["user_prompt"]
        assert answer.reason == one["judgment"]
