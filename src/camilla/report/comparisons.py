"""What `camilla rank --json` and `camilla compare --json` said, as the page draws it."""

import json
from pathlib import Path
from typing import Any

from camilla.errors import FormatError

MOST_DOTS = 40


def section(path: Path) -> dict[str, Any]:
    """A ranking or the comparison of two learners, told by its fields."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"), parse_constant=lambda _: None)
        return _ranking(path.stem, document) if "groups" in document else _comparison(path.stem, document)
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise FormatError(
            f"{path}: is no ranking or comparison ({error!r}). Write one with camilla rank --json or camilla "
            "compare --json."
        ) from error


def _ranking(name: str, document: dict[str, Any]) -> dict[str, Any]:
    rows = document["learners"]
    level = _level(document["level"])
    tied = [f"{one['first']} to {one['last']}" for one in document["groups"] if one["first"] < one["last"]]
    words = [
        f"{len(rows)} learners by mean response, every pair tested on the samples both answered, {level}."
    ]
    if tied:
        words.append(
            f"Ranks {', '.join(tied[:3])} cannot be told apart" + (", and so on." if tied[3:] else ".")
        )
    dots = [_dot(row["learner"], row["mean"], row) for row in rows[:MOST_DOTS]]
    picture = _picture(
        "Mean response" + (f", first {MOST_DOTS}" if rows[MOST_DOTS:] else ""), f"{level} intervals", dots
    )
    return _section(name, f"ranking {name}", words, [picture], rows, document)


def _comparison(name: str, document: dict[str, Any]) -> dict[str, Any]:
    a, b, overall = document["a"], document["b"], document["overall"]
    sure = overall["p_value"] < 1 - document["level"]
    words = [
        f"{b} less {a} on {overall['n']:,} shared samples: {_points(overall['difference'])} points "
        f"({_interval(overall, document['level'])}), p = {overall['p_value']:.2g} ({overall['test']}): "
        + ("they differ." if sure else "they cannot be told apart.")
    ]
    effects = [("all samples", overall)] + [(str(one["task"]), one) for one in document["tasks"]]
    dots = [_dot(label, one["difference"], one) for label, one in effects[: MOST_DOTS + 1]]
    picture = _picture("Difference", f"Above 0: {b} is better.", dots)
    return _section(name, f"{b} against {a}", words, [picture], document["flipped"], document)


def _interval(effect: dict[str, Any], level: float) -> str:
    if effect["low"] is None:
        return "no interval"
    return f"{_level(level)}: {_points(effect['low'])} to {_points(effect['high'])}"


def _level(level: float) -> str:
    return f"{100 * level:g}\N{NO-BREAK SPACE}%"


def _points(share: float) -> str:
    return f"{100 * share:z.2f}".replace("-", "\N{MINUS SIGN}")


def _dot(name: str, value: float, row: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "x": [0], "value": [value], "low": [row["low"]], "high": [row["high"]]}


def _picture(title: str, note: str, dots: list[dict[str, Any]]) -> dict[str, Any]:
    return {"title": title, "note": note, "x": "", "y": title.lower(), "kind": "dots", "series": dots}


def _section(
    name: str, title: str, words: list[str], pictures: list[Any], rows: list[Any], document: dict[str, Any]
) -> dict[str, Any]:
    columns = [key for key in (rows[0] if rows else {}) if any(row[key] is not None for row in rows)]
    return {
        "name": name,
        "title": title,
        "words": words + document["notes"],
        "pictures": pictures,
        "columns": columns,
        "rows": [[row[column] for column in columns] for row in rows],
        "provenance": document["provenance"],
    }
