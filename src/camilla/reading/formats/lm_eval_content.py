"""What lm-evaluation-harness logs of prompts and answers.

`arguments` holds what the model was given: {"gen_args_0": {"arg_0": prompt, "arg_1": settings or choice}}, or
a list of such lists before 0.4.3. `resps` holds what it said for each: texts, or for each choice its
log-likelihood and whether it is the likeliest text. `filtered_resps` is what a filter made of them.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from camilla.reading.decoding import UNDECODABLE, number_in
from camilla.reading.runs import Answered, Asked


class DocParts(msgspec.Struct):
    """What is read of a document."""

    choices: Any = None
    options: Any = None
    image: Any = None


UNSET = msgspec.Raw(b"null")
DOC = msgspec.json.Decoder(DocParts)
ANYTHING = msgspec.json.Decoder()
TEXTS = msgspec.json.Decoder(list[list[str]])
FILTERED = msgspec.json.Decoder(list[str])
QUESTIONS = (
    "question",
    "problem",
    "query",
    "instruction",
    "prompt",
    "goal",
    "ctx",
    "input",
    "text",
    "sentence",
)
MOST_CHOICES = 100
NORMED = "acc_norm"  # of the choice with the highest log-likelihood per character
BETWEEN = "\n\n[next repeat]\n\n"  # repeats that have one score


class Said(NamedTuple):
    """The parts of a row that are read only where content is kept."""

    target: msgspec.Raw
    arguments: msgspec.Raw
    resps: msgspec.Raw
    filtered_resps: msgspec.Raw


class Entry(NamedTuple):
    """A row: the document it is about, the filter behind which it was scored, and its scores."""

    doc_id: Any
    filter: str
    content: str | None
    scores: list[tuple[str, Any]]  # metric, value; a list of values are repeats
    doc: msgspec.Raw
    number: int  # of its line, or of its place in an array
    said: Said


class Repeats(list[Any]):
    """Scores of the repeats of one sample, as opposed to a metric whose value is a list."""


def _read(raw: msgspec.Raw) -> Any:
    """What a part says; nothing where it cannot be read, for the scores do not rest on it."""
    try:
        return ANYTHING.decode(raw)
    except UNDECODABLE:
        return None


class AskedOf(Mapping[str, Asked]):
    """What the samples of a log ask, read when it is asked for: most are known from another log."""

    def __init__(self, rows: Mapping[str, Entry]) -> None:
        self.rows = rows

    def __getitem__(self, sample: str) -> Asked:
        row = self.rows[sample]
        try:
            doc = DOC.decode(row.doc)
        except UNDECODABLE:
            doc = DocParts()
        calls = _calls(_read(row.said.arguments))
        prompt = calls[0][0] if calls else _question(_read(row.doc))
        choices = _choices(calls) or _choices_of(doc)
        reference = _reference(_read(row.said.target), choices)
        return Asked(prompt, reference, choices, doc.image if isinstance(doc.image, str) else "")

    def __iter__(self) -> Iterator[str]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)


def _question(doc: Any) -> str:
    """The text of a document that was logged without the prompt made of it."""
    said = doc if isinstance(doc, dict) else {}
    return next((said[name] for name in QUESTIONS if isinstance(said.get(name), str)), "")


def _calls(arguments: Any) -> list[tuple[str, Any]]:
    """(prompt, choice or settings) of each call to the model."""
    calls = list(arguments.values()) if isinstance(arguments, dict) else arguments
    found = []
    for call in calls[:MOST_CHOICES] if isinstance(calls, list) else ():
        parts = list(call.values()) if isinstance(call, dict) else call
        if isinstance(parts, list) and parts and isinstance(parts[0], str):
            found.append((parts[0], parts[1] if len(parts) > 1 else None))
    return found


def _choices(calls: list[tuple[str, Any]]) -> tuple[str, ...]:
    """The continuations whose log-likelihoods were compared, without the space before them."""
    choices = tuple(choice.removeprefix(" ") for _, choice in calls if isinstance(choice, str))
    return choices if len(choices) == len(calls) > 1 else ()


def _choices_of(doc: DocParts) -> tuple[str, ...]:
    """`choices` or `options` of a document: a list, or {"text": list} as in ARC."""
    found = doc.choices if doc.choices is not None else doc.options
    found = found.get("text") if isinstance(found, dict) else found
    texts = found[:MOST_CHOICES] if isinstance(found, list) else []
    return tuple(texts) if all(isinstance(one, str) for one in texts) else ()


def _reference(target: Any, choices: tuple[str, ...]) -> str:
    """The target; where it is the number of a choice, that choice."""
    if isinstance(target, list):
        return "\n".join(_reference(one, choices) for one in target[:MOST_CHOICES])
    if target is None or isinstance(target, dict):
        return ""
    text = target if isinstance(target, str) else str(target)
    if (
        text.isascii()
        and text.isdigit()
        and len(text) < 3
        and text not in choices
        and int(text) < len(choices)
    ):
        return choices[int(text)]
    return text


def answered(rows: list[tuple[str, Entry]]) -> Iterator[Answered]:
    """What was answered in each row, under the filter that its scores stand behind."""
    several = len({entry.filter for _, entry in rows}) > 1
    for sample, entry in rows:
        filter = entry.filter if several else None
        said = entry.said
        try:
            ((text,),) = TEXTS.decode(said.resps)
            (short,) = FILTERED.decode(said.filtered_resps)
        except (*UNDECODABLE, ValueError):
            yield from _otherwise(sample, entry, filter)
            continue
        yield Answered(sample, 0, text, "", "" if short == text else short, None, filter)


def _otherwise(sample: str, entry: Entry, filter: str | None) -> Iterator[Answered]:
    """What was answered in a row that has not just one text and one text that a filter left of it."""
    try:
        texts = TEXTS.decode(entry.said.resps)
    except UNDECODABLE:
        yield from _chosen(sample, entry, filter)
        return
    if texts:
        yield from _repeated(sample, entry, [text for call in texts for text in call], filter)


def _one(sample: str, trial: int, text: str, short: str, filter: str | None) -> Answered:
    return Answered(sample, trial, text, "", "" if short == text else short, None, filter)


def _repeated(sample: str, entry: Entry, texts: list[str], filter: str | None) -> Iterator[Answered]:
    """An answer for each repeat that has a score of its own, else all of them as one."""
    extracted = _extracted(entry.said.filtered_resps, len(texts))
    if any(type(value) is Repeats and len(value) == len(texts) for _, value in entry.scores):
        for trial, (text, short) in enumerate(zip(texts, extracted, strict=True)):
            yield _one(sample, trial, text, short, filter)
    elif texts:
        yield _one(sample, 0, BETWEEN.join(texts), extracted[0], filter)


def _extracted(raw: msgspec.Raw, count: int) -> list[str]:
    """What the filter left of each of `count` answers, "" where it is no text; one text is that of all."""
    try:
        texts = FILTERED.decode(raw)
    except UNDECODABLE:
        found = _read(raw)
        while isinstance(found, list) and len(found) == 1 and isinstance(found[0], list):
            found = found[0]
        texts = [one if isinstance(one, str) else "" for one in found] if isinstance(found, list) else []
    if len(texts) == count:
        return texts
    return (texts if len(texts) == 1 else [""]) * max(count, 1)


def _chosen(sample: str, entry: Entry, filter: str | None) -> Iterator[Answered]:
    """The choice with the highest log-likelihood; with the highest per character where that is scored."""
    choices = _choices(_calls(_read(entry.said.arguments)))
    values = _likelihoods(_read(entry.said.resps))
    if len(choices) < 2 or len(values) != len(choices):
        return
    plain = choices[values.index(max(values))]
    per_character = [value / max(len(choice), 1) for value, choice in zip(values, choices, strict=True)]
    normed = choices[per_character.index(max(per_character))]
    metrics = [metric for metric, _ in entry.scores]
    if NORMED not in metrics or normed == plain:
        yield Answered(sample, 0, plain, filter=filter)
        return
    for metric in metrics:
        text = normed if metric == NORMED else plain
        yield Answered(sample, 0, text, metric=metric, filter=filter)


def _likelihoods(resps: Any) -> list[float]:
    """The log-likelihood of each call: [[[value, is_greedy]], …], values as numbers or text."""
    values = []
    for call in resps if isinstance(resps, list) else ():
        pair = call[0] if isinstance(call, list) and call and isinstance(call[0], list) else call
        first = pair[0] if isinstance(pair, list) and pair else None
        value = number_in(first) if not isinstance(first, str) else _parsed(first)
        if value is None:
            return []
        values.append(value)
    return values


def _parsed(text: str) -> float | None:
    try:
        return number_in(float(text))
    except ValueError:
        return None
