"""Skills that are the labels: who prefers an answer is right there, and diagnose and check say so."""

from dataclasses import replace

import numpy as np

import camilla
from camilla.learners.response_bias import bias_notes, by_class, keys_apart, preferences
from camilla.samples.items import items
from camilla.table.responses import ResponseTable
from camilla.table.skills import SkillMap


def classifiers(lean: float, seed: int = 0, n: int = 20, m: int = 400) -> ResponseTable:
    """Classifiers that tell two classes apart equally well (d' = 1.5), not all as ready to say 1."""
    rng = np.random.default_rng(seed)
    truth = np.arange(m) % 2
    criterion = lean * rng.normal(size=n)
    says = (1.5 * (truth - 0.5) + criterion[:, None] + rng.normal(size=(n, m)) > 0).astype(int)
    predictions = {f"m{i:02}": row for i, row in enumerate(says)}
    table = ResponseTable.from_predictions(predictions, truth)
    return table.with_skills(SkillMap.from_labels(truth))


def test_a_preference_is_found_and_named_with_its_shares() -> None:
    """The shares are counted here. Without preferences at most 5 % of tables name a learner: four or more of
    20 tables would once in 60 times."""
    table = classifiers(0.8)
    (note,) = bias_notes(table)
    found = preferences(table)
    most = max(found, key=lambda one: one.answers - one.keys)
    long = table.to_long()
    answers = long.filter(learner=table.learners[most.learner])["answer"]
    assert most.answers == (answers == most.key).mean()
    assert f"{len(found)} of 20 learners prefer an answer" in note
    assert f"'{table.learners[most.learner]}': it answers {most.key} on" in note
    assert sum(bool(preferences(classifiers(0.0, seed))) for seed in range(20)) <= 3


def test_without_answers_two_keys_tell_them() -> None:
    table = classifiers(0.8)
    assert preferences(replace(table, answer=None)) == preferences(table)


def test_skills_of_several_keys_and_tables_without_a_key_are_let_be() -> None:
    table = classifiers(0.8)
    other = table.with_skills(SkillMap.from_labels(np.arange(400) // 7 % 2))
    assert not by_class(other)
    assert bias_notes(other) == []
    assert bias_notes(replace(table, key=None)) == []
    assert bias_notes(table.with_skills(None)) == []


def test_diagnose_and_check_say_it_by_the_decision_of_items() -> None:
    """items compares learners within the same keys."""
    table = classifiers(0.8)
    (note,) = bias_notes(table)
    assert note in camilla.diagnose(table, "vanilla").provenance["notes"]
    (finding,) = [one for one in camilla.check(table).findings if one.about == "skills by class"]
    assert finding.says == note.rstrip(".")
    assert finding.level == "warning"
    assert items(table).provenance["n_keys"] == len(keys_apart(table)) == 2
