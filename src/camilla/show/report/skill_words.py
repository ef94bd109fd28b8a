"""Statements about two learners and about skills: paired counts, gaps by skill, uneven profiles."""

import numpy as np
from numpy.typing import NDArray

from camilla.show.report.diagnosed import Diagnosed
from camilla.show.report.statements import Draft, SentencePart, Statement, p_text, percent, points, three
from camilla.statistics.intervals import LEVEL
from camilla.statistics.multiplicity import holm
from camilla.statistics.paired import PairedResponses, estimate, paired_test
from camilla.statistics.wald import two_sided_p

LIKE_THESE = "samples like these: the samples are treated as a random draw"
ONE_PAIR = "none: it is a test of one pair, and each sample counts as independent of the others"


def _shared(of: Diagnosed, a: int, b: int, samples: NDArray[np.integer] | None = None) -> PairedResponses:
    """Two learners on the samples both answered; b less a as everywhere."""
    one, other = of.responses[a], of.responses[b]
    both = np.isfinite(one) & np.isfinite(other)
    if samples is not None:
        inside = np.zeros(len(both), bool)
        inside[samples] = True
        both &= inside
    rows = np.flatnonzero(both)
    return PairedResponses(rows, one[rows], other[rows], np.full(len(rows), np.nan), None, 0, 0)


def pair_counts(of: Diagnosed, a: int, b: int) -> Statement | None:
    """The paired counts behind who is ahead."""
    pair = _shared(of, b, a)  # first less second
    if len(pair.a) == 0:
        return None
    draft = Draft("pair", estimand=f"difference of the two on {LIKE_THESE}", correction=ONE_PAIR)
    draft.names |= {"first": of.learners[a], "second": of.learners[b]}
    return _paired_words(draft, pair, {"learner": a}, {"learner": b}).done()


def _paired_words(draft: Draft, pair: PairedResponses, first: SentencePart, second: SentencePart) -> Draft:
    found, test = estimate(pair, LEVEL), paired_test(pair)
    if pair.is_binary:
        won, lost = int((pair.difference > 0).sum()), int((pair.difference < 0).sum())
        draft.count("won", won).say(" : ").count("lost", lost).say(" on ").count("shared", found.n)
        draft.say(" shared samples: ", first, " alone solved ", f"{won:,}, ", second, f" alone {lost:,}")
    else:
        draft.say("Mean responses of ").number("mean_first", found.mean_b, three(found.mean_b)).say(
            " (", first, ") and "
        )
        draft.number("mean_second", found.mean_a, three(found.mean_a)).say(" (", second, ") on ")
        draft.count("shared", found.n).say(" shared samples")
    draft.say("; difference ").interval("difference", found.difference, found.low, found.high, points)
    draft.say(" points, ").number("p", test.p_value, p_text(test.p_value))
    return draft.say(f" ({test.method}).")


def separates(of: Diagnosed) -> list[Statement]:
    """On which skill the leader differs from the first learner outside its tie, by counting."""
    if of.standing is None or of.mask is None or len(of.skills) < 2 or len(of.learners) < 2:
        return []
    tied = len(of.standing.with_first)
    outside = [i for i in range(1, len(of.learners)) if i not in of.standing.with_first]
    other = outside[0] if outside else 1
    pairs = [_shared(of, other, 0, np.flatnonzero(of.mask[:, k])) for k in range(len(of.skills))]
    tried = [k for k, pair in enumerate(pairs) if len(pair.a)]
    if not tried:
        return []
    p = np.array([paired_test(pairs[k]).p_value for k in tried])
    gap = np.array([abs(float(pairs[k].difference.mean())) for k in tried])
    at = min(range(len(tried)), key=lambda i: (p[i], -gap[i], i))
    skill, adjusted = tried[at], float(holm(p)[at])
    draft = Draft("skill gap", estimand=f"difference of the two on the skill's samples and {LIKE_THESE}")
    draft.correction = f"Holm over {len(tried)} skills"
    draft.names |= {"leader": of.learners[0], "other": of.learners[other], "skill": of.skills[skill]}
    whom = ", the first outside its tie," if 1 < tied < len(of.learners) else ""
    if adjusted < 1 - LEVEL:
        draft.say(
            {"learner": 0}, " and ", {"learner": other}, f"{whom} differ most clearly on ", {"skill": skill}
        )
    else:
        draft.kind = "no skill gap"
        draft.say(
            "No skill tells ", {"learner": 0}, " from ", {"learner": other}, f"{whom} after adjusting for "
        )
        draft.count("tried", len(tried)).say(" skills; the clearest is ", {"skill": skill})
    means = pairs[skill].b.mean(), pairs[skill].a.mean()
    show = percent if of.binary else three
    draft.say(": ").number("mean_first", means[0], show(means[0])).say(" against ")
    draft.number("mean_second", means[1], show(means[1])).say(" (adjusted ").number(
        "p", adjusted, p_text(adjusted)
    )
    proof = Draft("skill pair", estimand=draft.estimand, correction="none: before adjusting")
    proof.names |= {"first": of.learners[0], "second": of.learners[other], "skill": of.skills[skill]}
    proof.say({"skill": skill}, ": ")
    evidence = _paired_words(proof, pairs[skill], {"learner": 0}, {"learner": other}).done()
    return [draft.say(").").proof(evidence).done()]


def profiles(of: Diagnosed) -> list[Statement]:
    """Learners whose accuracy differs between skills by more than one level explains, Holm over all cells."""
    found = of.profile
    if found is None:
        return []
    with np.errstate(invalid="ignore", divide="ignore"):
        p = two_sided_p(found.difference / found.se)
    known = np.isfinite(p)
    if not known.any():
        return []
    adjusted = np.ones(p.shape)
    adjusted[known] = holm(p[known])
    sure = adjusted < 1 - LEVEL
    draft = Draft(
        "strengths",
        estimand="accuracy on the skill's samples minus the accuracy expected from one level for all skills",
    )
    draft.correction = f"Holm over {int(known.sum()):,} learners and skills"
    if not sure.any():
        draft.say(
            "No learner's profile over the skills differs significantly from one level for all of them."
        )
        draft.numbers["sure"] = (0.0, "No")
        return [draft.proof(_one_level(of)).done()]
    who = int(sure.any(axis=1).sum())
    draft.count("sure", who).say(" of ").count("learners", len(of.learners))
    draft.say(" learners are significantly better or worse on some skill than their level; the clearest is ")
    gap = np.where(p == np.min(p[known]), np.abs(found.difference), -1.0)
    i, k = (int(at) for at in np.unravel_index(int(np.argmax(gap)), p.shape))
    draft.names |= {"learner": of.learners[i], "skill": of.skills[k]}
    show = percent if of.binary else three
    draft.say({"learner": i}, " on ", {"skill": k}, ": ").number(
        "observed", found.observed[i, k], show(found.observed[i, k])
    )
    draft.say(", expected ").number("expected", found.expected[i, k], show(found.expected[i, k]))
    draft.say(" (adjusted ").number("p", adjusted[i, k], p_text(float(adjusted[i, k])))
    draft.say(f", {int(found.n[i, k]):,} samples).")
    return [draft.proof(_one_level(of)).done()]


def _one_level(of: Diagnosed) -> Statement:
    draft = Draft("one level").say(
        "Expected is the accuracy of a learner with this mean on samples as hard as these, with one level "
        "for all skills: the Rasch model that reproduces the mean of every learner and of every sample."
    )
    if of.one_for_all:
        draft.say(
            " This diagnosis has one ability for all skills: abilities by skill cannot differ, so accuracies "
            "are compared."
        )
    return draft.done()
