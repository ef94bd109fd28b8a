"""Writes docs/harnesses/examples: small logs in the layouts of several harnesses, made from the digits.

Two classifiers on 120 digits. The harnesses had no part in it: files have the fields that their logs have.
"""

import csv
import json
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

import camilla

ROOT = Path(__file__).parents[1] / "docs/harnesses/examples"
LEARNERS = {"logistic": "2026-03-01T09-00-00", "ridge": "2026-03-01T10-00-00"}
SAMPLES = range(380, 500)


class Asked(NamedTuple):
    """A digit that a classifier was shown."""

    number: int
    question: str
    digit: str
    right: float


def asked(learner: str) -> list[Asked]:
    table = camilla.digits()
    digit = table.skill_map.mask.argmax(axis=1)
    right = table.matrix()[table.learners.index(learner)]
    return [
        Asked(number, f"Which digit is {table.samples[at]}?", str(digit[at]), right[at])
        for number, at in enumerate(SAMPLES)
    ]


def write(path: str, value: Any) -> None:
    file = ROOT / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(value, indent=None, separators=(",", ":")) + "\n")


def inspect(learner: str, rows: list[Asked]) -> None:
    samples = [
        {
            "id": f"q{one.number}", "epoch": 1, "input": one.question, "target": one.digit,
            "scores": {"match": {"value": "C" if one.right else "I"}},
        }
        for one in rows
    ]  # fmt: skip
    accuracy = {"accuracy": {"name": "accuracy", "value": sum(one.right for one in rows) / len(rows)}}
    created = LEARNERS[learner][:11] + LEARNERS[learner][11:].replace("-", ":") + "+00:00"
    write(f"inspect/{learner}/{LEARNERS[learner]}_digits.json", {
        "version": 2, "status": "success", "plan": {}, "stats": {},
        "eval": {"task": "digits", "model": learner, "created": created, "dataset": {"name": "digits"}},
        "results": {"scores": [{"name": "match", "scorer": "match", "metrics": accuracy}]},
        "samples": samples,
    })  # fmt: skip


def helm(learner: str, rows: list[Asked]) -> None:
    folder = f"helm/{learner}/digits,model={learner}"
    spec = {"name": f"digits:model={learner}", "scenario_spec": {"class_name": "Digits", "args": {}},
            "adapter_spec": {"model": learner}, "groups": ["digits"]}  # fmt: skip
    write(f"{folder}/run_spec.json", spec)
    write(f"{folder}/instances.json",
          [{"input": {"text": one.question}, "id": f"id{one.number}"} for one in rows])  # fmt: skip
    write(f"{folder}/display_predictions.json", [
        {"instance_id": f"id{one.number}", "train_trial_index": 0, "stats": {"exact_match": one.right}}
        for one in rows
    ])  # fmt: skip


def lighteval(learner: str, rows: list[Asked]) -> None:
    file = ROOT / f"lighteval/details/{learner}/{LEARNERS[learner]}"
    file.mkdir(parents=True, exist_ok=True)
    docs = [
        {"query": one.question, "choices": list("0123456789"), "gold_index": int(one.digit)} for one in rows
    ]
    metrics = [{"acc": one.right} for one in rows]
    frame = pl.DataFrame({"doc": docs, "metric": metrics})
    frame.write_parquet(file / f"details_digits_{LEARNERS[learner]}.parquet")


def opencompass(learner: str, rows: list[Asked]) -> None:
    details: dict[str, Any] = {"type": "GEN"}
    details |= {
        str(one.number): {"prompt": one.question, "references": one.digit, "correct": bool(one.right)}
        for one in rows
    }
    accuracy = 100 * sum(one.right for one in rows) / len(rows)
    write(
        f"opencompass/20260301_090000/results/{learner}/digits.json",
        {"accuracy": accuracy, "details": details},
    )


def promptfoo(answers: dict[str, list[Asked]]) -> None:
    results = [
        {
            "promptIdx": 0, "testIdx": one.number, "provider": {"id": learner, "label": ""},
            "prompt": {"raw": one.question, "label": "{{question}}"}, "vars": {"question": one.question},
            "testCase": {
                "vars": {"question": one.question},
                "assert": [{"type": "equals", "value": one.digit}],
            },
            "success": bool(one.right), "score": one.right, "failureReason": 0 if one.right else 1,
        }
        for learner, rows in answers.items()
        for one in rows
    ]  # fmt: skip
    summary = {"version": 3, "timestamp": "2026-03-01T09:00:00.000Z", "prompts": [], "results": results,
               "stats": {"successes": 0, "failures": 0, "errors": 0}}  # fmt: skip
    config = {"description": "digits", "providers": list(answers)}
    write("promptfoo/results.json", {"evalId": "eval-digits", "results": summary, "config": config})
    with (ROOT / "promptfoo/results.csv").open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["question", *answers])
        for number in range(len(SAMPLES)):
            rows = [answers[learner][number] for learner in answers]
            table.writerow([rows[0].question, *(int(one.right) for one in rows)])


def main() -> None:
    answers = {learner: asked(learner) for learner in LEARNERS}
    for learner, rows in answers.items():
        for harness in (inspect, helm, lighteval, opencompass):
            harness(learner, rows)
    promptfoo(answers)
    print(f"written to {ROOT}")


if __name__ == "__main__":
    main()
