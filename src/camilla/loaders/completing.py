"""Logs that name only what was solved: every other sample of the benchmark was failed."""

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from camilla.loaders.collecting import SCHEMA, Collection, Kept, Pair
from camilla.loaders.runs import About, Row


def completed(runs: Sequence[Kept], universe: Sequence[str], collection: Collection) -> list[Kept]:
    """The runs, with a 0 for each sample that a list of solved ones leaves out.

    Without a universe it is all samples that any run of the task names; what nobody solved is then not
    among them, which flatters everyone alike.
    """
    named: dict[str, dict[str, None]] = {}
    for one in runs:
        if one.run.rest_is_wrong or universe:
            names = named.setdefault(one.run.task, dict.fromkeys(universe))
            names.update(dict.fromkeys(one.frame["sample"].to_list()))
    return [
        _completed(one, list(named[one.run.task]), collection) if one.run.rest_is_wrong else one
        for one in runs
    ]


def _completed(one: Kept, names: list[str], collection: Collection) -> Kept:
    known = set(one.frame["sample"].to_list())
    absent = [name for name in names if name not in known]
    pair = next(iter(one.pairs), Pair("resolved", ""))
    rows = {
        "sample": absent,
        "score": [0.0] * len(absent),
        "pair": [collection.codes.setdefault(pair, len(collection.codes))] * len(absent),
        "trial": [0] * len(absent),
        "content": [None] * len(absent),
        "why": [0] * len(absent),
        "weight": [None] * len(absent),
    }
    described = replace(
        one.run, rows=[Row(name, 0.0) for name in absent], about=dict.fromkeys(absent, About())
    )
    collection.describe(described, absent)
    frame = pl.concat([one.frame, pl.DataFrame(rows, schema=SCHEMA)])
    pairs = one.pairs | {pair: one.pairs.get(pair, 0) + len(absent)}
    return Kept(one.run, frame, pairs)
