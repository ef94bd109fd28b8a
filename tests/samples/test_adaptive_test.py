"""A test of one learner: what it asks, when it stops, what it says over lines of JSON, how it replays."""

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import camilla
from camilla.errors import DataError, SettingError
from camilla.reading.inputs import read
from camilla.samples.adapt import AdaptiveTest, adapt, answers
from camilla.samples.bank import Bank, calibrate, trials_of
from camilla.samples.replay import calibrate_with_misfit, play, replay
from camilla.table.responses import ResponseTable

SMALL = adapt(camilla.simulate(20, 15, seed=5).table).bank


@pytest.fixture(scope="module")
def table() -> ResponseTable:
    return camilla.simulate(60, 120, seed=5).table


@pytest.fixture(scope="module")
def bank(table: ResponseTable) -> Bank:
    """What `adapt` calibrates: 18 fits, which the tests below need once."""
    return adapt(table).bank


def run(test: AdaptiveTest, table: ResponseTable, who: int) -> AdaptiveTest:
    x = dict(zip(table.samples, table.matrix()[who], strict=True))
    while (sample := test.next()) is not None:
        test.record(sample, x[sample])
    return test


def test_it_stops_at_a_budget_and_asks_nothing_twice(bank: Bank) -> None:
    test = AdaptiveTest(bank, budget=25)
    asked = []
    for _ in range(25):
        asked.append(test.next())
        assert not test.record(str(asked[-1]), 1).done or len(asked) == 25
    assert test.next() is None
    assert len(set(asked)) == 25


def test_it_stops_at_a_standard_error(table: ResponseTable, bank: Bank) -> None:
    for name, target in (("ability_se", 0.35), ("score_se", 0.04)):
        state = run(AdaptiveTest(bank, **{name: target}), table, 3).state()
        assert getattr(state, name) <= target
        assert 5 < state.asked < 120


def test_after_every_sample_the_score_is_the_accuracy(table: ResponseTable, bank: Bank) -> None:
    state = run(AdaptiveTest(bank), table, 7).state()
    assert state.asked == 120
    assert state.score == pytest.approx(table.matrix()[7].mean(), abs=1e-12)
    assert state.score_se == pytest.approx(0, abs=1e-12)


def test_the_standard_error_falls_faster_than_with_random_samples(table: ResponseTable, bank: Bank) -> None:
    rng = np.random.default_rng(1)
    adaptive = run(AdaptiveTest(bank, budget=30), table, 11).state()
    errors = []
    for _ in range(5):
        test = AdaptiveTest(bank)
        for j in rng.permutation(120)[:30]:
            state = test.record(table.samples[j], table.matrix()[11, j])
        errors.append(state.score_se)
    assert adaptive.score_se < min(errors)


def test_bad_responses_are_refused_and_change_nothing(table: ResponseTable, bank: Bank) -> None:
    test = AdaptiveTest(bank)
    test.record("sample-003", 1)
    before = test.state()
    for sample, response, words in (
        ("sample-3", 1, "Did you mean"),
        ("sample-004", 1.5, "lies in"),
        ("sample-004", float("nan"), "lies in"),
        ("sample-003", 0, "answered already"),
    ):
        with pytest.raises(DataError, match=words):
            test.record(sample, response)
    assert test.state() == before
    with pytest.raises(SettingError, match="budget must be above 0"):
        adapt(table, budget=0)


def test_a_sample_that_could_not_be_run_is_neither_counted_nor_asked_again() -> None:
    """Of 15 samples the first two asked and a third cannot be run: nothing is known by that, the other 12 are
    asked once each, and the score is their sum and something from 0 to 1 for each of the three, over 15."""
    test = AdaptiveTest(SMALL)
    before = test.state()
    lost = [str(test.next())]
    assert test.leave_out(lost[0]) == before._replace(left_out=1)
    lost += [str(test.next()), "sample-09"]
    for name in lost:
        test.leave_out(name)
    assert len(set(lost)) == 3
    assert test.state() == before._replace(left_out=3)
    asked = []
    while (sample := test.next()) is not None:
        asked.append(sample)
        state = test.record(sample, len(asked) % 3 == 0)
    assert sorted(asked + lost) == sorted(SMALL.samples)
    assert (state.asked, state.left_out, state.done) == (12, 3, True)
    assert state.accuracy == pytest.approx(4 / 12)
    assert 4 / 15 < state.score < 7 / 15
    assert state.score_se > 0.01
    with pytest.raises(DataError, match="answered already"):
        test.leave_out(asked[0])
    assert test.record(lost[0], 1).left_out == 2  # it could be run after all


def test_a_budget_counts_responses_alone() -> None:
    test = AdaptiveTest(SMALL, budget=2)
    for name in SMALL.samples[:5]:
        assert not test.leave_out(name).done
    test.record(str(test.next()), 1)
    assert test.record(str(test.next()), 0).done


def test_the_order_of_learners_and_samples_changes_nothing(table: ResponseTable) -> None:
    """Calibration draws folds and starts: by names, so that a shuffled table is the same test to the bit."""
    rng = np.random.default_rng(3)
    shuffled = table.take_learners(rng.permutation(60)).take_samples(rng.permutation(120))
    assert shuffled.digest() == table.digest()
    one, other = (adapt(each, budget=3, seed=2) for each in (table, shuffled))
    assert one.bank.misfit == other.bank.misfit
    assert run(one, table, 5).state() == run(other, table, 5).state()
    assert one.provenance == other.provenance


def test_lines_of_json_lead_through_a_test(table: ResponseTable) -> None:
    test = adapt(table, budget=4)
    said: list[dict] = []

    def learner():  # type: ignore[no-untyped-def]
        while True:
            yield json.dumps({"sample": said[-1]["next"], "response": 1})

    for line in answers(test, learner()):
        said.append(json.loads(line))
    assert [one["asked"] for one in said] == [0, 1, 2, 3, 4]
    assert said[-1]["done"] is True
    assert said[-1]["next"] is None
    assert said[-1]["ability"] > said[0]["ability"]
    assert ["provenance" in one for one in said] == [True, False, False, False, False]
    assert said[0]["provenance"]["data_hash"] == table.digest()
    assert said[0]["provenance"]["settings"] == {"dimensions": 15, "seed": 0, "budget": 4}


BAD = ["", "{", "[]", "null", '"x"', '{"sample": 3}', '{"sample": "sample-001"}', '{"response": 1}',
       '{"huh": 1}', '{"sample": "sample-001", "response": "1"}',
       '{"sample": "sample-001", "response": 1e400}', "[" * 99_999,
       '{"sample": "sample-001", "response": 1, "next": true}', '{"response": 1, "next": true}',
       '{"sample": "sample-001", "response": 1, "stop": true}', '{"next": true, "stop": true}']  # fmt: skip


def test_a_bad_line_is_answered_by_an_error_and_the_test_goes_on(bank: Bank) -> None:
    test = AdaptiveTest(bank, budget=2)
    lines = [*BAD, '{"sample": "sample-001", "response": true}', '{"stop": true}', "never read"]
    said = [json.loads(line) for line in answers(test, lines)]
    assert [one["error"] is not None for one in said] == [False, *[True] * (len(BAD) - 1), False, False]
    assert all(one | {"error": None} == said[-3] | {"error": None} for one in said[1 : len(BAD)])
    assert (said[-1]["asked"], said[-1]["done"], said[-1]["next"]) == (1, True, None)
    assert all("next and stop" in one["error"] for one in said[len(BAD) - 4 : len(BAD)])


def test_every_answer_has_the_same_fields_whatever_the_line_was() -> None:
    lines = [
        '{"sample": "sample-03", "response": 1}', '{"next": true}', "nonsense",
        '{"sample": "sample-04", "response": null}', '{"sample": "sample-04", "response": 0}',
        '{"stop": true}',
    ]  # fmt: skip
    first, *said = [json.loads(line) for line in answers(AdaptiveTest(SMALL), lines)]
    assert len(said) == len(lines)
    fields = set(first) - {"provenance", "notes"}
    assert fields == {"next", "error", *AdaptiveTest(SMALL).state()._fields}
    assert all(set(one) == fields for one in said)
    assert [one["asked"] for one in said] == [1, 1, 1, 1, 2, 2]
    assert [one["left_out"] for one in said] == [0, 0, 0, 1, 0, 0]


def test_a_sample_that_fails_every_time_does_not_hold_up_the_test() -> None:
    """A caller that answers null to whatever is asked: every sample once, then an end."""
    said: list[dict] = []

    def learner():  # type: ignore[no-untyped-def]
        while True:
            yield json.dumps({"sample": said[-1]["next"], "response": None})

    for line in answers(AdaptiveTest(SMALL), learner()):
        said.append(json.loads(line))
    assert sorted(one["next"] for one in said[:-1]) == sorted(SMALL.samples)
    assert said[-1]["done"] is True
    assert said[-1]["asked"] == 0
    assert said[-1]["score"] == said[0]["score"]


@settings(max_examples=40)
@given(st.lists(st.text(max_size=60) | st.builds(json.dumps, st.dictionaries(
    st.sampled_from(["sample", "response", "next", "stop"]),
    st.sampled_from(["sample-03", "sample-04", 0, 1, 0.5, -1, None, True, [], {}])))))  # fmt: skip
def test_no_line_whatever_ends_in_anything_but_an_answer(lines: list[str]) -> None:
    for line in answers(AdaptiveTest(SMALL), lines):
        assert isinstance(json.loads(line), dict)


@pytest.mark.parametrize("dimensions", [1, pytest.param(None, marks=pytest.mark.slow)])
def test_replay_beats_random_subsets_and_covers(dimensions: int | None) -> None:
    """100 learners × 300 samples of a 2PL world, 40 tested in each of 2 splits: at 15 and 30 samples τ is
    above that of random subsets by more than its standard error of .015; intervals of 80 scores cover 95 %
    up to three times .024."""
    world = camilla.simulate(100, 300, seed=6).table
    found = replay(world, shares=(0.05, 0.1), calibration=0.6, splits=2, seed=1, dimensions=dimensions)
    assert found.shares["samples"].to_list() == [15, 30]
    assert (found.shares["kendall"] > found.shares["random_kendall"] + 0.015).all()
    assert (found.shares["mae"] < found.shares["random_mae"]).all()
    assert (found.shares["covered"] > 0.95 - 0.073).all()
    assert found.provenance["data_hash"] == world.digest()
    assert found.offers[0].over_random.is_sure
    assert "did not" not in found.text().split("\n")[0] or found.offers[0].as_good == "random, weighted"


def test_replay_says_that_adapting_helps_where_few_samples_tell_anything() -> None:
    """30 of 150 samples carry all signal: 10 of these know a learner, of 10 random ones 8 are coins."""
    rng = np.random.default_rng(3)
    slope = np.where(np.arange(150) < 30, 3.0, 0.0)
    p = 1 / (1 + np.exp(-rng.normal(size=(80, 1)) * slope))
    table = ResponseTable.from_matrix((rng.random(p.shape) < p).astype(float))
    found = replay(table, shares=10 / 150, splits=2, dimensions=1)
    assert found.offers[0].helps
    assert found.text().startswith("Adaptive tests of 10 samples")


@pytest.mark.parametrize("slope", [0.0, 1.0])
def test_replay_says_that_adapting_does_not_help_where_samples_are_alike(slope: float) -> None:
    """With one curve for all samples any ten are as good as any other; coins tell nothing at all."""
    rng = np.random.default_rng(4)
    p = np.tile(1 / (1 + np.exp(-slope * rng.normal(size=(60, 1)))), 100)
    table = ResponseTable.from_matrix((rng.random(p.shape) < p).astype(float))
    found = replay(table, shares=0.1, splits=3, dimensions=1)
    (offer,), first = found.offers, found.text().split("\n")[0]
    assert not offer.helps
    assert first.startswith("Adapting did not ")
    assert "95 % CI" in first
    assert (offer.as_good == "guess") == (slope == 0)


def test_replay_is_the_test_of_one_learner_many_times(table: ResponseTable) -> None:
    bank = calibrate_with_misfit(table.take_learners(np.arange(40)))
    matrix = table.matrix()[40:43]
    played = play(bank, matrix, [8, 20])
    for who in range(3):
        test = AdaptiveTest(bank, budget=20)
        states = []
        while (sample := test.next()) is not None:
            states.append(test.record(sample, matrix[who, table.samples.index(sample)]))
        assert played.score[:, who] == pytest.approx([states[7].score, states[19].score], abs=1e-5)
        assert played.se[:, who] == pytest.approx([states[7].score_se, states[19].score_se], rel=1e-4)


def test_missing_and_fractional_responses_are_replayed() -> None:
    sparse = camilla.simulate(40, 80, missing=0.3, fractional=True, seed=2).table
    found = replay(sparse, shares=(0.2,), splits=2)
    assert found.shares["mae"][0] < found.shares["random_mae"][0]


def test_what_cannot_be_replayed_is_refused(table: ResponseTable) -> None:
    with pytest.raises(SettingError, match="shares lie in"):
        replay(table, shares=(0.0,))
    with pytest.raises(DataError, match="4 learners cannot be split"):
        replay(table.take_learners(range(4)))
    sparse = camilla.simulate(40, 80, missing=0.8, seed=2).table
    with pytest.raises(DataError, match="0 of the tested learners have the 40 responses"):
        replay(sparse, shares=(0.5,), splits=1)


def test_a_test_prints_as_where_it_stands() -> None:
    test = camilla.adapt(camilla.simulate(12, 20, seed=1).table, budget=2)
    assert repr(test).startswith("AdaptiveTest: 0 of 20 samples asked; score 0.")
    assert len(repr(test)) < 200


def with_trials(seed: int, *, learners: int = 60, samples: int = 120, trials: int = 5) -> ResponseTable:
    """A 2PL, each cell answered several times independently."""
    rng = np.random.default_rng(seed)
    slope, difficulty = np.exp(rng.normal(0, 0.3, samples)), rng.normal(0, 1.2, samples)
    p = 1 / (1 + np.exp(-slope * (rng.normal(size=(learners, 1)) - difficulty)))
    x = (rng.random((learners, samples, trials)) < p[..., None]).astype(float)
    learner, sample, trial = (part.ravel() for part in np.indices(x.shape))
    names = {"learner": learner, "sample": sample, "trial": trial, "response": x.ravel()}
    return read(pl.DataFrame(names), trial="trial")


def test_five_trials_of_a_sample_narrow_the_score_as_their_variance_says() -> None:
    """The mean of n independent trials has p(1 − p)/n: over learners that were not calibrated on, squared
    errors over squared standard errors have mean 1 if the errors are right and 1/4 or less if trials count as
    one answer. 40 ratios with a variance of about 2 each have a mean that is good to .22; allow three."""
    table = with_trials(1, learners=100, samples=80)
    bank = calibrate(table.take_learners(range(60)), dimensions=1)
    new = table.take_learners(range(60, 100))
    found = play(bank, new.matrix(), [12], trials_of(new))
    ratio = ((found.score[0] - new.matrix().mean(axis=1)) / found.se[0]) ** 2
    assert 0.4 < ratio.mean() < 1.7
    one_answer = play(bank, new.matrix(), [12])
    assert one_answer.se[0].mean() > 1.6 * found.se[0].mean()


def test_a_recorded_mean_of_trials_counts_for_more_than_one_answer() -> None:
    bank = calibrate(with_trials(2, learners=30, samples=40), dimensions=1)
    test, other = AdaptiveTest(bank), AdaptiveTest(bank)
    sample = test.next()
    assert sample is not None
    one, five = test.record(sample, 0.6), other.record(sample, 0.6, trials=5)
    assert five.ability_se < one.ability_se
    assert five.score_se < one.score_se
    with pytest.raises(DataError, match="trials are a whole number from 1"):
        test.record(test.next() or "", 1.0, trials=0)


@pytest.mark.slow
def test_standard_errors_cover_on_tables_with_trials_whatever_the_splits() -> None:
    """Eight tables, ten splits of twelve tested learners each: 960 intervals of 8 × 60 learners, so the share
    that covers has a standard error of 1 point at most; 93 to 97 % is two. Ten and twenty splits of one table
    have means of τ within each other's intervals."""
    tables = [with_trials(seed) for seed in range(10, 18)]
    covered = [replay(table, shares=(0.1, 0.25), dimensions=1).shares["covered"] for table in tables]
    assert 0.93 <= np.mean(covered) <= 0.97
    few, many = (
        replay(with_trials(1), shares=(0.1,), dimensions=1, splits=splits).shares.row(0, named=True)
        for splits in (10, 20)
    )
    assert few["kendall_low"] <= many["kendall"] <= few["kendall_high"]
    assert many["kendall_low"] <= few["kendall"] <= many["kendall_high"]
