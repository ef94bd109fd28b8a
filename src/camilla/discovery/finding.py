"""Skills that hold: groups of samples that rank learners alike, found on half of the learners."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from camilla.data.names import quoted
from camilla.data.responses import ResponseTable
from camilla.data.skills import SkillMap
from camilla.discovery.grouping import grouped, rank_vectors, refined
from camilla.discovery.judging import Judgement, judged
from camilla.discovery.naming import group_names
from camilla.errors import DataError, SettingError

By = Literal["sample", "task", "attribute"]
WAYS = ("sample", "task", "attribute")
TRIED = (2, 3, 4, 5, 6, 7, 8, 10, 12)  # numbers of skills, when none is given
WORTH = 0.01  # a larger number of skills must gain at least so much
FEWEST_LEARNERS = 8

Labels = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class FoundSkills:
    """A skill map found in the responses, and how it holds on learners that had no part in finding it."""

    skill_map: SkillMap  # rows in the order of the table's samples
    judgement: Judgement
    found_on: tuple[str, ...]  # learners
    judged_on: tuple[str, ...]
    notes: tuple[str, ...]


def find_skills(
    table: ResponseTable, n_skills: int | None = None, *, by: By = "sample", seed: int = 0
) -> FoundSkills:
    """Groups of samples that rank learners alike.

    Half of the learners, drawn by `seed`, find them by average linkage on 1 − Spearman's ρ between samples
    (`by="sample"`), or between tasks (`by="task"`); `by="attribute"` splits each skill the table has by
    families of tasks, `n_skills` being the number of families. The other half judges them. Without
    `n_skills` the number is chosen on the first half, itself halved: the smallest that is within .01 of
    the largest gain over random groups of the same sizes.
    """
    _check(table, n_skills, by)
    ordered = table.canonical()
    responses = ordered.table.matrix()
    rng = np.random.default_rng(seed)
    order = rng.permutation(table.n_learners)
    first, second = order[: (len(order) + 1) // 2], order[(len(order) + 1) // 2 :]
    finder = _Finder(ordered.table, by)
    wanted = _chosen_number(finder, responses[first], rng) if n_skills is None else n_skills
    found = finder.skill_map(responses[first], wanted, rng)
    judgement = judged(responses[second], found, rng)
    back = np.argsort(ordered.sample_order)
    learners = np.array(ordered.table.learners, object)
    notes = list(found.notes)
    if n_skills is None:
        notes.append(
            f"{wanted} {'families' if by == 'attribute' else 'skills'}, chosen on half of the learners"
        )
    return FoundSkills(
        found.take(back),
        judgement,
        tuple(learners[np.sort(first)]),
        tuple(learners[np.sort(second)]),
        tuple(notes),
    )


def _check(table: ResponseTable, n_skills: int | None, by: By) -> None:
    if by not in WAYS:
        raise SettingError(f"skills are found by {', '.join(WAYS)}; not by {by!r}.")
    if n_skills is not None and n_skills < 2:
        raise SettingError(f"at least 2 skills can be told apart; {n_skills} was asked for.")
    if by != "sample" and table.task is None:
        raise DataError(
            f"skills by {by} need the task of each sample, and the table has none. Use by='sample'."
        )
    if by == "attribute" and table.skill_map is None:
        raise DataError("skills by attribute need a skill map to start from. Give one with --skills.")
    if table.n_learners < FEWEST_LEARNERS:
        raise DataError(
            f"{table.n_learners} learners cannot find skills and judge them too; at least {FEWEST_LEARNERS} "
            "were wanted."
        )


@dataclass(frozen=True, eq=False)
class _Finder:
    table: ResponseTable
    by: By

    def skill_map(self, responses: NDArray[np.float64], number: int, rng: np.random.Generator) -> SkillMap:
        """The map that these learners' responses give."""
        vectors = rank_vectors(responses)
        notes = []
        if self.by == "sample":
            least = max(3, responses.shape[1] // (5 * number))
            labels = grouped(vectors, number, least=least, rng=rng)
            labels = refined(responses, labels, least=least, rng=rng) if (labels >= 0).any() else labels
        else:
            labels = _by_task(vectors, self.table.task or (), number, rng)
        if (labels < 0).all():
            raise DataError("no sample ranks these learners: on each, all have the same response.")
        idle = np.flatnonzero(labels < 0)
        if len(idle):
            left_out = quoted([self.table.samples[i] for i in idle])
            notes.append(
                f"{len(idle)} samples on which these learners do not differ had no part in finding the "
                f"skills; they go with their task or the largest skill: {left_out}"
            )
            labels = _adopted(labels, self.table.task)
        if labels.max() + 1 < number:
            notes.append(f"{number} were asked for and {labels.max() + 1} found")
        names = group_names(self.table, labels)
        if self.by == "attribute":
            return _times(self.table.skill_map, names, labels, tuple(notes))
        return SkillMap(names, labels[:, None] == np.arange(len(names)), tuple(notes))


def _by_task(
    vectors: NDArray[np.float64], task: Sequence[str], number: int, rng: np.random.Generator
) -> Labels:
    """Tasks whose samples rank learners alike, on the mean of their rank vectors."""
    names, task_of = np.unique(np.array(task, object), return_inverse=True)
    means = np.zeros((len(vectors), len(names)))
    np.add.at(means.T, task_of, vectors.T)
    length = np.linalg.norm(means, axis=0)
    unit = np.divide(means, length, out=np.zeros_like(means), where=length > 0)
    return grouped(unit, number, least=1, rng=rng)[task_of]


def _adopted(labels: Labels, task: Sequence[str] | None) -> Labels:
    """Samples without a group join the one that most of their task is in, else the largest."""
    out = labels.copy()
    out[labels < 0] = np.argmax(np.bincount(labels[labels >= 0]))
    if task is not None:
        tasks = np.array(task, object)
        for name in dict.fromkeys(tasks[labels < 0]):
            mates = labels[(tasks == name) & (labels >= 0)]
            if len(mates):
                out[(tasks == name) & (labels < 0)] = np.argmax(np.bincount(mates))
    return out


def _times(
    attributes: SkillMap | None, families: Sequence[str], labels: Labels, notes: tuple[str, ...]
) -> SkillMap:
    """Each attribute in each family of tasks, where it has samples."""
    if attributes is None:
        raise DataError("skills by attribute need a skill map to start from.")
    names, columns = [], []
    for k, attribute in enumerate(attributes.skills):
        for family, name in enumerate(families):
            column = attributes.mask[:, k] & (labels == family)
            if column.any():
                names.append(f"{attribute} · {name}")
                columns.append(column)
    return SkillMap(tuple(names), np.column_stack(columns), notes)


def _chosen_number(finder: _Finder, responses: NDArray[np.float64], rng: np.random.Generator) -> int:
    """The smallest number whose gain over random groups, on other learners, is within WORTH of the best."""
    order = rng.permutation(len(responses))
    one, other = responses[order[::2]], responses[order[1::2]]
    gains = {}
    for number in TRIED:
        found = judged(other, finder.skill_map(one, number, rng), rng)
        gains[number] = found.doa_weighted - found.random_weighted
    best = max(gains.values())
    return min(number for number, gain in gains.items() if gain >= best - WORTH)
