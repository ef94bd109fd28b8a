"""What a user is told where a table cannot carry what is asked of it."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest, spearmanr

import camilla
from camilla.errors import DataError
from camilla.learners.check import check
from camilla.statistics.all_pairs import copies
from camilla.statistics.discrimination import points_backwards
from camilla.statistics.missingness import blocks_of
from camilla.table.responses import ResponseTable
from command_line import camilla as run


def chance(ability: np.ndarray, difficulty: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(difficulty - ability[:, None]))


def rasch(n_learners: int, n_samples: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    p = chance(rng.normal(size=n_learners), rng.normal(size=n_samples))
    return (rng.random(p.shape) < p).astype(float)


def two_blocks() -> ResponseTable:
    """Eight learners on 30 samples and five others on 20 others."""
    matrix = np.full((13, 50), np.nan)
    matrix[:8, :30], matrix[8:, 30:] = rasch(8, 30, 1), rasch(5, 20, 2)
    return ResponseTable.from_matrix(matrix, learners=[*"abcdefgh", *"vwxyz"])


SIZES = r"2 blocks, 8 learners × 30 samples \(such as 'a'\) and 5 learners × 20 samples \(such as 'v'\)"


def test_blocks_are_the_connected_parts_of_the_observed_cells() -> None:
    """A chain of three learners is one block; who answered nothing, and what nobody answered, is in none."""
    learner, sample = np.array([0, 1, 1, 2, 4, 5]), np.array([0, 0, 1, 1, 3, 3])
    first, second = blocks_of(learner, sample, (7, 5))
    assert (first.learners.tolist(), first.n_samples) == ([0, 1, 2], 2)
    assert (second.learners.tolist(), second.n_samples) == ([4, 5], 1)


@pytest.mark.parametrize("ranks", [camilla.diagnose, camilla.rank])
def test_blocks_without_a_shared_sample_are_not_ranked_on_one_scale(ranks) -> None:
    with pytest.raises(DataError, match=SIZES) as refused:
        ranks(two_blocks())
    assert "across_blocks=True (--across-blocks)" in str(refused.value)
    assert "Give each block by itself" in str(refused.value)


def test_a_diagnosis_across_blocks_says_what_its_ranks_mean() -> None:
    found = camilla.diagnose(two_blocks(), "irt", across_blocks=True)
    assert len(found.provenance["notes"]) == 1
    assert "across blocks they do not" in found.provenance["notes"][0]
    assert f"note: {found.provenance['notes'][0]}" in found.text()


def test_a_ranking_across_blocks_says_what_its_ranks_mean() -> None:
    found = camilla.rank(two_blocks(), across_blocks=True)
    assert "across blocks they do not" in found.text()
    assert "across blocks they do not" in found.to_document()["notes"][0]
    assert found.provenance["settings"]["across_blocks"] is True


def test_one_learner_that_answered_both_blocks_joins_them() -> None:
    matrix = two_blocks().matrix()
    matrix[0, 30:40] = 1
    table = ResponseTable.from_matrix(matrix)
    assert camilla.diagnose(table, "irt").provenance["notes"] == []
    assert camilla.rank(table).provenance["settings"]["across_blocks"] is False


def test_learners_of_two_blocks_are_not_compared() -> None:
    with pytest.raises(DataError, match="'a' and 'v' share 0 samples"):
        camilla.compare(two_blocks(), "a", "v")
    assert camilla.compare(two_blocks(), "v", "z").overall.n == 20


def test_the_command_refuses_blocks_until_it_is_asked(tmp_path: Path) -> None:
    two_blocks().write(tmp_path / "blocks.parquet")
    for words in (["rank", "blocks.parquet"], ["diagnose", "blocks.parquet", "--with", "irt", "-o", "out"]):
        refused = run(*words, cwd=tmp_path)
        assert refused.returncode == 1
        assert "2 blocks, 8 learners × 30 samples" in refused.stderr
        shown = run(*words, "--across-blocks", cwd=tmp_path)
        assert shown.returncode == 0
        assert "note: The table falls into 2 blocks" in shown.stdout
    document = json.loads((run("show", "out", "--json", cwd=tmp_path)).stdout)
    assert "2 blocks" in document["provenance"]["notes"][0]


def with_copies() -> ResponseTable:
    """Twelve learners of 60 samples; b is c."""
    matrix = rasch(12, 60, 3)
    matrix[2] = matrix[1]
    return ResponseTable.from_matrix(matrix, learners=list("abcdefghijkl"))


def test_learners_that_answer_alike_are_named_by_check_and_diagnose() -> None:
    finding = next(one for one in check(with_copies()).findings if one.about == "copies of learners")
    assert finding.level == "warning"
    assert "'b', 'c' answer alike on all 60 samples: they count as one learner" in finding.says
    found = camilla.diagnose(with_copies(), "irt")
    assert found.provenance["notes"][0].startswith("'b', 'c' answer alike on all 60 samples")
    assert "note: 'b', 'c' answer alike on all 60 samples" in found.text()


def test_copies_are_found_across_gaps_and_with_a_few_differences() -> None:
    """1,000 samples, of which a copy lacks 100 and another differs on 3; 480 differences were expected."""
    rng = np.random.default_rng(4)
    matrix = (rng.random((9, 1000)) < 0.4).astype(float)
    matrix[6], matrix[8] = matrix[3], matrix[0]
    matrix[6, :100] = np.nan
    matrix[8, 40:43] = 1 - matrix[8, 40:43]
    found = copies(matrix)
    assert [group.learners.tolist() for group in found] == [[0, 8], [3, 6]]
    assert [(group.shared, group.same) for group in found] == [(1000, 997), (900, 900)]


def test_strong_learners_that_fail_the_same_hard_samples_are_no_copies() -> None:
    """30 learners, 500 samples that all get right and 40 that nearly all get wrong: pairs agree everywhere,
    because of the samples. In 40 such worlds at most 5 of 100 may have a pair by chance: 5 in 40 is rare."""
    worlds = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        p = np.concatenate([np.full(500, 1.0), np.full(40, 0.03)])
        matrix = (rng.random((30, 540)) < p).astype(float)
        assert any((matrix[i] == matrix[j]).all() for i in range(30) for j in range(i))
        worlds += len(copies(matrix)) > 0
    assert worlds <= 5


def test_two_independent_learners_are_rarely_called_copies() -> None:
    """20 coins, 25 learners: two agree on all with probability 300 · 2⁻²⁰."""
    found = [copies((np.random.default_rng(s).random((25, 20)) < 0.5).astype(float)) for s in range(100)]
    assert sum(map(len, found)) <= 1


def one_right_each(n_learners: int, n_samples: int) -> np.ndarray:
    matrix = np.zeros((n_learners, n_samples))
    matrix[np.arange(n_learners), np.arange(n_learners) % n_samples] = 1
    return matrix


def all_right_and_all_wrong() -> np.ndarray:
    matrix = rasch(10, 40, 5)
    matrix[3], matrix[4] = 1, 0
    return matrix


def only_one_wrong() -> np.ndarray:
    matrix = np.ones((6, 30))
    matrix[0, 0] = 0
    return matrix


SMALL_TABLES = {
    "two learners": rasch(2, 40, 6),
    "two learners, two samples": np.array([[1.0, 0.0], [1.0, 1.0]]),
    "one right answer per learner": one_right_each(8, 20),
    "one right answer per learner, square": one_right_each(20, 20),
    "one right answer per learner, few samples": one_right_each(30, 5),
    "the same right answer of every learner": np.tile(np.eye(20)[0], (8, 1)),
    "a learner with all right and one with all wrong": all_right_and_all_wrong(),
    "one wrong answer in all": only_one_wrong(),
    "learners that answer alike": np.tile(rasch(1, 40, 7), (6, 1)),
    "learners that are always right or always wrong": np.repeat(rasch(30, 1, 8), 20, axis=1),
}


# Learners that all behave alike tell a lot of each other; six that answer alike leave no chance to a sample.
SHARED = {
    "one right answer per learner, square": 0.3,  # 0.19 if the 20 learners were known to be equal
    "one right answer per learner, few samples": 0.25,
    "the same right answer of every learner": 0.15,
    "learners that answer alike": 0.1,
}


@pytest.mark.filterwarnings("ignore::camilla.ConvergenceWarning")  # where responses separate perfectly
@pytest.mark.parametrize("name", SMALL_TABLES)
def test_an_interval_is_not_narrower_than_its_responses_allow(name: str) -> None:
    """n right/wrong responses alone give Wilson's interval; other learners may narrow it, to a half at most
    in tables as small as these unless they are all alike. An accuracy that is not 0 or 1, of which the
    ability is a smoothed version, lies within; none of 0 or 1 is far from an end."""
    matrix = SMALL_TABLES[name]
    board = camilla.diagnose(ResponseTable.from_matrix(matrix)).learners
    for row in board.to_dicts():
        wilson = binomtest(round(row["accuracy"] * row["n"]), row["n"]).proportion_ci(method="wilson")
        assert row["high"] - row["low"] >= SHARED.get(name, 0.5) * (wilson.high - wilson.low), row
        slack = 0.05 if row["accuracy"] in (0, 1) else 1e-9
        assert row["low"] - slack <= row["accuracy"] <= row["high"] + slack, row
        assert 0 <= row["low"] <= row["ability"] <= row["high"] <= 1, row


def test_two_learners_on_the_scale_of_the_pool_are_not_to_be_read() -> None:
    """Standardised over two learners, abilities are −1 and 1 whatever they answered: that is no certainty."""
    found = camilla.diagnose(ResponseTable.from_matrix(rasch(2, 40, 6)), "irt")
    assert sorted(found.learners["ability"].round(6)) == [-1, 1]
    assert "always −1 and 1, whatever they answered" in found.text()
    assert camilla.diagnose(ResponseTable.from_matrix(rasch(2, 40, 6))).provenance["notes"] == []


@pytest.mark.parametrize(
    ("matrix", "says"),
    [
        (rasch(5, 1, 9), "the table has one sample, 'sample-0'; expected at least two"),
        (rasch(1, 30, 9), "the table has one learner"),
        (np.ones((5, 8)), "every one of the 40 responses is 1"),
        (np.zeros((5, 8)), "every one of the 40 responses is 0"),
    ],
)
def test_tables_that_tell_nothing_are_refused(matrix: np.ndarray, says: str) -> None:
    with pytest.raises(DataError, match=says):
        camilla.diagnose(ResponseTable.from_matrix(matrix))


def contrast(seed: int = 10) -> ResponseTable:
    """60 learners, 120 samples: a trait helps on 70 of them and harms on 50."""
    rng = np.random.default_rng(seed)
    slope = np.where(np.arange(120) < 70, 1.5, -1.5)
    p = 1 / (1 + np.exp(-(rng.normal(size=(60, 1)) * slope + rng.normal(size=120) * 0.5)))
    return ResponseTable.from_matrix((rng.random(p.shape) < p).astype(float))


def test_an_ability_that_many_samples_punish_says_so() -> None:
    """Of 120 samples 50 go against the trait, 42 %; with 60 learners nearly all of them are surely negative.
    The printed correlation is scipy's up to rounding."""
    found = camilla.diagnose(contrast(), "irt")
    (note,) = found.provenance["notes"]
    share = float(note.split(" %")[0])
    assert 35 <= share <= 45
    assert "significantly negative discrimination" in note
    assert "use auto" in note
    assert note in found.text()
    ahead = spearmanr(found.learners["ability"], found.learners["accuracy"]).statistic
    assert f"(rank correlation {ahead:+.2f})".replace("-", "−") in note
    assert ("This ability does not rank learners by accuracy" in note) == (ahead < 0.7)


def test_an_ordinary_ability_says_nothing() -> None:
    assert camilla.diagnose(ResponseTable.from_matrix(rasch(40, 100, 11)), "irt").provenance["notes"] == []


def test_the_share_that_points_backwards_counts_what_is_surely_negative() -> None:
    """−3 ± 1, −1 ± 1 and 2 ± 1: one of three lies below 0 by 1.96 standard errors; NaN does not count."""
    values, se = np.array([-3.0, -1.0, 2.0, np.nan]), np.array([1.0, 1.0, 1.0, np.nan])
    assert points_backwards(values, se) == pytest.approx(1 / 3)
    assert points_backwards(np.array([np.nan]), np.array([np.nan])) == 0


def test_samples_of_blocks_are_judged_each_by_its_own_learners() -> None:
    """No ranking is made of them: each sample's learners are of its own block."""
    assert camilla.items(two_blocks()).samples.height == 50
