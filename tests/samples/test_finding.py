"""Skills that hold: found on half of the learners, judged on the other half, named from what they contain."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import camilla
from camilla.errors import DataError, SettingError
from camilla.samples.skills import group_names, skills
from camilla.table.examples import simulate
from camilla.table.responses import ResponseTable
from camilla.table.skills import SkillMap

TASKS = ("algebra", "rhymes", "maps")


def world(noise: float = 0.5, n_learners: int = 60, alike: bool = False) -> ResponseTable:
    """Three tasks of 12 samples, each with an order of learners of its own unless all are `alike`."""
    rng = np.random.default_rng(3)
    ability = rng.normal(size=(n_learners, 1 if alike else 3))
    task = np.repeat(np.arange(3), 12)
    level = ability[:, task % ability.shape[1]] + noise * rng.normal(size=(n_learners, 36))
    names = [f"{TASKS[t]}-{j}" for j, t in enumerate(task)]
    table = ResponseTable.from_matrix(1 / (1 + np.exp(-level)), samples=names)
    return replace(table, task=tuple(TASKS[t] for t in task))


@pytest.mark.parametrize("by", ["sample", "task"])
def test_tasks_that_rank_learners_differently_become_the_skills(by: str) -> None:
    table = world()
    found = skills(table, 3, by=by)  # type: ignore[arg-type]
    assert sorted(found.skill_map.skills) == sorted(TASKS)
    column = [found.skill_map.skills[k] for k in np.argmax(found.skill_map.mask, axis=1)]
    assert tuple(column) == table.task
    assert not set(found.found_on) & set(found.judged_on)
    assert len(found.found_on) + len(found.judged_on) == 60


def test_they_hold_where_random_groups_do_not() -> None:
    """Two samples of a task agree on a pair with P = ½ + asin(1/1.25)/π = .795; twelve rank at about .87.

    A random group mixes three unrelated orders: its samples agree at about .6. The half point between them
    is far from both.
    """
    judgement = skills(world(), 3).judgement
    assert judgement.doa > 0.8 > 0.75 > judgement.random
    assert judgement.doa <= judgement.ceiling
    assert judgement.learners == 30


def test_the_number_of_skills_is_that_of_the_world() -> None:
    assert skills(world()).skill_map.n_skills == 3


def test_where_all_samples_rank_alike_skills_gain_nothing_and_that_is_shown() -> None:
    """One order of learners: any grouping does as well; groups of other sizes differ by their noise only."""
    judgement = skills(world(alike=True), 3).judgement
    assert judgement.doa_weighted == pytest.approx(judgement.random_weighted, abs=0.02)


def test_skills_hold_in_a_world_of_three_and_seldom_in_a_world_of_one() -> None:
    """With one ability the found groups are one more random grouping: none of 10 is as good once in 11 times.

    Of 40 such worlds 3.6 are expected to pass; P(more than 9) = .2 % by the binomial distribution.
    """
    assert skills(world(), 3).judgement.holds
    passed = 0
    for seed in range(40):
        right = simulate(24, 40, seed=seed).table
        passed += skills(right, 3, seed=seed).judgement.holds
    assert passed <= 9


def test_attributes_are_split_by_families_of_tasks() -> None:
    table = world()
    mask = np.column_stack([np.arange(36) % 2 == 0, np.arange(36) % 2 == 1])
    found = skills(table.with_skills(SkillMap(("even", "odd"), mask)), 3, by="attribute")
    wanted = {f"{side} · {task}" for side in ("even", "odd") for task in TASKS}
    assert set(found.skill_map.skills) == wanted
    assert found.skill_map.mask.sum(axis=0).tolist() == [6] * 6


def test_constant_samples_are_said_and_go_with_their_task() -> None:
    table = world()
    matrix = table.matrix()
    matrix[:, 20] = 0.5
    constant = replace(ResponseTable.from_matrix(matrix, samples=table.samples), task=table.task)
    found = skills(constant, 3)
    assert "rhymes-20" in found.notes[0]
    assert found.skill_map.skills[int(np.argmax(found.skill_map.mask[20]))] == "rhymes"


def test_the_order_of_samples_and_learners_changes_nothing() -> None:
    table = world()
    rng = np.random.default_rng(0)
    samples, learners = rng.permutation(36), rng.permutation(60)
    mixed = skills(table.take_samples(samples).take_learners(learners), 3)
    straight = skills(table, 3)
    assert mixed.skill_map.skills == straight.skill_map.skills
    np.testing.assert_array_equal(mixed.skill_map.mask, straight.skill_map.mask[samples])
    assert mixed.judgement.doa == straight.judgement.doa


def test_half_of_the_responses_missing_is_enough() -> None:
    table = world(noise=0.3)
    holes = np.random.default_rng(1).random(table.n_responses) < 0.5
    found = skills(table.keep(~holes), 3)
    assert sorted(found.skill_map.skills) == sorted(TASKS)


def test_names_come_from_words_and_metadata_where_there_are_no_tasks() -> None:
    table = replace(world(), task=None)
    labels = np.repeat([0, 1, 2], 12)
    assert group_names(table, labels) == TASKS
    numbers = ResponseTable.from_matrix(table.matrix(), samples=[str(j) for j in range(36)])
    assert group_names(numbers, labels) == ("group 1", "group 2", "group 3")
    topics = pl.DataFrame({"sample": numbers.samples, "topic": np.repeat(["x", "y", "z"], 12)})
    assert group_names(replace(numbers, sample_metadata=topics), labels) == ("x", "y", "z")


def test_a_word_of_all_names_names_no_skill_and_none_is_called_sample() -> None:
    """`sample-07` says nothing; a task may be called sample, the column of sample names is too."""
    table = replace(world(), task=None)
    labels = np.repeat([0, 1], (28, 8))
    plain = replace(table, samples=tuple(f"sample-{j:02d}" for j in range(36)))
    assert group_names(plain, labels) == ("group 1", "group 2")
    tasks = replace(plain, task=("sample",) * 28 + ("maps",) * 8)
    names = group_names(tasks, labels)
    assert names == ("sample (1)", "maps")
    found = SkillMap(names, labels[:, None] == np.arange(2))
    back = SkillMap.from_table(found.to_frame(plain.samples), plain.samples)
    np.testing.assert_array_equal(back.mask, found.mask)


def test_a_map_with_a_skill_called_sample_says_so_when_it_is_written() -> None:
    with pytest.raises(DataError, match="a skill is called 'sample'"):
        SkillMap(("sample", "other"), np.eye(2, dtype=bool)).to_frame(("a", "b"))


def test_many_tasks_are_counted_and_equal_names_numbered() -> None:
    table = replace(world(), task=tuple(f"t{j // 4}" for j in range(36)))
    assert group_names(table, np.repeat([0, 1], (28, 8))) == ("t0, t1, t2 and 3 more", "t7, t8")
    split = np.tile([0, 1], 18)
    assert group_names(replace(table, samples=tuple(f"q {j}" for j in range(36))), split)[0].endswith("(1)")


def test_one_learner_too_few_and_words_nobody_knows() -> None:
    table = world()
    with pytest.raises(DataError, match="8"):
        skills(table.take_learners(range(7)))
    with pytest.raises(SettingError, match="sample, task, attribute"):
        skills(table, by="colour")  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="at least 2"):
        skills(table, 1)
    with pytest.raises(DataError, match="task"):
        skills(replace(table, task=None), by="task")
    with pytest.raises(DataError, match="skill map"):
        skills(table, by="attribute")
    flat = ResponseTable.from_matrix(np.tile([0.0, 1.0], (8, 1)))
    with pytest.raises(DataError, match="no sample ranks"):
        skills(flat, 2)


def test_digits_have_no_second_order_and_the_judgement_says_so() -> None:
    """42 classifiers of digits differ in one ability: skills gain less than .03 over random groups."""
    judgement = skills(camilla.digits(), 3).judgement
    assert judgement.doa_weighted - judgement.random_weighted < 0.03


def test_groups_below_random_ones_on_average_are_not_confirmed() -> None:
    """Weighted by samples no random grouping does as well, but the mean over groups is below theirs."""
    found = skills(world(), 3)
    below = replace(found, judgement=found.judgement._replace(as_good=0, doa=0.60, random=0.61))
    assert found.judgement.holds
    assert not below.judgement.holds
    assert "3 groups of samples are not confirmed" in str(below)
