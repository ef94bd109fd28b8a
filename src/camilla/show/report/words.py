"""What was found, in statements that open their evidence."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from camilla.arrays import Floats
from camilla.show.report.diagnosed import Diagnosed
from camilla.show.report.skill_words import pair_counts, profiles, separates
from camilla.show.report.statements import (
    Draft,
    SentencePart,
    Statement,
    chance,
    decimal,
    name_text,
    percent,
    ranks_text,
    three,
)
from camilla.statistics.intervals import LEVEL

LISTED = 5
BEST_LISTED = 3
LEVEL_TEXT = percent(LEVEL, 0)
BY_PAIRS = "step-down max-t over all pairs, on samples like these"
BY_TESTS = "Wald tests, the errors of two learners independent; Holm over all pairs"
ON_THESE = "exactly these samples, answered again"
BY_JUDGES = (
    f"false discovery rate of {percent(1 - LEVEL, 0)} for negative discriminations; for doubtful samples a "
    "likelihood ratio above 300, and above the rarity of such samples"
)


class Finding(NamedTuple):
    """A heading, the statements under it, and the page that has the numbers."""

    heading: str
    page: str
    statements: list[Statement]


def summary(of: Diagnosed) -> dict[str, Any]:
    """The words of a diagnosis as the page is given them."""
    named, found = namer(of), findings(of)
    said = {one.kind: one for finding in found for one in finding.statements}
    verdicts = {
        "leaderboard": headline(of),
        "samples": said.get("contradicting") or said.get("not judged"),
        "skills": said.get("strengths"),
    }
    return {
        "headline": headline(of).parts,
        "findings": [
            {
                "heading": one.heading,
                "page": one.page,
                "statements": [each.document(named) for each in one.statements],
            }
            for one in found
        ],
        "verdicts": {page: one.document(named) for page, one in verdicts.items() if one is not None},
    }


def namer(of: Diagnosed) -> Callable[[SentencePart], str]:
    """Spells the parts of a sentence out."""
    names = {"learner": of.learners, "skill": of.skills, "sample": [of.samples[j] for j in of.kept]}

    def named(part: SentencePart) -> str:
        if isinstance(part, str):
            return part
        return "".join(name_text(names[kind][place]) for kind, place in part.items())

    return named


def headline(of: Diagnosed) -> Statement:
    """Who leads, and whether that is sure."""
    n, place = len(of.learners), of.standing
    draft = Draft("only").say({"learner": 0})
    draft.names["leader"] = of.learners[0]
    if n < 2:
        return draft.say(" is the only learner.").done()
    draft.estimand = of.estimand
    if place is None:
        draft.kind, draft.correction = (
            "highest",
            "none: this diagnoser has no standard errors, so nothing is tested",
        )
        return draft.say(" has the highest ability of ").count("learners", n).say(" learners.").done()
    draft.correction = BY_TESTS if place.p_best is None else BY_PAIRS
    where = " on samples like these" if of.like_these else ""
    if place.first_is_sure:
        draft.kind = "sure lead"
        draft.say(" comes first of ").count("learners", n).say(f" learners{where}, and the lead is clear")
        if place.p_best is not None:
            draft.say(" (").number("p_best", place.p_best[0], chance(place.p_best[0])).say(" to be the best)")
        return draft.say(".").proof(_best_of(of), pair_counts(of, 0, 1)).done()
    tied = len(place.with_first)
    draft.kind = "tied lead"
    draft.say(f" comes first{where}, but ").number("tied", tied - 1, f"{tied - 1:,}").say(" of the other ")
    draft.count("others", n - 1).say(" learners " if n > 2 else " learner ")
    draft.say("cannot be told apart from it.")
    return draft.proof(_best_of(of), pair_counts(of, 0, 1)).done()


def findings(of: Diagnosed) -> list[Finding]:
    """The statements of the summary, those first that a reader should know first."""
    made = [
        Finding("Who leads", "leaderboard", _who_leads(of)),
        Finding("What separates the top", "compare", separates(of)),
        Finding("How even the learners are over skills", "skills", profiles(of)),
        Finding("What plain accuracy says", "leaderboard", _counting(of)),
        Finding("Samples to look at", "samples", _look_at(of)),
        Finding("How far to trust it", "made", _trust(of)),
    ]
    return [finding for finding in made if finding.statements]


def _score(of: Diagnosed, draft: Draft, i: int, prefix: str = "ability") -> Draft:
    """Ability of a learner with its interval, called what it is."""
    value, low, high = (of.column("learners", name)[i] for name in ("ability", "low", "high"))
    draft.say("an expected score of " if of.is_score else "ability ")
    return draft.interval(prefix, value, low, high, three if of.is_score else decimal)


def _who_leads(of: Diagnosed) -> list[Statement]:
    if len(of.learners) < 2:
        return []
    return [one for one in (_leader(of), _next(of), _tie(of)) if one is not None]


def _leader(of: Diagnosed) -> Statement:
    draft = Draft("leader", estimand=of.estimand, correction="none: single intervals").say(
        {"learner": 0}, " has "
    )
    draft.names["leader"] = of.learners[0]
    _score(of, draft, 0)
    if of.is_score:
        draft.say(" on samples like these " if of.like_these else " on these ")
        draft.count("samples", len(of.samples)).say("" if of.like_these else " samples")
    draft.say(" and ")
    accuracy, low, high = (of.column("learners", f"accuracy{end}")[0] for end in ("", "_low", "_high"))
    n = int(of.column("learners", "n")[0])
    if of.binary and of.plain_cells:
        draft.say("is right on ").count("right", round(accuracy * n)).say(" of ").count("n", n)
        draft.say(" responses, ").interval("accuracy", accuracy, low, high, percent).say(".")
    else:
        draft.say("a mean response of ").interval("accuracy", accuracy, low, high, three).say(".")
    return draft.proof(_estimands(of), _on_these(of)).done()


def _estimands(of: Diagnosed) -> Statement | None:
    """What the intervals of one learner are about."""
    if not of.is_score:
        return None
    draft = Draft("estimands")
    if of.like_these:
        draft.say("Both intervals are about samples like these ").count("samples", len(of.samples))
        return draft.say(", of which another test would be a new draw.").done()
    draft.say("The interval of the expected score is about these ").count("samples", len(of.samples))
    draft.say(
        " samples: what these learners would score if they answered them again. The interval of ",
        "accuracy" if of.binary else "the mean response",
        " is about samples like these, of which another test would be a new draw.",
    )
    return draft.done()


def _on_these(of: Diagnosed) -> Statement | None:
    row = of.leader_on_these
    if row is None:
        return None
    draft = Draft("on these", estimand=ON_THESE, correction="none: draws of the posterior")
    draft.say("On exactly these samples, answered again, ")
    draft.names["leader"] = of.learners[0]
    draft.say({"learner": 0}, " has an expected score of ")
    return draft.interval("ability", row["ability"], row["low"], row["high"], three).say(".").done()


def _next(of: Diagnosed) -> Statement:
    draft = Draft("next", estimand=of.estimand, correction="none: single intervals").say(
        "Next is ", {"learner": 1}, " with "
    )
    draft.names["other"] = of.learners[1]
    return _score(of, draft, 1).say(".").proof(pair_counts(of, 0, 1), _chance_of(of, 0, 1)).done()


def _tie(of: Diagnosed) -> Statement | None:
    place = of.standing
    if place is None or place.first_is_sure:
        return None
    tied = [i for i in place.with_first if i]
    draft = Draft("tie", estimand=of.estimand, correction=BY_TESTS if place.p_best is None else BY_PAIRS)
    draft.names["leader"] = of.learners[0]
    draft.say("Not told apart from ", {"learner": 0}, ": ")
    draft.number("tied", len(tied), f"{len(tied):,}").say(" learner" if len(tied) == 1 else " learners")
    for number, i in enumerate(tied[:LISTED]):
        draft.names[f"tied {number}"] = of.learners[i]
        draft.say(", " if number else " (" if len(tied) <= LISTED else "; first ", {"learner": i})
    draft.say(")" if len(tied) <= LISTED else "")
    n = len(of.learners)
    draft.say("; no test of two of them, adjusted for all ").count("pairs", n * (n - 1) // 2)
    draft.say(f" pairs, finds a difference at {LEVEL_TEXT}.")
    return draft.proof(_best_of(of), pair_counts(of, 0, tied[-1]) if tied[-1] > 1 else None).done()


def _best_of(of: Diagnosed) -> Statement | None:
    """The learners that may be the best."""
    place = of.standing
    if place is None or place.p_best is None:
        return None
    draft = Draft("p_best", estimand=of.estimand, correction="none: probabilities").say(
        "Probability of being the best: "
    )
    order = np.argsort(-place.p_best, kind="stable")[:BEST_LISTED]
    for rank, i in enumerate(order.tolist()):
        draft.names[f"learner {rank}"] = of.learners[i]
        draft.say(", " if rank else "", {"learner": i}, " ")
        draft.number(f"p_best {rank}", place.p_best[i], chance(place.p_best[i]))
    return draft.say(".").done()


def _chance_of(of: Diagnosed, a: int, b: int) -> Statement | None:
    """How probably one is above the other."""
    if of.chances is None or of.standing is None:
        return None
    better = float(of.chances.better[a, b])
    how = (
        "draws of the posterior"
        if of.standing.p_best is not None
        else "a normal difference, the errors of two learners independent"
    )
    draft = Draft("better", estimand=of.estimand, correction=f"none: {how}").say(
        {"learner": a}, " is above ", {"learner": b}
    )
    draft.names |= {"first": of.learners[a], "second": of.learners[b]}
    return draft.say(" with ").number("better", better, chance(better)).say(" probability.").done()


def _counting(of: Diagnosed) -> list[Statement]:
    """Where plain accuracy would order learners otherwise; level accuracies contradict no order."""
    accuracy = of.column("learners", "accuracy")
    n = len(accuracy)
    if n < 3 or not np.isfinite(accuracy).all():
        return []
    order = np.sign((accuracy[:, None] - accuracy[None, :]).round(12))
    upper = order[np.triu_indices(n, 1)]
    against, level = int((upper < 0).sum()), int((upper == 0).sum())
    what = "accuracy" if of.binary else "the mean response"
    draft = Draft(
        "counting", estimand="the order of these learners", correction="none: orders are counted, not tested"
    )
    if against == 0:
        draft.say(f"No pair of learners is ordered otherwise by {what} than by ability")
        draft.numbers["against"] = (0.0, "No")
        return [draft.proof(_counted(len(upper), against, level)).say(".").done()]
    draft.say(f"{what[0].upper()}{what[1:]} orders ").count("against", against).say(" of ")
    draft.count("pairs", len(upper)).say(" pairs of learners otherwise than ability does")
    first, last = 1 + (order < 0).sum(axis=1), n - (order > 0).sum(axis=1)
    rank = np.arange(1, n + 1)
    away = np.maximum(np.maximum(first - rank, rank - last), 0)
    i = int(np.argmax(away))
    draft.names["learner"] = of.learners[i]
    draft.say("; farthest is ", {"learner": i}, ", rank ").number("rank", i + 1, str(i + 1))
    by_accuracy = ranks_text(int(first[i]), int(last[i]))
    draft.say(" by ability and ").number("by_accuracy", float(first[i]), by_accuracy).say(f" by {what}.")
    return [draft.proof(_counted(len(upper), against, level)).done()]


def _counted(pairs: int, against: int, level: int) -> Statement:
    draft = Draft("pairs").count("alike", pairs - against - level).say(" of ").count("pairs", pairs)
    draft.say(" pairs are ordered alike, ").count("against", against).say(" the other way, and ")
    return draft.count("level", level).say(" have the same mean.").done()


def _look_at(of: Diagnosed) -> list[Statement]:
    if of.why_not_judged is not None:
        return [Draft("not judged").say(of.why_not_judged.capitalize()).done()]
    made = [_contradicting(of)]
    if of.only_ordered is not None:
        made.append(Draft("only ordered").say(of.only_ordered).done())
    for flag, kind, tail in (
        ("everyone wrong", "nobody", "by nobody"),
        ("everyone right", "everybody", "by everybody"),
    ):
        if n := int(of.flags[flag].sum()):
            how = "solved" if of.binary else "answered above 0" if kind == "nobody" else "answered with 1"
            draft = Draft(kind).count("samples", n).say(" sample was " if n == 1 else " samples were ")
            draft.say(f"{how} {tail}: {'it tells' if n == 1 else 'they tell'} no learner from another.")
            made.append(draft.done())
    return made


def _contradicting(of: Diagnosed) -> Statement:
    suspects = of.suspects
    draft = Draft("contradicting", estimand="these learners on these samples", correction=BY_JUDGES)
    if not len(suspects):
        draft.numbers["samples"] = (0.0, "No")
        return draft.say("No sample is flagged as broken.").done()
    at = {int(j): place for place, j in enumerate(of.kept)}
    one = len(suspects) == 1
    draft.count("samples", len(suspects)).say(" of ").count("of", len(of.samples))
    draft.say(f" samples {'is' if one else 'are'} flagged as broken")
    draft.say(": " if len(suspects) <= LISTED else "; first ")
    for number, j in enumerate(suspects[:LISTED].tolist()):
        draft.names[f"sample {number}"] = of.samples[j]
        draft.say(", " if number else "", {"sample": at[j]}).proof(_against_the_able(of, j, at[j]))
    what = "Its key may be wrong or its text" if one else "Keys may be wrong or texts"
    return draft.say(f". {what} unclear: look before you trust small differences.").done()


def _against_the_able(of: Diagnosed, j: int, place: int) -> Statement | None:
    """How those that solved a sample do on the others."""
    given, rest = of.responses[:, j], rest_means(of.responses, j)
    seen = np.isfinite(given) & np.isfinite(rest)
    draft = Draft("sample").say({"sample": place}, ": ")
    draft.names["sample"] = of.samples[j]
    if of.binary:
        right = seen & (given == 1)
        wrong = seen & (given == 0)
        if not right.any() or not wrong.any():
            return None
        draft.count("right", int(right.sum())).say(" of ").count("n", int(seen.sum()))
        draft.say(" learners solved it; on the other samples they are right on ")
        draft.number("rest_right", float(rest[right].mean()), percent(float(rest[right].mean())))
        draft.say(", those that failed it on ")
        wrong_rest = float(rest[wrong].mean())
        return draft.number("rest_wrong", wrong_rest, percent(wrong_rest)).say(".").done()
    if seen.sum() < 3 or given[seen].std() == 0 or rest[seen].std() == 0:
        return None
    r = float(np.corrcoef(given[seen], rest[seen])[0, 1])
    draft.say("its responses have correlation ").number("correlation", r, decimal(r))
    return draft.say(" with the learners' means on the other samples.").done()


def rest_means(responses: Floats, j: int) -> Floats:
    """The mean response of each learner on all samples but one."""
    others = np.delete(responses, j, axis=1)
    seen = np.isfinite(others)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(seen, others, 0).sum(axis=1) / seen.sum(axis=1))


def _trust(of: Diagnosed) -> list[Statement]:
    made: dict[str, Any] = of.found.provenance
    share = made["n_missing"] / (made["n_learners"] * made["n_samples"])
    draft = Draft("fit").say(f"{made['diagnoser']} was fitted to ").count("responses", made["n_responses"])
    draft.say(" responses, ").number("missing", share, percent(share) if share else "none")
    draft.say(f" missing; intervals: {made['interval']}.")
    return [
        draft.done(),
        _arrived(of),
        *(Draft("note").say(name_text(note)).done() for note in made.get("notes", [])),
    ]


def _arrived(of: Diagnosed) -> Statement:
    """How far the fit came; of draws, how many independent ones they are worth."""
    made: dict[str, Any] = of.found.provenance
    draft = Draft("converged" if made["converged"] else "not converged")
    worth = made.get("effective_draws")
    if worth is None:
        sure = (
            "The fit converged."
            if made["converged"]
            else "The fit stopped before it converged: treat its numbers as provisional."
        )
        return draft.say(sure).done()
    draft.say("Its ").count("draws", made["steps"]).say(" draws are worth ")
    draft.count("median", round(worth["median"])).say(" independent ones for the median learner, ")
    draft.count("least", round(worth["least"])).say(" for the learner with the fewest")
    return draft.say("." if made["converged"] else ": too few, so intervals are rough.").done()
