"""What is read without a script: headline, sentences and tables as plain HTML."""

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from camilla.display import html_table
from camilla.names import shown
from camilla.show.report.diagnosed import Diagnosed
from camilla.show.report.sources import Sources
from camilla.show.report.words import SentencePart, findings, headline

MOST_ROWS = 500
MOST_SUSPECTS = 50


def text_of(parts: Sequence[SentencePart], of: Diagnosed) -> str:
    """A sentence with its names spelled out, as text."""
    names = {"learner": of.learners, "skill": of.skills, "sample": [of.samples[j] for j in of.kept]}
    return "".join(
        part if isinstance(part, str) else "".join(shown(names[kind][place]) for kind, place in part.items())
        for part in parts
    )


def diagnosis(of: Diagnosed) -> str:
    """The summary, the leaderboard, skills with their best learner, flagged samples, provenance."""
    parts = [f"<h1>{escape(text_of(headline(of), of))}</h1>"]
    parts += [
        f"<h2>{escape(one.heading)}</h2><p>{escape(text_of(one.parts, of))}</p>" for one in findings(of)
    ]
    columns = ["rank", "learner", "ability", "low", "high", "accuracy", "accuracy_low", "accuracy_high"]
    rows = of.found.learners.head(MOST_ROWS).select(columns).rows()
    parts.append(html_table("Learners by ability", columns, rows))
    if len(of.skills) > 1:
        parts.append(_skills(of))
    parts.append(_samples(of))
    made = of.found.provenance
    parts.append(
        html_table("How it was made", ["what", "value"], [(key, str(value)) for key, value in made.items()])
    )
    return "".join(parts)


def _skills(of: Diagnosed) -> str:
    ability, accuracy = of.by_skill["ability"], of.by_skill["accuracy"]
    best = np.nanargmax(ability, axis=0)
    rows = [
        (name, of.learners[best[k]], float(ability[best[k], k]), float(accuracy[best[k], k]))
        for k, name in enumerate(of.skills[:MOST_ROWS])
    ]
    return html_table("Skills", ["skill", "best learner", "ability", "accuracy"], rows)


def _samples(of: Diagnosed) -> str:
    if of.why_not_judged is not None:
        return f"<h2>Samples to look at</h2><p>{escape(of.why_not_judged.capitalize())}</p>"
    marks, accuracy = of.flags, of.column("samples", "accuracy")
    rows = [
        (of.samples[j], float(accuracy[j]), ", ".join(name for name in marks if marks[name][j]))
        for j in of.suspects[:MOST_SUSPECTS]
    ]
    return html_table("Samples to look at", ["sample", "accuracy", "flags"], rows)


def board(section: dict[str, Any]) -> str:
    """The EPP leaderboard."""
    columns = ("epp", "low", "high", "p_beats_average")
    rows = zip(section["player"], *(section[name].tolist() for name in columns), strict=True)
    return html_table("Players by EPP", ["player", *columns], rows)


def everything(found: Sources) -> str:
    """All of a report without a script."""
    parts = ["<p>This page draws itself with a script; without one, it shows its tables only.</p>"]
    parts += [diagnosis(one) for one in found.diagnoses]
    parts += [board(one) for one in found.boards]
    parts += [
        html_table(one["title"], one["columns"], one["rows"]) for one in found.comparisons + found.experiments
    ]
    return "".join(parts)
