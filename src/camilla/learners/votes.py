"""Ballots of learners: how committees vote, how one is chosen, and how it does on held-out samples."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla.arrays import Floats, Watch, rounded
from camilla.display import counted
from camilla.errors import DataError, SettingError
from camilla.table.cells import zero_or_one
from camilla.table.responses import ResponseTable

Indices = NDArray[np.int64]
VOTES = ("majority", "log-odds", "learned")
MEMBERS = ("greedy", "best")  # ways to find members: those that complement each other, those with most right
INNER_FOLDS = 5  # within the samples of a choice, to choose how members are found and votes are weighted
MOST_TRIED = 200  # learners that greedy looks at, the best on the samples of the choice
SOFT = 0.5  # votes for the right answer that every sample starts with: a greedy choice rests on logs of them
NEWTON_STEPS = 30
LONGEST_STEP = 2.0  # of a weight
SETTLED = 1e-6  # a step of weights below it ends the search
LEARNED_SPREAD = 2.0  # learned weights lie around those by log-odds by 1/2 of their mean (standard deviation)
LEAST_SCALE = 0.05  # of weights by log-odds, where members are no better than the samples' difficulty says
FEWEST_LEARNERS = 3  # from which a committee is chosen
SAME = 1e-9  # totals of votes that differ by less are a tie


class Ballots(NamedTuple):
    """What learners answered, numbered within each sample, and what every answer earns."""

    answer: NDArray[np.int32]  # [learners, samples], −1 where there is none
    credit: Floats  # [samples, answers], the response to an answer, in [0, 1]
    n_classes: int  # how many answers there are in all

    def take(self, samples: Indices) -> "Ballots":
        """The ballots on these samples."""
        return self._replace(answer=self.answer[:, samples], credit=self.credit[samples])

    def credits(self) -> Floats:
        """What each learner earns on each sample, NaN where it did not answer: [learners, samples]."""
        earned = self.credit[np.arange(len(self.credit)), self.answer]
        return np.where(self.answer >= 0, earned, np.nan)


class Pool(NamedTuple):
    """Learners and samples that can be voted on, and how."""

    learners: tuple[str, ...]
    samples: NDArray[np.int64]  # index into those of the table
    ballots: Ballots
    exact: bool
    notes: tuple[str, ...]


def pool_of(ordered: ResponseTable, *, two_answers: bool) -> Pool:
    """Answers as ballots; where none is known, right and wrong as the two answers of every sample."""
    said = ordered.short_answers()
    if said is None or said.null_count() == len(said):
        return _of_responses(ordered, two_answers=two_answers)
    if two_answers:
        raise SettingError(
            "two_answers (--two-answers) does nothing: the table contains the answers. Leave it out."
        )
    rows = pl.DataFrame({"learner": ordered.learner, "sample": ordered.sample, "response": ordered.response})
    rows = rows.with_columns(answer=said)
    known = rows.group_by("sample").agg(known=pl.col("answer").is_not_null().any())
    rows = rows.join(known, on="sample", maintain_order="left").filter("known")
    once = rows.unique(["learner", "sample"], keep="first", maintain_order=True)
    notes = []
    if once.height < rows.height:
        notes.append("if a learner has several trials on a sample, the first one votes.")
    if gone := ordered.n_samples - once["sample"].n_unique():
        notes.append(f"{counted(gone, 'sample')} without short answers cannot be voted on and are left out.")
    unsaid = pl.format("\0{}", "learner")  # an answer that nobody else gives
    n_classes = once["answer"].n_unique() - int(once["answer"].has_nulls())
    once = once.with_columns(pl.coalesce("answer", unsaid)).with_columns(
        code=pl.col("answer").rank("dense").over("sample").cast(pl.Int32) - 1
    )
    samples = np.unique(once["sample"].to_numpy()).astype(np.int64)
    where = np.searchsorted(samples, once["sample"].to_numpy())
    answer = np.full((ordered.n_learners, len(samples)), -1, np.int32)
    answer[once["learner"].to_numpy(), where] = once["code"].to_numpy()
    credit, odd = _credit(once, where, len(samples))
    if odd:
        notes.append(
            f"{counted(odd, 'answer')} scored differently for different learners count with their mean score."
        )
    return _of_active(ordered, samples, Ballots(answer, credit, max(n_classes, 2)), notes, exact=True)


def _credit(rows: pl.DataFrame, where: NDArray[np.integer], n_samples: int) -> tuple[Floats, int]:
    """The mean response to every answer [samples, answers], and how many answers have several."""
    code, response = rows["code"].to_numpy(), rows["response"].to_numpy()
    total, count = np.zeros((n_samples, code.max() + 1)), np.zeros((n_samples, code.max() + 1))
    np.add.at(total, (where, code), response)
    np.add.at(count, (where, code), 1)
    credit = total / np.maximum(count, 1)
    odd = np.zeros(credit.shape, bool)
    odd[where, code] |= np.abs(response - credit[where, code]) > 1e-9
    return credit, int(odd.sum())


def _of_responses(ordered: ResponseTable, *, two_answers: bool) -> Pool:
    matrix = ordered.matrix()
    if not (zero_or_one(matrix) | np.isnan(matrix)).all():
        raise DataError(
            "the table contains scores and no answers. A committee votes on answers: predicted classes, "
            "choices or short texts. Give them with answer=… (--answer COLUMN), or as "
            "ResponseTable.from_predictions."
        )
    samples = np.flatnonzero((~np.isnan(matrix)).any(axis=0))
    matrix = matrix[:, samples]
    answer = np.where(np.isnan(matrix), -1, matrix).astype(np.int32)
    ballots = Ballots(answer, np.tile([0.0, 1.0], (len(samples), 1)), 2)
    notes = []
    if not two_answers:
        notes.append(
            "answers are not known, only right and wrong. A committee counts as right where members with "
            "more than half of the votes are right. So its accuracy is a lower bound: members that are wrong "
            "in different ways would be outvoted. Where samples have two possible answers, two_answers=True "
            "(--two-answers) says that the figures are exact."
        )
    return _of_active(ordered, samples, ballots, notes, exact=two_answers)


def _of_active(
    ordered: ResponseTable, samples: NDArray[np.int64], ballots: Ballots, notes: list[str], *, exact: bool
) -> Pool:
    """The learners that answered at least half of the samples: others may have met easy ones alone."""
    share = (ballots.answer >= 0).mean(axis=1) if len(samples) else np.zeros(ordered.n_learners)
    active = np.flatnonzero(share >= 0.5)
    if len(active) < FEWEST_LEARNERS:
        raise DataError(
            f"{counted(len(active), 'learner')} answered at least half of the {len(samples)} samples; a "
            f"committee is chosen from {FEWEST_LEARNERS} at least."
        )
    if gone := ordered.n_learners - len(active):
        notes.append(
            f"{counted(gone, 'learner')} with answers to less than half of the samples are left out."
        )
    learners = tuple(ordered.learners[i] for i in active)
    return Pool(learners, samples, ballots._replace(answer=ballots.answer[active]), exact, tuple(notes))


class Choice(NamedTuple):
    """Members, the one that decides ties first, and the weight of each vote."""

    members: Indices
    weights: Floats


class Candidate(NamedTuple):
    """How members are found, and how their votes are weighted."""

    members: str
    vote: str


def candidates(votes: Sequence[str]) -> list[Candidate]:
    """What is tried at every size, the plainest first; weights are learned for greedy members alone."""
    return [
        Candidate(members, vote)
        for vote in votes
        for members in MEMBERS
        if vote != "learned" or members == "greedy"
    ]


def tally(ballots: Ballots, choice: Choice) -> Floats:
    """What the answer with the most votes earns on each sample; NaN where no member answered.

    A tie goes to the answer of the member that stands first among those that gave a tied answer.
    """
    n, width = ballots.credit.shape
    votes, first = np.zeros((n, width)), np.full((n, width), len(choice.members))
    for place in range(len(choice.members) - 1, -1, -1):
        said = ballots.answer[choice.members[place]]
        known = np.flatnonzero(said >= 0)
        votes[known, said[known]] += choice.weights[place]
        first[known, said[known]] = place
    votes[first == len(choice.members)] = -np.inf
    leading = votes >= votes.max(axis=1, keepdims=True) - SAME
    winner = np.argmin(np.where(leading, first, len(choice.members) + 1), axis=1)
    earned = ballots.credit[np.arange(n), winner]
    return np.where(np.isfinite(votes).any(axis=1), earned, np.nan)


def by_accuracy(credits: Floats) -> Indices:
    """Learners by mean credit on the samples they answered, equal ones in their order."""
    answered = ~np.isnan(credits)
    mean = np.where(answered, credits, 0).sum(axis=1) / np.maximum(answered.sum(axis=1), 1)
    return np.argsort(-rounded(mean), kind="stable")


def greedy(credits: Floats, order: Indices, most: int) -> Indices:
    """Members in the order they were taken, so that the first m are the committee of m.

    The best learner comes first. Then comes the one that adds most to Σ log(½ + votes for the right answer):
    a vote counts more where few members are right, and nothing is gained by being right with everybody.
    """
    tried = order[:MOST_TRIED]
    earned = np.nan_to_num(credits[tried])
    taken = [0]
    votes = earned[0] + SOFT
    while len(taken) < min(most, len(tried)):
        gain = rounded(np.log1p(earned / votes).sum(axis=1))
        gain[taken] = -np.inf
        taken.append(int(np.argmax(gain)))
        votes = votes + earned[taken[-1]]
    return tried[taken]


def weights_of(vote: str, ballots: Ballots, credits: Floats, members: Indices) -> Floats:
    """The weight of every member's vote, from these samples."""
    if vote == "majority":
        return np.ones(len(members))
    by_odds = log_odds(credits[members], ballots.n_classes)
    if vote == "log-odds":
        return by_odds
    return _learned(ballots, members, by_odds)


def log_odds(credits: Floats, n_classes: int) -> Floats:
    """log((C − 1) p / (1 − p)), p = (right + 1)/(answered + 2): the best weights of members that err
    independently and evenly over the C − 1 wrong answers. A member worse than chance has weight 0."""
    answered = (~np.isnan(credits)).sum(axis=1)
    p = (np.nansum(credits, axis=1) + 1) / (answered + 2)
    weights = np.maximum(np.log(max(n_classes - 1, 1)) + np.log(p / (1 - p)), 0.0)
    return weights if weights.any() else np.ones(len(credits))


def _learned(ballots: Ballots, members: Indices, by_odds: Floats) -> Floats:
    """Weights of the highest posterior when an answer is right in proportion to e^votes.

    The prior is normal around weights by log-odds, all of them times one number that is fitted first: members
    that err together earn less than their odds. Samples on which members agree or none is right say nothing.
    A weight below 0 becomes 0: no vote counts against its answer.
    """
    said = ballots.answer[members].T[:, None, :]  # [samples, 1, members]
    backed = said == np.arange(ballots.credit.shape[1])[:, None]
    there = backed.any(axis=2)
    right = there & (ballots.credit >= 0.5)
    telling = right.any(axis=1) & (there.sum(axis=1) > 1)
    x, there, right = backed[telling].astype(np.float64), there[telling], right[telling]
    if not telling.any():
        return by_odds
    target = right / right.sum(axis=1, keepdims=True)
    scale = _mode(x @ by_odds[:, None], there, target, np.ones(1), 1.0)
    prior = max(float(scale[0]), LEAST_SCALE) * by_odds
    weights = np.maximum(_mode(x, there, target, prior, (prior.mean() / LEARNED_SPREAD) ** -2), 0.0)
    return weights if weights.any() else by_odds


def _mode(x: Floats, there: Floats, target: Floats, prior: Floats, precision: float) -> Floats:
    """The weights w that maximise Σ target · log softmax(x w) − precision/2 |w − prior|², by Newton's method.

    `x` is [samples, answers, weights]; `there` says which answers a sample has. A step that leads downhill is
    halved: whole steps can go to and fro for ever.
    """

    def log_p(w: Floats) -> tuple[Floats, float]:
        logit = np.where(there, x @ w, -np.inf)
        logit -= logit.max(axis=1, keepdims=True)
        logs = logit - np.log(np.exp(logit).sum(axis=1, keepdims=True))
        height = np.where(there, target * np.where(there, logs, 0.0), 0.0).sum()
        return logs, float(height - precision / 2 * ((w - prior) ** 2).sum())

    weights = prior.copy()
    flat = x.reshape(-1, x.shape[2])
    logs, height = log_p(weights)
    for _ in range(NEWTON_STEPS):
        p = np.exp(logs)
        mean = np.einsum("sa,sam->sm", p, x)
        slope = np.einsum("sa,sam->m", target - p, x) - precision * (weights - prior)
        curvature = (flat * p.reshape(-1, 1)).T @ flat - mean.T @ mean + precision * np.eye(len(weights))
        step = np.linalg.solve(curvature, slope)
        step = step * min(1.0, LONGEST_STEP / max(float(np.abs(step).max()), SAME))
        while (ahead := log_p(weights + step))[1] < height and np.abs(step).max() >= SETTLED:
            step = step / 2
        weights, (logs, height) = weights + step, ahead
        if np.abs(step).max() < SETTLED:
            break
    return weights


class Committees(NamedTuple):
    """The committees that some samples lead to: of every candidate and size."""

    choices: dict[tuple[Candidate, int], Choice]
    best: int  # the best single learner


def committees_on(ballots: Ballots, sizes: Sequence[int], tried: Sequence[Candidate]) -> Committees:
    """What these samples choose."""
    credits = ballots.credits()
    order = by_accuracy(credits)
    members = {"best": order, "greedy": greedy(credits, order, max(sizes))}
    choices = {}
    for candidate in tried:
        for size in sizes:
            taken = members[candidate.members][:size]
            weights = weights_of(candidate.vote, ballots, credits, taken)
            choices[candidate, size] = Choice(taken, weights)
    return Committees(choices, int(order[0]))


def dealt(units: NDArray[np.integer], folds: int, rng: np.random.Generator) -> Indices:
    """The fold of every sample; samples of one unit are in one fold."""
    return (rng.permutation(int(units.max()) + 1) % folds)[units].astype(np.int64)


class Picked(NamedTuple):
    """How the committee of each size is to be found, and the size to take, by cross-fitting."""

    by_size: dict[int, Candidate]
    size: int


def pick(
    ballots: Ballots, units: NDArray[np.integer], sizes: Sequence[int], tried: Sequence[Candidate],
    rng: np.random.Generator,
) -> Picked:  # fmt: skip
    """The candidate of each size, and the size, with the highest mean credit on held-out folds within these.

    Of equals the first is taken: the smallest committee, and majority before weights.
    """
    _, units = np.unique(units, return_inverse=True)
    fold = dealt(units, INNER_FOLDS, rng)
    total = dict.fromkeys([(one, size) for size in sizes for one in tried], 0.0)
    for number in range(INNER_FOLDS):
        inside, outside = np.flatnonzero(fold == number), np.flatnonzero(fold != number)
        if len(inside) == 0 or len(outside) == 0:
            continue
        found, held_out = committees_on(ballots.take(outside), sizes, tried), ballots.take(inside)
        for key, choice in found.choices.items():
            total[key] += float(np.nansum(tally(held_out, choice)))
    by_size = {size: max(tried, key=lambda one: round(total[one, size], 6)) for size in sizes}
    return Picked(by_size, max(sizes, key=lambda size: round(total[by_size[size], size], 6)))


class Chosen(NamedTuple):
    """What some samples chose."""

    picked: Picked
    choices: dict[int, Choice]  # by size
    best: int  # the best single learner


class Crossfit(NamedTuple):
    """What each way earns on every sample, chosen on the half without the sample: [splits, samples]."""

    single: Floats
    chosen: Floats
    by_size: dict[int, Floats]
    everybody: Floats  # a majority of all learners, which nothing is chosen for: [samples]
    halves: list[Chosen]  # two per split


def crossfit(
    ballots: Ballots, units: NDArray[np.integer], sizes: Sequence[int], votes: Sequence[str], *,
    splits: int, seed: int, watch: Watch,
) -> Crossfit:  # fmt: skip
    """Samples are split into halves, again and again; each half is voted on by what the other half chose.

    Halves, and not ten folds: with more folds the choices of all of them rest on nearly the same samples, and
    the held-out results of a choice among equals depend on each other.
    """
    tried, shape = candidates(votes), (splits, len(ballots.credit))
    credits = ballots.credits()
    everybody = tally(ballots, Choice(np.arange(len(credits)), np.ones(len(credits))))
    by_size = {size: np.full(shape, np.nan) for size in sizes}
    out = Crossfit(np.full(shape, np.nan), np.full(shape, np.nan), by_size, everybody, [])
    for split in range(splits):
        watch(f"split {split + 1} of {splits}")
        rng = np.random.default_rng([seed, split])
        half = dealt(units, 2, rng)
        for number in range(2):
            inside, outside = np.flatnonzero(half == number), np.flatnonzero(half != number)
            chosen = choose(ballots.take(outside), units[outside], sizes, tried, rng)
            out.halves.append(chosen)
            for size, choice in chosen.choices.items():
                by_size[size][split, inside] = tally(ballots.take(inside), choice)
            out.chosen[split, inside] = by_size[chosen.picked.size][split, inside]
            out.single[split, inside] = credits[chosen.best, inside]
    return out


def choose(
    ballots: Ballots, units: NDArray[np.integer], sizes: Sequence[int], tried: Sequence[Candidate],
    rng: np.random.Generator,
) -> Chosen:  # fmt: skip
    """The committee of every size that these samples choose, and the size."""
    picked = pick(ballots, units, sizes, tried, rng)
    found = committees_on(ballots, sizes, tried)
    return Chosen(picked, {size: found.choices[picked.by_size[size], size] for size in sizes}, found.best)


class ErrorPair(NamedTuple):
    """How two learners err together."""

    n: int  # samples that both answered
    correlation: float  # of being wrong; NaN where one never or always is
    both_wrong: int
    by_chance: float  # both wrong, if they erred independently
    same: int  # both wrong with the same answer
    same_by_chance: float  # with the same answer, if they erred like two others that are wrong on the sample


def err_together(ballots: Ballots, a: int, b: int) -> ErrorPair:
    """Errors that two learners share, beside what would be expected of others."""
    credits = ballots.credits()
    shared = ~np.isnan(credits[a]) & ~np.isnan(credits[b])
    wrong_a, wrong_b = (credits[one, shared] < 0.5 for one in (a, b))
    both = np.flatnonzero(shared)[wrong_a & wrong_b]
    spread = wrong_a.std() * wrong_b.std()
    covariance = np.mean(wrong_a & wrong_b) - wrong_a.mean() * wrong_b.mean()
    return ErrorPair(
        int(shared.sum()),
        float(covariance / spread) if spread > 0 else float("nan"),
        len(both),
        float(shared.sum() * wrong_a.mean() * wrong_b.mean()) if shared.any() else 0.0,
        int(np.sum(ballots.answer[a, both] == ballots.answer[b, both])),
        float(_agreement(ballots.take(both)).sum()),
    )


def _agreement(ballots: Ballots) -> Floats:
    """How probably two learners that are wrong on a sample give the same answer there."""
    n, width = ballots.credit.shape
    counts = np.zeros((n, width))
    for said in ballots.answer:
        known = np.flatnonzero(said >= 0)
        counts[known, said[known]] += 1
    counts[ballots.credit >= 0.5] = 0
    wrong = counts.sum(axis=1)
    pairs = np.maximum(wrong * (wrong - 1), 1)
    return np.asarray((counts * (counts - 1)).sum(axis=1) / pairs)
