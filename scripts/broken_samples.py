"""How well `items` finds broken samples, measured where somebody else knows which are broken.

    CAMILLA_DATA=… python scripts/broken_samples.py [redux judged votes planted worlds sound coins]

redux: MMLU-Redux, experts' labels of 3,000 questions, ten models' answers. The fifteen subjects that come
first in the file are for tuning, the others for judging. judged: experts' labels are revealed in the order
asked for, 100 in all, in tables whose subjects are drawn with replacement. votes: five people's votes on
labels of CIFAR-100. planted: 3 % of the labels of scikit-learn's data changed before 25 classifiers are
cross-validated on them. worlds: simulated tables with 2 % wrong keys. sound: the same without any. coins: 2 %
of the samples are coin tosses. Each part prints rows of a Markdown table.
"""

import ast
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

import camilla
from camilla.samples.sample_quality import SampleQuality
from camilla.samples.verdicts import recalibrated
from logs_tables import data_file

NOT_AN_ERROR = ("ok", "expert")  # "expert": the labellers could not say
OPTIONS = 4
SAMPLES, WRONG = 500, 0.02  # of a world
ACCUSED = "doubtful|negative|noisy|twin"

Marks = NDArray[np.bool_]
Scores = NDArray[np.float64]


def auc(score: Scores, true: Marks) -> float:
    """The chance that a true one has a higher score than another, ties counting half."""
    ranks, n = rankdata(score), int(true.sum())
    return float((ranks[true].sum() - n * (n + 1) / 2) / (n * (~true).sum()))


def precision(score: Scores, true: Marks, first: int) -> float:
    """The share of true ones among the first, expected over orders of ties."""
    last = np.sort(score)[::-1][first - 1]
    above, level = score > last, score == last
    return float((true[above].sum() + (first - above.sum()) * true[level].mean()) / first)


def listed(found: SampleQuality, samples: Sequence[str]) -> Scores:
    """What the list of `items` is ordered by; samples with equal evidence stand there by their names."""
    evidence = dict(found.samples.select("sample", pl.col("evidence").round(6)).iter_rows())
    return np.array([evidence[name] for name in samples])


def votes_against(answers: NDArray[Any], key: NDArray[Any]) -> Scores:
    """Votes for the most frequent other answer minus votes for the key; answers are [learners, samples]."""
    scores = np.empty(answers.shape[1])
    for j, column in enumerate(answers.T):
        options, counts = np.unique(column, return_counts=True)
        other = options != key[j]
        scores[j] = counts[other].max(initial=0) - counts[~other].sum()
    return scores


class Redux(NamedTuple):
    """The table, and what experts say of its samples."""

    table: camilla.ResponseTable
    frame: pl.DataFrame
    error: Marks
    wrong_key: Marks
    six_lines: Scores


def redux(part: slice = slice(None), *, answers: bool = True) -> Redux:
    frame = pl.read_parquet(data_file("mmlu_redux/mmlu_redux_10models.parquet"))[part]
    options = [ast.literal_eval(text) for text in frame["choices"]]
    frame = frame.with_columns(choices=pl.Series(options, dtype=pl.List(pl.String)))
    models = frame.columns[6:]
    kind = frame["error_type"].to_numpy()
    long = frame.unpivot(
        models,
        index=["sample", "subject", "question", "choices", "gold"],
        variable_name="learner",
        value_name="answer",
    ).with_columns(response=(pl.col("answer") == pl.col("gold")).cast(pl.Int8))
    if not answers:
        long = long.drop("answer", "gold", "question", "choices")
    wanted: dict[str, Any] = (
        {"key": "gold", "answer": "answer", "prompt": "question", "choices": "choices"} if answers else {}
    )
    table = camilla.read(long, task="subject", **wanted)
    against = votes_against(frame.select(models).to_numpy().T, frame["gold"].to_numpy())
    return Redux(table, frame, ~np.isin(kind, NOT_AN_ERROR), kind == "wrong_groundtruth", against)


def redux_rows() -> Iterator[str]:
    halves = {"tune": slice(0, 1500), "judge": slice(1500, 3000), "all": slice(None)}
    for name, half in halves.items():
        for answers in (True, False):
            part = redux(half, answers=answers)
            samples = part.frame["sample"].to_list()
            ways = {
                "items" if answers else "items, right/wrong only": listed(camilla.items(part.table), samples)
            }
            if answers:
                ways["six lines"] = part.six_lines
            else:
                ways["share of learners that are wrong"] = -part.table.sample_means().mean
            for way, score in ways.items():
                yield (
                    f"| {name} | {way} | {auc(score, part.wrong_key):.3f} | {auc(score, part.error):.3f} | "
                    f"{precision(score, part.error, 50):.2f} | {precision(score, part.error, 100):.2f} |"
                )


def judged_rows(runs: int = 100) -> Iterator[str]:
    for name, half in (("tune", slice(0, 1500)), ("judge", slice(1500, 3000))):
        part = redux(half)
        evidence = listed(camilla.items(part.table), part.frame["sample"].to_list())
        subject = part.frame["subject"].to_numpy()
        names = np.unique(subject)
        shares, covered, next_covered, widths = [], [], [], []
        for run in range(runs + 1):  # the first with every subject once
            rng = np.random.default_rng(run)
            drawn = rng.choice(names, len(names)) if run else names
            rows = np.concatenate([np.flatnonzero(subject == one) for one in drawn])
            group = np.repeat(np.arange(len(drawn)), 100)[:, None] == np.arange(len(drawn))
            error, verdict = part.error[rows], np.full(len(rows), np.nan)
            first = np.argsort(-evidence[rows], kind="stable")[:25]
            verdict[first] = error[first]
            for _ in range(3):
                asked = recalibrated(evidence[rows], group, verdict, seed=run).to_judge
                some = np.concatenate([asked[:20], rng.permutation(asked[40:])[:5]])
                verdict[some] = error[some]
            found = recalibrated(evidence[rows], group, verdict, seed=run)
            share = float(error[found.following].mean())
            if not run:
                said = f"{found.next_share:.2f} ({found.next_low:.2f} to {found.next_high:.2f})"
                number = f"{found.broken:.0f} said ({found.broken_low:.0f} to {found.broken_high:.0f})"
                told = f"{said} | {error.sum()} broken, {number}"
                yield f"| {name} | each subject once | {share:.2f} | {told} |"
                continue
            shares.append(share)
            covered.append(found.broken_low <= error.sum() <= found.broken_high)
            next_covered.append(found.next_low <= share <= found.next_high)
            widths.append(found.broken_high - found.broken_low)
        held = f"holds the number in {np.mean(covered):.2f}, width {np.median(widths):.0f}"
        yield (
            f"| {name} | subjects drawn, {runs} runs | {np.mean(shares):.2f} | holds the share in "
            f"{np.mean(next_covered):.2f} | {held} |"
        )


def votes_rows() -> Iterator[str]:
    frame = pl.read_parquet(data_file("cifar100_labels/test_label_votes.parquet"))
    error = {str(index + 1): given < 3 for index, given in frame.select("index", "given").rows()}
    table = camilla.read(data_file("camilla_responses/cifar100_test_42x10000.parquet"), rows="samples")
    order = camilla.items(table).samples["sample"].to_list()
    judged = [error[name] for name in order if name in error]
    for first in (50, 100):
        seen = [error[name] for name in order[:first] if name in error]
        yield (
            f"| CIFAR-100 | first {first} | {np.mean(seen):.2f} ({sum(seen)} of {len(seen)}) | "
            f"{np.mean(judged[:first]):.2f} |"
        )


SEEDED = {"random_state": 0}
CLASSIFIERS: dict[str, Any] = {
    "knn 1": KNeighborsClassifier(1), "knn 3": KNeighborsClassifier(3), "knn 5": KNeighborsClassifier(5),
    "knn 15": KNeighborsClassifier(15), "centroid": NearestCentroid(),
    "logistic .01": LogisticRegression(C=0.01, max_iter=500), "logistic 1": LogisticRegression(max_iter=500),
    "logistic 100": LogisticRegression(C=100, max_iter=500), "ridge": RidgeClassifier(),
    "sgd": SGDClassifier(**SEEDED), "perceptron": Perceptron(**SEEDED),
    "lda": LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1),
    "qda": QuadraticDiscriminantAnalysis(reg_param=0.1), "gaussian": GaussianNB(var_smoothing=1e-2),
    "bernoulli": BernoulliNB(), "tree": DecisionTreeClassifier(**SEEDED),
    "tree 4": DecisionTreeClassifier(max_depth=4, **SEEDED), "extra tree": ExtraTreeClassifier(**SEEDED),
    "forest": RandomForestClassifier(100, **SEEDED), "extra trees": ExtraTreesClassifier(100, **SEEDED),
    "adaboost": AdaBoostClassifier(n_estimators=30, **SEEDED),
    "bagging": BaggingClassifier(n_estimators=20, **SEEDED), "svm linear": SVC(kernel="linear"),
    "svm rbf": SVC(), "mlp": MLPClassifier((32,), max_iter=200, **SEEDED),
}  # fmt: skip


class Planted(NamedTuple):
    """Predictions of classifiers trained and scored with labels of which some were changed."""

    predictions: dict[str, NDArray[np.int64]]
    labels: NDArray[np.int64]
    changed: Marks


def planted(load: Callable[..., Any], seed: int) -> Planted:
    """3 % of the labels changed to another class at random, then every classifier is cross-validated."""
    features, labels = load(return_X_y=True)
    rng = np.random.default_rng(seed)
    changed = np.zeros(len(labels), bool)
    changed[rng.permutation(len(labels))[: round(0.03 * len(labels))]] = True
    given, classes = labels.copy(), labels.max() + 1
    given[changed] = (labels[changed] + rng.integers(1, classes, changed.sum())) % classes
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    guesses = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, classifier in CLASSIFIERS.items():
            scaled = make_pipeline(StandardScaler(), clone(classifier))
            guesses[name] = cross_val_predict(scaled, features, given, cv=folds)
    return Planted(guesses, given, changed)


def planted_rows(draws: int = 3) -> Iterator[str]:
    for name, load in (("digits", load_digits), ("breast cancer", load_breast_cancer), ("wine", load_wine)):
        found: dict[str, list[float]] = {}
        named = []
        for seed in range(draws if name == "digits" else 2 * draws):
            part = planted(load, seed)
            table = camilla.ResponseTable.from_predictions(part.predictions, part.labels)
            quality = camilla.items(table)
            answers = np.array(list(part.predictions.values()))
            ways = {
                "items": listed(quality, table.samples),
                "share of classifiers that are wrong": (answers != part.labels).mean(axis=0),
                "six lines": votes_against(answers, part.labels),
            }
            for way, score in ways.items():
                first = int(part.changed.sum())
                found.setdefault(way, []).append(precision(score, part.changed, first))
            flagged = set(quality.samples.filter(pl.col("flags").str.contains(ACCUSED))["sample"])
            truth = {table.samples[j] for j in np.flatnonzero(part.changed)}
            named.append((len(flagged), len(flagged & truth), len(truth)))
        for way, shares in found.items():
            yield f"| {name} | {way} | {np.mean(shares):.2f} |"
        flags, hits, all_of = np.sum(named, axis=0)
        yield f"| {name} | flagged: {flags} samples, {hits} of {all_of} changed ones | |"


class World(NamedTuple):
    """Answers [learners, samples], the keys, and which of these are wrong."""

    answers: NDArray[np.int64]
    key: NDArray[np.int64]
    wrong: Marks

    def table(self, *, answers: bool) -> camilla.ResponseTable:
        if answers:
            named = {f"learner {i:03d}": row for i, row in enumerate(self.answers)}
            return camilla.ResponseTable.from_predictions(named, self.key, classes=range(OPTIONS))
        return camilla.ResponseTable.from_matrix((self.answers == self.key).astype(float))


WORLDS = ("2pl", "3pl", "two dimensions", "families")


def world(kind: str, seed: int, n_learners: int, wrong: float) -> World:
    """A learner that does not know the answer names a wrong option, some being more attractive than others.

    Abilities N(0, 1), slopes log-normal around 1.2, difficulties N(−.5, 1). 3pl: one that does not know
    guesses among all options. Two dimensions: half of the samples each, abilities correlated by .5. Families:
    eight, with an effect of each on every sample of standard deviation 1.
    """
    rng = np.random.default_rng(seed)
    ability = rng.normal(size=(n_learners, 1))
    a, b = rng.lognormal(0.2, 0.3, SAMPLES), rng.normal(-0.5, 1, SAMPLES)
    level = ability.repeat(SAMPLES, axis=1)
    if kind == "two dimensions":
        other = 0.5 * ability + np.sqrt(0.75) * rng.normal(size=ability.shape)
        level[:, 1::2] = other
    logit = a * (level - b)
    if kind == "families":
        logit += rng.normal(size=(8, SAMPLES))[rng.integers(0, 8, n_learners)]
    knows = rng.random(logit.shape) < 1 / (1 + np.exp(-logit))
    appeal = rng.dirichlet(np.ones(OPTIONS - 1), SAMPLES).cumsum(axis=1)  # of the wrong options 1, 2, 3
    picked = 1 + (rng.random((n_learners, SAMPLES, 1)) > appeal[None, :, :-1]).sum(axis=2)
    if kind == "3pl":
        picked = np.where(rng.random(picked.shape) < 1 / OPTIONS, 0, picked)
    answers = np.where(knows, 0, picked)
    is_wrong = np.zeros(SAMPLES, bool)
    is_wrong[rng.permutation(SAMPLES)[: round(wrong * SAMPLES)]] = True
    key = np.where(is_wrong, rng.integers(1, OPTIONS, SAMPLES), 0)
    return World(answers, key, is_wrong)


def worlds_rows(draws: int = 10) -> Iterator[str]:
    for kind in WORLDS:
        for n in (30, 100):
            for answers in (True, False):
                found: dict[str, list[float]] = {"items": [], "simple": []}
                hits = []
                for seed in range(draws):
                    one = world(kind, seed, n, WRONG)
                    table, first = one.table(answers=answers), int(one.wrong.sum())
                    quality = camilla.items(table)
                    accused = quality.samples.filter(pl.col("flags").str.contains(ACCUSED))["sample"]
                    marks = np.isin(table.samples, accused.to_list())
                    hits.append([marks.sum(), (marks & one.wrong).sum()])
                    simple = votes_against(one.answers, one.key) if answers else -table.sample_means().mean
                    for way, score in (("items", listed(quality, table.samples)), ("simple", simple)):
                        found[way].append(precision(score, one.wrong, first))
                flags, right = np.mean(hits, axis=0)
                known = "answers" if answers else "right/wrong"
                shares = " | ".join(f"{np.mean(part):.2f}" for part in found.values())
                yield f"| {kind} | {n} | {known} | {shares} | {flags:.1f} | {right:.1f} of {first} |"


def sound_rows(draws: int = 50) -> Iterator[str]:
    """False accusations per 1,000 samples."""
    for kind in WORLDS:
        for n in (30, 100):
            for answers in (True, False):
                accused: dict[str, int] = dict.fromkeys(ACCUSED.split("|"), 0)
                for seed in range(draws if n == 30 else max(draws // 5, 1)):
                    flags = camilla.items(world(kind, 1000 + seed, n, 0).table(answers=answers)).samples[
                        "flags"
                    ]
                    for flag in accused:
                        accused[flag] += int(flags.str.contains(flag).sum())
                tables = draws if n == 30 else max(draws // 5, 1)
                rates = ", ".join(
                    f"{1000 * c / (tables * SAMPLES):.2f} {flag}" for flag, c in accused.items()
                )
                yield f"| {kind} | {n} | {'answers' if answers else 'right/wrong'} | {tables} | {rates} |"


def coins_rows(draws: int = 10) -> Iterator[str]:
    """2 % of the samples are tosses of a coin, the others those of a 2PL."""
    for n, tables in ((100, draws), (400, max(draws // 3, 1))):
        found = false = 0
        for seed in range(tables):
            one = world("2pl", 2000 + seed, n, 0)
            matrix = (one.answers == 0).astype(float)
            rng = np.random.default_rng(seed)
            tossed = rng.permutation(SAMPLES)[: round(WRONG * SAMPLES)]
            matrix[:, tossed] = rng.random((n, len(tossed))) < 0.5
            table = camilla.ResponseTable.from_matrix(matrix)
            flags = camilla.items(table).samples
            noisy = set(flags.filter(pl.col("flags").str.contains("noisy"))["sample"])
            truth = {table.samples[j] for j in tossed}
            found, false = found + len(noisy & truth), false + len(noisy - truth)
        n_tossed = round(WRONG * SAMPLES)
        sound = tables * (SAMPLES - n_tossed)
        yield f"| {n} | {tables} | {found / (tables * n_tossed):.2f} | {1000 * false / sound:.2f} |"


PARTS: dict[str, tuple[str, Callable[[], Iterator[str]]]] = {
    "redux": (
        "| part | list | AUC, wrong keys | AUC, any error | errors in the first 50 | in the first 100 |",
        redux_rows,
    ),
    "judged": (
        "| half | subjects | errors in the next 50 after 100 judged | said of them | said of the table |",
        judged_rows,
    ),
    "votes": ("| table | listed | errors among those judged | of the first judged |", votes_rows),
    "planted": ("| data | list | precision in the first k |", planted_rows),
    "worlds": (
        "| world | learners | known | R-precision | six lines, or share wrong | flagged | of these wrong |",
        worlds_rows,
    ),
    "sound": ("| world | learners | known | tables | flagged per 1,000 sound samples |", sound_rows),
    "coins": ("| learners | tables | tosses found | false per 1,000 |", coins_rows),
}


def main() -> None:
    for part in sys.argv[1:] or PARTS:
        head, rows = PARTS[part]
        print(f"\n{head}\n{'|---' * (head.count('|') - 1)}|")
        for row in rows():
            print(row, flush=True)


if __name__ == "__main__":
    main()
