"""The 22 metrics against worked cases, scikit-learn and SciPy."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics as truth

from camilla.classifiers.metrics import METRICS, classifier_metrics
from camilla.errors import DataError, SettingError


@pytest.fixture(scope="module")
def cases(data_folder: Path) -> dict:
    return json.loads((data_folder.parent / "expected/metric_cases.json").read_text())


def test_the_22_metrics_stand_in_the_published_order(cases: dict) -> None:
    assert list(METRICS) == cases["metrics"]


@pytest.mark.parametrize(
    ("rule", "key"), [("discrete", "expected"), ("interpolated", "expected_interpolated")]
)
def test_worked_cases(cases: dict, rule: str, key: str) -> None:
    """Exact fractions and pair loops made the expected values; 1e-9 is the tolerance they come with."""
    assert len(cases["cases"]) == 13
    for case in cases["cases"]:
        found = classifier_metrics(case["y_true"], case["scores"], rule=rule)
        for name, value in case[key].items():
            assert found[name][0] == pytest.approx(value, abs=1e-9), (case["name"], name)
        one_sided = classifier_metrics(case["y_true"], case["scores"], rule=rule, ks="one_sided")
        assert one_sided["KS"][0] == pytest.approx(case["ks_one_sided"], abs=1e-9)


def test_worked_errors(cases: dict) -> None:
    assert len(cases["errors"]) == 3
    for case in cases["errors"]:
        with pytest.raises(DataError):
            classifier_metrics(case["y_true"], [float(score) for score in case["scores"]])


@settings(max_examples=30)
@given(st.integers(0, 100_000), st.integers(3, 50), st.booleans())
def test_scikit_learn_and_scipy_agree(seed: int, n: int, ties: bool) -> None:
    """Both sides are double precision over at most 50 samples: 1e-12 is a thousand roundings."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    y[:2] = 0, 1
    scores = rng.integers(-2, 3, n).astype(float) if ties else rng.normal(size=n)
    found = classifier_metrics(y, scores, rule="discrete").row(0, named=True)
    tau = stats.kendalltau(scores, y).statistic if len(set(scores)) > 1 else 0.0
    wanted = {
        "AUC": truth.roc_auc_score(y, scores),
        "PRAUC1": truth.average_precision_score(y, scores),
        "PRAUC0": truth.average_precision_score(1 - y, -scores),
        "KS": stats.ks_2samp(scores[y == 1], scores[y == 0]).statistic,
        "KTAU": (tau + 1) / 2,
    }
    label = scores >= slow_threshold(y, scores)
    wanted |= {
        "ACC": truth.accuracy_score(y, label),
        "PR0": truth.precision_score(y, label, pos_label=0, zero_division=0),
        "REC1": truth.recall_score(y, label),
        "BA": truth.balanced_accuracy_score(y, label),
        "FS1": truth.f1_score(y, label, zero_division=0),
        "AVGFS": truth.f1_score(y, label, average="macro", zero_division=0),
        "MCC": (truth.matthews_corrcoef(y, label) + 1) / 2,
        "JAC": truth.jaccard_score(y, label, average="micro"),
        "KAPPA": (truth.cohen_kappa_score(y, label) + 1) / 2,
    }
    assert {name: found[name] for name in wanted} == pytest.approx(wanted, abs=1e-12)


def slow_threshold(y: np.ndarray, scores: np.ndarray) -> float:
    """Every threshold tried: least |TP·N₀ − TN·N₁|, then most TPR + TNR, then the highest."""
    ones, zeros = int(y.sum()), int((1 - y).sum())
    keys = []
    for threshold in [np.inf, *np.unique(scores)]:
        tp = int(np.sum((scores >= threshold) & (y == 1)))
        tn = int(np.sum((scores < threshold) & (y == 0)))
        keys.append((-abs(tp * zeros - tn * ones), tp * zeros + tn * ones, threshold))
    return max(keys)[2]


@given(st.integers(0, 100_000), st.integers(2, 40))
def test_at_the_interpolated_point_both_recalls_accuracy_and_balance_are_one_number(
    seed: int, n: int
) -> None:
    """TPR = TNR = r makes ACC = πr + (1 − π)r = r; a few roundings of numbers near 1."""
    rng = np.random.default_rng(seed)
    y = np.append([0, 1], rng.integers(0, 2, n))
    found = classifier_metrics(y, rng.integers(0, 6, n + 2).astype(float)).row(0, named=True)
    assert [found[name] for name in ("REC1", "BA", "ACC")] == pytest.approx([found["REC0"]] * 3, abs=1e-12)


def test_many_columns_are_many_single_ones_and_only_the_order_of_scores_counts() -> None:
    """7 columns of 300,000 scores are worked on in blocks of three; e^s has the order of s."""
    rng = np.random.default_rng(3)
    y = (rng.random(300_000) < 0.3).astype(int)
    scores = rng.normal(size=(300_000, 7)) + y[:, None]
    together = classifier_metrics(y, {f"c{i}": np.exp(scores[:, i]) for i in range(7)})
    assert together["learner"].to_list() == [f"c{i}" for i in range(7)]
    alone = pl.concat([classifier_metrics(y, scores[:, i]) for i in (0, 4)])
    assert together[[0, 4]].drop("learner").equals(alone.drop("learner"))


@pytest.mark.parametrize(
    ("y", "scores", "said"),
    [
        ([1, 1], [0.1, 0.2], "both classes"),
        ([0, 1, 2], [0.1, 0.2, 0.3], "sample 2 has 2"),
        (["cat", "dog"], [0.1, 0.2], "0 and 1"),
        ([0, 1], {"svm": [0.1, float("inf")]}, "'svm' has inf for sample 1"),
        ([0, 1], {"svm": [0.1, 0.2], "tree": [0.1, 0.2, 0.3]}, "'svm' has 2, 'tree' 3"),
        ([0, 1, 1], [0.1, 0.2], "3 samples"),
        ([0, 1], {"svm": ["a", "b"]}, "numbers"),
        ([], [], "both classes"),
    ],
)
def test_bad_input_is_said(y: list, scores: object, said: str) -> None:
    with pytest.raises(DataError, match=said):
        classifier_metrics(y, scores)


def test_an_unknown_rule_is_said() -> None:
    with pytest.raises(SettingError, match="interpolated or discrete"):
        classifier_metrics([0, 1], [0.1, 0.2], rule="best")  # type: ignore[arg-type]
