"""What is read without a script: headline, sentences and tables as plain HTML."""

from collections.abc import Callable
from html import escape
from typing import Any

import numpy as np

from camilla.display import html_table
from camilla.names import shown
from camilla.show.report.diagnosed import Diagnosed
from camilla.show.report.sources import Sources
from camilla.show.report.statements import SentencePart, Statement
from camilla.show.report.words import findings, headline, namer

MOST_ROWS = 500
MOST_SUSPECTS = 50


def diagnosis(of: Diagnosed) -> str:
    """The summary, the leaderboard, skills with their best learner, flagged samples, provenance."""
    named = namer(of)
    parts = [f"<h1>{escape(headline(of).text(named))}</h1>"]
    for finding in findings(of):
        parts.append(f"<h2>{escape(finding.heading)}</h2>")
        parts += [f"<p>{escape(one.text(named))}{_evidence(one, named)}</p>" for one in finding.statements]
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


def _evidence(of: Statement, named: Callable[[SentencePart], str]) -> str:
    """What a statement rests on, in small letters."""
    said = [one.text(named) for one in of.evidence]
    said += [f"What it is about: {of.estimand}."] if of.estimand else []
    said += [f"Adjustment: {of.correction}."] if of.correction else []
    return f" <small>{escape(' '.join(said))}</small>" if said else ""


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
    order = np.argsort(-np.nan_to_num(of.evidence, nan=-np.inf), kind="stable")
    rows = [
        (of.samples[j], float(accuracy[j]), ", ".join(name for name in marks if marks[name][j]), of.why[j])
        for j in order[:MOST_SUSPECTS]
        if of.why[j]
    ]
    return html_table("Samples to look at", ["sample", "accuracy", "flags", "why"], rows)


def board(section: dict[str, Any]) -> str:
    """The EPP leaderboard."""
    columns = ("epp", "low", "high", "p_beats_average")
    rows = zip(section["player"], *(section[name].tolist() for name in columns), strict=True)
    return html_table("Players by EPP", ["player", *columns], rows)


def section(of: dict[str, Any]) -> str:
    """The verdict of a section with its evidence, what to know, and its tables."""
    parts = []
    if of["verdict"] is not None:
        verdict = of["verdict"]
        said = [verdict["text"], *(one["text"] for one in verdict["evidence"])]
        parts.append(f"<h2>{escape(said[0])}</h2>")
        parts += [f"<p>{escape(text)}</p>" for text in said[1:]]
    parts += [f"<p>{escape(shown(text))}</p>" for text in of["words"]]
    for table in (of, *of.get("more", ())):
        parts += [f"<p>{escape(table['note'])}</p>"] if table.get("note") else []
        n = len(table["rows"])
        cut = f", first {MOST_ROWS} of {n:,}" if n > MOST_ROWS else ""
        parts.append(html_table(table["title"] + cut, table["columns"], table["rows"][:MOST_ROWS]))
    return "".join(parts)


def everything(found: Sources) -> str:
    """All of a report without a script."""
    parts = ["<p>This page draws itself with a script; without one, it shows its tables only.</p>"]
    parts += [diagnosis(one) for one in found.diagnoses]
    parts += [board(one) for one in found.boards]
    parts += [section(one) for one in found.comparisons + found.experiments]
    return "".join(parts)
