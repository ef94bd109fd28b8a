"""What was found, in sentences. A part of a sentence is text, or a learner, sample or skill by its place."""

from typing import Any, NamedTuple

import numpy as np

from camilla.show.report.diagnosed import Diagnosed
from camilla.statistics.intervals import LEVEL

SentencePart = str | dict[str, int]
LISTED = 5
ROUNDING = 1e-9  # abilities no farther apart are one


class Sentence(NamedTuple):
    """A heading, the sentences under it, and the page that has the numbers."""

    heading: str
    parts: list[SentencePart]
    page: str


def headline(of: Diagnosed) -> list[SentencePart]:
    """Who leads, and whether that is sure."""
    if len(of.learners) < 2:
        return [{"learner": 0}, " is the only learner."]
    tied = _tied_with_first(of)
    if tied is None:
        return [{"learner": 0}, f" has the highest ability of {len(of.learners)} learners."]
    if tied == 1:
        return [{"learner": 0}, f" leads {len(of.learners)} learners, and the lead is sure."]
    return [
        {"learner": 0},
        " comes first, but the first ",
        f"{tied} of {len(of.learners)} cannot be told apart.",
    ]


def findings(of: Diagnosed) -> list[Sentence]:
    """The sentences of the summary, those first that a reader should know first."""
    made = [_leader(of), _separates(of), _counting(of), _look_at(of), _trust(of)]
    return [finding for finding in made if finding is not None]


def _percent(share: float, digits: int = 1) -> str:
    return f"{100 * share:.{digits}f}\N{NO-BREAK SPACE}%"


def _number(value: float) -> str:
    return f"{value:.2f}".replace("-", "\N{MINUS SIGN}")


def _interval(value: float, low: float, high: float) -> str:
    if not np.isfinite(low):
        return _number(value)
    return f"{_number(value)} ({_number(low)} to {_number(high)})"


def _samples(n: int) -> str:
    return "1 sample was" if n == 1 else f"{n:,} samples were"


def _tied_with_first(of: Diagnosed) -> int | None:
    """How many stand in the leader's tie group, itself included."""
    if of.standing is None:
        return None
    first = [last + 1 for start, last in of.standing.ties if start == 0]
    return first[0] if first else 1


def _leader(of: Diagnosed) -> Sentence | None:
    if len(of.learners) < 2:
        return None
    ability, low, high, accuracy = (
        of.column("learners", name) for name in ("ability", "low", "high", "accuracy")
    )
    plain = (
        f"a mean response of {accuracy[0]:.3f}" if not of.binary
        else f"is right on {_percent(accuracy[0])} of its responses"
    )  # fmt: skip
    parts: list[SentencePart] = [
        {"learner": 0},
        f" has ability {_interval(ability[0], low[0], high[0])} and ",
    ]
    parts += [
        f"{plain}; next is ",
        {"learner": 1},
        f" with {_interval(ability[1], low[1], high[1])}.",
    ]
    tied = _tied_with_first(of)
    if tied is not None and tied > 1:
        parts.append(
            f" Ranks 1 to {tied} are a tie: no test among them, adjusted for all pairs, finds a difference"
        )
        parts.append(f" at {_percent(LEVEL, 0)}.")
    return Sentence("Who leads", parts, "leaderboard")


def _separates(of: Diagnosed) -> Sentence | None:
    """The skill on which the leader is farthest from the first learner outside its tie group."""
    tied = _tied_with_first(of)
    if tied is None or tied >= len(of.learners) or len(of.skills) < 2 or of.strengths is None:
        return None
    ability, se = of.by_skill["ability"], of.by_skill["se"]
    with np.errstate(invalid="ignore", divide="ignore"):
        z = (ability[0] - ability[tied]) / np.hypot(se[0], se[tied])
    one_for_all = (np.ptp(ability, axis=1) < ROUNDING).all()  # such as irt's
    if one_for_all or not np.isfinite(z).any():
        return None
    skill = int(np.nanargmax(np.abs(z)))
    parts: list[SentencePart] = ["Between ", {"learner": 0}, " and ", {"learner": tied}]
    parts.append(", the first outside its tie, " if tied > 1 else ", the second, ")
    parts += ["the skill that differs most is ", {"skill": skill}]
    here, there = _number(ability[0, skill]), _number(ability[tied, skill])
    parts.append(f": {here} against {there} ({abs(z[skill]):.1f} standard errors).")
    spread = np.nanstd(ability, axis=0)
    widest = int(np.nanargmax(spread))
    parts += [
        " Over all learners, abilities spread most on ",
        {"skill": widest},
        f" (sd {spread[widest]:.2f}).",
    ]
    return Sentence("What separates the top", parts, "compare")


def _counting(of: Diagnosed) -> Sentence | None:
    """Where plain accuracy would order learners otherwise."""
    accuracy = of.column("learners", "accuracy")
    if len(accuracy) < 3 or not np.isfinite(accuracy).all():
        return None
    plain = np.empty(len(accuracy), int)
    plain[np.argsort(-accuracy, kind="stable")] = np.arange(len(accuracy))
    moved = plain - np.arange(len(accuracy))
    most = int(np.argmax(np.abs(moved)))
    if moved[most] == 0:
        return Sentence(
            "What counting says", ["Plain accuracy orders the learners in the same way."], "leaderboard"
        )
    above = np.sign(accuracy[:, None] - accuracy[None, :])[np.triu_indices(len(accuracy), 1)]
    parts: list[SentencePart] = [
        f"Plain accuracy puts {int((moved != 0).sum())} of {len(moved)} learners at another rank and orders "
        f"{_percent(float((above > 0).mean()), 0)} of all pairs alike. Farthest is "
    ]
    parts += [{"learner": most}, f": rank {most + 1} by ability, {plain[most] + 1} by accuracy."]
    return Sentence("What counting says", parts, "leaderboard")


def _look_at(of: Diagnosed) -> Sentence:
    if of.why_not_judged is not None:
        return Sentence("Samples to look at", [of.why_not_judged.capitalize()], "samples")
    flags = of.flags
    at = {int(j): place for place, j in enumerate(of.kept)}
    suspects = of.suspects
    shown = [at[int(j)] for j in suspects[:LISTED]]
    parts: list[SentencePart] = []
    if len(suspects):
        one = len(suspects) == 1
        parts.append(
            f"{len(suspects)} of {len(of.samples):,} samples {'contradicts' if one else 'contradict'} "
        )
        parts.append("the able learners: " if len(suspects) <= LISTED else "the able learners; first ")
        for number, sample in enumerate(shown):
            parts += [", " if number else "", {"sample": sample}]
        what = "It may have a wrong key, be an exception" if one else "Keys may be wrong, samples exceptions"
        parts.append(f". {what} or ambiguous: look before you trust small differences.")
    else:
        parts.append("No sample contradicts the able learners.")
    if n := int(flags["everyone wrong"].sum()):
        parts.append(f" {_samples(n)} solved by nobody.")
    if n := int(flags["everyone right"].sum()):
        parts.append(f" {_samples(n)} solved by everybody: they do not tell learners apart.")
    return Sentence("Samples to look at", parts, "samples")


def _trust(of: Diagnosed) -> Sentence:
    made: dict[str, Any] = of.found.provenance
    n_cells = made["n_learners"] * made["n_samples"]
    share = made["n_missing"] / n_cells
    parts: list[SentencePart] = [
        f"Fitted by {made['diagnoser']} to {made['n_responses']:,} responses, "
        f"{'none' if made['n_missing'] == 0 else _percent(share)} missing; intervals: {made['interval']}. "
    ]
    parts.append(
        "The fit converged." if made["converged"]
        else "The fit stopped before it converged: take its numbers as provisional."
    )  # fmt: skip
    return Sentence("How far to trust it", parts, "made")
