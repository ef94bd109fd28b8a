"""promptfoo: the JSON output of an eval, a result for each test, provider and prompt.

The output file is {evalId, results: {version, prompts, results, stats}, config}; an eval that is exported or
shared has the same `results` beside version and createdAt. Before version 3 the prompts are in the head of a
table, and results have no index of their test. A result that failed for an error (failureReason 2; in older
files, an error without a grading) is missing; one that an assertion rejected is not.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from camilla.reading.decoding import (
    as_text,
    decode_file,
    digest,
    is_score,
    name_in,
    number_in,
    plain,
    shortened,
)
from camilla.reading.runs import About, Answered, Asked, Content, Row, Run

SCORE, SUCCESS = "score", "success"
ERROR = 2  # of failureReason
MOST_NAMES = 50
LONGEST_LABEL = 40


class Result(msgspec.Struct, rename="camel"):
    """What one provider made of one test under one prompt."""

    provider: Any = None
    prompt: Any = None
    prompt_id: Any = None
    prompt_idx: Any = None
    test_idx: Any = None
    test_case: Any = None
    vars: Any = None
    response: Any = None
    error: Any = None
    failure_reason: Any = None
    success: Any = None
    score: Any = None
    named_scores: Any = None
    grading_result: Any = None

    def of_test(self, name: str) -> Any:
        return self.test_case.get(name) if isinstance(self.test_case, dict) else None

    @property
    def asked(self) -> Any:
        """The variables that tell a test from others; `vars` may hold what a provider added."""
        return self.of_test("vars") or self.vars

    @property
    def errored(self) -> bool:
        if self.failure_reason is not None:
            return bool(self.failure_reason == ERROR)
        return bool(self.error) and self.grading_result is None


class Summary(msgspec.Struct):
    results: list[Result]
    prompts: Any = None
    table: Any = None
    timestamp: Any = ""


class PromptfooFile(msgspec.Struct, rename="camel"):
    results: Summary
    config: Any = None
    eval_id: Any = ""
    created_at: Any = ""


FILE = msgspec.json.Decoder(PromptfooFile)


class Column(NamedTuple):
    """A provider under a prompt, as promptfoo shows it."""

    provider: str  # as it is called: its label, else its id
    prompt: str  # which template
    place: int  # among all columns, 0 in files that do not say


class Place(NamedTuple):
    """Which sample and trial a result is of."""

    sample: str
    trial: int
    content: str


def runs(path: Path) -> Iterator[Run]:
    """A run for each provider and prompt."""
    file = decode_file(path, FILE)
    columns: dict[Column, list[Result]] = {}
    for one in sorted(file.results.results, key=lambda one: (_index(one.test_idx), _index(one.prompt_idx))):
        columns.setdefault(_column(one, path), []).append(one)
    prompts = _prompt_names(columns)
    learners = _learners(columns, prompts)
    samples = _samples(columns)
    config = file.config if isinstance(file.config, dict) else {}
    task = plain(config.get("description"))
    options = _options(config)
    for column, results in columns.items():
        places = _places(results, samples)
        left_out: dict[str, str] = {}
        rows = [
            row for one, place in zip(results, places, strict=True) for row in _rows(one, place, left_out)
        ]
        yield Run(
            learners[column],
            task or path.stem,
            [row for row in rows if row.metric not in left_out],
            source=str(path),
            format="promptfoo",
            run=f"{path}#{column.provider}#{column.prompt}#{column.place}",
            date=plain(file.results.timestamp) or plain(file.created_at),
            about={place.sample: _about(one) for one, place in zip(results, places, strict=True)},
            settings=_settings(results, options, prompts[column.prompt]),
            left_out=left_out,
            named_by_task=bool(task),
            task_is_file=not task,
            main=SCORE,
            stated=_stated(file.results, column.place, len(columns)),
            errors=Counter(shortened(as_text(one.error)) for one in results if one.errored),
            content=_content(results, places),
        )


def _index(value: Any) -> int:
    said = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 30
    return value if said else 0


def _column(one: Result, path: Path) -> Column:
    provider = one.provider
    if isinstance(provider, dict):
        provider = provider.get("label") or provider.get("id")
    prompt = one.prompt if isinstance(one.prompt, dict) else {}
    key = plain(one.prompt_id) or digest(as_text(prompt.get("label") or prompt.get("raw")))
    return Column(name_in(provider, where=str(path), what="a provider"), key, _index(one.prompt_idx))


def _learners(columns: Mapping[Column, Sequence[Result]], prompts: Mapping[str, str]) -> dict[Column, str]:
    """The provider, with the prompt where there are several, and a number where both are the same."""
    names: dict[Column, str] = {}
    seen: dict[str, int] = {}
    for column in sorted(columns, key=lambda one: one.place):
        name = column.provider
        if len(prompts) > 1:
            name = f"{name} (prompt={prompts[column.prompt]})"
        seen[name] = seen.get(name, 0) + 1
        names[column] = name if seen[name] == 1 else f"{name} #{seen[name]}"
    return names


def _prompt_names(columns: Mapping[Column, Sequence[Result]]) -> dict[str, str]:
    """For each prompt its label where that is short and no other's, else its number."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for column, results in columns.items():
        if column.prompt in found:
            continue
        prompt = results[0].prompt
        label = as_text(prompt.get("label")) if isinstance(prompt, dict) else ""
        short = plain(label) if len(label) <= LONGEST_LABEL and "\n" not in label else ""
        found[column.prompt] = short if short and short not in taken else str(len(found) + 1)
        taken.add(short)
    return found


def _identity(one: Result) -> str:
    """What a test asks for: its variables and assertions."""
    return digest(as_text(one.asked), as_text(one.of_test("assert")))


def _samples(columns: Mapping[Column, Sequence[Result]]) -> dict[str, str]:
    """The name of each test: its index, of tests that repeat another's that of the first."""
    names: dict[str, str] = {}
    for results in columns.values():
        for at, one in enumerate(results):
            index = _index(one.test_idx) if one.test_idx is not None else at
            names.setdefault(_identity(one), str(index))
    seen: dict[str, int] = {}
    for identity, name in names.items():  # of one index twice, as in files that were put together
        seen[name] = seen.get(name, 0) + 1
        if seen[name] > 1:
            names[identity] = f"{name}#{seen[name]}"
    return names


def _places(results: Sequence[Result], samples: Mapping[str, str]) -> list[Place]:
    """A test again, which is what --repeat writes, is another trial."""
    count: dict[str, int] = {}
    places = []
    for one in results:
        identity = _identity(one)
        trial = count.get(identity, 0)
        count[identity] = trial + 1
        places.append(Place(samples[identity], trial, identity))
    return places


def _rows(one: Result, place: Place, left_out: dict[str, str]) -> Iterator[Row]:
    named = one.named_scores if isinstance(one.named_scores, dict) else {}
    scores = {SCORE: one.score, SUCCESS: one.success}
    for name, value in list(named.items())[:MOST_NAMES]:
        scores[f"named {name}" if name in (SCORE, SUCCESS, "") else plain(name)] = value
    for metric, value in scores.items():
        score = number_in(value)
        if one.errored:
            yield Row(place.sample, None, metric, "", place.trial, place.content, "errored")
            continue
        if score is not None and not is_score(score):
            left_out[metric] = "outside 0 to 1"
        why = None if score is not None else "unscored"
        yield Row(place.sample, score, metric, "", place.trial, place.content, why)  # type: ignore[arg-type]


def _about(one: Result) -> About:
    metadata = one.of_test("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    skills = [(plain(key), plain(value)) for key, value in list(metadata.items())[:20] if plain(value)]
    return About(shortened(_words(one)), tuple(pair for pair in skills if pair[0]))


def _words(one: Result) -> str:
    """The variables of a test, or its description."""
    if isinstance(one.asked, dict) and one.asked:
        return " ".join(as_text(value)[:1000] for value in list(one.asked.values())[:20])
    return as_text(one.of_test("description"))


def _options(config: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """The options of each provider in the eval's configuration, by its label and its id."""
    found: dict[str, dict[str, str]] = {}
    providers = config.get("providers")
    for one in providers if isinstance(providers, list) else []:
        options = one.get("config") if isinstance(one, dict) else None
        if isinstance(options, dict):
            said = {plain(name): plain(value) for name, value in list(options.items())[:20]}
            for name in {plain(one.get("label")), plain(one.get("id"))}:
                found.setdefault(name, said)
    return found


def _settings(
    results: Sequence[Result], options: Mapping[str, dict[str, str]], prompt: str
) -> dict[str, str]:
    """The provider's id and options, and the prompt."""
    provider = results[0].provider
    provider = provider if isinstance(provider, dict) else {"id": provider}
    id, label = plain(provider.get("id")), plain(provider.get("label"))
    settings = options.get(label or id, {}) | {"provider": id, "prompt": prompt}
    return {name: value for name, value in settings.items() if name and value}


def _stated(summary: Summary, index: int, n_columns: int) -> dict[str, float]:
    """The mean score and the share of tests passed, errors counted as failed, from the column's metrics."""
    prompts: Any = summary.prompts
    if prompts is None and isinstance(summary.table, dict) and isinstance(summary.table.get("head"), dict):
        prompts = summary.table["head"].get("prompts")
    fits = isinstance(prompts, list) and len(prompts) == n_columns and index < len(prompts)
    prompt = prompts[index] if fits else None
    metrics = prompt.get("metrics") if isinstance(prompt, dict) else None
    if not isinstance(metrics, dict):
        return {}
    counts = [number_in(metrics.get(f"test{what}Count")) or 0 for what in ("Pass", "Fail", "Error")]
    total = sum(counts)
    means = {SCORE: number_in(metrics.get("score")), SUCCESS: counts[0]}
    return {
        name: value / total
        for name, value in means.items()
        if total > 0 and value is not None and is_score(value / total)
    }


def _content(results: Sequence[Result], places: Sequence[Place]) -> Any:
    def content() -> Content:
        asked: dict[str, Asked] = {}
        answers = []
        for one, place in zip(results, places, strict=True):
            prompt = one.prompt if isinstance(one.prompt, dict) else {}
            asked.setdefault(place.sample, Asked(as_text(prompt.get("raw")), _reference(one)))
            grading = one.grading_result if isinstance(one.grading_result, dict) else {}
            output = one.response.get("output") if isinstance(one.response, dict) else one.response
            reason = as_text(grading.get("reason")) or as_text(one.error)
            answers.append(Answered(place.sample, place.trial, as_text(output), reason))
        return Content(asked, answers)

    return content


def _reference(one: Result) -> str:
    """The assertions of a test, a line for each."""
    given = one.of_test("assert")
    asserts = [entry for entry in given if isinstance(entry, dict)] if isinstance(given, list) else []
    return "\n".join(f"{plain(entry.get('type'))}: {as_text(entry.get('value'))}" for entry in asserts)
