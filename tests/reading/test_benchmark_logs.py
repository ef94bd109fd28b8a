"""Logs of Terminal-Bench, τ-bench, promptfoo, MT-Bench, EvalPlus, LiveCodeBench and BIG-Bench Hard.

Written from the code of each harness (`benchmark_seeds`); what harnesses wrote is in `test_real_logs`.
Where the layouts come from:

Terminal-Bench: terminal_bench/harness/models.py; laude-institute/terminal-bench-leaderboard, results/.
τ-bench: sierra-research/tau-bench, tau_bench/run.py, tau_bench/types.py and historical_trajectories/.
promptfoo: promptfoo/promptfoo, src/types/index.ts and src/models/eval.ts (toEvaluateSummary, toResultsFile).
MT-Bench: lm-sys/FastChat, fastchat/llm_judge/common.py and show_result.py.
EvalPlus: evalplus/evalplus, evalplus/evaluate.py, now and of 2023.
LiveCodeBench: LiveCodeBench/LiveCodeBench, lcb_runner/runner/main.py, lcb_runner/benchmarks/*.py.
BIG-Bench Hard: suzgunmirac/BIG-Bench-Hard, code-davinci-002-outputs/.
"""

import json
from pathlib import Path
from typing import Any

import benchmark_seeds as seeds
import log_seeds
import numpy as np
import pytest
from seed_files import Seed, as_json, as_lines

from camilla.errors import DataError
from camilla.reading.formats import FORMATS
from camilla.reading.inputs import load_logs, loader_of, read
from camilla.reading.joining import Choices
from camilla.reading.runs import Content, Run
from camilla.reading.sniffing import peek
from camilla.reading.tournaments import read_tournaments

NEW = sorted({make().format for make in seeds.BENCHMARK_LAYOUTS.values()})


def runs_of(path: Path, format: str) -> list[Run]:
    return list(loader_of(FORMATS[format]).runs(path))


def content_of(run: Run) -> Content:
    assert run.content is not None
    return run.content()


def written(seed: Seed, folder: Path) -> Path:
    for name, data in seed.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder / seed.target


def one_file(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("layout", seeds.BENCHMARK_LAYOUTS)
def test_no_other_format_wants_these_files(layout: str, tmp_path: Path) -> None:
    seed = seeds.BENCHMARK_LAYOUTS[layout]()
    written(seed, tmp_path)
    for name in seed.files:
        wanted = [format for format, one in FORMATS.items() if one.sniff(peek(tmp_path / name)) is not None]
        assert wanted == [seed.format], name


@pytest.mark.parametrize(
    "layout", [name for name in log_seeds.LAYOUTS if name not in seeds.BENCHMARK_LAYOUTS]
)
def test_these_formats_want_no_files_of_others(layout: str, tmp_path: Path) -> None:
    seed = log_seeds.LAYOUTS[layout]()
    written(seed, tmp_path)
    for name in seed.files:
        looked_at = peek(tmp_path / name)
        assert [format for format in NEW if FORMATS[format].sniff(looked_at) is not None] == [], name


LEARNERS = {
    "terminal-bench": "terminus org/m",
    "tau-bench": "m",
    "livecodebench": "m",
    "big-bench-hard": "m-cot",
}
TASKS = {
    "terminal-bench": "quiz",
    "tau-bench": "tau-bench quiz",
    "livecodebench": "livecodebench codegeneration",
    "big-bench-hard": "bbh quiz",
}
RESPONSES = {"mt-bench": [1, 1, 0, 0], "livecodebench": [1, 1, 0, 0]}


@pytest.mark.parametrize("layout", [name for name in seeds.BENCHMARK_LAYOUTS if name != "mt-bench-pairs"])
def test_first_right_second_wrong(layout: str, tmp_path: Path) -> None:
    """Learner, task and scores are as the seeds say, and the stated mean is that of the responses."""
    seed = seeds.BENCHMARK_LAYOUTS[layout]()
    path = written(seed, tmp_path)
    table = load_logs([tmp_path]).table
    assert table.learners == (LEARNERS.get(seed.format, "org/m"),)
    assert set(table.task or ()) == {TASKS.get(seed.format, "quiz")}
    assert table.response.tolist() == RESPONSES.get(seed.format, [1, 0])
    (run, *_) = runs_of(path, seed.format)
    assert run.main
    if run.stated:
        assert run.stated[run.main] == pytest.approx(table.learner_means().mean[0])
    content = content_of(run)
    assert set(content.asked) == {row.sample for row in run.rows}
    assert {(one.sample, one.trial) for one in content.answers} == {
        (row.sample, row.trial) for row in run.rows
    }


@pytest.mark.parametrize(
    ("layout", "skill"),
    [("promptfoo output", "subject"), ("mt-bench", "category"), ("livecodebench", "difficulty")],
)
def test_skills_are_offered(layout: str, skill: str, tmp_path: Path) -> None:
    written(seeds.BENCHMARK_LAYOUTS[layout](), tmp_path)
    table = read(tmp_path, skills=[skill])
    assert table.skill_map is not None
    wanted = ("easy", "hard") if skill == "difficulty" else ("law", "physics")
    assert table.skill_map.skills == wanted


def test_terminal_bench_trials_are_read_once(tmp_path: Path) -> None:
    """A finished run has its trials in results.json and in a folder each; the first counts."""
    written(seeds.terminal_bench(), tmp_path)
    found = load_logs([tmp_path])
    assert len(found.files.read["terminal-bench"]) == 3
    assert found.merged is not None
    assert (found.table.n_responses, found.merged.twice) == (2, 0)
    assert found.table.learner_metadata is not None
    about = found.table.learner_metadata.row(0, named=True)
    assert (about["agent"], about["model"], about["dataset_version"]) == ("terminus", "org/m", "0.1.1")


def test_terminal_bench_errors_have_no_verdict_and_timeouts_of_the_agent_do(tmp_path: Path) -> None:
    trials = [
        seeds.terminal_trial(0, None, "1-of-3"),
        seeds.terminal_trial(0, False, "3-of-3", failure_mode="agent_timeout"),
        seeds.terminal_trial(0, True, "2-of-3", failure_mode="agent_timeout"),
        seeds.terminal_trial(1, True, "1-of-3"),
        seeds.terminal_trial(1, False, "1-of-3"),  # the same attempt again is another trial
    ]
    path = one_file(tmp_path, "runs/r/results.json", as_json(seeds.terminal_results(trials)))
    (run,) = runs_of(path, "terminal-bench")
    assert [(row.sample, row.trial, row.score, row.why) for row in run.rows] == [
        ("0", 0, None, "errored"),
        ("0", 2, 0.0, None),
        ("0", 1, 1.0, None),
        ("1", 0, 1.0, None),
        ("1", 1, 0.0, None),
    ]
    assert (run.stated, run.errors) == ({"is_resolved": 0.4}, {"test_timeout": 1})
    reasons = [one.reason for one in content_of(run).answers]
    assert reasons[:3] == ["test_timeout", "agent_timeout; failed 1 of 2 tests: test_text", "agent_timeout"]


def test_tau_bench_errors_are_missing_not_zero(tmp_path: Path) -> None:
    failed = seeds.tau_result(1, 0.0, info={"error": "timed out", "traceback": "…"}, traj=[])
    path = one_file(tmp_path, "m-retail.json", as_json([failed, seeds.tau_result(0, 1.0, trial=1)]))
    (run,) = runs_of(path, "tau-bench")
    assert [(row.sample, row.trial, row.score, row.why) for row in run.rows] == [
        ("1", 0, None, "errored"),
        ("0", 1, 1.0, None),
    ]
    first, second = content_of(run).answers
    assert (first.reason, first.answer) == ("timed out", "")
    assert run.errors == {"timed out": 1}
    assert second.answer == 'user: Hi!\n\nassistant: [{"function":{"name":"send"}}]'
    assert second.reason == '{"r_actions":1.0,"gt_data_hash":"ea"}'
    assert content_of(run).asked["0"].reference.startswith('{"actions":[{"name":"send"')


@pytest.mark.parametrize(
    ("name", "learner", "settings"),
    [
        ("few-shot-gpt-4o-0.7_range_0--1_user-m-3-llm_0121034418", "gpt-4o", ("few-shot", "0.7", "m-3")),
        ("react-Llama-3-0.0_range_5-10_user-gpt-4o-human_0121034418", "Llama-3", ("react", "0.0", "gpt-4o")),
        ("sonnet-35-new-retail", "sonnet-35-new", None),
    ],
)  # fmt: skip
def test_tau_bench_names(name: str, learner: str, settings: tuple[str, ...] | None, tmp_path: Path) -> None:
    path = one_file(tmp_path, f"{name}.json", as_json([seeds.tau_result(0, 1.0)]))
    (run,) = runs_of(path, "tau-bench")
    assert run.learner == learner
    if settings is not None:
        assert tuple(run.settings[key] for key in ("strategy", "temperature", "user_model")) == settings


def test_tau_bench_without_a_policy_is_told_apart_by_file(tmp_path: Path) -> None:
    for name in ("one", "two"):
        one_file(tmp_path, f"{name}/m.json", as_json([seeds.tau_result(0, 1.0, traj=[])]))
    assert load_logs([tmp_path]).table.n_samples == 2


def test_tau_bench_rewards_outside_the_unit_interval_are_said(tmp_path: Path) -> None:
    path = one_file(tmp_path, "m.json", as_json([seeds.tau_result(0, 2.0)]))
    with pytest.raises(DataError, match=r"reward: outside 0 to 1"):
        read(path)


def promptfoo_file(folder: Path, results: list[dict[str, Any]]) -> Path:
    summary = seeds.promptfoo_summary(results)
    return one_file(
        folder, "out.json", as_json({"evalId": "e", "results": summary, "config": seeds.PROMPTFOO_CONFIG})
    )


def test_promptfoo_errors_are_missing_and_rejections_are_not(tmp_path: Path) -> None:
    """`error` holds the assertion's words where one failed, so that it alone says nothing."""
    results = [
        seeds.promptfoo_result(0, 0.0, error="429", failureReason=2, gradingResult=None),
        seeds.promptfoo_result(1, 0.0, error="did not match"),
    ]
    path = promptfoo_file(tmp_path, results)
    (run,) = runs_of(path, "promptfoo")
    assert [(row.sample, row.score, row.why) for row in run.rows if row.metric == "score"] == [
        ("0", None, "errored"),
        ("1", 0.0, None),
    ]
    assert read(path, metric="brevity").response.tolist() == [1]
    assert [one.reason for one in content_of(run).answers] == ["429", "did not match"]
    assert run.errors == {"429": 1}


def test_promptfoo_repeats_are_trials_and_prompts_and_providers_are_learners(tmp_path: Path) -> None:
    """--repeat gives each repetition a test index of its own; columns number provider and prompt together."""
    columns = [
        {"provider": {"id": provider, "label": label}, "promptId": prompt, "promptIdx": at}
        for at, (provider, label, prompt) in enumerate(
            [("a", "", "p"), ("a", "", "q"), ("b", "B", "p"), ("b", "B", "q"), ("b", "B", "q")]
        )
    ]
    prompts = {"p": {"raw": "?", "label": "plain"}, "q": {"raw": "?", "label": "x" * 100}}
    results = [
        seeds.promptfoo_result(at, score, testIdx=test, prompt=prompts[str(column["promptId"])]) | column
        for column in columns
        for test, (at, score) in enumerate([(0, 1.0), (1, 0.25), (0, 0.5)])
    ]
    table = read(promptfoo_file(tmp_path, results))
    names = ("B (prompt=2)", "B (prompt=2) #2", "B (prompt=plain)", "a (prompt=2)", "a (prompt=plain)")
    assert table.learners == names
    assert table.samples == ("quiz/0", "quiz/1")
    np.testing.assert_allclose(table.matrix(), [[0.75, 0.25]] * 5)
    assert table.n_responses == 15


def test_promptfoo_scores_above_one_are_left_out_and_success_is_there(tmp_path: Path) -> None:
    path = promptfoo_file(tmp_path, [seeds.promptfoo_result(0, 7.0)])
    (run,) = runs_of(path, "promptfoo")
    assert run.left_out == {"score": "outside 0 to 1"}
    assert read(path).response.tolist() == [1]


def test_mt_bench_judges_are_metrics_and_failed_ratings_missing(tmp_path: Path) -> None:
    lines = [
        seeds.mt_judgment(0, 10),
        seeds.mt_judgment(0, -1, judgment="no rating"),
        seeds.mt_judgment(1, -1, judgment="$ERROR$"),
        seeds.mt_judgment(0, 5.5, judge="claude"),
        seeds.mt_judgment(1, 1, judge="claude"),
    ]
    path = one_file(tmp_path, "both_single.jsonl", as_lines(lines))
    (run,) = runs_of(path, "mt-bench")
    assert run.main == ""
    assert [(row.metric, row.sample, row.trial, row.score, row.why) for row in run.rows] == [
        ("rating by gpt-4", "0 turn 1", 0, 1.0, None),
        ("rating by gpt-4", "0 turn 1", 1, None, "unscored"),
        ("rating by gpt-4", "1 turn 1", 0, None, "errored"),
        ("rating by claude", "0 turn 1", 0, 0.5, None),
        ("rating by claude", "1 turn 1", 0, 0.0, None),
    ]
    assert read(path, metric="rating by claude").response.tolist() == [0.5, 0.0]


def test_mt_bench_turns_of_a_question_are_a_cluster(tmp_path: Path) -> None:
    written(seeds.mt_bench(), tmp_path)
    table = load_logs([tmp_path]).table
    assert table.samples == ("quiz/0 turn 1", "quiz/0 turn 2", "quiz/1 turn 1", "quiz/1 turn 2")
    assert table.cluster == ("quiz question 0",) * 2 + ("quiz question 1",) * 2
    (run,) = runs_of(tmp_path / seeds.mt_bench().target, "mt-bench")
    asked = {name: one.prompt for name, one in content_of(run).asked.items()}
    assert asked["1 turn 2"] == "Who sues? 2"
    assert {one.answer for one in content_of(run).answers} == {"So."}


def test_mt_bench_answers_that_play_the_user_do_not_change_the_question(tmp_path: Path) -> None:
    """Weak models go on with the conversation; their samples are the same as those of others."""
    lines = [seeds.mt_judgment(0, 10, turn=2), seeds.mt_judgment(0, 1, turn=2, model="n")]
    lines[1]["user_prompt"] = lines[1]["user_prompt"].replace(
        "So.", "So.\n\n### User:\nMore?\n\n### Assistant A:\nNo."
    )
    table = read(one_file(tmp_path, "x.jsonl", as_lines(lines)))
    np.testing.assert_array_equal(table.matrix(), [[0.0], [1.0]])


def test_mt_bench_references_of_math(tmp_path: Path) -> None:
    turn = "### User:\nOne?\n\n### Reference answer:\n1\n\n### User:\nTwo?\n\n### Reference answer:\n2\n\n"
    line = seeds.mt_judgment(0, 10, turn=2)
    block = f"<|The Start of Reference Answer|>\n\n{turn}<|The End of Reference Answer|>\n\n\n"
    line["user_prompt"] = block + line["user_prompt"]
    (run,) = runs_of(one_file(tmp_path, "x.jsonl", as_lines([line])), "mt-bench")
    (asked,) = content_of(run).asked.values()
    assert (asked.prompt, asked.reference) == ("How fast is light? 2", "2")


def test_mt_bench_ratings_off_the_scale_are_said(tmp_path: Path) -> None:
    path = one_file(tmp_path, "x.jsonl", as_lines([seeds.mt_judgment(0, 11)]))
    with pytest.raises(DataError, match="rating by gpt-4: a rating outside 1 to 10"):
        read(path)


def test_mt_bench_pairs_are_matches(tmp_path: Path) -> None:
    """As show_result.py counts: won in both orders, lost in both, and three ties; an error is left out."""
    path = written(seeds.mt_bench_pairs(), tmp_path)
    matches = load_logs([tmp_path]).matches
    assert matches is not None
    assert matches["winner"].to_list() == ["a", "b", "tie", "tie", "tie"]
    assert matches["round"].to_list() == [f"{81 + at} turn 1" for at in range(5)]
    (tournament,) = read_tournaments(path).values()
    assert tournament.players == ("m", "n")
    assert tournament.matches is not None
    assert sorted(tournament.matches.outcome) == [0, 0.5, 0.5, 0.5, 1]


def test_evalplus_counts_a_solution_that_passes_both(tmp_path: Path) -> None:
    """A solution that fails the base tests fails, whatever the extra ones say; timeouts are failures."""
    statuses = [("pass", "pass"), ("fail", "pass"), ("pass", "timeout"), ("pass", None), ("odd", "pass")]
    entries = [seeds.evalplus_entry(0, *pair) for pair in statuses]
    path = one_file(
        tmp_path, "a/eval_results.json", as_json({"date": "", "hash": "h", "eval": {"Mbpp/2": entries}})
    )
    (run,) = runs_of(path, "evalplus")
    assert (run.learner, run.task, run.main, run.version) == ("a", "Mbpp", "plus", "h")
    assert [row.score for row in run.rows if row.metric == "plus"] == [1, 0, 0, None, None]
    assert [row.score for row in run.rows if row.metric == "base"] == [1, 0, 1, 1, None]
    assert read(path).samples == ("Mbpp/2",)
    assert content_of(run).answers[2].reason == "base tests: pass; plus tests: timeout (1 failing inputs)"


def test_evalplus_with_base_tests_alone(tmp_path: Path) -> None:
    file = {"date": "", "hash": "", "eval": {"HumanEval/0": [seeds.evalplus_entry(0, "pass", None)]}}
    path = one_file(tmp_path, "samples_eval_results.json", as_json(file))
    (run,) = runs_of(path, "evalplus")
    assert (run.learner, run.main, [row.metric for row in run.rows]) == ("samples", "base", ["base"])


def test_evalplus_settings(tmp_path: Path) -> None:
    (run,) = runs_of(written(seeds.evalplus(), tmp_path), "evalplus")
    assert run.settings == {"backend": "vllm", "temperature": "0.0"}
    assert run.stated == {"plus": 0.5, "base": 1.0}


def test_livecodebench_answers_are_trials_and_failures_of_the_runner_missing(tmp_path: Path) -> None:
    failed = json.dumps({"error": "EOFError()", "error_code": -5, "error_message": "TestRunnerError"})
    problem = seeds.lcb_problem(0, [True, False, False], metadata=["{}", failed, "not JSON -5"])
    path = one_file(tmp_path, "output/m/Scenario.codegeneration_3_0.2_eval_all.json", as_json([problem]))
    (run,) = runs_of(path, "livecodebench")
    assert [(row.trial, row.score, row.why) for row in run.rows] == [
        (0, 1.0, None),
        (1, None, "errored"),
        (2, 0.0, None),
    ]
    assert run.settings == {"n": "3", "temperature": "0.2"}
    assert run.stated == {"pass@1": pytest.approx(1 / 3)}


@pytest.mark.parametrize(
    ("more", "names"),
    [
        ({"test_id": 4}, ("livecodebench testoutputprediction", "0 test 4")),
        ({"id": "sample_9", "code": "f()", "output": "1"}, ("livecodebench codeexecution", "sample_9")),
    ],
)
def test_livecodebench_asks_a_problem_more_than_once(
    more: dict[str, Any], names: tuple[str, str], tmp_path: Path
) -> None:
    path = one_file(tmp_path, "m/graded.json", as_json([seeds.lcb_problem(0, [True]) | more]))
    (run,) = runs_of(path, "livecodebench")
    assert (run.task, run.rows[0].sample) == names


def test_livecodebench_without_grades_says_what_to_do(tmp_path: Path) -> None:
    path = one_file(tmp_path, "m/x_eval_all.json", as_json([seeds.lcb_problem(0, [True], graded_list=None)]))
    with pytest.raises(DataError, match="--evaluate"):
        read(path)


@pytest.mark.parametrize(
    ("prediction", "target", "score"),
    [
        ("So the answer is False.", "False", 1),
        ("the answer is True. No, the answer is False", "False", 1),
        (" (A)", "(A)", 1),
        ("So the answer is 3.5.", "3.5", 1),
        ("True and", "True", 0),
        (None, "True", None),
    ],
)
def test_big_bench_hard_answers(
    prediction: str | None, target: str, score: float | None, tmp_path: Path
) -> None:
    output = {"input": "Q: ?", "prediction": prediction, "target": target}
    path = one_file(tmp_path, "m-direct/t.json", as_json({"canary": "c", "outputs": [output]}))
    (run,) = runs_of(path, "big-bench-hard")
    assert [row.score for row in run.rows] == [score]
    assert (run.learner, run.task, run.settings) == ("m-direct", "bbh t", {"prompting": "direct"})


def test_big_bench_hard_samples_are_the_same_however_they_were_prompted(tmp_path: Path) -> None:
    for style, start in (("cot", " Let's think step by step."), ("direct", "")):
        output = {"input": f"Do.\n\nQ: One?\nA: x\n\nQ: Two?\nA:{start}", "prediction": "x", "target": "x"}
        name = f"m-{style}/t_few_shot_template_0.json"
        one_file(tmp_path, name, as_json({"canary": "c", "outputs": [output]}))
    found = load_logs([tmp_path])
    assert found.merged is not None
    assert (found.merged.conflicts, found.table.matrix().tolist()) == ([], [[1.0], [1.0]])


@pytest.mark.parametrize("choice", ["null", "zero"])
def test_missing_follows_on_error(choice: str, tmp_path: Path) -> None:
    failed = seeds.tau_result(1, 0.0, info={"error": "x"}, traj=[])
    one_file(tmp_path, "m.json", as_json([seeds.tau_result(0, 1.0), failed]))
    table = load_logs([tmp_path], Choices(on_error=choice)).table  # type: ignore[arg-type]
    assert table.response.tolist() == ([1.0] if choice == "null" else [1.0, 0.0])
