"""Every Eval Ever: instance-level JSONL, one line per sample that a model answered; read and written."""

import hashlib
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from camilla.reading.decoding import decode_lines, is_score, name_in, number_in, plain, shortened
from camilla.reading.runs import About, Answered, Asked, Content, Row, Run
from camilla.table.files import whole_file
from camilla.table.responses import ResponseTable

MOST_TEXTS = 100  # references, choices or outputs of a line
SCHEMA_VERSION = "instance_level_eval_0.2.1"


class Input(msgspec.Struct):
    raw: Any = None
    reference: Any = None
    choices: Any = None


class Output(msgspec.Struct):
    raw: Any = None


class Evaluation(msgspec.Struct):
    score: Any = None
    is_correct: Any = None


class EvalInstance(msgspec.Struct):
    model_id: Any
    evaluation_name: Any
    sample_id: Any
    evaluation: Evaluation
    evaluation_id: Any = None
    sample_hash: Any = None
    input: Input | None = None
    metadata: Any = None
    error: Any = None
    output: Output | None = None
    answer_attribution: Any = None


INSTANCE = msgspec.json.Decoder(EvalInstance)


def runs(path: Path) -> Iterator[Run]:
    """A run for each model, evaluation and evaluation id; a sample again is another trial."""
    rows: dict[tuple[str, str, str], list[Row]] = {}
    about: dict[tuple[str, str, str], dict[str, About]] = {}
    left_out: dict[tuple[str, str, str], dict[str, str]] = {}
    trials: Counter[tuple[Any, ...]] = Counter()
    said: dict[tuple[str, str, str], list[tuple[str, int, EvalInstance]]] = {}
    for number, one in decode_lines(path, INSTANCE):
        place = f"{path}: line {number}"
        sample = name_in(one.sample_id, where=place, what="sample_id")
        learner = name_in(one.model_id, where=place, what="model_id")
        task = name_in(one.evaluation_name, where=place, what="evaluation_name")
        key = (learner, task, plain(one.evaluation_id))
        about.setdefault(key, {}).setdefault(sample, _about(one))
        trial = trials[*key, sample]
        trials[*key, sample] += 1
        said.setdefault(key, []).append((sample, trial, one))
        rows.setdefault(key, []).extend(_rows(one, sample, trial, left_out.setdefault(key, {})))
    for key, of_run in rows.items():
        yield Run(
            key[0],
            key[1],
            [row for row in of_run if row.metric not in left_out[key]],
            source=str(path),
            format="every-eval-ever",
            run=f"{path}#{key[2]}",
            about=about[key],
            left_out=left_out[key],
            content=partial(_content, said[key]),
        )


def _content(said: list[tuple[str, int, EvalInstance]]) -> Content:
    asked: dict[str, Asked] = {}
    answers = []
    for sample, trial, one in said:
        if sample not in asked and one.input is not None:
            choices = tuple(text for text in _texts(one.input.choices))
            asked[sample] = Asked(_joined(one.input.raw), _joined(one.input.reference), choices)
        answer = _joined(one.output.raw) if one.output is not None else ""
        answers.append(Answered(sample, trial, answer, "", _extracted(one.answer_attribution, answer)))
    return Content(asked, answers)


def _texts(value: Any) -> list[str]:
    """A text, or the texts of a list."""
    values = value if isinstance(value, list) else [value]
    return [one for one in values[:MOST_TEXTS] if isinstance(one, str)]


def _joined(value: Any) -> str:
    return "\n".join(_texts(value))


def _extracted(attribution: Any, answer: str) -> str:
    """The last value that was taken from the answer to be scored."""
    values = (
        [one.get("extracted_value") for one in attribution or () if isinstance(one, dict)]
        if isinstance(attribution, list)
        else []
    )
    found = next((one for one in reversed(values) if isinstance(one, str)), "")
    return "" if found == answer else found


def _rows(one: EvalInstance, sample: str, trial: int, left_out: dict[str, str]) -> Iterator[Row]:
    content = plain(one.sample_hash)[:16] or None
    for metric, value in (("score", one.evaluation.score), ("is_correct", one.evaluation.is_correct)):
        score = number_in(value)
        if score is not None and not is_score(score):
            left_out[metric] = "outside 0 to 1"
        why = "errored" if one.error else None if score is not None else "unscored"
        yield Row(sample, score, metric, "", trial, content, why)  # type: ignore[arg-type]


def _about(one: EvalInstance) -> About:
    text = one.input.raw if one.input is not None and isinstance(one.input.raw, str) else ""
    metadata = one.metadata if isinstance(one.metadata, dict) else {}
    skills = [(plain(key), plain(value)) for key, value in list(metadata.items())[:20] if plain(value)]
    return About(shortened(text), tuple(skills))


def write_instances(table: ResponseTable, path: str | Path) -> Path:
    """One line per response; what the table does not know, such as the model's words, is empty."""
    path = Path(path)
    texts, metadata = _described(table)
    digests = [_hash(texts[name]) for name in table.samples]
    task = table.task or (path.stem,) * table.n_samples
    encoder = msgspec.json.Encoder()
    with whole_file(path) as draft, draft.open("wb") as file:
        for learner, sample, response in zip(
            table.learner.tolist(), table.sample.tolist(), table.response.tolist(), strict=True
        ):
            name = table.samples[sample]
            line = {
                "schema_version": SCHEMA_VERSION,
                "evaluation_id": f"{task[sample]}/{table.learners[learner]}",
                "model_id": table.learners[learner],
                "evaluation_name": task[sample],
                "sample_id": name.removeprefix(f"{task[sample]}/"),
                "sample_hash": digests[sample],
                "interaction_type": "single_turn",
                "input": {"raw": texts[name], "reference": []},
                "output": {"raw": []},
                "answer_attribution": [],
                "evaluation": {"score": response, "is_correct": response == 1.0},
                "metadata": metadata[name],
            }
            file.write(encoder.encode(line) + b"\n")
    return path


def _hash(text: str) -> str | None:
    """SHA-256 of input and reference, of which a table has only the first."""
    return hashlib.sha256(text.encode()).hexdigest() if text else None


def _described(table: ResponseTable) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """Text and other metadata of each sample."""
    texts, rest = dict.fromkeys(table.samples, ""), {name: dict[str, str]() for name in table.samples}
    if table.sample_metadata is not None:
        for row in table.sample_metadata.iter_rows(named=True):
            name = row.pop("sample")
            texts[name] = row.pop("text", None) or ""
            rest[name] = {key: str(value) for key, value in row.items() if value is not None}
    return texts, rest
