"""Every layout of every format, on files written from its definition (`log_seeds`); no harness made them."""

from pathlib import Path

import log_seeds
import numpy as np
import pytest

from camilla.errors import DataError, SettingError
from camilla.reading.account import Reading
from camilla.reading.formats import FORMATS
from camilla.reading.inputs import load_logs, read, read_with_account
from camilla.reading.joining import Choices
from camilla.reading.tournaments import read_tournaments


def written(seed: log_seeds.Seed, folder: Path) -> Path:
    for name, data in seed.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


def loaded(layout: str, folder: Path, **choices: object) -> Reading:
    written(log_seeds.LAYOUTS[layout](), folder)
    return load_logs([folder], Choices(**choices))  # type: ignore[arg-type]


@pytest.mark.parametrize("layout", log_seeds.LAYOUTS)
def test_the_format_is_found_by_looking(layout: str, tmp_path: Path) -> None:
    """Written from the definition. Only the file with scores is read; what lies beside it is known."""
    seed = log_seeds.LAYOUTS[layout]()
    found = load_logs([written(seed, tmp_path)]).files
    assert list(found.read) == [seed.format]
    assert str(tmp_path / seed.target) in found.read[seed.format]
    assert found.unknown == []
    assert found.reasons[seed.format]


LEARNERS = {"opencompass": "m"}


@pytest.mark.parametrize(
    "layout", [name for name in log_seeds.LAYOUTS if name.split()[0] in ("lm-eval", "inspect", "opencompass")]
)
def test_first_right_second_wrong(layout: str, tmp_path: Path) -> None:
    """Written from the definition: learner, task, ids and scores are as the seeds say."""
    found = loaded(layout, tmp_path)
    table = found.table
    assert table.learners == (LEARNERS.get(layout.split(maxsplit=1)[0], "org/m"),)
    assert table.samples == ("quiz/0", "quiz/1")
    wrong = 0.5 if layout == "lm-eval repeats" else 0.0
    np.testing.assert_array_equal(table.matrix(), [[1.0, wrong]])
    assert table.task == ("quiz", "quiz")


@pytest.mark.parametrize("layout", ["lm-eval filters", "inspect zstd", "every-eval-ever"])
def test_subjects_are_offered_as_skills(layout: str, tmp_path: Path) -> None:
    written(log_seeds.LAYOUTS[layout](), tmp_path)
    table = read_with_account(tmp_path, skills=["subject"]).table
    assert table.skill_map is not None
    assert table.skill_map.skills == ("law", "physics")
    np.testing.assert_array_equal(table.skill_map.mask, [[False, True], [True, False]])
    assert table.sample_metadata is not None
    assert table.sample_metadata["text"].to_list() == ["How fast is light?", "Who sues?"]


def test_lm_eval_keeps_filters_apart(tmp_path: Path) -> None:
    """Written from the definition of ≥ 0.4.7; without the key, a document again is another filter."""
    found = loaded("lm-eval filters", tmp_path)
    assert found.merged is not None
    chosen = found.merged.chosen["quiz"]
    assert chosen is not None
    assert chosen.pair == ("exact_match", "strict-match")
    assert chosen.others == [("exact_match", "flexible-extract")]
    flexible = read(tmp_path, filter="flexible-extract")
    np.testing.assert_array_equal(flexible.matrix(), [[1.0, 1.0]])


def test_lm_eval_says_which_metrics_are_no_scores(tmp_path: Path) -> None:
    found = loaded("lm-eval hashes", tmp_path)
    assert found.merged is not None
    chosen = found.merged.chosen["quiz"]
    assert chosen is not None
    assert chosen.left_out == {"word_perplexity": "not a single number", "brier": "lower is better"}
    with pytest.raises(SettingError, match=r"word_perplexity.*not scores \(not a single number\)"):
        read(tmp_path, metric="word_perplexity")


def test_lm_eval_repeats_are_trials(tmp_path: Path) -> None:
    table = loaded("lm-eval repeats", tmp_path).table
    np.testing.assert_array_equal(table.response, [1, 1, 0, 1])
    assert table.trial is not None
    np.testing.assert_array_equal(table.trial, [0, 1, 0, 1])


def test_lm_eval_hashes_an_old_log_as_new_ones_do(tmp_path: Path) -> None:
    """0.4.0 wrote no hash; SHA-256 of the indented document, as the harness makes it since, is the same."""
    written(log_seeds.lm_eval_array(), tmp_path / "old")
    written(log_seeds.lm_eval_named_output(), tmp_path / "new")
    found = load_logs([tmp_path], Choices(runs="trials"))
    assert found.merged is not None
    assert found.merged.conflicts == []
    assert found.table.n_responses == 4


def test_lm_eval_metadata_of_the_learner_is_kept(tmp_path: Path) -> None:
    about = loaded("lm-eval filters", tmp_path).table.learner_metadata
    assert about is not None
    assert about.row(0, named=True) == {
        "learner": "org/m",
        "model": "hf",
        "model_args": "pretrained=org/m,dtype=float16",
        "n_shot": "5",
        "lm_eval_version": "0.4.9",
        "format": "lm-eval",
        "date": log_seeds.TIME,
        "source": str(tmp_path / "out/org__m" / f"samples_quiz_{log_seeds.TIME}.jsonl"),
    }


def inspect_log(folder: Path, samples: list[object]) -> Path:
    path = folder / "log.json"
    path.write_text(log_seeds.json.dumps(log_seeds.HEADER | {"samples": samples}))  # NaN is written as NaN
    return path


@pytest.mark.parametrize(
    ("value", "score"),
    [
        ("C", 1.0), ("P", 0.5), ("I", 0.0), ("N", 0.0), ("yes", 1.0), ("False", 0.0), ("0.25", 0.25),
        (True, 1.0), (1, 1.0), (0.3, 0.3),
    ],
)  # fmt: skip
def test_inspect_values_are_read_as_inspect_reads_them(value: object, score: float, tmp_path: Path) -> None:
    """Written from the definition of `value_to_float`."""
    path = inspect_log(tmp_path, [log_seeds.inspect_sample(0, value)])
    assert read(path).response.tolist() == [score]


def test_inspect_parts_of_a_score_are_metrics_of_their_own(tmp_path: Path) -> None:
    samples = [
        log_seeds.inspect_sample(0, {"fluent": 1, "true": "I"}),
        log_seeds.inspect_sample(1, {"fluent": 0.5}),
    ]
    path = inspect_log(tmp_path, samples)
    assert read(path, metric="choice/fluent").response.tolist() == [1, 0.5]
    assert read(path, metric="choice/true").response.tolist() == [0]


def test_inspect_errors_limits_and_nan_are_missing_and_counted(tmp_path: Path) -> None:
    samples = [
        log_seeds.inspect_sample(0, "C"),
        log_seeds.inspect_sample(1, "C", limit={"type": "token", "limit": 9}),
        log_seeds.inspect_sample(0, None, id="e", error={"message": "boom"}, scores=None),
        log_seeds.inspect_sample(0, float("nan"), id="n"),
    ]
    path = inspect_log(tmp_path, samples)

    def account(on_error: str) -> tuple[list[float], dict[str, int]]:
        found = load_logs([path], Choices(on_error=on_error)).merged  # type: ignore[arg-type]
        assert found is not None
        return found.table.response.tolist(), {why: count for why, count in found.missing.items() if count}

    assert account("null") == ([1.0, 1.0], {"unscored": 1, "errored": 1})
    assert account("zero") == ([1.0, 0.0, 0.0, 0.0], {})
    assert account("score") == ([1.0, 1.0], {"unscored": 1, "errored": 1})
    assert account("drop") == ([1.0], {})


def test_inspect_epochs_are_trials(tmp_path: Path) -> None:
    samples = [log_seeds.inspect_sample(0, value, epoch) for epoch, value in enumerate("CIC", start=1)]
    table = read(inspect_log(tmp_path, samples))
    assert table.response.tolist() == [1, 0, 1]
    assert table.cells().response.tolist() == [pytest.approx(2 / 3)]


def test_helm_joins_by_what_is_asked_not_by_the_number_of_the_instance(tmp_path: Path) -> None:
    """Written from the definition: ids are drawn per run, so id7 of one run may be id9 of another."""
    written(log_seeds.helm(), tmp_path / "a")
    seed = log_seeds.helm()
    other = {
        name: data.replace(b"id7", b"id9").replace(b"org/m", b"org/n") for name, data in seed.files.items()
    }
    written(seed._replace(files=other), tmp_path / "b")
    table = read(tmp_path)
    assert table.learners == ("org/m", "org/n")
    np.testing.assert_array_equal(np.sort(table.matrix(), axis=1), [[0, 1], [0, 1]])
    assert table.task == ("quiz:level=1",) * 2


@pytest.mark.parametrize("with_texts", [True, False])
def test_helm_perturbed_instances_are_samples_of_the_same_cluster(with_texts: bool, tmp_path: Path) -> None:
    """The first instance and its typos (right, wrong) are one cluster, the second instance another."""
    seed = log_seeds.helm(perturbed=True)
    files = {name: data for name, data in seed.files.items() if with_texts or "instances" not in name}
    table = read(written(seed._replace(files=files), tmp_path))
    assert (table.n_samples, table.task) == (3, ("quiz:level=1",) * 3)
    assert table.cluster is not None
    clusters = sorted(table.cluster, key=table.cluster.count)
    assert clusters[0] != clusters[1] == clusters[2]
    original = table.samples[int(np.flatnonzero(table.matrix()[0] == 1)[0])]
    assert clusters[1] == original


def test_helm_clusters_of_two_tasks_are_apart(tmp_path: Path) -> None:
    """Without texts an instance is known by its number, which every task has."""
    seed = log_seeds.helm(perturbed=True)
    for task in (b"quiz", b"exam"):
        files = {
            name.replace("quiz", task.decode()): data.replace(b"quiz", task)
            for name, data in seed.files.items()
            if "instances" not in name
        }
        written(seed._replace(files=files), tmp_path)
    table = read(tmp_path)
    assert (table.n_samples, len(set(table.cluster or ()))) == (6, 4)


@pytest.mark.parametrize("layout", ["lighteval", "lighteval flat"])
def test_lighteval_details(layout: str, tmp_path: Path) -> None:
    """Written from the definition; reference files of the project were not to be had."""
    found = loaded(layout, tmp_path)
    assert found.table.learners == ("org/m",)
    assert found.table.task == ("lighteval|quiz:all",) * 2
    assert sorted(found.table.response) == [0, 1]
    assert found.merged is not None
    chosen = found.merged.chosen["lighteval|quiz:all"]
    assert chosen is not None
    assert (chosen.pair.metric, chosen.left_out) == ("acc", {"lengths": "not a single number"})


QUESTIONS = ("2 + 2?", "3 + 4?", "1 + 1?", "5 + 2?", "6 + 1?", "9 − 8?")
RIGHT = (1.0, 0.0, 1.0, 1.0, 0.0, 0.0)


def opencompass_run(folder: Path, model: str, order: list[int], shape: str) -> None:
    """Six questions whose answer is A, in an order, under the template of a kind of model."""
    kinds = {
        "base": lambda text: f"Pick one.\n{text}\nAnswer:",
        "template": lambda text: f"<|user|>Pick one.\n{text}\nAnswer:<|end|>",
        "chat": lambda text: [{"role": "HUMAN", "prompt": f"Pick one.\n{text}\nAnswer:"}],
    }
    place = folder / "20260121_034418/results" / model / "sums.json"
    place.parent.mkdir(parents=True)
    prompts = [kinds.get(shape, kinds["chat"])(QUESTIONS[i]) for i in order]
    details: object = {"type": "GEN"} | {
        str(at): {"prompt": prompt, "references": "A", "correct": bool(RIGHT[i])}
        for at, (i, prompt) in enumerate(zip(order, prompts, strict=True))
    }
    if shape == "list":
        details = [
            {"example_abbr": f"sums_{at}", "answer": ["A"], "correct": [bool(RIGHT[i])]}
            for at, i in enumerate(order)
        ]
        beside = folder / "20260121_034418/predictions" / model / "sums.json"
        beside.parent.mkdir(parents=True)
        asked = {str(at): {"origin_prompt": prompt, "gold": "A"} for at, prompt in enumerate(prompts)}
        beside.write_text(log_seeds.json.dumps(asked))
    place.write_text(log_seeds.json.dumps({"accuracy": 50.0, "details": details}))


@pytest.mark.parametrize("shape", ["base", "template", "chat", "list"])
def test_opencompass_samples_are_the_same_by_what_they_ask(shape: str, tmp_path: Path) -> None:
    """Both learners answer every question alike; each of the six stands elsewhere in the second log."""
    opencompass_run(tmp_path, "m", [0, 1, 2, 3, 4, 5], "base")
    opencompass_run(tmp_path, "n", [5, 0, 1, 2, 3, 4], shape)
    with pytest.raises(DataError, match="every sample has different content"):
        read(tmp_path)
    table = read(tmp_path, join="content")
    assert table.n_samples == 6
    np.testing.assert_array_equal(table.matrix()[0], table.matrix()[1])
    assert sorted(table.matrix()[0]) == sorted(RIGHT)


@pytest.mark.parametrize("shape", ["base", "template", "chat", "list"])
def test_opencompass_templates_of_models_do_not_tell_samples_apart(shape: str, tmp_path: Path) -> None:
    opencompass_run(tmp_path, "m", [0, 1, 2, 3, 4, 5], "base")
    opencompass_run(tmp_path, "n", [0, 1, 2, 3, 4, 5], shape)
    found = load_logs([tmp_path])
    assert found.merged is not None
    assert found.merged.conflicts == []
    np.testing.assert_array_equal(found.table.matrix(), [RIGHT, RIGHT])


def test_opencompass_replicas_are_trials(tmp_path: Path) -> None:
    assert loaded("opencompass list", tmp_path).table.n_responses == 4


@pytest.mark.parametrize("layout", ["swe-bench schema 1", "swe-bench schema 2"])
def test_swe_bench_failures_of_the_evaluation_are_missing(layout: str, tmp_path: Path) -> None:
    found = loaded(layout, tmp_path)
    assert found.merged is not None
    assert dict(zip(found.table.samples, found.table.matrix()[0], strict=True)) == pytest.approx(
        {"django__django-1": 1.0, "sympy__sympy-2": 0.0, "sympy__sympy-3": np.nan}, nan_ok=True
    )
    assert found.merged.missing["errored"] == 1
    table = read(tmp_path, skills=["repo"])
    assert table.skill_map is not None
    assert table.skill_map.skills == ("django/django", "sympy/sympy")


def test_swe_bench_experiments_fail_what_they_do_not_name(tmp_path: Path) -> None:
    """Lists of resolved instances: the rest of the benchmark, or of all that any run names, is 0."""
    written(log_seeds.swe_experiments(), tmp_path)
    other = log_seeds.swe_experiments()
    path = other.target.replace("20260121_m", "20260122_n")
    written(other._replace(files={path: b'{"resolved": ["sympy__sympy-2"]}'}), tmp_path)
    by_name = read(tmp_path)
    np.testing.assert_array_equal(by_name.matrix(), [[1, 0, np.nan], [0, 1, 0]])
    whole = load_logs([tmp_path], Choices(universe=(*log_seeds.SWE, "never__solved-1"))).table
    assert whole.n_samples == 4
    assert whole.matrix()[:, whole.samples.index("never__solved-1")].tolist() == [0, 0]
    assert whole.task == ("swe-bench verified",) * 4


def test_swe_bench_reports_of_instances_are_one_run(tmp_path: Path) -> None:
    found = loaded("swe-bench instances", tmp_path)
    assert found.merged is not None
    assert found.merged.repeated == []
    assert (found.table.learners, found.table.response.tolist()) == (("org__m",), [1, 0])


def test_alpaca_eval_preferences(tmp_path: Path) -> None:
    """2 is a win of the model, 1 of the reference, 0 and 1.5 are draws, in between is a weighted judge."""
    found = loaded("alpaca-eval", tmp_path)
    assert sorted(found.table.response) == [0, 0.5, 0.5, 0.75, 1]
    assert found.table.n_missing == 1
    assert found.table.task == ("alpaca_eval against base",) * 6


@pytest.mark.parametrize("layout", ["arena table", "arena array"])
def test_battles_become_a_tournament(layout: str, tmp_path: Path) -> None:
    """m beat n twice and drew once, drew with o, and n beat o."""
    seed = log_seeds.LAYOUTS[layout]()
    path = written(seed, tmp_path) / seed.target
    (tournament,) = read_tournaments(path).values()
    assert tournament.players == ("m", "n", "o")
    assert tournament.matches is not None
    assert tournament.matches.outcome.tolist() == [1, 0, 0.5, 0.5, 0]
    with pytest.raises(DataError, match="camilla epp"):
        read(path)


def test_alpaca_eval_is_also_a_tournament(tmp_path: Path) -> None:
    seed = log_seeds.alpaca_eval()
    (tournament,) = read_tournaments(written(seed, tmp_path) / seed.target).values()
    assert set(tournament.players) == {"m", "base"}
    assert tournament.matches is not None
    assert sorted(tournament.matches.outcome) == [0, 0.5, 0.5, 0.75, 1]


def test_openml_correct_is_the_true_label(tmp_path: Path) -> None:
    """Repeats are trials, folds are clusters, a question mark is missing."""
    found = loaded("openml", tmp_path)
    table = found.table
    assert (table.learners, table.samples) == (("run_77",), ("openml_task_9/11", "openml_task_9/12"))
    assert table.response.tolist() == [1, 0, 0]
    assert table.cluster == ("openml_task_9 fold 0", "openml_task_9 fold 1")
    assert read(tmp_path, metric="confidence").response.tolist() == [0.9, 0.2, 0.4]


def test_openml_folds_of_two_tasks_are_apart(tmp_path: Path) -> None:
    written(log_seeds.openml(), tmp_path / "nine")
    seed = log_seeds.openml()
    other = {name: data.replace(b"task_9", b"task_8") for name, data in seed.files.items()}
    written(seed._replace(files=other), tmp_path / "eight")
    assert len(set(read_with_account(tmp_path).table.cluster or ())) == 4


@pytest.mark.parametrize("fold", ["@attribute fold numeric\n", ""])
def test_openml_without_several_folds_has_no_clusters(fold: str, tmp_path: Path) -> None:
    """A holdout has one fold, an old file says none: samples are then as independent as any."""
    number = "0," if fold else ""
    (tmp_path / "p.arff").write_text(
        f"@relation openml_task_1_predictions\n{fold}@attribute row_id numeric\n"
        f"@attribute prediction {{a,b}}\n@attribute correct {{a,b}}\n@data\n{number}1,a,a\n{number}2,a,b\n"
    )
    table = read(tmp_path)
    assert (table.response.tolist(), table.cluster) == ([1, 0], None)


def test_openml_regressions_are_refused_with_a_way_out(tmp_path: Path) -> None:
    path = tmp_path / "p.arff"
    path.write_text("@relation openml_task_1_predictions\n@attribute row_id numeric\n"
                    "@attribute prediction numeric\n@attribute truth numeric\n@data\n1,2.5,2\n")  # fmt: skip
    with pytest.raises(DataError, match="from_errors"):
        read(path)


def test_py_irt_subjects(tmp_path: Path) -> None:
    table = loaded("py-irt", tmp_path).table
    np.testing.assert_array_equal(table.matrix(), [[1, 0], [0, np.nan]])
    assert (table.learners, table.samples) == (("m", "n"), ("q1", "q2"))


def test_long_results_files_are_known_by_their_start(tmp_path: Path) -> None:
    """Hundreds of tasks push every other key of a results file behind what is looked at."""
    seed = log_seeds.lm_eval_filters()
    many = {f"task_{i}": {"acc,none": 0.5, "alias": "x" * 100} for i in range(1000)}
    results = log_seeds.json.dumps({"results": many} | {"model_name": "org/m", "versions": {}}, indent=2)
    files = {name: results.encode() if "results_" in name else data for name, data in seed.files.items()}
    found = load_logs([written(seed._replace(files=files), tmp_path)])
    assert found.files.companions == {"lm-eval": 1}
    assert found.table.learners == ("org/m",)


def test_aggregates_of_every_eval_ever_go_with_their_instances(tmp_path: Path) -> None:
    written(log_seeds.every_eval_ever(), tmp_path)
    (tmp_path / "m.json").write_text(
        '{"schema_version": "0.3.0", "evaluation_id": "e1", "evaluation_results": []}'
    )
    found = load_logs([tmp_path]).files
    assert (found.companions, found.unknown) == ({"every-eval-ever": 1}, [])


def test_every_loader_has_a_layout_here() -> None:
    assert {seed().format for seed in log_seeds.LAYOUTS.values()} == set(FORMATS)
