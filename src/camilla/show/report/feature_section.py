"""Effects of features as a section of the report: how much they explain, which matter, what they predict."""

from typing import Any

import numpy as np

from camilla.arrays import Floats
from camilla.display import brief, counted
from camilla.names import in_quotes
from camilla.show.report.boards import comparison_page, comparison_picture, dot
from camilla.show.report.statements import Draft, Statement, decimal, p_text, percent, three
from camilla.show.report.verdicts import said
from camilla.statistics.intervals import LEVEL

MOST_EFFECTS = 20  # of a picture, as on the command line
MOST_LEVELS = 6  # pictures of categories with more than two levels
MOST_POINTS = 5_000  # predictions; beyond, every so many by prediction
CI = f"{percent(LEVEL, 0)} CI"
WHAT = {"samples": "success rates", "learners": "mean responses"}
PAIRS = "Of each pair of rows, the upper is beside all other features, the lower with no other feature."
SENSE = {"samples": "Above 0: harder samples.", "learners": "Above 0: more able learners."}
EFFECT_COLUMNS = {
    "feature": "feature", "term": "term", "rows": "", "effect": "effect", "low": "low", "high": "high",
    "p_value": "p", "holm_p": "p (Holm)", "points": "points", "alone": "alone", "alone_low": "alone, low",
    "alone_high": "alone, high",
}  # fmt: skip
SHARE_COLUMNS = {
    "feature": "feature", "kind": "kind", "alone": "alone", "alone_low": "alone, low",
    "alone_high": "alone, high", "lost": "lost", "lost_low": "lost, low", "lost_high": "lost, high",
    "p_value": "p", "holm_p": "p (Holm)",
}  # fmt: skip


def feature_section(name: str, document: dict[str, Any]) -> dict[str, Any]:
    """The answer, shares, effects, contrasts within each category, predictions; and their tables."""
    of = document["of"]
    words = [
        f"Shares and predictions are on {of} that had no part in the fit. Effects are on {document['scale']} "
        "in logits. An effect is not a cause."
    ]
    kept = _kept(document["predicted"])
    predicted = comparison_picture(
        "Predicted against observed",
        f"One dot per {of[:-1]}{_part(kept, document)}; on the line they agree.", [],
    ) | {
        "kind": "points", "x": "predicted mean response", "y": "observed mean response",
        "points": {"name": [row[of[:-1]] for row in kept], "x": _column(kept, "predicted"),
                   "y": _column(kept, "observed")},
    }  # fmt: skip
    pictures = [*_shares(document), *_effects(document), *([predicted] if kept else [])]
    effects = [_renamed(row, EFFECT_COLUMNS | {"rows": of}) for row in document["effects"]]
    page = comparison_page(name, f"features {name}", words, pictures, effects, document)
    shares = [_renamed(row, SHARE_COLUMNS) for row in document["features"]]
    tables = [
        _table(f"Share of the variance explained on held-out {of}", shares),
        _table(f"Mean response, observed and predicted{_part(kept, document)}", kept),
    ]
    return page | {"more": tables, "verdict": said(feature_verdict(document))}


def _kept(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """All predictions, or every so many in the order of the prediction."""
    order = sorted(rows, key=lambda row: (row["predicted"] is None, row["predicted"] or 0.0))
    return order[:: -(-len(rows) // MOST_POINTS) or 1]


def _part(kept: list[dict[str, Any]], document: dict[str, Any]) -> str:
    n = len(document["predicted"])
    return "" if len(kept) == n else f", {len(kept):,} of {n:,}"


def _column(rows: list[dict[str, Any]], name: str) -> Floats:
    return np.array([_known(row[name]) for row in rows], np.float64)


def _known(value: float | None) -> float:
    return float("nan") if value is None else value


def _renamed(row: dict[str, Any], columns: dict[str, str]) -> dict[str, Any]:
    return {label: row[column] for column, label in columns.items()}


def _table(title: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    columns = list(rows[0]) if rows else []
    return {"title": title, "columns": columns, "rows": [list(row.values()) for row in rows]}


def _ends(row: dict[str, Any], column: str) -> dict[str, Any]:
    return {end: row[f"{column}_{end}"] for end in ("low", "high")}


def _dot(name: str, value: float | None, row: dict[str, Any]) -> list[dict[str, Any]]:
    """A dot, or none where the value is not known."""
    return [] if value is None else [dot(name, value, row)]


def _shares(document: dict[str, Any]) -> list[dict[str, Any]]:
    """What all features explain and each alone, and what is lost without each."""
    rows, of = document["features"][:MOST_EFFECTS], document["of"]
    more = _first(len(document["features"]))
    explained = document["explained"]
    alone = _dot("all features", explained["value"], explained)
    lost = []
    if len(rows) > 1:
        for row in rows:
            alone += _dot(f"{row['feature']} alone", row["alone"], _ends(row, "alone"))
            lost += _dot(row["feature"], row["lost"], _ends(row, "lost"))
    beyond = f" Beyond what {in_quotes(document['within'])} explains, for single ones." * bool(
        document["within"]
    )
    pictures = [
        (f"Share of the variance explained{more}", f"Of {WHAT[of]} of held-out {of}; {CI}.{beyond}", alone),
        (f"Share lost without a feature{more}", f"All other features stay; {CI} of the difference.", lost),
    ]
    return [
        comparison_picture(title, note, dots) | {"zero": True, "y": "share of the variance"}
        for title, note, dots in pictures
        if dots
    ]


def _first(n: int) -> str:
    return f", first {MOST_EFFECTS} of {n:,}" if n > MOST_EFFECTS else ""


def _effects(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Effects of numbers and of two levels, the largest first; then the levels of each other category."""
    by_feature = dict[str, list[dict[str, Any]]]()
    kinds = {row["feature"]: row["kind"] for row in document["features"]}
    for row in sorted(document["effects"], key=lambda row: -abs(row["effect"] or 0.0)):
        by_feature.setdefault(row["feature"], []).append(row)
    levels = {
        name: rows for name, rows in by_feature.items() if kinds.get(name) == "category" and len(rows) > 1
    }
    single = [row for name, rows in by_feature.items() if name not in levels for row in rows]
    single.sort(key=lambda row: -abs(row["effect"] or 0.0))
    inside = f", within {in_quotes(document['within'])}" if document["within"] else ""
    sense = f"{SENSE[document['of']]} {PAIRS} {CI}."
    pictures = [_pairs(f"Effects on {document['scale']}{inside}", sense, single, document, named=True)]
    for name, rows in list(levels.items())[:MOST_LEVELS]:
        rows.sort(key=lambda row: -(row["effect"] or 0.0))
        against = "Each level against the mean of the levels that it can be compared with."
        title = f"Levels of {in_quotes(name)}{inside}"
        pictures.append(_pairs(title, f"{against} {sense}", rows, document, named=False))
    return [picture for picture in pictures if picture["series"]]


def _pairs(
    title: str, note: str, rows: list[dict[str, Any]], document: dict[str, Any], *, named: bool
) -> dict[str, Any]:
    """Two dots for each effect: beside the other features, and alone."""
    dots = []
    for row in rows[:MOST_EFFECTS]:
        if row["effect"] is None or row["alone"] is None:
            continue
        label = f"{row['feature']}, {row['term']}" if named else row["term"]
        dots.append(dot(label, row["effect"], row) | {"of": "beside the other features"})
        dots.append(dot(label, row["alone"], _ends(row, "alone")) | {"of": "with no other feature"})
    picture = comparison_picture(f"{title}{_first(len(rows))}", note, dots)
    return picture | {"zero": True, "group": 2, "y": f"effect on {document['scale']} (logits)"}


def feature_verdict(document: dict[str, Any]) -> Statement:
    """How much the features explain, how surely; which matters most, and how many effects are significant."""
    of, explained = document["of"], document["explained"]
    value, low, high = (_known(explained[name]) for name in ("value", "low", "high"))
    draft = Draft(
        f"features {document['verdict']}",
        estimand=f"share of the variance of {WHAT[of]}, over {of} like these, predicted without their responses",
        correction="none: one interval",
    )
    among = f", {in_quotes(document['within'])} among them," if document["within"] else ""
    if document["within"]:
        draft.names["within"] = document["within"]
    if document["verdict"] == "explained":
        draft.say(f"The features{among} explain ").number("explained", value, percent(value))
        draft.say(f" of the variance of {WHAT[of]} on {of} that had no part in the fit (")
    else:
        draft.say(
            f"The features{among} do not predict {WHAT[of]} of {of} that had no part in the fit better "
        )
        if not np.isfinite(value):
            return draft.say("than a constant does.").proof(*_evidence(document)).done()
        draft.say("than a constant does (").number("explained", value, percent(value))
        draft.say(" of the variance, " if np.isfinite(low) else " of the variance")
    if np.isfinite(low) and np.isfinite(high):
        draft.say(f"{CI} ").number("explained_low", low, percent(low)).say(" to ")
        draft.number("explained_high", high, percent(high))
    return draft.say(").").proof(*_evidence(document)).done()


def _evidence(document: dict[str, Any]) -> list[Statement | None]:
    return [_most(document), _significant(document), _fitted(document)]


def _most(document: dict[str, Any]) -> Statement | None:
    """The feature without which most is lost, where that is sure."""
    if len(document["features"]) < 2 or not (document["features"][0]["lost_low"] or 0) > 0:
        return None
    first = document["features"][0]
    draft = Draft(
        "features most",
        estimand=f"share lost on {document['of']} like these",
        correction="none: single intervals",
    )
    draft.names["feature"] = first["feature"]
    lost, low, high = (first[name] for name in ("lost", "lost_low", "lost_high"))
    draft.say(f"{in_quotes(first['feature'])} matters most: without it the share falls by ")
    return (
        draft.interval("lost", lost, low, high, lambda share: decimal(100 * share, 1)).say(" points.").done()
    )


def _significant(document: dict[str, Any]) -> Statement | None:
    """How many effects are significant, and the largest."""
    rows = [row for row in document["effects"] if row["effect"] is not None]
    if not rows:
        return None
    sure = sum(_known(row["holm_p"]) < 1 - LEVEL for row in rows)
    largest = max(rows, key=lambda row: abs(row["effect"]))
    draft = Draft(
        "features effects", estimand=f"effects on {document['scale']} in logits, beside the other features",
        correction="Holm over all effects",
    )  # fmt: skip
    draft.names |= {"feature": largest["feature"], "term": largest["term"]}
    draft.count("significant", sure).say(" of ").number("effects", len(rows), counted(len(rows), "effect"))
    draft.say(
        f" {'is' if sure == 1 else 'are'} significant. The largest is of {in_quotes(largest['feature'])} ("
    )
    draft.say(f"{brief(largest['term'])}): ")
    draft.interval("effect", largest["effect"], _known(largest["low"]), _known(largest["high"]), three)
    if largest["holm_p"] is not None:
        draft.say(", ").number("p", largest["holm_p"], p_text(largest["holm_p"]))
    return draft.say(".").done()


def _fitted(document: dict[str, Any]) -> Statement | None:
    """What the features account for in the model itself."""
    share = document["variance_explained"]
    if share is None:
        return None
    draft = Draft("features fitted", estimand=f"variance of {document['scale']} by REML", correction="none")
    draft.say("In the fit, they account for ").number("variance_explained", share, percent(share))
    return draft.say(f" of the variance of {document['scale']} (REML).").done()
