"""Loading a thousand lm-eval logs

A thousand files of samples in lm-evaluation-harness's layout, 1,000 rows each, a million in all: 100
learners on 10 tasks, and one learner on 1,000 tasks, which has a hundred times the samples. Rows have two
metrics, the prompts of four choices and their log-likelihoods, 1.3 kB. `load` goes from the folder to the
table; the bounds are 30 CPU seconds and 1 GB.
"""

import hashlib
import platform
import tempfile
from pathlib import Path

from jobs import Row, markdown_table, measured, phase, print_table, seconds, serve, versions

SHAPES = {"100 × 10": (100, 10), "1 × 1000": (1, 1000)}
ROWS = 1000
PAGE = Path(__file__).parents[1] / "docs/results/loading.md"
TIME = "2026-01-21T03-44-18.458309"
PASSAGE = "A train leaves the station at noon and travels north at a steady sixty kilometres an hour. " * 2


def write(folder: str, n_learners: str, n_tasks: str) -> Row:
    """Job: the files; which answers are right is drawn by a hash, so nothing needs to be kept."""
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
            lines = "".join(line(learner, task, doc) for doc in range(ROWS))
            total += (inside / f"samples_{task}_{TIME}.jsonl").write_text(lines)
    return {"bytes": total}


def line(learner: int, task: str, doc: int) -> str:
    """One row, as the harness writes it."""
    draw = hashlib.sha256(f"{learner} {task} {doc}".encode()).digest()
    right, normed = int(draw[0] < 150), int(draw[1] < 160)
    hashed = hashlib.sha256(f"{task} {doc}".encode()).hexdigest()
    question = f"{PASSAGE}Question {doc} of {task}: how far has it come after {doc} hours?"
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
        from camilla.loaders.logs import load as load_logs
    with phase("load"):
        table = load_logs(folder)
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
    for shape, (n_learners, n_tasks) in SHAPES.items():
        with tempfile.TemporaryDirectory() as folder:
            size = measured(__file__, "write", folder, n_learners, n_tasks).found["bytes"]
            cost = measured(__file__, "load", folder)
        rows.append(
            {
                "learners × tasks": shape,
                "files": n_learners * n_tasks,
                "responses": f"{cost.found['responses']:,}",
                "GB": f"{size / 1e9:.2f}",
                "load, CPU s": seconds(cost.phases["load"]),
                "write, CPU s": seconds(cost.phases["write"]),
                "process, CPU s": seconds(cost.process),
                "peak MB": f"{cost.peak_mb:.0f}",
                "versions": cost.found["versions"],
            }
        )
    print_table("Loading a thousand lm-eval logs", rows)
    return rows


def page() -> Row:
    """Job: this benchmark alone, as docs/results/loading.md."""
    title, about = str(__doc__).strip().split("\n\n", 1)
    made = (
        f"Made by `python benchmarks/load_logs.py page` on 2 cores with Python {platform.python_version()}."
    )
    PAGE.write_text(f"# {title}\n\n{about}\n\n{made}\n\n{markdown_table(main())}\n")
    return {}


if __name__ == "__main__":
    serve((write, load, page), main)
