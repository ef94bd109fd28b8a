"""Laws of loading, over logs that Hypothesis draws."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from camilla.errors import CamillaError
from camilla.reading.decoding import ANY_JSON, decode, shortened, start_of
from camilla.reading.formats.every_eval_ever import runs as instances
from camilla.reading.formats.every_eval_ever import write_instances
from camilla.reading.inputs import read
from camilla.reading.joining import Choices, merge
from camilla.reading.runs import About, Collection, Row, Run
from camilla.table.responses import ResponseTable

NAME = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=8)
SCORE = st.one_of(st.none(), st.sampled_from([0.0, 0.5, 1.0]), st.floats(0, 1, allow_subnormal=False))


@st.composite
def a_run(draw: st.DrawFn) -> Run:
    """A run of one of three learners on one of two tasks; a source is used once."""
    names = draw(st.lists(NAME, min_size=1, max_size=6, unique=True))
    rows = []
    for name in names:
        score = draw(SCORE)
        why = "unscored" if score is None else draw(st.sampled_from([None, None, "errored", "truncated"]))
        content = draw(st.sampled_from([None, f"content of {name}"]))
        rows.append(Row(name, score, draw(st.sampled_from(["acc", "f1"])), "", 0, content, why))
    about = {name: About(f"text of {name}", (("subject", name[:1]),)) for name in names}
    return Run(
        draw(st.sampled_from("abc")),
        draw(st.sampled_from("tu")),
        rows,
        source=f"{draw(st.integers(0, 10**9)):09d}",
        format="drawn",
        date=draw(st.sampled_from(["2025", "2026"])),
        about=about,
    )


RUNS = st.lists(a_run(), min_size=1, max_size=6, unique_by=lambda run: run.source)
CHOICES = st.builds(
    Choices,
    on_error=st.sampled_from(["null", "zero", "drop", "score"]),
    runs=st.sampled_from(["newest", "trials"]),
)


def merged(runs: list[Run], choices: Choices) -> ResponseTable | str:
    """The table, or what is wrong with the logs."""
    collection = Collection()
    for run in runs:
        collection.add(run)
    try:
        return merge(collection, choices).table
    except CamillaError as error:
        return str(error)


def same(one: ResponseTable | str, other: ResponseTable | str) -> bool:
    if isinstance(one, str) or isinstance(other, str):
        return one == other
    return (
        one.digest() == other.digest()
        and (one.learners, one.samples, one.task) == (other.learners, other.samples, other.task)
        and sorted(one.response) == sorted(other.response)
    )


@given(RUNS, CHOICES, st.randoms(use_true_random=False))
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_the_order_of_runs_does_not_matter(runs, choices, rng) -> None:
    shuffled = list(runs)
    rng.shuffle(shuffled)
    assert same(merged(runs, choices), merged(shuffled, choices))


def test_samples_are_in_reading_order_also_when_more_come_later() -> None:
    """Written out by hand: by task, the start of the name, the number at its end, 007 before 07."""
    collection = Collection()

    def read(task: str, names: list[str]) -> list[str]:
        rows = [Row(name, 1.0) for name in names]
        collection.add(Run("a", task, rows, source=f"{task} {names[0]}", format="drawn"))
        return list(merge(collection, Choices(runs="trials")).table.samples)

    first = read("u", ["10", "9", "x", "q2", "q10", "q1a", "q"])
    assert first == ["u/9", "u/10", "u/q", "u/q2", "u/q10", "u/q1a", "u/x"]
    later = read("t", ["7", "07", "007", "8"])
    assert later == ["t/007", "t/07", "t/7", "t/8", *first]
    assert read("u", ["q3", "9"])[4:] == ["u/9", "u/10", "u/q", "u/q2", "u/q3", "u/q10", "u/q1a", "u/x"]


@given(st.text("ab \n\t", max_size=60), st.integers(1, 20))
def test_the_start_of_a_text_is_that_of_the_whole_text_with_single_spaces(text, most) -> None:
    assert start_of(text, most) == " ".join(text.split())[:most]


@given(RUNS, CHOICES)
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_a_run_that_comes_twice_counts_once(runs, choices) -> None:
    assert same(merged(runs, choices), merged(runs + runs, choices))


@given(RUNS, CHOICES)
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_every_response_is_a_score_of_some_log_and_missing_is_never_zero(runs, choices) -> None:
    """By a slow and obvious search: a response of learner and sample is one of the rows that say so."""
    table = merged(runs, choices)
    if isinstance(table, str):
        return
    said: dict[tuple[str, str], set[float]] = {}
    for run in runs:
        for row in run.rows:
            allowed = said.setdefault((run.learner, f"{run.task}/{row.sample}"), set())
            believed = (None, "truncated") if choices.on_error == "null" else (None,)
            if choices.on_error == "zero" and row.why is not None:
                allowed.add(0.0)
            elif row.score is not None and (row.why in believed or choices.on_error == "score"):
                allowed.add(row.score)
    for learner, sample, response in zip(table.learner, table.sample, table.response, strict=True):
        assert response in said[table.learners[learner], table.samples[sample]]


@given(RUNS, CHOICES)
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
def test_missing_cells_add_up(runs, choices) -> None:
    collection = Collection()
    for run in runs:
        collection.add(run)
    try:
        found = merge(collection, choices)
    except CamillaError:
        return
    observed = len(found.table.cells().response)
    assert observed + sum(found.missing.values()) == found.table.n_learners * found.table.n_samples


@st.composite
def a_table(draw: st.DrawFn) -> ResponseTable:
    learners = tuple(draw(st.lists(NAME, min_size=1, max_size=4, unique=True)))
    samples = tuple(draw(st.lists(NAME, min_size=1, max_size=5, unique=True)))
    cells = draw(
        st.lists(
            st.tuples(st.integers(0, len(learners) - 1), st.integers(0, len(samples) - 1), st.floats(0, 1)),
            min_size=1,
            max_size=12,
            unique_by=lambda cell: cell[:2],
        )
    )
    learner, sample, response = zip(*cells, strict=True)
    return ResponseTable(
        learners, samples, np.array(learner), np.array(sample), np.array(response), task=("t",) * len(samples)
    )


@given(a_table())
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
def test_a_table_comes_back_from_parquet_whole(table: ResponseTable) -> None:
    with TemporaryDirectory() as folder:
        back = read(table.write(Path(folder, "t.parquet")))
    assert (back.learners, back.samples, back.task) == (table.learners, table.samples, table.task)
    np.testing.assert_array_equal(back.matrix(), table.matrix())


@given(a_table())
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
def test_responses_come_back_from_every_eval_ever(table: ResponseTable) -> None:
    """Names without a response have no line, and so do not come back."""
    with TemporaryDirectory() as folder:
        path = write_instances(table, Path(folder, "t.jsonl"))
        back = read(path, metric="score")
    said = {
        (table.learners[i], f"t/{table.samples[j].removeprefix('t/')}"): r
        for i, j, r in zip(table.learner, table.sample, table.response, strict=True)
    }
    found = {
        (back.learners[i], back.samples[j]): r
        for i, j, r in zip(back.learner, back.sample, back.response, strict=True)
    }
    assert found == said


VALUE = st.recursive(
    st.none() | st.booleans() | st.floats() | NAME,
    lambda inner: st.lists(inner) | st.dictionaries(NAME, inner),
)


@given(VALUE)
@settings(max_examples=200)
def test_not_a_number_is_null_and_text_stays(value) -> None:
    """What Python's json writes, NaN and Infinity included, decodes; strings that spell them are strings."""

    def finite(part):
        if isinstance(part, float):
            return part if np.isfinite(part) else None
        if isinstance(part, dict):
            return {key: finite(one) for key, one in part.items()}
        return [finite(one) for one in part] if isinstance(part, list) else part

    text = json.dumps({"value": value, "NaN": "NaN, -Infinity"}).encode()
    assert decode(text, ANY_JSON, "here") == {"value": finite(value), "NaN": "NaN, -Infinity"}


@given(st.text(max_size=2000))
def test_a_shortened_text_is_short_and_a_start(text: str) -> None:
    short = shortened(text)
    assert len(short) <= 120
    assert " ".join(text.split()).startswith(short.removesuffix("…"))


@pytest.mark.parametrize("bad", ["[" * 100_000, '{"a":' * 50_000, "9" * 10_000 + "0", '"\\ud800"'])
def test_text_that_breaks_decoders_ends_in_our_error_or_a_value(bad: str, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(f'{{"model_id": {bad}\n')
    with pytest.raises(CamillaError):
        list(instances(path))
