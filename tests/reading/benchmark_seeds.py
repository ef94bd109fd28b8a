"""Small logs of benchmarks that bring a harness of their own, written from its code; no harness made them.

Samples 0 and 1, the first right, the second wrong, of the task "quiz", as in `log_seeds`.
"""

from collections.abc import Callable
from typing import Any

from seed_files import Seed, as_json, as_lines

ASKED = ("How fast is light?", "Who sues?")
STAMP = "2026-01-21__03-44-18"


def terminal_trial(at: int, resolved: bool | None, attempt: str = "1-of-1", **more: Any) -> dict[str, Any]:
    """TrialResults of terminal_bench/harness/models.py."""
    tests = (
        None if resolved is None else {"test_file": "passed", "test_text": "passed" if resolved else "failed"}
    )
    return {
        "id": "c8f58bb5-c911-48b3-9c2c-e52850753120",
        "trial_name": f"{at}.{attempt}.{STAMP}",
        "task_id": str(at),
        "instruction": ASKED[at],
        "is_resolved": resolved,
        "failure_mode": "test_timeout" if resolved is None else "unset",
        "parser_results": tests,
        "total_input_tokens": 10,
        "trial_started_at": f"2026-01-21T03:44:1{at}+00:00",
    } | more


def terminal_results(trials: list[dict[str, Any]]) -> dict[str, Any]:
    """BenchmarkResults, with the fields that it computes."""
    resolved = [one["task_id"] for one in trials if one["is_resolved"]]
    unresolved = [one["task_id"] for one in trials if not one["is_resolved"]]
    return {
        "id": "64582f5b-4b9c-4ccc-9438-412d75efae59",
        "results": trials,
        "pass_at_k": {},
        "n_resolved": len(resolved),
        "n_unresolved": len(unresolved),
        "resolved_ids": resolved,
        "unresolved_ids": unresolved,
        "accuracy": len(resolved) / len(trials),
    }


def terminal_bench(whole: bool = True) -> Seed:
    """A folder of a run; one that is not finished has no results but those of its trials."""
    root = f"runs/{STAMP}"
    trials = [terminal_trial(0, True), terminal_trial(1, False)]
    metadata = {
        "run_id": STAMP,
        "dataset_name": "quiz",
        "dataset_version": "0.1.1",
        "agent_name": "terminus",
        "model_name": "org/m",
        "n_attempts": 1,
        "start_time": "2026-01-21T03:44:10+00:00",
    }
    files = {f"{root}/{one['task_id']}/{one['trial_name']}/results.json": as_json(one) for one in trials} | {
        f"{root}/run_metadata.json": as_json(metadata)
    }
    target = next(iter(files))
    if whole:
        target = f"{root}/results.json"
        files[target] = as_json(terminal_results(trials))
    return Seed("terminal-bench", target, files)


def tau_result(at: int, reward: float, trial: int = 0, **more: Any) -> dict[str, Any]:
    """EnvRunResult of tau_bench/types.py."""
    actions = [{"name": "send", "kwargs": {"to": "a"}}]
    task = {"user_id": "u", "actions": actions, "instruction": ASKED[at], "outputs": []}
    judged = {"reward": reward, "info": {"r_actions": reward, "gt_data_hash": "ea"}, "actions": actions}
    messages = [
        {"role": "system", "content": "# quiz agent policy\n\nAs an agent, you can help."},
        {"role": "user", "content": "Hi!"},
        {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "send"}}]},
    ]
    return {
        "task_id": at,
        "reward": reward,
        "info": {"task": task, "source": "user", "user_cost": 0.1, "reward_info": judged},
        "traj": messages,
        "trial": trial,
    } | more


def tau_bench() -> Seed:
    target = "results/tool-calling-m-0.0_range_0--1_user-gpt-4o-llm_0121034418.json"
    return Seed("tau-bench", target, {target: as_json([tau_result(0, 1.0), tau_result(1, 0.0)])})


def promptfoo_result(at: int, score: float, **more: Any) -> dict[str, Any]:
    """EvaluateResult of promptfoo's src/types/index.ts."""
    passed = score >= 0.5
    grading = {"pass": passed, "score": score, "reason": "matched" if passed else "did not match"}
    return {
        "promptIdx": 0,
        "testIdx": at,
        "promptId": "4093",
        "provider": {"id": "org/m", "label": ""},
        "prompt": {"raw": f"Answer: {ASKED[at]}", "label": "Answer: {{question}}"},
        "vars": {"question": ASKED[at]},
        "testCase": {
            "vars": {"question": ASKED[at]},
            "assert": [{"type": "contains", "value": "c"}],
            "metadata": {"subject": ("physics", "law")[at]},
        },
        "response": {"output": "299792 km/s"},
        "success": passed,
        "score": score,
        "namedScores": {"brevity": 1.0},
        "failureReason": 0 if passed else 1,
        "gradingResult": grading,
    } | more


def promptfoo_summary(results: list[dict[str, Any]]) -> dict[str, Any]:
    metrics = {
        "score": sum(one["score"] for one in results),
        "testPassCount": sum(one["success"] for one in results),
        "testFailCount": sum(not one["success"] for one in results),
        "testErrorCount": 0,
    }
    prompt = {"raw": "Answer: {{question}}", "label": "Answer: {{question}}", "id": "4093"}
    return {
        "version": 3,
        "timestamp": "2026-01-21T03:44:18.458Z",
        "prompts": [prompt | {"provider": "org/m", "metrics": metrics}],
        "results": results,
        "stats": {"successes": metrics["testPassCount"], "failures": metrics["testFailCount"], "errors": 0},
    }


PROMPTFOO_CONFIG = {
    "description": "quiz",
    "providers": [{"id": "org/m", "config": {"temperature": 0, "tools": []}}],
}


def promptfoo(layout: str = "output") -> Seed:
    """output: of version 3; export: version 4, as shared; table: version 2, whose results have no indices."""
    results = [promptfoo_result(0, 1.0), promptfoo_result(1, 0.0)]
    summary = promptfoo_summary(results)
    file: dict[str, Any] = {"evalId": "eval-jvr", "results": summary, "config": PROMPTFOO_CONFIG}
    if layout == "export":
        file = {"version": 4, "createdAt": "2026-01-21T03:44:18Z", "results": summary}
        file |= {"config": PROMPTFOO_CONFIG, "author": None, "prompts": [], "datasetId": None}
    if layout == "table":
        new = ("promptIdx", "testIdx", "promptId", "testCase", "failureReason")
        old = [{key: value for key, value in one.items() if key not in new} for one in results]
        head = {"prompts": summary["prompts"], "vars": ["question"]}
        summary = {"version": 2, "timestamp": summary["timestamp"], "results": old, "stats": summary["stats"]}
        summary |= {"table": {"head": head, "body": []}}
        file = {"results": summary, "config": PROMPTFOO_CONFIG, "shareableUrl": None}
    return Seed("promptfoo", "results.json", {"results.json": as_json(file)})


SINGLE = (
    "[Instruction]\nPlease act as an impartial judge.\n\n[Question]\n{question}\n\n"
    "[The Start of Assistant's Answer]\n{answer}\n[The End of Assistant's Answer]"
)
MULTI_TURN = (
    "<|The Start of Assistant A's Conversation with User|>\n\n### User:\nFirst?\n\n### Assistant A:\nYes.\n\n"
    "### User:\n{question}\n\n### Assistant A:\n{answer}\n\n"
    "<|The End of Assistant A's Conversation with User|>"
)


def mt_judgment(at: int, score: float, turn: int = 1, judge: str = "gpt-4", **more: Any) -> dict[str, Any]:
    """What play_a_match_single of fastchat/llm_judge/common.py writes."""
    shown = (SINGLE if turn == 1 else MULTI_TURN).format(question=f"{ASKED[at]} {turn}", answer="So.")
    return {
        "question_id": at,
        "model": "org/m",
        "judge": [judge, "single-v1" if turn == 1 else "single-v1-multi-turn"],
        "user_prompt": shown,
        "judgment": f"Good. Rating: [[{score}]]",
        "score": score,
        "turn": turn,
        "tstamp": 1694847976.1 + at,
    } | more


def mt_bench() -> Seed:
    target = "data/quiz/model_judgment/gpt-4_single.jsonl"
    lines = [mt_judgment(at, (10, 1)[at], turn) for at in range(2) for turn in (1, 2)]
    questions = [
        {"question_id": at, "category": ("physics", "law")[at], "turns": [text, text]}
        for at, text in enumerate(ASKED)
    ]
    answer = {"question_id": 0, "answer_id": "a", "model_id": "org/m", "choices": [{"turns": ["So."]}]}
    beside = {
        "data/quiz/question.jsonl": as_lines(questions),
        "data/quiz/model_answer/m.jsonl": as_lines([answer]),
    }
    return Seed("mt-bench", target, {target: as_lines(lines)} | beside)


def mt_pair(first: str, second: str, question: int = 81) -> dict[str, Any]:
    """What play_a_match_pair writes."""
    return {
        "question_id": question,
        "model_1": "m",
        "model_2": "n",
        "g1_winner": first,
        "g2_winner": second,
        "judge": ["gpt-4", "pair-v2"],
        "g1_user_prompt": "?",
        "g1_judgment": "[[A]]",
        "g2_user_prompt": "?",
        "g2_judgment": "[[B]]",
        "turn": 1,
        "tstamp": 1694847976.1,
    }


PAIRS = (
    ("model_1", "model_1"),
    ("model_2", "model_2"),
    ("model_1", "model_2"),
    ("tie", "tie"),
    ("tie", "model_1"),
    ("error", "model_1"),
)


def mt_bench_pairs() -> Seed:
    target = "data/quiz/model_judgment/gpt-4_pair.jsonl"
    lines = [mt_pair(*winners, question=81 + at) for at, winners in enumerate(PAIRS)]
    return Seed("mt-bench-pairs", target, {target: as_lines(lines)})


def evalplus_entry(at: int, base: str, plus: str | None, **more: Any) -> dict[str, Any]:
    """An entry of evalplus/evaluate.py."""
    entry = {"task_id": f"quiz/{at}", "solution": "def f(): pass", "base_status": base, "plus_status": plus}
    return entry | {"base_fail_tests": [], "plus_fail_tests": [] if plus == "pass" else [[1]]} | more


def evalplus(old: bool = False) -> Seed:
    """Results of 2023 list the verdicts on base and plus."""
    target = "results/humaneval/org--m_vllm_temp_0.0.eval_results.json"
    file: dict[str, Any] = {"date": "2026-01-21 03:44", "hash": "fe585eb4df8c88d844eeb463ea4d0302"}
    if old:
        file["eval"] = {
            "quiz/0": {"nfiles": 1, "base": [["success", [True]]], "plus": [["success", [True]]]},
            "quiz/1": {"nfiles": 1, "base": [["success", [True]]], "plus": [["failed", [False]]]},
        }
    else:
        file["eval"] = {
            "quiz/0": [evalplus_entry(0, "pass", "pass")],
            "quiz/1": [evalplus_entry(1, "pass", "fail")],
        }
        file["pass_at_k"] = {"base": {"pass@1": 1.0}, "plus": {"pass@1": 0.5}}
    return Seed("evalplus", target, {target: as_json(file)})


def lcb_problem(at: int, graded: list[bool], **more: Any) -> dict[str, Any]:
    """insert_output_evaluation of lcb_runner/benchmarks/code_generation.py."""
    return {
        "question_title": "Quickly",
        "question_content": ASKED[at],
        "platform": "leetcode",
        "question_id": str(at),
        "contest_id": "weekly",
        "contest_date": "2026-01-21T00:00:00",
        "starter_code": "",
        "difficulty": ("easy", "hard")[at],
        "output_list": ["```x```"] * len(graded),
        "code_list": ["x"] * len(graded),
        "graded_list": graded,
        "pass@1": sum(graded) / len(graded),
        "metadata": ['{"error_code": -2, "error_message": "Wrong Answer"}'] * len(graded),
    } | more


def livecodebench() -> Seed:
    stem = "output/m/Scenario.codegeneration_2_0.2"
    problems = [lcb_problem(0, [True, True]), lcb_problem(1, [False, False])]
    metrics = [{"pass@1": 0.5, "detail": {"pass@1": {"0": 1.0, "1": 0.0}}}, {"0": [[1], [1]]}, []]
    files = {
        f"{stem}_eval_all.json": as_json(problems),
        f"{stem}_eval.json": as_json(metrics),
        f"{stem}.json": as_json([{"question_id": "0", "output_list": [], "code_list": []}]),
    }
    return Seed("livecodebench", f"{stem}_eval_all.json", files)


def big_bench_hard() -> Seed:
    stem = "m-outputs/m-cot/quiz_few_shot_template_0-255000"
    outputs = [
        {
            "input": f"Do it.\n\nQ: Why?\nA: So the answer is 1.\n\nQ: {text}\nA: Let's think step by step.",
            "prediction": f"The answer is B? No. So the answer is {('(A)', '(B)')[at]}.",
            "target": "(A)",
        }
        for at, text in enumerate(ASKED)
    ]
    files = {
        f"{stem}.json": as_json({"canary": "GUID", "outputs": outputs}),
        f"{stem}_eval_metrics.jsonl": as_lines([{"accuracy": 50.0, "accuracy_with_calc": 50.0}]),
    }
    return Seed("big-bench-hard", f"{stem}.json", files)


BENCHMARK_LAYOUTS: dict[str, Callable[[], Seed]] = {
    "terminal-bench run": terminal_bench,
    "terminal-bench trials": lambda: terminal_bench(whole=False),
    "tau-bench": tau_bench,
    "promptfoo output": promptfoo,
    "promptfoo export": lambda: promptfoo("export"),
    "promptfoo table": lambda: promptfoo("table"),
    "mt-bench": mt_bench,
    "mt-bench-pairs": mt_bench_pairs,
    "evalplus": evalplus,
    "evalplus 2023": lambda: evalplus(old=True),
    "livecodebench": livecodebench,
    "big-bench-hard": big_bench_hard,
}
