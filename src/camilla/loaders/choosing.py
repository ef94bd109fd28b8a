"""Which runs, and which metric and filter, make the responses; each choice says its rule."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from camilla.data.names import nearest, quoted
from camilla.errors import SettingError
from camilla.loaders.collecting import Kept, Pair
from camilla.loaders.runs import GIVEN


class Chosen(NamedTuple):
    """The pair that scores a task, the rule that chose it, pairs passed over, metrics that are no scores."""

    pair: Pair
    rule: str
    others: list[Pair]
    left_out: dict[str, str]


class Repeated(NamedTuple):
    """Runs of one learner on one task: those kept, and those left out because they ask the same again."""

    learner: str
    task: str
    kept: list[str]
    left_out: list[str]
    differing: list[str]  # settings that differ between kept and left out


def of_tasks(runs: Sequence[Kept], patterns: Sequence[str]) -> list[Kept]:
    """The runs of the tasks that are named, by name or by a pattern with * and ?."""
    if not patterns:
        return list(runs)
    tasks = sorted({one.run.task for one in runs})
    for pattern in patterns:
        if not any(fnmatchcase(task, pattern) for task in tasks):
            raise SettingError(f"no task is called {pattern!r}. {nearest(pattern, tasks)}")
    return [one for one in runs if any(fnmatchcase(one.run.task, pattern) for pattern in patterns)]


def newest(runs: Sequence[Kept]) -> tuple[list[Kept], list[Repeated]]:
    """Of the runs of each learner on each task the newest, and older ones that share no sample with it.

    A run without a single score never displaces one that has some; of equal dates the source that
    comes first by name is kept.
    """
    groups: dict[tuple[str, str], dict[str, list[Kept]]] = {}
    for one in runs:
        groups.setdefault((one.run.learner, one.run.task), {}).setdefault(one.run.run, []).append(one)
    kept: list[Kept] = []
    repeated: list[Repeated] = []
    for (learner, task), by_run in sorted(groups.items()):
        if len(by_run) == 1:
            kept += next(iter(by_run.values()))
            continue
        used, left = _disjoint(sorted(by_run.values(), key=_source))
        kept += used
        if left:
            differing = _differing(used, left)
            sources = ([one.run.source for one in used], [one.run.source for one in left])
            repeated.append(Repeated(learner, task, *sources, differing))
    return kept, repeated


def _source(parts: list[Kept]) -> str:
    return min(one.run.source for one in parts)


def _disjoint(candidates: list[list[Kept]]) -> tuple[list[Kept], list[Kept]]:
    by_age = sorted(candidates, key=lambda parts: max(one.run.date for one in parts), reverse=True)
    by_age.sort(key=lambda parts: not any(one.n_scored for one in parts))
    taken: set[str] = set()
    used: list[Kept] = []
    left: list[Kept] = []
    for parts in by_age:
        samples = {name for one in parts for name in one.frame["sample"].unique()}
        if taken and (not samples or taken & samples):
            left += parts
        else:
            taken |= samples
            used += parts
    return used, left


def _differing(used: list[Kept], left: list[Kept]) -> list[str]:
    names = sorted({name for one in used + left for name in one.run.settings})
    return [name for name in names if len({one.run.settings.get(name) for one in used + left}) > 1]


def choose(
    runs: Sequence[Kept], *, metric: str | None = None, filter: str | None = None
) -> dict[str, Chosen | None]:
    """A pair for each task, None where no metric scored anything.

    The asked metric and filter; else, of the pairs that most runs have, the one the logs list first.
    """
    by_task: dict[str, list[Kept]] = {}
    for one in sorted(runs, key=lambda one: one.run.source):
        by_task.setdefault(one.run.task, []).append(one)
    _check_asked(runs, metric, filter)
    return {task: _choose(by_task[task], metric, filter) for task in sorted(by_task)}


def _check_asked(runs: Sequence[Kept], metric: str | None, filter: str | None) -> None:
    pairs = [pair for one in runs for pair in one.pairs if pair.metric]
    for what, asked, there in (
        ("metric", metric, [pair.metric for pair in pairs]),
        ("filter", filter, [pair.filter for pair in pairs]),
    ):
        if asked is not None and asked not in there:
            reason = next((one.run.left_out[asked] for one in runs if asked in one.run.left_out), None)
            why = f": its values are no scores ({reason})" if reason and what == "metric" else ""
            raise SettingError(f"no task has {what} {asked!r}{why}. There are {quoted(sorted(set(there)))}.")


def _choose(runs: list[Kept], metric: str | None, filter: str | None) -> Chosen | None:
    count: dict[Pair, int] = {}
    left_out: dict[str, str] = {}
    for one in runs:
        left_out |= one.run.left_out
        for pair, scores in one.pairs.items():
            count[pair] = count.get(pair, 0) + (scores > 0)
    pairs = [pair for pair, n_runs in count.items() if pair.metric and n_runs]
    if not pairs:
        return None
    pairs = [pair for pair in pairs if pair.metric != GIVEN] or pairs
    asked = [p for p in pairs if metric in (None, p.metric) and filter in (None, p.filter)]
    best = max(asked or pairs, key=lambda pair: count[pair])
    others = [pair for pair in pairs if pair != best]
    return Chosen(best, _rule(best, pairs, asked, count, len(runs)), others, left_out)


def _rule(best: Pair, pairs: list[Pair], asked: list[Pair], count: dict[Pair, int], n_runs: int) -> str:
    if len(pairs) == 1:
        return "the only one"
    if not asked:
        return (
            f"what was asked for is not there; {count[best]} of {n_runs} runs have it and it is listed first"
        )
    if len(asked) == 1:
        return "as asked"
    return f"{count[best]} of {n_runs} runs have it, and of those it is listed first"
