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
    "alone": "alone", "alone_low": "alone, low", "alone_high": "alone, high", "points": "points",
    "p_value": "p", "holm_p": "p (Holm)",
}  # fmt: skip
SHARE_COLUMNS = {
    "feature": "feature", "kind": "kind", "alone": "alone", "alone_low": "alone, low",
    "alone_high": "alone, high", "lost": "lost", "lost_low": "lost, low", "lost_high": "lost, high",
    "p_value": "p", "holm_p": "p (Holm)",
}  # fmt: skip


def feature_section(name: str, document: dict[str, Any]) -> dict[str, Any]:
    """The answer, shares, effects, predictions, contrasts within each category; and their tables."""
    of = document["of"]
    words = [
        f"Shares and predictions are on {of} that had no part in the fit. Effects are on {document['scale']} "
        "in logits. An effect is not a cause.",
        *(f"{note[:1].upper()}{note[1:]}." for note in document["notes"]),
    ]
    kept = _kept(document["predicted"])
    effects, levels = _effects(document)
    pictures = [*_shares(document), *effects, *_predicted(kept, document), *levels]
    page = comparison_page(name, f"features {name}", words, pictures, [], document | {"notes": []})
    return page | _effect_table(document) | {
        "more": [_share_table(document), _table(f"Mean responses{_part(kept, document)}", kept)],
        "verdict": said(feature_verdict(document)),
    }  # fmt: skip


def _effect_table(document: dict[str, Any]) -> dict[str, Any]:
    labels = EFFECT_COLUMNS | {"rows": document["of"]}
    rows = [_renamed(row, labels) for row in _largest(document["effects"])]
    note = (
        "Beside all other features, the largest first. Points: what an effect adds to the mean response, in "
        "percentage points. Alone: the effect with no other feature. Holm over all effects."
    )
    table = _table("", rows) | {"note": note, "ends": _ends_of("effect", "alone")}
    return {key: table[key] for key in ("columns", "rows", "note", "ends")}


def _share_table(document: dict[str, Any]) -> dict[str, Any]:
    rows = [_renamed(row, SHARE_COLUMNS) for row in document["features"]]
    note = (
        "By a feature alone, and lost without it while all others stay. p: F test that the feature has no "
        "effect beside the others; Holm over all features."
    )
    title = f"Share of the variance explained on held-out {document['of']}"
    return _table(title, rows) | {"note": note, "ends": _ends_of("alone", "lost")}


def _predicted(kept: list[dict[str, Any]], document: dict[str, Any]) -> list[dict[str, Any]]:
    """A dot for each sample or learner."""
    if not kept:
        return []
    kind = document["of"].removesuffix("s")
    note = f"One dot per {kind}{_part(kept, document)}; on the line they agree."
    points = {
        "name": [row[kind] for row in kept],
        "x": _column(kept, "predicted"),
        "y": _column(kept, "observed"),
    }
    axes = {"x": "predicted mean response", "y": "observed mean response"}
    picture = comparison_picture("Predicted against observed", note, [])
    return [picture | {"kind": "points", "points": points} | axes]


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


def _ends_of(*values: str) -> dict[str, list[str]]:
    """The columns of the interval of each value."""
    own = {"effect": ["low", "high"]}
    return {value: own.get(value, [f"{value}, low", f"{value}, high"]) for value in values}


def _shares(document: dict[str, Any]) -> list[dict[str, Any]]:
    """What all features explain and each alone, and what is lost without each."""
    of, within = document["of"], document["within"]
    features = document["features"] if len(document["features"]) > 1 else []
    more = _cut(len(features))
    alone = _dot("all features", document["explained"]["value"], document["explained"])
    for row in sorted(features, key=lambda row: -(row["alone"] or 0.0))[:MOST_EFFECTS]:
        alone += _dot(row["feature"], row["alone"], _ends(row, "alone"))
    lost = [
        one
        for row in features[:MOST_EFFECTS]
        for one in _dot(row["feature"], row["lost"], _ends(row, "lost"))
    ]
    beyond = f" Below the first row: beyond what {in_quotes(within)} explains." if within and features else ""
    title = "Share explained, together and alone" if features else "Share explained"
    pictures = [
        (f"{title}{more}", f"Of the variance of {WHAT[of]} of held-out {of}; {CI}.{beyond}", alone),
        (f"Share lost without a feature{more}", f"All other features stay; {CI} of the difference.", lost),
    ]
    return [
        comparison_picture(title, note, dots) | {"zero": True, "y": "share of the variance"}
        for title, note, dots in pictures
        if dots
    ]


def _cut(n: int) -> str:
    return f", {MOST_EFFECTS} largest of {n:,}" if n > MOST_EFFECTS else ""


def _largest(effects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(effects, key=lambda row: -abs(row["effect"] or 0.0))


def _effects(document: dict[str, Any]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Effects of numbers and of two levels, the largest first; and the levels of each other category."""
    kinds = {row["feature"]: row["kind"] for row in document["features"]}
    by_feature = dict[str, list[dict[str, Any]]]()
    for row in _largest(document["effects"]):
        by_feature.setdefault(row["feature"], []).append(row)
    levels = [name for name, rows in by_feature.items() if kinds.get(name) == "category" and len(rows) > 1]
    single = [row for row in _largest(document["effects"]) if row["feature"] not in levels]
    names = [_label(row, kinds.get(row["feature"], "")) for row in single]
    inside = f", within {in_quotes(document['within'])}" if document["within"] else ""
    sense = f"{SENSE[document['of']]} {PAIRS} {CI}."
    unit = "Per standard deviation of a number. " if "number" in kinds.values() else ""
    title = f"Effects on {document['scale']}{inside}{_cut(len(single))}"
    all_single = _pairs(title, unit + sense, names[:MOST_EFFECTS], single[:MOST_EFFECTS], document)
    pictures = []
    for name in levels[:MOST_LEVELS]:
        rows = sorted(by_feature[name][:MOST_EFFECTS], key=lambda row: -(row["effect"] or 0.0))
        against = "Each level against the mean of the levels that it can be compared with."
        title = f"Levels of {in_quotes(name)}{inside}{_cut(len(by_feature[name]))}"
        pictures += _pairs(title, f"{against} {sense}", [row["term"] for row in rows], rows, document)
    return all_single, pictures


def _label(row: dict[str, Any], kind: str) -> str:
    """The feature, and what the effect is of unless that is its standard deviation."""
    by_sd = kind == "number" and row["term"].startswith("per ")
    return row["feature"] if by_sd else f"{row['feature']}: {row['term']}"


def _pairs(
    title: str, note: str, names: list[str], rows: list[dict[str, Any]], document: dict[str, Any]
) -> list[dict[str, Any]]:
    """Two dots for each effect: beside the other features, and alone."""
    dots = []
    for name, row in zip(names, rows, strict=True):
        if row["effect"] is None or row["alone"] is None:
            continue
        dots.append(dot(name, row["effect"], row) | {"of": f"{row['term']}, beside the other features"})
        dots.append(
            dot(name, row["alone"], _ends(row, "alone")) | {"of": f"{row['term']}, with no other feature"}
        )
    picture = comparison_picture(title, note, dots)
    axis = f"effect on {document['scale']} (logits)"
    return [picture | {"zero": True, "group": 2, "y": axis}] if dots else []


def feature_verdict(document: dict[str, Any]) -> Statement:
    """How much the features explain, how surely; which matters most, and how many effects are significant."""
    of, explained = document["of"], document["explained"]
    value, low, high = (_known(explained[name]) for name in ("value", "low", "high"))
    draft = Draft(
        f"features {document['verdict']}",
        estimand=f"share of the variance of {WHAT[of]} of {of} like these, each predicted unseen",
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
