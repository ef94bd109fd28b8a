"""Samples shown with what they ask and what learners answered, as text blocks and as plain data."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import polars as pl

from camilla.display import Excerpt, Part
from camilla.table.content import ANSWERED, KeptContent

NOTHING = "note: there is nothing to show: neither prompts nor answers came with the responses."


class Look(NamedTuple):
    """A sample to show, why, and the learners whose answers belong to it, with their responses."""

    sample: str
    why: str
    learners: tuple[tuple[str, float | None], ...] = ()


def shown_samples(content: KeptContent | None, looks: Sequence[Look]) -> list[dict[str, Any]]:
    """What is known of each sample: its content and the answers of its learners, trial by trial."""
    if content is None or not looks:
        return []
    rows = content.rows(list(dict.fromkeys(look.sample for look in looks)))
    return [_shown(look, rows.filter(pl.col("sample") == look.sample)) for look in looks]


def _shown(look: Look, rows: pl.DataFrame) -> dict[str, Any]:
    asked = rows.filter(pl.col("learner").is_null()).to_dicts()
    said = asked[0] if asked else {}
    answers = []
    for learner, response in look.learners:
        own = rows.filter(pl.col("learner") == learner).select("trial", *ANSWERED)
        answers += [{"learner": learner, "response": response} | row for row in own.to_dicts()]
    return {
        "sample": look.sample,
        "why": look.why,
        "prompt": said.get("prompt"),
        "reference": said.get("reference"),
        "choices": said.get("choices"),
        "image": said.get("image"),
        "answers": answers,
    }


def excerpts(content: KeptContent | None, looks: Sequence[Look]) -> list[Part]:
    """A block of text per sample; of several trials of a learner the first that says something."""
    if content is None:
        return [NOTHING]
    return [_excerpt(one) for one in shown_samples(content, looks)]


def _excerpt(shown: dict[str, Any]) -> Excerpt:
    fields = [("prompt", shown["prompt"])]
    fields += [(f"choice {at}", choice) for at, choice in enumerate(shown["choices"] or (), 1)]
    fields += [("reference", shown["reference"]), ("image", shown["image"])]
    named: set[str] = set()
    for answer in shown["answers"]:
        if answer["learner"] in named:
            continue
        named.add(answer["learner"])
        response = "" if answer["response"] is None else f" ({answer['response']:.3g})"
        fields.append((f"{answer['learner']}{response}", answer["answer"] or answer["extracted"]))
        if answer["answer"] and answer["extracted"]:
            fields.append(("  extracted", answer["extracted"]))
        fields.append(("  reason", answer["reason"]))
    known = tuple((label, text) for label, text in fields if text)
    title = f"{shown['sample']}: {shown['why']}" if shown["why"] else shown["sample"]
    return Excerpt(title, known or (("", "nothing is known of what it asks or what was answered"),))
