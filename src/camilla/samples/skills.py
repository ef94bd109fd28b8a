"""Skills found in responses: judged on held-out ones, named by what their samples share."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla.arrays import Floats, Watch
from camilla.display import Grid, Part, Printable, watching
from camilla.errors import DataError, SettingError
from camilla.learners.check import copy_notes
from camilla.names import quoted
from camilla.reading.inputs import TableLike, as_table
from camilla.samples.grouping import grouped, rank_vectors, refined
from camilla.statistics import agreement as measure
from camilla.table.frames import WideRows
from camilla.table.responses import ResponseTable
from camilla.table.skills import ID, SkillMap

MOST_DRAWS = 10  # of random groups
MOST_JUDGED_PAIRS = 4e9  # compared for them


class Judgement(NamedTuple):
    """How well skills rank learners.

    doa is that of the Borda score, mastery without a model; ceiling is what no mastery that tells all
    learners apart exceeds (equal Borda scores leave a pair out, which may lift doa above it by a hair);
    random is the doa of as many groups of the same sizes, drawn at random. Each is a mean over skills, and
    weighted by the skills' samples, so that small skills do not flatter.
    """

    skills: pl.DataFrame  # skill, samples, doa, ceiling, random
    learners: int
    doa: float
    doa_weighted: float
    ceiling: float
    ceiling_weighted: float
    random: float
    random_weighted: float
    draws: int  # of random groups
    as_good: int  # of these with no smaller doa_weighted

    @property
    def holds(self) -> bool:
        """Whether no random groups do as well, nor on average over skills, large or small.

        Of groups that are random too, at most one in draws + 1 holds.
        """
        return self.as_good == 0 and self.doa > self.random

    @property
    def summary(self) -> dict[str, float]:
        """Everything but the skills, by name."""
        return {name: value for name, value in self._asdict().items() if name != "skills"} | {
            "holds": self.holds
        }


def judged(responses: Floats, skill_map: SkillMap, rng: np.random.Generator) -> Judgement:
    """A skill map on responses [learners, samples]."""
    mask = skill_map.mask
    wins = measure.pair_wins(responses, mask)
    doa, top = measure.doa(wins, measure.borda(wins)), measure.ceiling(wins)
    draws = int(np.clip(MOST_JUDGED_PAIRS / (len(responses) ** 2 * len(mask)), 2, MOST_DRAWS))
    drawn = np.array([_borda_doa(responses, rng.permutation(mask)) for _ in range(draws)])
    known = ~np.isnan(drawn)
    random = np.where(known, drawn, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    columns = {"doa": doa, "ceiling": top, "random": random}
    frame = pl.DataFrame({"skill": skill_map.skills, "samples": mask.sum(axis=0), **columns})
    means = {
        name + suffix: mean
        for name, values in columns.items()
        for suffix, mean in (
            ("", measure.overall(values)),
            ("_weighted", measure.sample_weighted(values, mask)),
        )
    }
    lower = [measure.sample_weighted(one, mask) < means["doa_weighted"] for one in drawn]
    frame = frame.with_columns(pl.col(pl.Float64).fill_nan(None))
    return Judgement(frame, len(responses), **means, draws=draws, as_good=lower.count(False))


def _borda_doa(responses: Floats, mask: NDArray[np.bool_]) -> Floats:
    wins = measure.pair_wins(responses, mask)
    return measure.doa(wins, measure.borda(wins))


MOST_WORDS = 3  # features a name is made of
COVERED = 0.8  # of a group, beyond which its name is long enough
TYPICAL = 1.5  # times as frequent in the group as elsewhere, to be worth a name
MOST_VALUES = 200  # of a metadata column, beyond which it only numbers samples


def group_names(table: ResponseTable, labels: NDArray[np.int64]) -> tuple[str, ...]:
    """A name for each group 0, 1, …: what is found mostly in it, most of it first; else "group 1", ….

    A feature names a group if at least half of its samples are there; failing that, "often …" tells what is
    half again as frequent there as in the table. What all samples have names none, and no group is called
    `sample`, as the column of sample names is.
    """
    features = _features(table)
    names = [_name(features, labels == group, group) for group in range(int(labels.max()) + 1)]
    counts = Counter([*names, ID])
    return tuple(f"{name} ({number + 1})" if counts[name] > 1 else name for number, name in enumerate(names))


def _features(table: ResponseTable) -> list[dict[str, NDArray[np.int64]]]:
    """Feature → its samples, of each kind that the table has, the most telling kind first."""
    kinds: list[Sequence[Sequence[str]]] = []
    if table.task is not None:
        kinds.append([[task] for task in table.task])
    if table.skill_map is not None:
        skills = table.skill_map.skills
        kinds.append([[skills[k] for k in np.flatnonzero(row)] for row in table.skill_map.mask])
    if table.sample_metadata is not None:
        kinds.append(_metadata_values(table.sample_metadata, table.samples))
    kinds.append([re.findall(r"[^\W\d_]{2,}", name) for name in table.samples])
    return [_index(kind) for kind in kinds]


def _metadata_values(metadata: pl.DataFrame, samples: Sequence[str]) -> list[list[str]]:
    ordered = pl.DataFrame({"sample": samples}).join(metadata, on="sample", how="left", maintain_order="left")
    columns = [
        ordered[name].cast(pl.String).to_list()
        for name, kind in ordered.schema.items()
        if name != "sample"
        and kind in (pl.String, pl.Categorical, pl.Enum, pl.Boolean)
        and ordered[name].n_unique() <= MOST_VALUES
    ]
    rows = zip(*columns, strict=True) if columns else ([] for _ in samples)
    return [[value for value in row if value] for row in rows]


def _index(values: Sequence[Sequence[str]]) -> dict[str, NDArray[np.int64]]:
    found: dict[str, list[int]] = {}
    for sample, row in enumerate(values):
        for value in dict.fromkeys(row):
            found.setdefault(value, []).append(sample)
    return {value: np.array(rows, np.int64) for value, rows in found.items() if 1 < len(rows) < len(values)}


def _name(features: list[dict[str, NDArray[np.int64]]], inside: NDArray[np.bool_], group: int) -> str:
    for kind in features:
        if mostly := _found_mostly(kind, inside):
            shown = ", ".join(mostly[:MOST_WORDS])
            more = len(mostly) - MOST_WORDS
            return shown if more <= 0 else f"{shown} and {more} more"
    frequent = [_most_typical(kind, inside) for kind in features]
    return next((f"often {value}" for value in frequent if value is not None), f"group {group + 1}")


def _found_mostly(kind: dict[str, NDArray[np.int64]], inside: NDArray[np.bool_]) -> list[str]:
    """Values of which at least half are inside, those with most samples there first.

    None if they leave half of the group unsaid; once they have told COVERED of it, the rest is left out.
    """
    counts = {value: int(inside[rows].sum()) for value, rows in kind.items()}
    mostly = sorted(
        (value for value, rows in kind.items() if 2 * counts[value] >= len(rows)), key=lambda v: -counts[v]
    )
    told, chosen = np.zeros(len(inside), bool), []
    for value in mostly:
        if np.sum(told & inside) >= COVERED * inside.sum():
            break
        told[kind[value]] = True
        chosen.append(value)
    return chosen if 2 * np.sum(told & inside) >= inside.sum() else []


def _most_typical(kind: dict[str, NDArray[np.int64]], inside: NDArray[np.bool_]) -> str | None:
    share = inside.mean()
    lifts = {
        value: inside[rows].mean() / share
        for value, rows in kind.items()
        if inside[rows].sum() >= max(3, 0.1 * inside.sum())
    }
    best = max(lifts, key=lifts.__getitem__, default=None)
    return best if best is not None and lifts[best] >= TYPICAL else None


By = Literal["sample", "task", "attribute"]
WAYS = ("sample", "task", "attribute")
TRIED = (2, 3, 4, 5, 6, 7, 8, 10, 12)  # numbers of skills, when none is given
WORTH = 0.01  # a larger number of skills must gain at least so much
FEWEST_LEARNERS = 8

Labels = NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class FoundSkills(Printable):
    """A skill map found in the responses, and its agreement with other learners.

    Attributes
    ----------
    skill_map : SkillMap
        The skills, with rows in the order of the table's samples.
    judgement : Judgement
        Agreement of the skills with held-out learners, compared with random groups. `judgement.holds` says
        whether the skills are confirmed.
    found_on, judged_on : tuple of str
        The learners on which the skills were found, and those on which they were evaluated.
    notes : tuple of str
        What a reader must know.

    Examples
    --------
    >>> skills = camilla.skills(camilla.simulate(20, 40, seed=1).table, 2)
    >>> skills.judgement.holds in (True, False)
    True
    """

    on_a_screen: ClassVar[dict[str, Any]] = {"skills": 15}

    skill_map: SkillMap  # rows in the order of the table's samples
    judgement: Judgement
    found_on: tuple[str, ...]  # learners
    judged_on: tuple[str, ...]
    notes: tuple[str, ...]

    def parts(self, *, skills: int | None = None) -> list[Part]:
        """Returns the sentences and tables that `text` prints.

        Parameters
        ----------
        skills : int, optional
            Number of skills to list. All by default.

        Returns
        -------
        list of str and Grid
            The answer first: whether the skills are confirmed.

        Examples
        --------
        >>> skills = camilla.skills(camilla.simulate(20, 40, seed=1).table, 2)
        >>> len(skills.parts(skills=1))
        3
        """
        made = self.judgement
        rows = made.skills if skills is None else made.skills.head(skills)
        found = f"{made.skills.height} groups of samples"
        answer = (
            f"Nothing to find: {made.as_good} of {made.draws} random groupings rank held-out learners "
            f"as consistently as these {found}, or more so."
        )
        if made.holds:
            answer = (
                f"{found} are confirmed: none of {made.draws} random groupings ranks held-out learners as "
                "consistently."
            )
        elif made.as_good == 0:
            answer = (
                f"{found} are not confirmed: weighted by samples, none of {made.draws} random groupings "
                "ranks held-out learners as consistently, but their mean DOA is below that of random ones."
            )
        return [
            answer,
            Grid(
                f"Degree of agreement (DOA) of each skill: found on {len(self.found_on)} learners, "
                f"evaluated on the other {made.learners}",
                rows,
            ),
            f"Mean DOA {made.doa:.3f}, random groups {made.random:.3f}, ceiling {made.ceiling:.3f}; weighted "
            f"by samples {made.doa_weighted:.3f}, {made.random_weighted:.3f}, {made.ceiling_weighted:.3f}.",
        ]


def skills(
    table: TableLike, n_skills: int | None = None, *,
    rows: WideRows | None = None, by: By = "sample", seed: int = 0,
    progress: bool | None = None, watch: Watch | None = None,
) -> FoundSkills:  # fmt: skip
    """Finds groups of samples that rank learners alike, and judges them on held-out learners.

    Half of the learners find the groups, by average linkage on 1 − Spearman's ρ. The other half judges them.

    Parameters
    ----------
    table : ResponseTable, dataframe or path
        The responses. A dataframe or a path is read as by `camilla.read`.
    n_skills : int, optional
        Number of skills (with `by="attribute"`, of families of tasks). By default it is chosen on the first
        half of the learners: the smallest number within 0.01 of the largest gain over random groups of the
        same sizes.
    rows : {"samples", "learners"}, optional
        What the rows of a wide dataframe or file are. Without it a table is long: one row per response.
    by : {"sample", "task", "attribute"}
        What is grouped: samples, tasks, or each skill of the table by families of tasks.
    seed : int
        Random seed. The same table, settings and seed give the same result.
    progress : bool, optional
        Whether to show a progress line on standard error. By default it appears after two seconds, on a
        terminal or in a notebook.
    watch : callable, optional
        Receives each progress line as text, instead of standard error.

    Returns
    -------
    FoundSkills
        `skill_map`, `judgement`, `found_on`, `judged_on`, `notes`.

    Examples
    --------
    >>> skills = camilla.skills(camilla.simulate(20, 40, seed=1).table, 2)
    >>> skills.skill_map.n_skills, len(skills.judged_on)
    (2, 10)
    """
    table = as_table(table, rows=rows)
    _check(table, n_skills, by)
    with watching("finding skills", progress, watch) as watch:
        return _found(table, n_skills, by, seed, watch)


def _found(table: ResponseTable, n_skills: int | None, by: By, seed: int, watch: Watch) -> FoundSkills:
    ordered = table.canonical()
    responses = ordered.table.matrix()
    rng = np.random.default_rng(seed)
    order = rng.permutation(table.n_learners)
    first, second = order[: (len(order) + 1) // 2], order[(len(order) + 1) // 2 :]
    finder = _Finder(ordered.table, by)
    wanted = _chosen_number(finder, responses[first], rng, watch) if n_skills is None else n_skills
    watch(f"{wanted} skills")
    found = finder.skill_map(responses[first], wanted, rng)
    watch("evaluating them on the other half of the learners")
    judgement = judged(responses[second], found, rng)
    back = np.argsort(ordered.sample_order)
    learners = np.array(ordered.table.learners, object)
    notes = [*found.notes, *copy_notes(ordered.table)]
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
            f"{table.n_learners} learners are too few to find skills and evaluate them; expected at least "
            f"{FEWEST_LEARNERS}."
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
                f"{len(idle)} samples on which these learners do not differ were not used to find the "
                f"skills; they are assigned to the skill of their task or to the largest skill: {left_out}"
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


def _chosen_number(
    finder: _Finder, responses: NDArray[np.float64], rng: np.random.Generator, watch: Watch
) -> int:
    """The smallest number whose gain over random groups, on other learners, is within WORTH of the best."""
    order = rng.permutation(len(responses))
    one, other = responses[order[::2]], responses[order[1::2]]
    gains = {}
    for number in TRIED:
        watch(f"trying {number} skills")
        found = judged(other, finder.skill_map(one, number, rng), rng)
        gains[number] = found.doa_weighted - found.random_weighted
    best = max(gains.values())
    return min(number for number, gain in gains.items() if gain >= best - WORTH)
