"""MTEB: `<model>/<revision>/<task>.json` with the scores of each split and subset, as since mteb 1.12.

A score is that of a whole task, not of a sample: the results of several models are a tournament for EPP, in
which models are players and the subsets of tasks are rounds.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import polars as pl

from camilla.errors import DataError
from camilla.reading.decoding import decode_file, name_in, number_in, plain
from camilla.reading.entries import Draft, settings
from camilla.reading.runs import About, Run

MAIN = "main_score"
META = "model_meta.json"


class SubsetScores(msgspec.Struct):
    main_score: Any = None
    hf_subset: Any = None
    languages: Any = None


class TaskScores(msgspec.Struct):
    task_name: Any
    scores: dict[str, list[SubsetScores]]
    mteb_version: Any = None
    dataset_revision: Any = None


class ModelMeta(msgspec.Struct):
    name: Any = None
    revision: Any = None


TASK = msgspec.json.Decoder(TaskScores)
MODEL = msgspec.json.Decoder(ModelMeta)


class Model(NamedTuple):
    name: str
    revision: str


class Scored(NamedTuple):
    """A split and subset of a task, and its main score if it has one."""

    subset: str  # "" where the task has no subsets
    score: float | None
    language: str


def runs(path: Path) -> Iterator[Run]:
    """The one run of a file: a score for each split and subset of its task."""
    found = decode_file(path, TASK)
    model = model_of(path)
    task = name_in(found.task_name, where=str(path), what="task_name")
    draft = Draft()
    for one in _scored(found):
        name = one.subset or "all"
        draft.add(name, MAIN, one.score, draft.trial(name))
        draft.about[name] = About("", (("language", one.language),) if one.language else ())
    yield Run(
        model.name,
        task,
        draft.rows(),
        source=str(path),
        format="mteb",
        version=plain(found.dataset_revision),
        about=draft.about,
        settings=settings({"revision": model.revision, "mteb_version": found.mteb_version}),
        left_out=draft.left_out,
        main=MAIN,
    )


def model_of(path: Path) -> Model:
    """The model that the file beside names, or the folders: <organisation>__<model>/<revision>."""
    folder = path.resolve().parent
    beside = path.parent / META
    meta = decode_file(beside, MODEL) if beside.is_file() else ModelMeta()
    name = plain(meta.name) or folder.parent.name or folder.name or "mteb"
    return Model(name.replace("__", "/", 1), plain(meta.revision) or folder.name)


def _scored(found: TaskScores) -> Iterator[Scored]:
    """The split is named where it is not the test split, the subset where it is not the default."""
    for split, subsets in found.scores.items():
        for one in subsets:
            subset = plain(one.hf_subset)
            parts = [split if split != "test" else "", subset if subset != "default" else ""]
            languages = one.languages if isinstance(one.languages, list) else []
            name = "/".join(part for part in parts if part)
            yield Scored(name, number_in(one.main_score), plain(languages[0]) if len(languages) == 1 else "")


class Scores(NamedTuple):
    """Columns player, round and score, and the file of each row."""

    frame: pl.DataFrame
    files: list[str]


def tournament_scores(paths: list[Path], where: Path) -> Scores:
    """The main scores of all files; a model with several revisions is as many players."""
    rows: list[tuple[Model, str, float | None, str]] = []
    for path in paths:
        found = decode_file(path, TASK)
        model, task = model_of(path), name_in(found.task_name, where=str(path), what="task_name")
        for one in _scored(found):
            rows.append((model, f"{task}/{one.subset}" if one.subset else task, one.score, str(path)))
    if not rows:
        raise DataError(
            f"{where}: is a folder without results of MTEB, <model>/<revision>/<task>.json. "
            "Give those, or a table of scores."
        )
    revisions: dict[str, set[str]] = {}
    for model, *_ in rows:
        revisions.setdefault(model.name, set()).add(model.revision)
    players = [
        model.name if len(revisions[model.name]) == 1 else f"{model.name} ({model.revision})"
        for model, *_ in rows
    ]
    frame = pl.DataFrame(
        {"player": players, "round": [row[1] for row in rows], "score": [row[2] for row in rows]},
        schema={"player": pl.String, "round": pl.String, "score": pl.Float64},
    )
    return Scores(frame, [row[3] for row in rows])
