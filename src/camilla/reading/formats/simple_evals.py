"""simple-evals: `<eval>_<model>.html`, a report with every example, or `…_allresults.json` with the same.

Each example shows its prompt, the sampled message, the right answer, the extracted one and the score. Nothing
names examples, so they are known by what they ask. `<eval>_<model>.json` beside has the means.
"""

import html
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from camilla.errors import DataError
from camilla.reading.decoding import decode_file, read_bytes
from camilla.reading.entries import Draft, described, fingerprint, kept_content, means, words
from camilla.reading.runs import Answered, Asked, Content, Run

ALL_RESULTS = "_allresults"
TWO_WORDS = ("healthbench_hard", "healthbench_consensus", "healthbench_meta")
STAMP = re.compile(r"_(\d{8}_\d{4,6})$")
MESSAGE = '<div class="message '  # texts are escaped, so that they hold no tags
SAMPLED = "<h3>Sampled message</h3>"
RESULTS = "<h3>Results</h3>"


class AllResults(msgspec.Struct):
    score: Any = None
    metrics: Any = None
    htmls: list[Any] = []
    convos: Any = None
    metadata: Any = None


RESULT = msgspec.json.Decoder(AllResults)
MEANS = msgspec.json.Decoder(dict[str, Any])


class Example(NamedTuple):
    """An example as the report shows it."""

    prompt: str
    answer: str
    reference: str
    score: float | None
    reason: str = ""


def runs(path: Path) -> Iterator[Run]:
    """The one run of a file; of a report whose results lie beside it as JSON, none."""
    if path.suffix.lower() == ".json":
        results = decode_file(path, RESULT)
        examples = [_whole(one, results, at) for at, one in enumerate(results.htmls)]
        yield _run(path, path.stem.removesuffix(ALL_RESULTS), examples, {"score": results.score})
    elif not path.with_name(f"{path.stem}{ALL_RESULTS}.json").is_file():
        text = read_bytes(path).decode("utf-8", "replace")
        _, found, examples_text = text.partition("<h1>Examples</h1>")
        if not found:
            raise DataError(f"{path}: has no examples, as a report of simple-evals has.")
        examples = [_example(one) for one in examples_text.split("<hr>") if RESULTS in one or SAMPLED in one]
        beside = path.with_suffix(".json")
        yield _run(path, path.stem, examples, decode_file(beside, MEANS) if beside.is_file() else {})


def _run(path: Path, stem: str, examples: list[Example], stated: dict[str, Any]) -> Run:
    draft = Draft()
    keys: list[tuple[str, int]] = []
    for example in examples:
        content = fingerprint(example.prompt)
        sample = draft.by_content(content)
        keys.append((sample, draft.trial(sample)))
        draft.about.setdefault(sample, described(example.prompt))
        draft.add(sample, "score", example.score, keys[-1][1], content)
    task, learner, date = _names(stem)
    metrics = draft.metrics()
    return Run(
        learner,
        task,
        draft.rows(),
        source=str(path),
        format="simple-evals",
        date=date,
        about=draft.about,
        left_out=draft.left_out,
        unstable_ids=True,
        main="score",
        stated=means(stated, metrics),
        content=partial(_content, keys, examples),
    )


def _names(stem: str) -> tuple[str, str, str]:
    """mmlu_gpt-4o_20250101_120000_DEBUG: task, learner, date; names of evals end at the first underscore."""
    stem = stem.removesuffix("_DEBUG")
    stamp = STAMP.search(stem)
    stem = stem[: stamp.start()] if stamp else stem
    known = next((name for name in TWO_WORDS if stem.startswith(f"{name}_")), None)
    task, _, learner = (known, "_", stem[len(known) + 1 :]) if known else stem.partition("_")
    return task or stem or "simple-evals", learner or stem or "simple-evals", stamp[1] if stamp else ""


def _whole(text: Any, results: AllResults, at: int) -> Example:
    """An example of the JSON file: its HTML, with what the conversation and the metadata say besides."""
    example = _example(text if isinstance(text, str) else "")
    convo = _at(results.convos, at)
    if not example.prompt and isinstance(convo, list) and len(convo) > 1:
        example = example._replace(prompt=words(convo[:-1]), answer=words(convo[-1:]))
    metadata = results.metadata if isinstance(results.metadata, dict) else {}
    said = _at(metadata.get("example_level_metadata"), at)
    if not isinstance(said, dict):
        return example
    items = said.get("rubric_items")
    rubric = (
        [one.get("explanation") for one in items if isinstance(one, dict)] if isinstance(items, list) else []
    )
    reason = "\n".join(one for one in rubric if isinstance(one, str))
    score = said.get("score", example.score)
    number = score if isinstance(score, int | float) else example.score
    return example._replace(score=number, reason=reason)


def _at(values: Any, at: int) -> Any:
    return values[at] if isinstance(values, list) and at < len(values) else None


def _example(text: str) -> Example:
    """The prompt without the system's message, which models may have or not."""
    asked, _, rest = text.partition(SAMPLED)
    answered, _, shown = rest.partition(RESULTS)
    return Example(
        _messages(asked),
        _messages(answered),
        _between(shown, "<p>Correct Answer: ", "</p>"),
        _number(_between(shown, "<p>Score: ", "</p>")),
    )


def _messages(text: str) -> str:
    parts = text.split(MESSAGE)[1:]
    return "\n".join(_between(part, "<pre>", "</pre>") for part in parts if not part.startswith("system"))


def _between(text: str, start: str, end: str) -> str:
    return html.unescape(text.partition(start)[2].partition(end)[0])


def _number(text: str) -> float | None:
    """True and False are what evals with a yes or no give."""
    text = text.strip()
    if text in ("True", "False"):
        return float(text == "True")
    try:
        return float(text)
    except ValueError:
        return None


def _content(keys: list[tuple[str, int]], examples: list[Example]) -> Content:
    return kept_content(
        (Asked(one.prompt, one.reference), Answered(*key, one.answer, one.reason))
        for key, one in zip(keys, examples, strict=True)
    )
