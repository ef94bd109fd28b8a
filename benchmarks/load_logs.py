"""Loading a thousand lm-eval logs

A thousand files of samples in lm-evaluation-harness's layout, 1,000 rows each, a million in all. They range
from one learner on 1,000 tasks, which has a million samples, to a thousand learners on one task. Rows have
two metrics, the prompts of two choices and the log-likelihoods of four, 1.5 kB. The column `load` goes from
the folder to the table; the bounds are 30 CPU seconds and 1 GB. The last lines have fewer rows, of long
documents.
"""

import hashlib
import tempfile
from pathlib import Path
from typing import NamedTuple

from jobs import Row, measured, phase, print_table, seconds, serve, versions

ROWS = 1000
TIME = "2026-01-21T03-44-18.458309"
SENTENCE = "A train leaves the station at noon and travels north at a steady sixty kilometres an hour. "


class Shape(NamedTuple):
    """How many files, and how long their documents are: each stands in a row three times."""

    n_learners: int
    n_tasks: int
    sentences: int = 2

    def __str__(self) -> str:
        return f"{self.n_learners} × {self.n_tasks}"


SHAPES = (Shape(1, 1000), Shape(10, 100), Shape(100, 10), Shape(1000, 1), Shape(10, 10, 17), Shape(10, 5, 72))


def write(folder: str, n_learners: str, n_tasks: str, sentences: str) -> Row:
    """Job: the files; which answers are right is drawn by a hash, so nothing needs to be kept."""
    passage = SENTENCE * int(sentences)
    total = 0
    for learner in range(int(n_learners)):
        inside = Path(folder, f"org__model-{learner}")
        inside.mkdir()
        tasks = [f"task_{task}" for task in range(int(n_tasks))]
        named = ", ".join(f'"{task}": 1.0' for task in tasks)
        head = f'"results": {{}}, "configs": {{}}, "model_name": "org/model-{learner}"'
        results = f'{{{head}, "versions": {{{named}}}}}'
        (inside / f"results_{TIME}.json").write_text(results)
        for task in tasks:
            lines = "".join(line(learner, task, doc, passage) for doc in range(ROWS))
            total += (inside / f"samples_{task}_{TIME}.jsonl").write_text(lines)
    return {"bytes": total}


def line(learner: int, task: str, doc: int, passage: str) -> str:
    """One row, as the harness writes it."""
    draw = hashlib.sha256(f"{learner} {task} {doc}".encode()).digest()
    right, normed = int(draw[0] < 150), int(draw[1] < 160)
    hashed = hashlib.sha256(f"{task} {doc}".encode()).hexdigest()
    question = f"{passage}Question {doc} of {task}: how far has it come after {doc} hours?"
    prompts = ", ".join(f'"gen_args_{k}": {{"arg_0": "{question}", "arg_1": " {k}"}}' for k in range(2))
    chances = ", ".join(f'[["-{k}.25", "False"]]' for k in range(4))
    return (
        f'{{"doc_id": {doc}, "doc": {{"question": "{question}", "subject": "s{doc % 12}", "choices": '
        f'["a", "b", "c", "d"], "answer": 1}}, "target": "1", "arguments": {{{prompts}}}, '
        f'"resps": [{chances}], '
        f'"filtered_resps": [{chances}], "filter": "none", "metrics": ["acc", "acc_norm"], '
        f'"doc_hash": "{hashed}", "prompt_hash": "{hashed}", "target_hash": "{hashed}", '
        f'"acc": {right}.0, "acc_norm": {normed}.0}}\n'
    )


def load(folder: str) -> Row:
    """Job: folder to table, and the table to a file."""
    with phase("import"):
        from camilla.reading.inputs import read
    with phase("load"):
        table = read(folder)
    with phase("write"):
        table.write(Path(folder, "responses.parquet"))
    return {
        "learners": table.n_learners,
        "samples": table.n_samples,
        "responses": table.n_responses,
        "versions": versions("camilla", "msgspec", "polars"),
    }


def main() -> list[Row]:
    rows = []
    for shape in SHAPES:
        with tempfile.TemporaryDirectory() as folder:
            size = measured(__file__, "write", folder, *shape).found["bytes"]
            cost = measured(__file__, "load", folder)
        rows.append(
            {
                "learners × tasks": str(shape),
                "files": shape.n_learners * shape.n_tasks,
                "kB per row": f"{size / cost.found['responses'] / 1e3:.1f}",
                "responses": f"{cost.found['responses']:,}",
                "GB": f"{size / 1e9:.2f}",
                "load, CPU s": seconds(cost.phases["load"]),
                "MB per CPU s": f"{size / 1e6 / cost.phases['load']:.0f}",
                "write, CPU s": seconds(cost.phases["write"]),
                "process, CPU s": seconds(cost.process),
                "peak MB": f"{cost.peak_mb:.0f}",
                "versions": cost.found["versions"],
            }
        )
    print_table("Loading a thousand lm-eval logs", rows)
    return rows


if __name__ == "__main__":
    serve((write, load), main)
