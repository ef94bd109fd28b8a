"""Group differences on SWE-bench Verified: figures and section of docs/results/logs.md."""

from collections.abc import Callable

import numpy as np

from camilla.samples.dif import dif
from logs_tables import Found, Rows, swebench


def release_dates() -> Rows:
    """Agents of the last year against earlier ones; the same with random groups of the same sizes."""
    table = swebench()
    dates = {name: "new" if name[:6] >= "202506" else "old" for name in table.learners}
    rows = []
    for kind in ("release date", "random 1", "random 2", "random 3"):
        values = list(dates.values())
        if kind != "release date":
            np.random.default_rng(int(kind[-1])).shuffle(values)
        found = dif(table, dict(zip(dates, values, strict=True)), focal="new")
        first = found.samples.row(0, named=True)
        rows.append(
            {
                "groups": kind, "learners": found.groups["learners"].to_list(),
                "ability": [round(x, 2) for x in found.groups["ability"]],
                "differ": int(found.samples["differs"].sum()),
                "ets_c": int((found.samples["ets"] == "C").sum()),
                "first": first["sample"], "effect": first["effect"], "q": first["q"],
            }
        )  # fmt: skip
    return rows


def section(found: Found) -> list[str]:
    lines = [
        "| groups | learners | mean ability | samples that differ | ETS class C | surest | effect "
        "(logits) | q |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in found["release dates"]["rows"]:
        lines.append(
            f"| {row['groups']} | {row['learners'][0]} and {row['learners'][1]} | {row['ability'][0]} and "
            f"{row['ability'][1]} | {row['differ']} | {row['ets_c']} | `{row['first']}` | "
            f"{row['effect']:.2f} | {row['q']:.3g} |"
        )
    return [
        "## Group differences (`camilla dif`)",
        "SWE-bench Verified: agents since June 2025 against earlier ones, at equal ability; below, "
        "random groups of "
        "the same sizes, where nothing should differ (false discovery rate 5 %).",
        "\n".join(lines),
    ]


PARTS: dict[str, Callable[[], Rows]] = {"release dates": release_dates}
