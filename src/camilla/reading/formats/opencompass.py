"""OpenCompass: `results/<model>/<dataset>.json` with the `details` of its samples.

Details are an object {"type": …, "0": {…}} or, from newer evaluators, a list whose fields are lists over
replicas. The verdict is called correct, is_correct or cascade_correct. What was asked is in the details or,
under the same index, in `predictions/<model>/<dataset>.json`.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from camilla.errors import DataError
from camilla.reading.decoding import decode_file, digest, is_score, name_in, number_in, shortened
from camilla.reading.runs import About, Answered, Asked, Content, Row, Run

VERDICTS = ("correct", "is_correct", "cascade_correct")
REFERENCES = ("references", "refr", "answer", "gold", "reference")
ANSWERS = ("prediction", "predictions", "pred", "model_answer", "response")
PROMPTS = ("prompt", "origin_prompt", "question")


class OpenCompassResults(msgspec.Struct):
    details: Any = None
    accuracy: Any = None  # percent


class OpenCompassPrediction(msgspec.Struct):
    origin_prompt: Any = None
    prediction: Any = None


RESULTS = msgspec.json.Decoder(OpenCompassResults)
PREDICTIONS = msgspec.json.Decoder(dict[str, OpenCompassPrediction])


def runs(path: Path) -> Iterator[Run]:
    """The one run of a file; model and dataset are in its path."""
    results = decode_file(path, RESULTS)
    details, accuracy = results.details, number_in(results.accuracy)
    rows: list[Row] = []
    left_out: dict[str, str] = {}
    entries = list(_entries(details, path))
    prompts = _prompts(entries, path)
    asked = _questions(prompts)
    for sample, entry in entries:
        rows += _rows(entry, sample, _content(entry, sample, asked), left_out)
    stamp = path.resolve().parent.parent.parent.name
    yield Run(
        path.resolve().parent.name or "opencompass",
        path.stem,
        [row for row in rows if row.metric not in left_out],
        source=str(path),
        format="opencompass",
        date=stamp if stamp[:8].isdecimal() else "",
        about={sample: About(shortened(parts[-1])) for sample, parts in prompts.items()},
        left_out=left_out,
        stated={} if accuracy is None else {"correct": accuracy / 100},
        content=lambda: _said(entries, prompts, path),
    )


def _said(entries: list[tuple[str, dict[str, Any]]], prompts: Mapping[str, list[str]], path: Path) -> Content:
    """Prompts, references and predictions; a prediction that the details lack is in `predictions/`.

    Details often hold what was extracted from an answer; the file of predictions has the answer itself.
    """
    beside = path.parent.parent.with_name("predictions") / path.parent.name / path.name
    whole = decode_file(beside, PREDICTIONS) if beside.is_file() else {}
    asked: dict[str, Asked] = {}
    answers = []
    for sample, entry in entries:
        references = next((entry[name] for name in REFERENCES if name in entry), "")
        asked.setdefault(
            sample, Asked("\n".join(prompts.get(sample, ())), _words(references).replace("\x00", "\n"))
        )
        found = next((entry[name] for name in ANSWERS if name in entry), "")
        shorts = [str(one) for one in found] if isinstance(found, list) else [str(found)]
        full = whole[sample].prediction if sample in whole else None
        for trial, short in enumerate(shorts):
            text = full if isinstance(full, str) and len(shorts) == 1 else short
            answers.append(Answered(sample, trial, text, "", "" if short == text else short))
    return Content(asked, answers)


def _entries(details: Any, path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(details, dict):
        pairs = [(key, entry) for key, entry in details.items() if key != "type"]
    elif isinstance(details, list):
        pairs = [(_index(entry, at, path), entry) for at, entry in enumerate(details)]
    else:
        raise DataError(f"{path}: has no details of samples. Run OpenCompass with --dump-eval-details.")
    for key, entry in pairs:
        if not isinstance(entry, dict):
            raise DataError(f"{path}: details of {key!r} are {str(entry)[:40]!r}; expected an object.")
        yield name_in(key, where=str(path), what="a sample"), entry


def _index(entry: Any, at: int, path: Path) -> str:
    """gsm8k_12 of the dataset gsm8k is sample 12, as the other shape calls it."""
    name = entry.get("example_abbr") if isinstance(entry, dict) else None
    return name.removeprefix(f"{path.stem}_") or str(at) if isinstance(name, str) else str(at)


def _rows(entry: dict[str, Any], sample: str, content: str | None, left_out: dict[str, str]) -> Iterator[Row]:
    metric = next((name for name in VERDICTS if name in entry), None)
    if metric is None:
        yield Row(sample, None, "", content=content, why="unscored")
        return
    verdicts = entry[metric] if isinstance(entry[metric], list) else [entry[metric]]
    for trial, verdict in enumerate(verdicts or [None]):
        score = number_in(verdict)
        if verdict is not None and not is_score(score):
            left_out["correct"] = "not a verdict" if score is None else "outside 0 to 1"
        yield Row(sample, score, "correct", "", trial, content, None if score is not None else "unscored")


def _words(value: Any) -> str:
    """The reference, once, however many replicas repeat it."""
    if isinstance(value, list):
        return "\x00".join(dict.fromkeys(str(part)[:1000] for part in value[:100]))
    return str(value)[:1000]


def _prompts(entries: list[tuple[str, dict[str, Any]]], path: Path) -> dict[str, list[str]]:
    """The messages that each sample was asked with, of those that say."""
    said: dict[str, Any] = {}
    for sample, entry in entries:
        prompt = next((entry[name] for name in PROMPTS if name in entry), None)
        replicas = "example_abbr" in entry and isinstance(prompt, list)
        said.setdefault(sample, next(iter(prompt or ()), None) if replicas else prompt)
    if not any(map(_messages, said.values())):
        beside = path.parent.parent.with_name("predictions") / path.parent.name / path.name
        found = decode_file(beside, PREDICTIONS) if beside.is_file() else {}
        said = {sample: found[sample].origin_prompt for sample in said if sample in found}
    return {sample: messages for sample, prompt in said.items() if (messages := _messages(prompt))}


def _messages(prompt: Any) -> list[str]:
    if not isinstance(prompt, list):
        return [prompt] if isinstance(prompt, str) else []
    parts = [part.get("prompt", part.get("content")) if isinstance(part, dict) else part for part in prompt]
    return [part for part in parts if isinstance(part, str)]


def _questions(prompts: Mapping[str, list[str]]) -> dict[str, str]:
    """Prompts without what all of a run begin and end with: the model's template, instructions, fixed shots.

    So the same question is the same under the templates of two models.
    """
    texts = ["\n".join(messages) for messages in prompts.values()]
    if len(set(texts)) > 1:
        start = _shared_start(texts)
        ends = [text[start:][::-1] for text in texts]
        end = _shared_start(ends)
        texts = [text[end:][::-1] for text in ends]
    return dict(zip(prompts, texts, strict=True))


def _shared_start(texts: list[str]) -> int:
    """How many characters all texts begin with; the first and the last in order share the fewest."""
    first, last = min(texts), max(texts)
    pairs = enumerate(zip(first, last, strict=False))
    return next((at for at, (a, b) in pairs if a != b), len(first))


def _content(entry: dict[str, Any], sample: str, asked: Mapping[str, str]) -> str | None:
    """Question and reference; a reference alone is shared by many samples, so the index stands in."""
    references = next((entry[name] for name in REFERENCES if name in entry), None)
    if sample in asked:
        return digest(asked[sample], _words(references))
    return None if references is None else digest(sample, _words(references))
