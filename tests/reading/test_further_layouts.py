"""Further harnesses and platforms, on files written from their own code and published files.

Truth comes from the file as plain JSON reads it; where each layout was seen is said in `further_seeds`.
"""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import further_seeds
import log_seeds
import numpy as np
import pytest
from further_seeds import QUESTIONS

from camilla.errors import DataError, SettingError
from camilla.reading.formats import FORMATS
from camilla.reading.formats.signatures import FURTHER
from camilla.reading.inputs import load_logs, loader_of, read
from camilla.reading.joining import Choices
from camilla.reading.runs import Answered, Run
from camilla.reading.tournaments import read_tournaments
from camilla.table.spreadsheets import sheet_as_csv


def written(layout: str, folder: Path) -> Path:
    seed = log_seeds.LAYOUTS[layout]()
    for name, data in seed.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder / seed.target


def run_of(layout: str, folder: Path) -> Run:
    path = written(layout, folder)
    (run,) = loader_of(FORMATS[log_seeds.LAYOUTS[layout]().format]).runs(path)
    return run


def scores_of(run: Run, metric: str) -> list[float | None]:
    return [row.score for row in run.rows if row.metric == metric]


def mean_of(run: Run, metric: str) -> float:
    return float(np.mean([score for score in scores_of(run, metric) if score is not None]))


NAMED = {  # learner, task
    "openai-evals match": ("org/m", "quiz.dev.v0"),
    "openai-evals graded": ("org/m", "quiz.dev.v0"),
    "simple-evals report": ("org-m", "quiz"),
    "simple-evals json": ("org-m", "quiz"),
    "deepeval": ("org/m", "test_quiz.py"),
    "deepeval bare": ("org/m", "test_quiz.py"),
    "langsmith csv": ("m", "m"),
    "braintrust events": ("m", "m"),
    "braintrust lines": ("m", "quiz"),
    "mlflow": ("abc123", "quiz"),
    "wandb": ("run-20260121_034418-ab12", "quiz"),
    "vlmevalkit xlsx": ("vila_8b", "quiz_VAL"),
    "vlmevalkit tsv": ("vila_8b", "quiz_VAL"),
    "vlmevalkit json": ("vila_8b", "quiz_VAL"),
    "lmms-eval": ("org/m", "quiz"),
    "mteb": ("org/m", "quiz"),
}


@pytest.mark.parametrize("layout", NAMED)
def test_the_log_says_who_was_asked_what(layout: str, tmp_path: Path) -> None:
    run = run_of(layout, tmp_path)
    assert (run.learner, run.task) == NAMED[layout]


MAIN = {
    "openai-evals match": "accuracy",
    "openai-evals graded": "accuracy",
    "simple-evals report": "score",
    "simple-evals json": "score",
    "deepeval": "success",
    "vlmevalkit xlsx": "hit",
    "vlmevalkit tsv": "hit",
    "vlmevalkit json": "hit",
    "lmms-eval": "exact_match",
    "lmms-eval records": "acc",
    "mteb": "main_score",
}


@pytest.mark.parametrize("layout", MAIN)
def test_the_main_metric_is_the_harness_s_own(layout: str, tmp_path: Path) -> None:
    run = run_of(layout, tmp_path)
    assert run.main == MAIN[layout]
    assert any(row.metric == run.main and row.score is not None for row in run.rows)


@pytest.mark.parametrize("layout", [name for name in MAIN if name.split()[0] not in ("deepeval", "mteb")])
def test_stated_means_are_the_means_of_the_rows(layout: str, tmp_path: Path) -> None:
    """The stated mean is in the file; the rows are those that the loader found."""
    run = run_of(layout, tmp_path)
    assert run.stated or layout == "lmms-eval records"  # whose aggregation is no mean
    for metric, mean in run.stated.items():
        assert mean_of(run, metric) == pytest.approx(mean, abs=1e-12)


def test_openai_evals_by_plain_json(tmp_path: Path) -> None:
    """Accuracy is the mean of `correct` over match events; a sample with an error alone is missing."""
    path = written("openai-evals match", tmp_path)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    correct = [line["data"]["correct"] for line in lines if line.get("type") == "match"]
    run = run_of("openai-evals match", tmp_path)
    assert mean_of(run, "accuracy") == np.mean(correct) == lines[1]["final_report"]["accuracy"]
    assert [(row.sample, row.why) for row in run.rows if row.score is None] == [("quiz.dev.2", "errored")]
    assert run.settings == {"split": "dev", "base_eval": "quiz", "seed": "7", "visible": "True"}


def test_openai_evals_metrics_and_graders(tmp_path: Path) -> None:
    """Numbers of metrics events are metrics; a choice is a word; the grader's text is the reason."""
    run = run_of("openai-evals graded", tmp_path)
    assert scores_of(run, "accuracy") == [1.0, 0.0]
    assert scores_of(run, "f1_score") == [0.75, 0.75]
    assert run.left_out == {"choice": "not a single number"}
    assert run.content is not None
    content = run.content()
    assert content.asked["quiz.dev.0"].prompt == QUESTIONS[0]
    assert content.answers[0] == Answered("quiz.dev.0", 0, "B", "It is fine.")


def test_openai_evals_sampled_again_is_another_trial(tmp_path: Path) -> None:
    path = written("openai-evals match", tmp_path)
    again = [line for line in path.read_text().splitlines() if '"match"' in line and "dev.0" in line]
    path.write_text(path.read_text() + "\n".join(again) + "\n")
    rows = [row for row in next(iter(loader_of(FORMATS["openai-evals"]).runs(path))).rows if row.score == 1]
    assert [(row.sample, row.trial) for row in rows] == [("quiz.dev.0", 0), ("quiz.dev.0", 1)]


@pytest.mark.parametrize("layout", ["simple-evals report", "simple-evals json"])
def test_simple_evals_examples(layout: str, tmp_path: Path) -> None:
    """Examples have no ids, so content names them; the system's message is not part of a question."""
    run = run_of(layout, tmp_path)
    assert scores_of(run, "score") == [1.0, 0.0]
    assert run.unstable_ids
    assert run.content is not None
    content = run.content()
    assert [one.prompt for one in content.asked.values()] == list(QUESTIONS)
    assert content.answers[0].answer == "<b>A</b>"
    if layout == "simple-evals json":
        assert [one.reason for one in content.answers] == ["because 0", "because 1"]
        assert run.date == "20260121_034418"


@pytest.mark.parametrize(
    ("name", "learner", "task"),
    [
        ("healthbench_hard_gpt-4.1_20250101_120000_DEBUG", "gpt-4.1", "healthbench_hard"),
        ("mmlu_o1_high", "o1_high", "mmlu"),
        ("gpqa_customgpt", "customgpt", "gpqa"),
    ],
)
def test_simple_evals_names_are_in_the_file_name(name, learner, task, tmp_path: Path) -> None:
    """The harness takes the eval's name to the first underscore; HealthBench's has one itself."""
    path = written("simple-evals report", tmp_path)
    (run,) = loader_of(FORMATS["simple-evals"]).runs(path.rename(path.with_name(f"{name}.html")))
    assert (run.learner, run.task) == (learner, task)


def test_a_simple_evals_report_beside_its_results_is_read_once(tmp_path: Path) -> None:
    target = written("simple-evals json", tmp_path)
    report = further_seeds.simple_evals()[2]["out/quiz_org-m.html"]
    (target.parent / target.name.replace("_allresults.json", ".html")).write_bytes(report)
    assert load_logs([tmp_path]).table.n_responses == 2


@pytest.mark.parametrize("layout", ["deepeval", "deepeval bare"])
def test_deepeval_by_plain_json(layout: str, tmp_path: Path) -> None:
    """Scores as the file has them; a metric that broke down is missing, and so is the verdict on its case."""
    path = written(layout, tmp_path)
    document = json.loads(path.read_text())
    cases = document.get("testRunData", document)["testCases"]
    recall = [
        m["score"] for case in cases for m in case["metricsData"] if m["name"] == "Recall" and "score" in m
    ]
    run = run_of(layout, tmp_path)
    assert mean_of(run, "Recall") == pytest.approx(np.mean(recall)) == run.stated["Recall"]
    assert scores_of(run, "success") == [1.0, 0.0, None]
    assert {row.why for row in run.rows if row.sample == "test_case_2"} == {"errored"}
    assert "success" not in run.stated
    assert run.left_out == {"Bias": "lower is better"}
    assert run.about["test_case_0"].skills == (("subject", "physics"),)
    assert run.content is not None
    assert run.content().answers[1].reason == "Recall: r1\nBias: none"


def test_deepeval_states_the_share_that_passed(tmp_path: Path) -> None:
    path = written("deepeval bare", tmp_path)
    document = json.loads(path.read_text())
    document["testCases"].pop()
    document["testFailed"] = 1
    path.write_text(json.dumps(document))
    (run,) = loader_of(FORMATS["deepeval"]).runs(path)
    assert run.stated["success"] == mean_of(run, "success") == 0.5


def test_deepeval_same_name_other_input_is_another_sample(tmp_path: Path) -> None:
    path = written("deepeval bare", tmp_path)
    document = json.loads(path.read_text())
    for case in document["testCases"]:
        case["name"] = "test_it"
    document["testCases"].append(document["testCases"][0])
    path.write_text(json.dumps(document))
    (run,) = loader_of(FORMATS["deepeval"]).runs(path)
    keys = dict.fromkeys((row.sample, row.trial) for row in run.rows)
    assert list(keys) == [("test_it", 0), ("test_it#2", 0), ("test_it#3", 0), ("test_it", 1)]


def test_deepeval_conversations(tmp_path: Path) -> None:
    run = run_of("deepeval conversation", tmp_path)
    assert scores_of(run, "Polite") == [0.9]
    assert run.content is not None
    content = run.content()
    assert content.asked["chat"][:2] == ("A user greets.", "A greeting.")
    assert content.answers[0].answer == "Yes?"


@pytest.mark.parametrize("ending", ["csv", "jsonl", "json"])
def test_langsmith_feedback(ending: str, tmp_path: Path) -> None:
    """An example again is another trial; an error is missing, not wrong."""
    run = run_of(f"langsmith {ending}", tmp_path)
    rows = [row for row in run.rows if row.metric == "correct"]
    assert [(row.sample, row.trial, row.score, row.why) for row in rows] == [
        ("e0", 0, 1.0, None),
        ("e1", 0, 0.0, None),
        ("e0", 1, None, "errored"),
    ]
    stored = [
        row["feedback.overlap"] for row in further_seeds.LANGSMITH if row["feedback.overlap"] is not None
    ]
    assert mean_of(run, "overlap") == np.mean(stored)
    assert run.content is not None
    assert run.content().asked["e0"][:2] == (QUESTIONS[0], "A")


@pytest.mark.parametrize("layout", ["braintrust events", "braintrust lines"])
def test_braintrust_scores_of_root_spans(layout: str, tmp_path: Path) -> None:
    path = written(layout, tmp_path)
    text = path.read_text()
    events = json.loads(text)["events"] if path.suffix == ".json" else [*map(json.loads, text.splitlines())]
    exact = [event["scores"]["Exact"] for event in events if event["is_root"]]
    run = run_of(layout, tmp_path)
    assert scores_of(run, "Exact") == exact
    assert {row.why for row in run.rows if row.metric == "Tone"} == {"unscored"}
    assert run.unstable_ids == (layout == "braintrust events")
    assert next(iter(run.about.values())).skills == (("subject", "physics"),)


def test_mlflow_scores_and_folders_of_runs(tmp_path: Path) -> None:
    """Grades of 1 to 5 are no responses; a score whose name says that lower is better is none either."""
    path = written("mlflow", tmp_path)
    for name, text in (("tags/mlflow.runName", "org/m"), ("params/k", "5")):
        (path.parents[1] / name).parent.mkdir()
        (path.parents[1] / name).write_text(text)
    table = json.loads(path.read_text())
    column = table["columns"].index("exact/v1/score")
    (run,) = loader_of(FORMATS["mlflow"]).runs(path)
    assert scores_of(run, "exact/v1") == [row[column] for row in table["data"]]
    assert run.left_out == {"grade/v1": "outside 0 to 1", "toxicity/v1": "lower is better"}
    assert (run.learner, run.settings) == ("org/m", {"k": "5"})
    assert run.content is not None
    content = run.content()
    assert content.asked["0"][:2] == (QUESTIONS[0], "A")
    assert content.answers[1] == Answered("1", 0, "A", "exact/v1: because 1")


def test_wandb_tables_of_samples(tmp_path: Path) -> None:
    run = run_of("wandb", tmp_path)
    assert scores_of(run, "acc") == [1.0, 0.0]
    assert run.left_out == {"word_perplexity_loglikelihood": "outside 0 to 1"}
    assert run.about["0"].skills == (("group", "school"),)
    assert run.content is not None
    assert run.content().asked["0"].choices == ("yes", "no")


def test_a_table_without_predictions_is_no_log_of_wandb(tmp_path: Path) -> None:
    """It is read as a table, or not at all: nothing says which of its columns are scores."""
    path = tmp_path / "any.table.json"
    path.write_text(json.dumps({"columns": ["learner", "sample", "response"], "data": [["m", "a", 1]]}))
    assert read(path).learners == ("m",)


@pytest.mark.parametrize("ending", ["xlsx", "tsv", "json"])
def test_vlmevalkit_hits(ending: str, tmp_path: Path) -> None:
    """The same from a workbook, from text and from JSON; the mean of hits is that of …_acc.csv."""
    path = written(f"vlmevalkit {ending}", tmp_path)
    means = next(csv.DictReader(io.StringIO((path.parent / "vila_8b_quiz_VAL_acc.csv").read_text())))
    run = run_of(f"vlmevalkit {ending}", tmp_path)
    assert [(row.sample, row.score) for row in run.rows] == [("0", 1.0), ("1", 0.0)]
    assert mean_of(run, "hit") == float(means["Overall"]) == run.stated["hit"]
    assert (run.date, run.settings) == ("20260121", {"judge": "openai"})
    assert run.about["1"].skills == (("category", "law"), ("l2-category", "science"))
    assert run.content is not None
    content = run.content()
    assert content.asked["0"][:3] == (QUESTIONS[0], "A", ("yes", "no"))
    assert content.answers[1] == Answered("1", 0, "A", "Match Log: 1")


def test_all_endings_of_vlmevalkit_hash_alike(tmp_path: Path) -> None:
    """So runs that were stored in different ways can be joined."""
    hashes = [
        [row.content for row in run_of(f"vlmevalkit {ending}", tmp_path / ending).rows]
        for ending in ("xlsx", "tsv", "json")
    ]
    assert hashes[0] == hashes[1] == hashes[2]


def test_lmms_eval_compares_prompts(tmp_path: Path) -> None:
    """The harness writes the same hash for every document, so it says nothing."""
    run = run_of("lmms-eval", tmp_path)
    assert len({row.content for row in run.rows}) == 2
    assert run.settings["model_args"] == "pretrained=org/m"
    assert run.content is not None
    assert run.content().answers[0].answer == "A"


def test_lmms_eval_objects_have_the_score_under_their_key(tmp_path: Path) -> None:
    run = run_of("lmms-eval records", tmp_path)
    assert scores_of(run, "acc") == [1.0, 0.0]
    assert run.left_out == {"f1": "the same record as acc"}
    assert run.stated == {}


def mteb_folder(folder: Path) -> dict[tuple[str, str], float]:
    """Three models on two tasks, one with subsets; the scores by plain arithmetic."""
    scores = {}
    for m, model in enumerate(("org__a", "org__b", "c")):
        place = folder / "results" / model / "rev"
        place.mkdir(parents=True)
        subsets = [
            {"hf_subset": one, "languages": ["eng-Latn"], "main_score": 0.2 * m + 0.1 * at}
            for at, one in enumerate(("en", "sl"))
        ]
        one = [{"hf_subset": "default", "languages": ["eng-Latn"], "main_score": 0.9 - 0.3 * m}]
        (place / "Many.json").write_bytes(further_seeds.mteb_task("Many", {"test": subsets}))
        (place / "One.json").write_bytes(further_seeds.mteb_task("One", {"validation": one}))
        name = model.replace("__", "/")
        scores |= {(name, f"Many/{s['hf_subset']}"): s["main_score"] for s in subsets}
        scores[name, "One/validation"] = one[0]["main_score"]
    return scores


def test_mteb_results_are_a_tournament(tmp_path: Path) -> None:
    """Players are models, rounds the subsets of tasks; a folder is enough for EPP."""
    truth = mteb_folder(tmp_path)
    tournament = read_tournaments(tmp_path)[""]
    assert set(tournament.players) == {"org/a", "org/b", "c"}
    assert set(tournament.rounds) == {"Many/en", "Many/sl", "One/validation"}
    assert tournament.scores is not None
    for (player, round_), score in truth.items():
        at = tournament.players.index(player), tournament.rounds.index(round_)
        assert tournament.scores[at] == pytest.approx(score)


def test_two_revisions_of_a_model_are_two_players(tmp_path: Path) -> None:
    mteb_folder(tmp_path)
    other = tmp_path / "results/org__a/newer"
    other.mkdir()
    (other / "One.json").write_bytes((tmp_path / "results/org__a/rev/One.json").read_bytes())
    assert {"org/a (rev)", "org/a (newer)", "org/b", "c"} == set(read_tournaments(tmp_path)[""].players)


def test_a_folder_without_results_of_mteb_is_no_tournament(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"is a folder without results of MTEB"):
        read_tournaments(tmp_path)


def test_mteb_tasks_with_the_same_subsets_stay_apart(tmp_path: Path) -> None:
    mteb_folder(tmp_path)
    for model in ("org__a", "c"):
        place = tmp_path / "results" / model / "rev"
        text = (place / "Many.json").read_text().replace('"Many"', '"Other"')
        (place / "Other.json").write_text(text)
    samples = read(tmp_path).samples
    assert {"Many/en", "Many/sl", "Other/en", "Other/sl"} <= set(samples)


@pytest.mark.parametrize(
    ("layout", "replace"),
    [
        ("openai-evals match", (b"quiz.dev.v0", b"quiz.test.v0")),
        ("lmms-eval", None),
        ("vlmevalkit json", None),
        ("wandb", (b'"quiz"', b'"other"')),
        ("deepeval bare", (b"test_quiz.py", b"test_other.py")),
    ],
)
def test_two_tasks_with_the_same_sample_names_stay_apart(layout, replace, tmp_path: Path) -> None:
    """The second log is the first under the name of another task; nothing is joined or overwritten."""
    first = written(layout, tmp_path / "first")
    n_one = len(set(read(first).samples))
    second = written(layout, tmp_path / "second")
    if replace is not None:
        second.write_bytes(second.read_bytes().replace(*replace))
    else:
        second.rename(second.with_name(second.name.replace("quiz", "other")))
    assert len(read(tmp_path).samples) == 2 * n_one


@pytest.mark.parametrize("layout", ["langsmith csv", "mlflow", "braintrust events"])
def test_exports_that_name_no_task_are_joined_by_learner(layout: str, tmp_path: Path) -> None:
    """Two files of two learners on the same samples are one benchmark."""
    seed = log_seeds.LAYOUTS[layout]()
    for learner in ("one", "two"):
        name = seed.target.replace("abc123", learner).replace("/m.", f"/{learner}.")
        path = tmp_path / (name if learner in name else f"{learner}.json")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(seed.files[seed.target])
    table = load_logs([tmp_path], Choices()).table
    assert table.learners == ("one", "two")
    assert table.n_samples == 2


def test_a_workbook_is_a_table_too(tmp_path: Path) -> None:
    path = tmp_path / "long.xlsx"
    path.write_bytes(
        further_seeds.workbook([("learner", "sample", "response"), ("m", "007", 1), ("m", "b", 0)])
    )
    table = read(path)
    assert table.samples == ("007", "b")
    np.testing.assert_array_equal(table.response, [1, 0])


def test_a_workbook_that_unpacks_to_too_much_is_refused() -> None:
    rows = [("learner",), ("0" * 20_000_000,)]
    with pytest.raises(DataError, match=r"as no table does"):
        sheet_as_csv(further_seeds.workbook(rows), "bomb.xlsx")


def test_without_fastexcel_the_line_to_run_is_said(tmp_path: Path) -> None:
    """In a process in which the package cannot be imported."""
    path = written("vlmevalkit xlsx", tmp_path)
    code = (
        "import sys; sys.modules['fastexcel'] = None\n"
        "from camilla.reading.inputs import read\n"
        "from camilla.errors import CamillaError\n"
        "try:\n    read(sys.argv[1])\nexcept CamillaError as error:\n    print(error)\n"
    )
    run = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert "needs fastexcel: pip install 'camilla[excel]'" in run.stdout


def test_a_metric_that_is_no_score_says_why(tmp_path: Path) -> None:
    path = written("mlflow", tmp_path)
    with pytest.raises(SettingError, match=r"grade/v1.*outside 0 to 1"):
        read(path, metric="grade/v1")


@pytest.mark.parametrize("layout", list(further_seeds.FURTHER))
def test_content_is_of_samples_that_have_rows(layout: str, tmp_path: Path) -> None:
    """Every answer is of a trial that the rows know."""
    run = run_of(layout, tmp_path)
    if run.content is None:
        assert layout == "mteb"
        return
    content = run.content()
    known = {(row.sample, row.trial) for row in run.rows}
    assert {(one.sample, one.trial) for one in content.answers} <= known
    assert set(content.asked) <= {sample for sample, _ in known}


def test_every_further_format_has_a_seed() -> None:
    """And so is damaged and drawn by the tests of all formats."""
    assert {make()[0] for make in further_seeds.FURTHER.values()} == set(FURTHER)
