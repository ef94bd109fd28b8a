"""Samples whose key is wrong are found, those that nobody solves among them; sound ones are not accused."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import camilla
from camilla.errors import DataError
from camilla.reading.verdict_files import verdicts
from camilla.samples.evidence import JudgedBy, Votes, doubt, votes_evidence, worth
from camilla.samples.items import items
from camilla.samples.sample_quality import SampleQuality
from camilla.samples.verdicts import recalibrated
from camilla.statistics.items import learner_weights
from camilla.table.responses import ResponseTable


def world(
    seed: int, *, wrong: int, hit: float, n_learners: int = 60, n_samples: int = 800
) -> tuple[np.ndarray, np.ndarray]:
    """Responses to a table whose first `wrong` samples have a wrong key: 1 where a learner that does not know
    the right answer happens to give the one the key says, with probability `hit`."""
    rng = np.random.default_rng(seed)
    ability, a, b = (
        rng.normal(size=n_learners),
        rng.lognormal(0.3, 0.3, n_samples),
        rng.normal(-0.7, 1, n_samples),
    )
    knows = rng.random((n_learners, n_samples)) < 1 / (1 + np.exp(-a * (ability[:, None] - b)))
    x = knows.astype(float)
    x[:, :wrong] = (~knows[:, :wrong]) & (rng.random((n_learners, wrong)) < hit)
    return x, ability


def one_judge(ability: np.ndarray, n_samples: int) -> JudgedBy:
    return JudgedBy(ability[None], np.zeros(n_samples, np.intp), np.ones(len(ability)))


@pytest.mark.parametrize("hit", [1.0, 1 / 3])
def test_wrong_keys_have_the_strongest_evidence(hit: float) -> None:
    """Five worlds with 24 wrong keys in 800. Some cannot be seen: samples so hard that hardly anybody knew
    the answer, and so easy that nobody is left to hit the wrong key."""
    found = 0
    for seed in range(5):
        x, ability = world(seed, wrong=24, hit=hit)
        evidence = doubt(x, one_judge(ability, 800)).evidence
        found += int((np.argsort(-evidence)[:24] < 24).sum())
    assert found / 120 > 0.8


def test_right_keys_have_no_decisive_evidence_against_them() -> None:
    """Ten worlds of 800 right keys. A likelihood ratio of 100 has probability 1/100 at most under the right
    curve (Markov), and the curves of this world are far from reversed."""
    above = 0
    for seed in range(10):
        x, ability = world(seed, wrong=0, hit=1.0)
        above += int((doubt(x, one_judge(ability, 800)).evidence >= 2).sum())
    assert above <= 8


def test_the_evidence_is_the_likelihood_ratio_of_its_curves() -> None:
    """With learners at two levels only, weak and able, and many samples of one right curve, the mixture puts
    its weight there: a sample that the weak all solve and the able all miss is evidence against the key, its
    mirror image for it, and equal shares of both levels lie between."""
    rng = np.random.default_rng(0)
    ability = np.repeat([-1.0, 1.0], 20)
    x = (rng.random((40, 300)) < 1 / (1 + np.exp(-2 * ability[:, None]))).astype(float)
    x[:, 0], x[:, 1] = ability < 0, ability > 0
    x[:, 2] = np.tile([0, 1], 20)
    evidence = doubt(x, one_judge(ability, 300)).evidence
    assert evidence[0] > 2 > evidence[2] > evidence[1]


def test_a_sample_that_nobody_solves_has_evidence_where_few_are_hard() -> None:
    """Most samples are easy: an easy one with a wrong key that nobody hits is likelier than one that is too
    hard for all. Of samples that all solve the opposite holds; without a response there is no evidence."""
    x, ability = world(1, wrong=3, hit=1.0, n_samples=100)
    x[:, 5], x[:, 6], x[:, 7] = 1, 0, np.nan
    evidence = doubt(x, one_judge(ability, 100)).evidence
    assert evidence[6] > 0.5 > 0 > evidence[5]
    assert evidence[7] == pytest.approx(0)


def polya(votes: list[float], alpha: list[float]) -> float:
    """P(votes) in one order, draw by draw: α of an answer and its votes so far, by the sum of both."""
    chance, seen = 1.0, [0.0] * len(votes)
    for option, count in enumerate(votes):
        for _ in range(int(count)):
            chance *= (alpha[option] + seen[option]) / (sum(alpha) + sum(seen))
            seen[option] += 1
    return chance


def test_votes_for_one_answer_speak_against_the_key_as_an_urn_says() -> None:
    """Three wrong answers are possible. Of the wrong key: one of three is right with α 4 and the others share
    1, or, one time in five, all have 1. Of a right key all have c; here it is the one that makes these four
    samples likeliest, found on a grid."""
    samples = [[3, 1, 1], [2, 2, 1], [4, 0, 0], [1, 1, 2]]
    grid = np.exp(np.linspace(-4, 3, 4001))
    likely = [np.prod([polya(votes, [c] * 3) for votes in samples]) for c in grid]
    c = float(grid[np.argmax(likely)])
    expected = []
    for votes in samples:
        one = np.mean([polya(votes, [4 if o == right else 0.5 for o in range(3)]) for right in range(3)])
        expected.append(np.log10((0.8 * one + 0.2 * polya(votes, [1] * 3)) / polya(votes, [c] * 3)))
    of, weight = zip(*[(j, v) for j, votes in enumerate(samples) for v in votes if v], strict=True)
    found = votes_evidence(Votes(np.array(of), np.array(weight, float), 4))
    np.testing.assert_allclose(found, expected, atol=2e-3)
    assert np.argmax(found) == 2


def test_where_one_wrong_answer_is_possible_votes_say_nothing() -> None:
    votes = Votes(np.array([0, 1]), np.array([5.0, 9.0]), 3)
    np.testing.assert_equal(votes_evidence(votes), [0, 0, 0])


def test_one_that_guesses_is_worth_nothing() -> None:
    rng = np.random.default_rng(0)
    easy = rng.normal(size=2000)
    x = (rng.random((6, 2000)) < 1 / (1 + np.exp(-2 * easy))).astype(float)
    x[5] = rng.random(2000) < 0.5
    found = worth(x)
    assert found.max() == 1
    assert found[:5].min() > 0.8
    assert found[5] < 0.15


def test_copies_of_learners_add_no_evidence_and_no_learners() -> None:
    """Each of 30 learners five times over: weights are a fifth, and evidence is about that of the 30, and not
    five times as much; only the curves are fitted to all 150. Residuals of copies correlate by 1 and those of
    others by chance, so that the number is 30 but for pairs that pass by chance: .05 others of each learner,
    with r near .15."""
    x, ability = world(2, wrong=10, hit=1.0, n_learners=30, n_samples=400)
    rng = np.random.default_rng(0)
    noise = rng.random((30, 400))
    weight = learner_weights(np.tile(noise, (5, 1)), np.full((150, 400), 0.5))
    assert weight.sum() == pytest.approx(30, rel=0.05)
    assert learner_weights(noise, np.full((30, 400), 0.5)).sum() == pytest.approx(30, rel=0.05)
    every = np.zeros(400, np.intp)
    once = doubt(x, JudgedBy(ability[None], every, np.ones(30))).evidence
    copies = JudgedBy(np.tile(ability, 5)[None], every, np.full(150, 0.2))
    again = doubt(np.tile(x, (5, 1)), copies).evidence
    as_if_new = doubt(np.tile(x, (5, 1)), copies._replace(weight=np.ones(150))).evidence
    size, size_again, size_as_if_new = (np.nanmedian(np.abs(part)) for part in (once, again, as_if_new))
    assert size_again == pytest.approx(size, rel=0.25)
    assert size_as_if_new > 3 * size


def family_world(seed: int, sd: float, wrong: int) -> ResponseTable:
    """80 learners in 8 families with a random effect of this standard deviation per family and sample."""
    rng = np.random.default_rng(seed)
    family = rng.integers(0, 8, 80)
    ability = 0.7 * rng.normal(size=80) + 0.7 * rng.normal(size=8)[family]
    a, b = rng.lognormal(0.2, 0.3, 600), rng.normal(-0.3, 1, 600)
    logit = a * (ability[:, None] - b) + sd * rng.normal(size=(8, 600))[family]
    knows = rng.random((80, 600)) < 1 / (1 + np.exp(-logit))
    x = knows.astype(float)
    x[:, :wrong] = (~knows[:, :wrong]) & (rng.random((80, wrong)) < 0.5)
    return ResponseTable.from_matrix(x)


def flagged(found: SampleQuality, flag: str) -> set[str]:
    return set(found.samples.filter(pl.col("flags").str.contains(flag))["sample"])


def test_families_of_learners_accuse_nobody() -> None:
    """Independent learners are fewer the more a family has in common, and what a family misses together is
    no evidence of a wrong key."""
    numbers = []
    for sd in (0.0, 1.5, 2.5):
        found = items(family_world(0, sd, 0))
        numbers.append(found.provenance["n_independent"])
        assert len(flagged(found, "doubtful|negative")) <= 2
    assert numbers[0] > 75 > 45 > numbers[1] > numbers[2] < 20


def test_wrong_keys_are_flagged_among_families() -> None:
    """18 wrong keys, half of the wrong answers hit them; at sd 1.5 the learners count as about 30."""
    found = items(family_world(0, 1.5, 18))
    planted = {f"sample-{j:03d}" for j in range(18)}
    assert len(flagged(found, "doubtful") & planted) >= 10
    assert len(flagged(found, "doubtful") - planted) <= 2


def answered() -> tuple[ResponseTable, set[str]]:
    """40 classifiers of four classes that err at random, able ones seldom; ten labels are wrong."""
    rng = np.random.default_rng(0)
    truth, ability = rng.integers(0, 4, 300), np.linspace(-1, 3, 40)
    right = rng.random((40, 300)) < 1 / (1 + np.exp(-(ability[:, None] - rng.normal(size=300))))
    guess = np.where(right, truth, (truth + rng.integers(1, 4, (40, 300))) % 4)
    labels = truth.copy()
    labels[:10] = (truth[:10] + 1) % 4
    predictions = {f"m{i:02d}": row for i, row in enumerate(guess)}
    table = ResponseTable.from_predictions(predictions, labels, samples=[f"s{j:03d}" for j in range(300)])
    return table, {f"s{j:03d}" for j in range(10)}


def test_where_answers_are_known_the_leading_other_one_is_named() -> None:
    table, wrong = answered()
    found = items(table)
    assert set(found.samples["sample"][:8]) <= wrong
    row = found.samples.row(0, named=True)
    own = table.take_samples([table.samples.index(row["sample"])]).to_long()
    others = own.filter(pl.col("response") == 0)["answer"].value_counts().sort("count", descending=True)
    assert (row["other_answer"], row["other_votes"], row["answers"]) == (*others.row(0), 40)
    assert row["key"] == own["key"][0]
    assert row["pattern"] == "other answer"
    assert f"{row['other_votes']} of 40 answer {row['other_answer']}, " in row["why"]
    assert f" the key {row['key']}" in row["why"]
    assert row["why"] in found.text()
    unknown = items(replace(table, answer=None))
    assert unknown.samples["other_answer"].null_count() == 300


def biased_world(seed: int) -> ResponseTable:
    """60 classifiers of two classes that differ in how readily they say 1, and hardly in how well they tell:
    who is right more often on the larger class is wrong more often on the other. No key is wrong."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(400) < 0.35).astype(int)
    lean, signal = rng.normal(size=60), rng.normal(size=400)
    says = (1.5 * (2 * truth - 1) + signal + lean[:, None] + rng.normal(size=(60, 400)) > 0).astype(int)
    return ResponseTable.from_predictions({f"m{i:02d}": row for i, row in enumerate(says)}, truth)


def test_within_the_key_a_habit_of_answering_is_not_held_against_a_sample() -> None:
    """Without the key, samples of the smaller class look reversed: those who lean to it solve them and are
    wrong elsewhere. Within the key they are the able ones."""
    table = biased_world(0)
    blind, keyed = items(replace(table, key=None)), items(table)
    assert "too many for wrong keys" in blind.provenance["only_ordered"]
    assert flagged(blind, "doubtful") == set()
    assert keyed.provenance["n_keys"] == 2
    assert keyed.provenance["only_ordered"] is None
    assert len(flagged(keyed, "doubtful|negative")) <= 1


def test_verdicts_move_the_shares_of_samples_alike() -> None:
    """Errors in the first group alone, 8 of 10 judged there and none of 10 elsewhere: the unjudged of the
    first group come first. Two verdicts of one group move it less than ten."""
    groups = np.repeat(np.eye(2, dtype=bool), 50, axis=0)
    verdict = np.full(100, np.nan)
    verdict[:10], verdict[50:60] = [1] * 8 + [0] * 2, 0
    found = recalibrated(np.zeros(100), groups, verdict)
    assert set(found.following[:40]) == set(range(10, 50))
    assert found.share[20] > 0.5 > found.share[70]
    few = np.full(100, np.nan)
    few[:2], few[50:52] = 1, 0
    less = recalibrated(np.zeros(100), groups, few).share
    assert less[20] - less[70] < found.share[20] - found.share[70]
    assert len(set(found.to_judge)) == 50
    assert len(set(found.to_judge) & set(found.following)) == 40


def test_the_stated_share_and_number_cover() -> None:
    """150 worlds drawn from the regression's own prior, written out here, 60 judged at random: errors among
    the next 50 and in the whole table lie within 95 %. A share's own spread is .018."""
    inside = np.zeros(2)
    for seed in range(150):
        rng = np.random.default_rng(seed)
        evidence, group = rng.normal(size=400), rng.integers(0, 8, 400)
        logit = rng.normal(-2, 1.5) + rng.normal(0.45, 0.25) * evidence
        logit += rng.normal(0, 0.7) * (evidence > 0.9)
        logit += rng.normal(0, rng.choice([0.3, 0.7, 1.2, 2.0]), 8)[group]
        error = rng.random(400) < 1 / (1 + np.exp(-logit))
        verdict = np.full(400, np.nan)
        chosen = rng.permutation(400)[:60]
        verdict[chosen] = error[chosen]
        found = recalibrated(evidence, group[:, None] == np.arange(8), verdict)
        assert not set(found.following) & set(chosen)
        inside += (
            found.next_low <= error[found.following].mean() <= found.next_high,
            (found.broken_low <= error.sum() <= found.broken_high),
        )
    assert ((inside / 150 > 0.89) & (inside / 150 <= 1)).all()


def test_verdicts_are_read_from_files_and_refused_where_they_are_wrong(tmp_path: Path) -> None:
    file = tmp_path / "judged.csv"
    file.write_text("sample,error,who\nb,1,ann\na,false,ann\nc,,\n")
    np.testing.assert_equal(verdicts(file, ["a", "b", "c"]), [0.0, 1.0, np.nan])
    np.testing.assert_equal(verdicts({"a": True}, ["a", "b"]), [1.0, np.nan])
    for text, told in {
        "sample,error\nz,1\n": "not in the table, such as 'z'",
        "sample,error\na,1\na,0\n": "judged more than once",
        "sample,error\na,maybe\n": "line 2, column 'error' has 'maybe'",
        "sample,error\na,0.5\n": "line 2 has 0.5",
        "sample,error\na,\n": "contains no verdict",
        "sample,verdict\na,1\n": "no column 'error'",
    }.items():
        file.write_text(text)
        with pytest.raises(DataError, match=told):
            verdicts(file, ["a", "b"])


def votes(data_folder: Path) -> dict[str, bool]:
    """Whether fewer than three of five people vote for the label of an image."""
    frame = pl.read_parquet(data_folder / "cifar100_labels/test_label_votes.parquet")
    return {str(index + 1): given < 3 for index, given in frame.select("index", "given").rows()}


@pytest.mark.slow
def test_cifar100_errors_are_as_many_as_said(data_folder: Path) -> None:
    labels = data_folder / "cifar100_labels/test_labels.parquet"
    table = camilla.read(
        data_folder / "camilla_responses/cifar100_test_42x10000.parquet",
        rows="samples",
        skills=f"{labels}:fine_class,coarse_label",
    )
    error = votes(data_folder)
    listed = items(table).samples["sample"].to_list()
    for n, least in ((50, 0.42), (100, 0.40)):
        assert np.mean([error[name] for name in listed[:n] if name in error]) >= least
    first = [name for name in listed if name in error][:100]
    after = items(table, judged={name: error[name] for name in first})
    following = [name for name in after.samples["sample"] if name in error and name not in first][:50]
    share = np.mean([error[name] for name in following])
    made = after.provenance["verdicts"]
    assert (made["judged"], made["share"]) == (100, np.mean([error[name] for name in first]))
    assert share >= 0.55
    assert made["next_low"] < share < made["next_high"]


def test_titanic_has_no_doubtful_sample(titanic: ResponseTable) -> None:
    """353 classifiers of seven families, none of whose labels is wrong."""
    found = items(titanic)
    assert found.provenance["reversed_share"] > 0.1
    assert flagged(found, "doubtful|negative") == set()


def test_a_yes_or_no_task_of_legalbench_has_no_doubtful_sample(data_folder: Path) -> None:
    """30 models that lean to yes or to no: a 2PL gives a third of the samples a negative discrimination."""
    frame = pl.read_parquet(data_folder / "helm_lite/helm_lite_items_x_30models.parquet")
    part = frame.filter(pl.col("scenario").str.contains("international_citizenship"))
    found = items(ResponseTable.from_matrix(part.drop("scenario", "item").to_numpy().T))
    assert flagged(found, "doubtful|negative") == set()


def test_inverted_keys_of_math500_are_found(math500: ResponseTable) -> None:
    """25 of 500 inverted: .96 of as many at the top were inverted ones with the probability of before."""
    rng = np.random.default_rng(100)
    wrong = rng.permutation(500)[:25]
    x = math500.matrix()
    x[:, wrong] = 1 - x[:, wrong]
    found = items(ResponseTable.from_matrix(x, samples=math500.samples)).samples["sample"][:25]
    assert len({math500.samples[j] for j in wrong} & set(found)) >= 22
