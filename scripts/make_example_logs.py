"""Writes docs/examples: logs in lm-evaluation-harness's layout, made from the digits of the package.

Two classifiers on the first 500 digits, in two tasks. The harness had no part in it: rows say what a log
says, and where it would hold the words of a model they are empty.
"""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import camilla

ROOT = Path(__file__).parents[1] / "docs/examples"
LEARNERS = {"logistic": "2026-03-01T09-00-00.000000", "ridge": "2026-03-01T10-00-00.000000"}
TASKS = {"digits_0_to_4": range(5), "digits_5_to_9": range(5, 10)}
N_SAMPLES = 500


def main() -> None:
    for learner, time in LEARNERS.items():
        write_logs(ROOT / re.sub(r"\W+", "_", learner), learner, time)
    print(f"written to {ROOT}")


def write_logs(folder: Path, learner: str, time: str = "2026-03-01T09-00-00.000000") -> None:
    """The log of a learner of the digits in a folder of its own."""
    table = camilla.digits()
    digit = table.skill_map.mask.argmax(axis=1)
    right = table.matrix()[table.learners.index(learner)]
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    for task, digits in TASKS.items():
        chosen = [at for at in range(N_SAMPLES) if digit[at] in digits]
        rows = [row(number, table.samples[at], str(digit[at]), right[at]) for number, at in enumerate(chosen)]
        lines = "".join(json.dumps(one) + "\n" for one in rows)
        (folder / f"samples_{task}_{time}.jsonl").write_text(lines)
    (folder / f"results_{time}.json").write_text(json.dumps(results(learner), indent=1) + "\n")


def row(doc_id: int, name: str, digit: str, right: float) -> dict[str, Any]:
    """One document as 0.4.7 and newer write it."""
    doc = {"question": f"Which digit is {name}?", "category": digit}
    prompt = doc["question"]
    return {
        "doc_id": doc_id,
        "doc": doc,
        "target": digit,
        "arguments": {"gen_args_0": {"arg_0": prompt}},
        "resps": [],
        "filtered_resps": [],
        "filter": "none",
        "metrics": ["acc"],
        "doc_hash": hashed(json.dumps(doc, indent=2, ensure_ascii=False)),
        "prompt_hash": hashed(prompt),
        "target_hash": hashed(digit),
        "acc": right,
    }


def hashed(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def results(learner: str) -> dict[str, Any]:
    return {
        "results": {task: {"alias": task} for task in TASKS},
        "configs": {task: {"task": task, "metadata": {"version": 1.0}} for task in TASKS},
        "versions": dict.fromkeys(TASKS, 1.0),
        "n-shot": dict.fromkeys(TASKS, 0),
        "higher_is_better": {task: {"acc": True} for task in TASKS},
        "config": {"model": "scikit-learn", "model_args": f"model={learner}"},
        "model_name": learner,
    }


if __name__ == "__main__":
    main()
