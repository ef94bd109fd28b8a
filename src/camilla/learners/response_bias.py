"""Where skills are the labels themselves, a learner that prefers an answer is right where it is the label."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from camilla.display import brief, percent
from camilla.names import quoted
from camilla.statistics.paired import mcnemar_p
from camilla.table.responses import ResponseTable

FEWEST_OF_KEY = 50  # samples of a key within which learners can be compared
RATE = 0.05  # that any learner without a preference is named


def keys_apart(table: ResponseTable) -> list[str]:
    """The keys within which learners are compared, because being right means another thing in each."""
    if table.key is None:
        return []
    names, counts = np.unique(np.array(table.key, object), return_counts=True)
    return [str(name) for name, count in zip(names, counts, strict=True) if count >= FEWEST_OF_KEY]


class Preference(NamedTuple):
    """A learner that answers a key more often than the samples have it."""

    learner: int
    key: str
    answers: float  # share of its answers that are the key
    keys: float  # share of those samples that have it


def by_class(table: ResponseTable) -> bool:
    """Whether the skills are labels: all samples of a skill have one key, and there are several."""
    keys = keys_apart(table)
    if len(keys) < 2 or table.skill_map is None or table.key is None:
        return False
    of_sample = np.unique(np.array(table.key, object), return_inverse=True)[1]
    mask = table.skill_map.mask
    return all(len(np.unique(of_sample[column])) == 1 for column in mask.T) and mask.shape[1] > 1


def preferences(table: ResponseTable) -> list[Preference]:
    """The largest preference of each learner that has one: it gives an answer where it is wrong more often
    than it misses it where it is right (exact McNemar test, Bonferroni over learners and keys)."""
    if table.key is None or (answers := _answers(table)) is None:
        return []
    names, keys = keys_apart(table), np.array(table.key, object)[table.sample]
    given, right = answers != "", answers == keys
    found = []
    for learner in range(table.n_learners):
        own = given & (table.learner == learner)
        wrong = own & ~right
        said = np.array([np.sum(wrong & (answers == name)) for name in names])
        missed = np.array([np.sum(wrong & (keys == name)) for name in names])
        p = mcnemar_p(missed, said)
        surely = (p < RATE / (table.n_learners * len(names))) & (said > missed)
        if surely.any():
            most = int(np.argmax(np.where(surely, said - missed, -1)))
            share = [float(np.mean(part[own] == names[most])) for part in (answers, keys)]
            found.append(Preference(learner, names[most], *share))
    return found


def _answers(table: ResponseTable) -> NDArray[np.object_] | None:
    """What each response answered, empty where it is not known; if wrong, of two keys the other one."""
    if table.answer is not None:
        return np.array(table.answer.fill_null("").to_list(), object)
    names = sorted(set(table.key or ()))
    if len(names) != 2 or not table.is_binary:
        return None
    first = (np.array(table.key, object)[table.sample] == names[0]) == (table.response == 1)
    return np.where(first, names[0], names[1]).astype(object)


def bias_notes(table: ResponseTable) -> list[str]:
    """What to say of abilities per skill where skills are labels and learners prefer answers."""
    found = preferences(table) if by_class(table) else []
    if not found:
        return []
    most = max(found, key=lambda one: (one.answers - one.keys, -one.learner))
    some = f"{len(found)} of {table.n_learners} learners {'prefers' if len(found) == 1 else 'prefer'}"
    name = quoted([table.learners[most.learner]])
    return [
        f"The skills are the labels, and {some} an answer, most of all {name}: "
        f"it answers {brief(most.key)} on {percent(round(most.answers, 2))} of the samples, of which "
        f"{percent(round(most.keys, 2))} have that label. Who prefers an answer is right where it is the "
        "label, so differences between these skills are response bias, not ability."
    ]
