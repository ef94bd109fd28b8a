"""Keeping what logs ask and answer

200 lm-evaluation-harness logs of 5 MB each, 1 GB: 1,000 documents per log, a prompt with worked examples, and
a generated answer of 150 to 250 words with the number extracted from it. `load` reads the folder with content
or without; the last columns are of writing the table and its content. Bounds for keeping content of many
learners on one task: 1.5 times the CPU time of reading without it, 300 MB more at the peak.
"""

import hashlib
import json
import random
import tempfile
from pathlib import Path
from typing import NamedTuple

from jobs import Row, best_of_three, measured, phase, print_table, seconds, serve, versions

ROWS = 1000
TIME = "2026-01-21T03-44-18.458309"
LETTERS = "abcdefghijklmnopqrstuvwxyz"


class Shape(NamedTuple):
    """How many logs, and of how many tasks: the samples of a task are the same for every learner."""

    n_learners: int
    n_tasks: int

    def __str__(self) -> str:
        return f"{self.n_learners} × {self.n_tasks}"


SHAPES = (Shape(200, 1), Shape(20, 10), Shape(1, 200))


def words(draw: random.Random, count: int, vocabulary: list[str]) -> str:
    """Words of a vocabulary, so that text is about as compressible as text is."""
    return " ".join(draw.choices(vocabulary, k=count))


def write(folder: str, n_learners: str, n_tasks: str) -> Row:
    """Job: the files."""
    draw = random.Random(20260121)
    vocabulary = ["".join(draw.choices(LETTERS, k=draw.randint(2, 9))) for _ in range(5000)]
    total = 0
    for task in (f"task_{number}" for number in range(int(n_tasks))):
        documents = [_document(draw, vocabulary, task, doc) for doc in range(ROWS)]
        for learner in range(int(n_learners)):
            inside = Path(folder, f"org__model-{learner}")
            inside.mkdir(exist_ok=True)
            path = inside / f"samples_{task}_{TIME}.jsonl"
            with path.open("w", encoding="utf-8") as file:
                for doc, start in enumerate(documents):
                    file.write(_line(draw, vocabulary, doc, start))
            total += path.stat().st_size
    for learner in range(int(n_learners)):
        named = {f"task_{number}": 1.0 for number in range(int(n_tasks))}
        results = {"results": {}, "configs": {}, "model_name": f"org/model-{learner}", "versions": named}
        (Path(folder, f"org__model-{learner}") / f"results_{TIME}.json").write_text(json.dumps(results))
    return {"bytes": total}


def _document(draw: random.Random, vocabulary: list[str], task: str, doc: int) -> str:
    """What the rows of all learners begin with: document, target, arguments."""
    question = f"Question {doc} of {task}: {words(draw, 70, vocabulary)}?"
    shots = words(draw, 350, vocabulary)
    start = {
        "doc_id": doc,
        "doc": {"question": question, "answer": str(doc % 97), "subject": f"s{doc % 12}"},
        "target": str(doc % 97),
        "arguments": {
            "gen_args_0": {"arg_0": f"{shots}\n\n{question}\nAnswer:", "arg_1": {"until": ["\n\n"]}}
        },
    }
    return json.dumps(start)[:-1]


def _line(draw: random.Random, vocabulary: list[str], doc: int, start: str) -> str:
    answer = words(draw, draw.randint(150, 250), vocabulary) + f" {draw.randint(0, 96)}"
    hashed = hashlib.sha256(start.encode()).hexdigest()
    right = float(draw.random() < 0.6)
    end = {
        "resps": [[answer]],
        "filtered_resps": [answer.rpartition(" ")[2]],
        "filter": "none",
        "metrics": ["exact_match"],
        "doc_hash": hashed,
        "prompt_hash": hashed,
        "target_hash": hashed,
        "exact_match": right,
    }
    return f"{start}, {json.dumps(end)[1:]}\n"


def load(folder: str, kept: str, output: str) -> Row:
    """Job: folder to table, and the table to a file if one is named."""
    with phase("import"):
        from camilla.reading.inputs import read
    with phase("load"):
        table = read(folder, content=kept == "kept")
    with phase("write"):
        if output:
            table.write(output)
    return {"responses": table.n_responses, "versions": versions("camilla", "msgspec", "polars")}


def main() -> list[Row]:
    rows = []
    for shape in SHAPES:
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as beside:
            size = measured(__file__, "write", folder, *shape).found["bytes"]
            without, kept = (
                best_of_three("load", __file__, "load", folder, word, "") for word in ("without", "kept")
            )
            written = measured(__file__, "load", folder, "kept", f"{beside}/responses.parquet")
            content = Path(beside, "responses.content.parquet").stat().st_size
        rows.append(
            {
                "learners × tasks": str(shape),
                "GB": f"{size / 1e9:.2f}",
                "without, CPU s": seconds(without.process),
                "kept, CPU s": seconds(kept.process),
                "ratio": f"{kept.process / without.process:.2f}",
                "without, peak MB": f"{without.peak_mb:.0f}",
                "kept, peak MB": f"{kept.peak_mb:.0f}",
                "write, CPU s": seconds(written.phases["write"]),
                "written, peak MB": f"{written.peak_mb:.0f}",
                "content, MB": f"{content / 1e6:.0f}",
                "versions": kept.found["versions"],
            }
        )
    print_table("Keeping what logs ask and answer", rows)
    return rows


if __name__ == "__main__":
    serve((write, load), main)
