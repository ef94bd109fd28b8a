"""Routes, committees and effects of features as sections of the report, beside rankings and comparisons."""

import json
from pathlib import Path
from typing import Any

from camilla.errors import FormatError
from camilla.learners.ensemble import settled_beforehand
from camilla.names import in_quotes, shown
from camilla.show.report.boards import (
    comparison_page,
    comparison_picture,
    comparison_section,
    dot,
    ranking_section,
)
from camilla.show.report.feature_section import feature_section
from camilla.show.report.statements import Draft, Statement, decimal, p_text, percent, points, three
from camilla.show.report.verdicts import said

POINTS_OF_A_LINE = 21
MOST_DOTS = 40
LOTS = "random mixing"
SINGLE = "best single learner"
RECOVERED = (
    "share of the gap between the cheapest and the best single learner that is recovered, averaged over "
    "budgets"
)
ENDS = ("difference", "difference_low", "difference_high")


def decision_section(path: Path) -> dict[str, Any]:
    """What a JSON file holds: a route, committee, effects, ranking or comparison."""
    sections = {
        "route": ("frontier", _route),
        "ensemble": ("committee", _committee),
        "features": ("explained", feature_section),
        "rank": ("ties", ranking_section),
        "compare": ("overall", comparison_section),
    }
    wanted = "The report shows what camilla rank, compare, route, ensemble or features prints with --json."
    try:
        document = json.loads(path.read_text(encoding="utf-8"), parse_constant=lambda _: None)
    except ValueError as error:
        raise FormatError(f"{path}: is not JSON: {error}. {wanted}") from error
    printed = _printed_by(document)  # a document made in Python does not say so, but for its fields
    for name, (field, section) in sections.items():
        if printed == name or (printed is None and isinstance(document, dict) and field in document):
            try:
                return section(path.stem, document)
            except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
                raise FormatError(
                    f"{path}: looks like what camilla {name} --json prints, but is damaged ({error!r}). "
                    "Print it again."
                ) from error
    raise FormatError(f"{path}: {_of_another_kind(document, printed)}. {wanted}")


def _printed_by(document: Any) -> str | None:
    """The command that printed a document, by its schema."""
    head = document.get("schema") if isinstance(document, dict) else None
    return head.get("name") if isinstance(head, dict) else None


def _of_another_kind(document: Any, printed: str | None) -> str:
    """What the file holds that is not shown: a decision to use, or what another command printed."""
    if printed is not None:
        return f"is the document {in_quotes(printed)}"
    if isinstance(document, dict) and isinstance(saved := document.get("format"), str):
        return f"contains a decision to use ({in_quotes(saved)}), without the figures"
    return "contains no result that the report knows"


def _route(name: str, document: dict[str, Any]) -> dict[str, Any]:
    words = [
        "Every figure is measured on held-out samples. Lots are drawn between "
        "learners "
        "at the same cost; an oracle knows every response beforehand."
    ]
    level = percent(document["level"], 0)
    pictures = (
        [_frontier(document, level)] if len({row["budget"] for row in document["frontier"]}) > 1 else []
    )
    pictures.append(
        _ways(document["ways"], "quality", f"At a budget of {decimal(document['budget'], 3)}", level)
    )
    if document["tasks"]:
        pictures.append(_tasks(document["tasks"], level))
    page = comparison_page(name, f"route {name}", words, pictures, document["ways"], document)
    return page | {"verdict": said(route_verdict(document))}


def _frontier(document: dict[str, Any], level: str) -> dict[str, Any]:
    """Mean response over the budget: the route, lots, the oracle."""
    lines = []
    for way in dict.fromkeys(row["way"] for row in document["frontier"]):
        rows = [row for row in document["frontier"] if row["way"] == way]
        step = max((len(rows) - 1) / (POINTS_OF_A_LINE - 1), 1)
        kept = [rows[round(k * step)] for k in range(POINTS_OF_A_LINE) if round(k * step) < len(rows)]
        columns = {"x": "budget", "value": "quality", "low": "low", "high": "high"}
        lines.append({"name": way} | {key: [row[column] for row in kept] for key, column in columns.items()})
    return {
        "title": "What a budget buys", "note": f"{level} intervals at each budget.", "kind": "lines",
        "x": "mean cost per sample", "y": "mean response", "series": lines,
    }  # fmt: skip


def _ways(rows: list[dict[str, Any]], value: str, title: str, level: str) -> dict[str, Any]:
    dots = [dot(row["way"], row[value], row) for row in rows]
    return comparison_picture(title, f"{level} intervals.", dots) | {"y": "mean response"}


def _tasks(rows: list[dict[str, Any]], level: str) -> dict[str, Any]:
    order = sorted(rows, key=lambda row: -round(row["difference"], 9))
    dots = [dot(row["task"], row["difference"], row) for row in order[:MOST_DOTS]]
    more = f", first {MOST_DOTS}" if len(order) > MOST_DOTS else ""
    picture = comparison_picture(f"Difference from the {SINGLE} by task{more}", f"{level} intervals.", dots)
    return picture | {"zero": True, "y": "difference of mean responses"}


def route_verdict(document: dict[str, Any]) -> Statement:
    """Whether choosing per sample pays, by how much, how surely."""
    gain, single = document["gain"], document["single"]
    lots = gain["beyond"] == LOTS
    over = "averaged over budgets, " if lots else ""
    draft = Draft(
        "route better" if document["better"] else "route not better",
        estimand=f"difference from {'lots at the same cost' if lots else 'the best single learner'}, {over}"
        "of routes made on such samples",
        correction="none: one test, samples judged by routes made on others",
    )
    draft.names["single"] = single
    low, high = (float("nan") if gain[end] is None else gain[end] for end in ("low", "high"))
    way = "Choosing a learner per sample" if document["way"] != "cascade" else "The cascade"
    than = "drawing lots at the same cost" if lots else f"the best single learner ({shown(single)})"
    verb = "is" if document["better"] else "is not shown to be"
    draft.say(f"{way} {verb} better than {than}: ")
    draft.interval("difference", gain["difference"], low, high, points).say(" points")
    draft.say(", averaged over budgets (" if lots else " (")
    draft.number("p", gain["p_value"], p_text(gain["p_value"])).say(").")
    return draft.proof(*(_mean(row) for row in document["apgr"])).done()


def _mean(row: dict[str, Any]) -> Statement:
    """The share of the gap that a way recovers."""
    draft = Draft("route apgr", estimand=RECOVERED, correction="none: single intervals")
    draft.names["way"] = row["way"]
    draft.say(f"{row['way'].capitalize()} recovers ")
    return draft.interval("apgr", row["apgr"], row["low"], row["high"], three).say(" of the gap.").done()


def _committee(name: str, document: dict[str, Any]) -> dict[str, Any]:
    level = percent(document["level"], 0)
    bound = (
        "" if document["exact"] else " Answers are not known, so accuracies of committees are lower bounds."
    )
    words = [f"Every figure is measured on held-out samples.{bound}"]
    ways = [row for row in document["ways"] if row["difference"] is not None]
    gaps = [
        dot(row["way"], row["difference"], {"low": row["difference_low"], "high": row["difference_high"]})
        for row in ways
    ]
    gap = comparison_picture(f"Difference from the {SINGLE}", f"{level} intervals.", gaps)
    pictures = [
        _ways(document["ways"], "accuracy", "Accuracy on held-out samples", level) | {"y": "accuracy"},
        gap | {"zero": True, "y": "difference of accuracies"},
    ]
    if document["epp"]:
        dots = [dot(row["player"], row["epp"], row) for row in document["epp"]]
        pictures.append(comparison_picture("EPP of committees and members", f"{level} intervals.", dots))
    page = comparison_page(name, f"committee {name}", words, pictures, document["members"], document)
    return page | {"verdict": said(committee_verdict(document))}


def committee_verdict(document: dict[str, Any]) -> Statement:
    """Whether a committee is better than the best single learner, by how much, how surely."""
    row, single = document["ways"][1], document["single"]
    least, bound = ("", "") if document["exact"] else ("at least ", "lower bound of the ")
    draft = Draft(
        "committee better" if document["better"] else "no committee better",
        estimand=f"{bound}difference of accuracies on samples like these",
        correction=f"none: one test; {document['test']}, the median over splits",
    )
    draft.names["single"] = single
    verb = "A committee is" if document["better"] else "No committee is shown to be"
    draft.say(f"{verb} better than the best single learner ({shown(single)}): {least}")
    value, low, high = (float("nan") if row[end] is None else row[end] for end in ENDS)
    draft.interval("difference", value, low, high, points).say(" points (")
    draft.number("p", row["p_value"], p_text(row["p_value"])).say(").")
    if not document["better"]:
        draft.say(_without_choosing(document))
    proof = Draft("committee size")
    members = document["chosen"]["members"]
    proof.say("The chosen committee has ").count("members", len(members)).say(" members: ")
    proof.say(", ".join(shown(one["learner"]) for one in members[:9])).say(".")
    return draft.proof(proof.done()).done()


def _without_choosing(document: dict[str, Any]) -> str:
    way = settled_beforehand(document["ways"], document["level"])
    return (
        "" if way is None else f" Settled beforehand, {shown(way.name)} is (Holm-adjusted {p_text(way.p)})."
    )
