"""The power that a gate prints is how often the gate decides so, by other code and fresh draws."""

import numpy as np
import pytest
from scipy.stats import binom, ttest_rel

import camilla
from camilla.arrays import Floats
from camilla.errors import SettingError
from camilla.learners.gates import sight_of
from camilla.statistics.gate_power import GateDesign, chance_of_passing, loss_caught, samples_to_pass
from camilla.statistics.intervals import tango
from camilla.statistics.multiplicity import holm
from camilla.statistics.power import Design, power_of
from camilla.table.responses import ResponseTable

RIGHT = 0.03  # the printed power is right to three points
WORLDS = 4000  # whose own spread is .8 points at most


def flips(loss: float, shape: tuple[int, ...], n: int, seed: int) -> tuple[Floats, Floats]:
    """Samples won and lost of so many worlds and tasks, a tenth of all."""
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(n, [(0.1 - loss) / 2, (0.1 + loss) / 2, 0.9], shape)
    won, lost, _ = np.moveaxis(drawn, -1, 0)
    return won.astype(float), lost.astype(float)


def mcnemar(won: Floats, lost: Floats) -> Floats:
    return np.minimum(1, 2 * binom.cdf(np.minimum(won, lost), won + lost, 0.5))


@pytest.mark.parametrize("loss", [0.0, 0.02, 0.03])
def test_a_plain_gate_catches_as_often_as_the_exact_test(loss: float) -> None:
    design = Design(discordance=0.1)
    won, lost = flips(loss, (WORLDS,), 1000, 1)
    caught = np.mean((mcnemar(won, lost) < 0.05) & (lost > won))
    assert 1 - chance_of_passing(GateDesign((design,), (1000,)), loss) == pytest.approx(caught, abs=RIGHT)
    if loss:
        assert caught == pytest.approx(power_of(design, loss, 1000), abs=RIGHT)


def test_a_gate_by_task_catches_what_any_of_its_tests_catches() -> None:
    """Ten tasks of 100 samples: a loss on all of them, and one on a single task."""
    gate = GateDesign((Design(discordance=0.1),) * 10, (100,) * 10, by_task=True)
    for losses in ([0.02] * 10, [0.1] + [0.0] * 9):
        drawn = [flips(loss, (WORLDS,), 100, k) for k, loss in enumerate(losses)]
        won, lost = (np.stack([one[side] for one in drawn], axis=1) for side in (0, 1))
        overall = (mcnemar(won.sum(axis=1), lost.sum(axis=1)) < 0.05) & (lost.sum(axis=1) > won.sum(axis=1))
        tasks = ((holm(mcnemar(won, lost)) < 0.05) & (lost > won)).any(axis=1)
        assert 1 - chance_of_passing(gate, losses) == pytest.approx(np.mean(overall | tasks), abs=RIGHT)


@pytest.mark.parametrize(("n", "margin"), [(1000, 0.02), (1000, 0.05), (300, 0.05)])
def test_an_equal_model_passes_a_margin_as_often_as_its_intervals_allow(n: int, margin: float) -> None:
    """Tango's interval, found here by its ends; overall, and on each of ten tasks besides."""
    design, n_tasks = Design(discordance=0.1), 10
    won, lost = flips(0.0, (WORLDS, n_tasks), n // n_tasks, 3)
    overall = tango(won.sum(axis=1), lost.sum(axis=1), n, 0.95).low >= -margin
    tasks = (tango(won, lost, n // n_tasks, 0.95).low >= -margin).all(axis=1)
    plain = GateDesign((design,), (n,), margin=margin)
    by_task = GateDesign((design,) * n_tasks, (n // n_tasks,) * n_tasks, by_task=True, margin=margin)
    assert chance_of_passing(plain, 0.0) == pytest.approx(overall.mean(), abs=RIGHT)
    assert chance_of_passing(by_task, 0.0) == pytest.approx(np.mean(overall & tasks), abs=RIGHT)


def test_scores_are_judged_by_a_paired_t_test() -> None:
    rng = np.random.default_rng(0)
    a = rng.normal(size=(2000, 200))
    b = a - 0.08 + 0.4 * rng.normal(size=a.shape)
    found = ttest_rel(b, a, axis=1)
    caught = np.mean((found.pvalue < 0.05) & (found.statistic < 0))
    assert 1 - chance_of_passing(GateDesign((Design(sd=0.4),), (200,)), 0.08) == pytest.approx(
        caught, abs=RIGHT
    )


def test_the_numbers_that_were_found_wanting_are_said() -> None:
    """A margin of two points on ten tasks of 100: an equal model never passes, and needs 40,000 samples."""
    gate = GateDesign((Design(discordance=0.1),) * 10, (100,) * 10, by_task=True, margin=0.02)
    assert sight_of(gate).passes == 0
    assert "lets an equally good B pass 0 % of the time" in sight_of(gate).sentence
    needed = samples_to_pass(gate)
    assert needed is not None
    assert chance_of_passing(gate.of_size(needed), 0.0) == pytest.approx(0.8, abs=RIGHT)
    loss = loss_caught(GateDesign((Design(discordance=0.1),), (1000,)))
    assert loss is not None
    assert power_of(Design(discordance=0.1), loss, 1000) == pytest.approx(0.8, abs=RIGHT)
    assert samples_to_pass(GateDesign((Design(discordance=0.1),), (100,), margin=0.0)) is None


def pairs(loss: float, seed: int, n: int = 1000) -> ResponseTable:
    """A and B right or wrong on samples of ten tasks; one of them alone is right on a tenth."""
    rng = np.random.default_rng(seed)
    flip = rng.choice([0, 1, 2], n, p=[0.9, (0.1 - loss) / 2, (0.1 + loss) / 2])
    both = rng.random(n) < 0.6
    a, b = np.where(flip == 0, both, flip == 2), np.where(flip == 0, both, flip == 1)
    table = ResponseTable.from_matrix(np.stack([a, b]).astype(float), learners=["a", "b"])
    return camilla.ResponseTable.from_long(
        table.to_long().with_columns(task=table.to_long()["sample"].str.slice(-1)), task="task"
    )


def test_the_loss_that_a_gate_prints_is_caught_four_times_in_five() -> None:
    """The design is estimated from each run anew: over 40 runs without a loss, the losses printed would be
    caught .8 of the time, to three points."""
    printed = [camilla.compare(pairs(0.0, seed), "a", "b").gate().sight.loss for seed in range(40)]
    truly = [power_of(Design(discordance=0.1), loss or 1.0, 1000) for loss in printed]
    assert np.mean(truly) == pytest.approx(0.8, abs=RIGHT)


def test_sight_is_in_the_document_and_the_comment() -> None:
    found = camilla.compare(pairs(0.0, 1), "a", "b")
    gate = found.gate(by="task", margin=0.02)
    sight = found.to_document(gate=gate)["gate"]["sight"]
    assert sight["samples"] == 1000
    assert sight["passes"] < 0.01
    assert gate.sight.sentence in found.markdown(gate)
    tasks = found.gate(by="task").sight
    assert tasks.task_losses is not None
    assert "on the largest task alone" in tasks.sentence


def test_power_plans_a_gate() -> None:
    design = Design(discordance=0.1)
    plan = camilla.power(design, margin=0.02, samples=(1000, 3000))
    assert plan.gate is not None
    assert plan.gate.needed == samples_to_pass(GateDesign((design,), (1000,), margin=0.02))
    assert [row.samples for row in plan.gate.seen] == [1000, 3000]
    assert "an equally good learner to pass" in plan.text()
    by_task = camilla.power(pairs(0.0, 1), by="task", samples=1000)
    assert by_task.gate is not None
    assert by_task.gate.tasks == 10
    for wrong, said in (
        ({"by": "task"}, "--tasks 10"),
        ({"tasks": 3}, "Leave it out"),
        ({"margin": 2.0}, "0 ≤ margin < 1"),
        ({"by": "skill"}, "by 'task'"),
    ):
        with pytest.raises(SettingError, match=said):
            camilla.power(design, **wrong)
