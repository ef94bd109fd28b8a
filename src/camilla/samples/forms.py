"""A subset as files: for a program, for lm-evaluation-harness, for Inspect."""

import json
import re
from pathlib import Path
from typing import Any

from camilla.errors import DataError
from camilla.samples.select import Subset
from camilla.table.files import whole_folder

AS_PATTERN = str.maketrans({",": "?", ":": "?", "*": "[*]", "?": "[?]", "[": "[[]"})
NUMBERED = re.compile(r"(?P<task>.+)[/#:](?P<number>\d+)")


def document(found: Subset) -> dict[str, Any]:
    """Everything about a subset as plain data."""
    return {
        "verdict": "not judged" if found.offer is None else found.offer.verdict,
        "notes": [*found.notes, *form_notes(found)],
        "provenance": found.provenance,
        "intercept": found.intercept,
        "error": found.error,
        "samples": found.samples.to_dicts(),
        "expected": found.expected.to_dicts(),
        "offer": None if found.offer is None else found.offer.to_document(),
        "lm_eval_samples": lm_eval_samples(found),
        "inspect_sample_id": inspect_sample_id(found),
    }


def lm_eval_samples(found: Subset) -> dict[str, list[int]]:
    """{task: [document numbers]} as `lm_eval --samples` takes it; empty where one of them is not known.

    A sample's number is what its name ends in after the task, `gsm8k/17` or `gsm8k#17`, or all of it where
    the table says the task.
    """
    out: dict[str, list[int]] = {}
    for row in found.samples.to_dicts():
        task, number = row["task"], _own_name(row["sample"], row["task"])
        if task is None and (named := NUMBERED.fullmatch(number)):
            task, number = named["task"], named["number"]
        if task is None or not number.isdecimal():
            return {}
        out.setdefault(task, []).append(int(number))
    return {task: sorted(numbers) for task, numbers in sorted(out.items())}


def form_notes(found: Subset) -> list[str]:
    """What to check before a harness is given the subset."""
    if not lm_eval_samples(found):
        return []
    return [
        "lm_eval_samples takes the number in a sample's name for its doc_id, the row of the data set in "
        "lm-eval. That is true of tables read from lm-eval's logs; of another table, check that it is."
    ]


def inspect_sample_id(found: Subset) -> str:
    """`task:id` with commas as `inspect eval --sample-id` takes them, one list for all tasks.

    Without tasks, ids alone. Ids are patterns such as those of a shell: Inspect parts them at commas, strips
    them of blanks, and takes what stands before a colon for a task, so that in an id these are `?`, any one
    character; `*`, `?` and `[` of an id stand in brackets, for themselves. A task is no pattern: where the
    name of one has a comma or colon, Inspect cannot be told, and there is no list.
    """
    addresses = []
    for row in found.samples.to_dicts():
        task, name = row["task"], _as_pattern(_own_name(row["sample"], row["task"]))
        if task is not None and ("," in task or ":" in task):
            return ""
        addresses.append(name if task is None else f"{task}:{name}")
    return ",".join(addresses)


def _as_pattern(name: str) -> str:
    kept = name.strip()
    before = len(name) - len(name.lstrip())
    return "?" * before + kept.translate(AS_PATTERN) + "?" * (len(name) - len(kept) - before)


def _own_name(sample: str, task: str | None) -> str:
    """The name of a sample without that of its task in front."""
    if (
        task is not None
        and sample.startswith(task)
        and len(sample) > len(task) + 1
        and sample[len(task)] in "/#:"
    ):
        return sample[len(task) + 1 :]
    return sample


def check_new(folder: Path) -> None:
    """Refuses a folder that is there already or cannot be made."""
    if folder.exists():
        raise DataError(f"{folder}: exists already. Name a new folder, or move this one away.")
    if not folder.parent.is_dir():
        raise DataError(f"{folder}: there is no folder {folder.parent}. Make it first.")


def write(found: Subset, folder: Path) -> Path:
    """Writes a folder, whole or not at all."""
    check_new(folder)
    with whole_folder(folder) as draft:
        text = json.dumps(document(found), ensure_ascii=False, indent=1)
        (draft / "subset.json").write_text(text, encoding="utf-8")
        found.samples.write_csv(draft / "weights.csv")
        numbers = json.dumps(lm_eval_samples(found), ensure_ascii=False)
        (draft / "lm_eval_samples.json").write_text(numbers, encoding="utf-8")
        (draft / "inspect_sample_ids.txt").write_text(inspect_sample_id(found) + "\n", encoding="utf-8")
    return folder
