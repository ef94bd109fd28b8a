"""A diagnosis as a directory: written whole or not at all, read back bit for bit, every file checked."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from safetensors import SafetensorError
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from camilla.errors import DataError, FormatError
from camilla.fitting.fit import settings_from_data
from camilla.fitting.layout import Encoders, Size
from camilla.fitting.protocol import Readout
from camilla.models import DIAGNOSERS
from camilla.table.cells import Cells
from camilla.table.content import KeptContent, in_file
from camilla.table.encoding import Encoder
from camilla.table.files import require_own_folder, whole_folder
from camilla.table.skills import SkillGraph

FORMAT = 2
INDEX = "diagnosis.json"
CONTENT = "content.parquet"
FRAMES = ("learners", "samples", "skills")


def make_way(path: Path) -> None:
    """Refuses a place where something else than a diagnosis is, and makes the folders above it."""
    require_own_folder(path, INDEX, "a diagnosis")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(
            f"{path}: no folder {path.parent} can be made: {error.strerror or error}. Give another place."
        ) from error


def write_directory(diagnosis: Any, path: Path) -> Path:
    """Writes beside the target and renames; an earlier diagnosis there is replaced, anything else kept."""
    make_way(path)
    with whole_folder(path) as draft:
        _write_directory(diagnosis, draft)
    return path


def _write_directory(diagnosis: Any, folder: Path) -> None:
    for name in FRAMES:
        getattr(diagnosis, name).write_parquet(folder / f"{name}.parquet")
    pl.DataFrame(diagnosis.cells._asdict()).write_parquet(folder / "responses.parquet")
    arrays = {f"params.{name}": value for name, value in _leaves(diagnosis.params)}
    arrays |= {f"readout.{k}": v for k, v in diagnosis.readout._asdict().items() if isinstance(v, np.ndarray)}
    if diagnosis.combined is not None:
        arrays["combined"] = diagnosis.combined
    if diagnosis.diagnoser.size.skill_mask is not None:
        arrays["skill_mask"] = diagnosis.diagnoser.size.skill_mask.astype(np.uint8)
    encoders = {of: one for of, one in diagnosis.encoders._asdict().items() if one is not None}
    arrays |= {f"encoder.{of}.{k}": v for of, one in encoders.items() for k, v in one.arrays.items()}
    tensors = {name: np.ascontiguousarray(value) for name, value in arrays.items()}
    (folder / "arrays.safetensors").write_bytes(save_tensors(tensors))
    hashes = {file.name: _sha(file.read_bytes()) for file in sorted(folder.iterdir())}
    if diagnosis.content is not None:
        names = {"samples": diagnosis.sample_names, "learners": diagnosis.learner_names}
        diagnosis.content.write(folder / CONTENT, **names)
    document = {
        "format": FORMAT,
        "provenance": diagnosis.provenance,
        "learners": diagnosis.learner_names,
        "samples": diagnosis.sample_names,
        "skills": diagnosis.skill_names,
        "clusters": diagnosis.clusters,
        "temperature": diagnosis.temperature,
        "readout": {k: v for k, v in diagnosis.readout._asdict().items() if not isinstance(v, np.ndarray)},
        "sha256": hashes,
        "encoders": {of: one.document() for of, one in encoders.items()},
        "content": (folder / CONTENT).stat().st_size if diagnosis.content is not None else None,
    }
    text = json.dumps(document, ensure_ascii=False, indent=1)
    (folder / INDEX).write_text(
        json.dumps({"sha256": _sha(text.encode())}) + "\n" + text + "\n", encoding="utf-8"
    )


def read_directory(path: Path) -> dict[str, Any]:
    """The parts of a diagnosis, after every file was checked."""
    document = _index_document(path)
    for name, wanted in document["sha256"].items():
        file = path / name
        if not file.is_file():
            raise FormatError(
                f"{path}: {name} is missing from the saved diagnosis. Make the diagnosis again."
            )
        if _sha(file.read_bytes()) != wanted:
            raise FormatError(
                f"{file}: is damaged: its content is not what was saved. Make the diagnosis again."
            )
    try:
        arrays = load_tensors((path / "arrays.safetensors").read_bytes())
    except SafetensorError as error:
        raise FormatError(f"{path}: arrays.safetensors cannot be read: {error}") from error

    def arrays_of(prefix: str) -> dict[str, Any]:
        return {name.removeprefix(prefix): value for name, value in arrays.items() if name.startswith(prefix)}

    provenance = document["provenance"]
    mask = arrays["skill_mask"].astype(bool) if "skill_mask" in arrays else None
    edges = provenance.get("skill_graph")  # absent from what was saved before there were graphs
    graph = None if edges is None else SkillGraph(tuple(edges)).among(document["skills"])
    size = Size(len(document["learners"]), len(document["samples"]), mask, provenance["fractional"], graph)
    kind: Any = DIAGNOSERS[provenance["diagnoser"]]
    cells = pl.read_parquet(path / "responses.parquet", glob=False)
    tables = {name: pl.read_parquet(path / f"{name}.parquet", glob=False) for name in FRAMES}
    return tables | {
        "provenance": provenance,
        "learner_names": tuple(document["learners"]),
        "sample_names": tuple(document["samples"]),
        "skill_names": tuple(document["skills"]),
        "diagnoser": kind(size, **settings_from_data(provenance["settings"])),
        "params": _params(kind, arrays_of("params.")),
        "readout": Readout(**document["readout"] | arrays_of("readout.")),
        "temperature": document["temperature"],
        "clusters": None if document["clusters"] is None else tuple(document["clusters"]),
        "combined": arrays.get("combined"),
        "cells": Cells(*(cells[name].to_numpy() for name in Cells._fields)),
        "encoders": Encoders(
            **{
                of: Encoder.restored(one, arrays_of(f"encoder.{of}."))
                for of, one in document.get("encoders", {}).items()  # absent from what was saved before
            }
        ),
        "content": _content(path / CONTENT, document.get("content")),
    }


def _content(file: Path, size: int | None) -> KeptContent | None:
    """What samples ask and learners answered, checked by its size alone: it is read in parts, if ever."""
    if size is None:  # also in what was saved before content was
        return None
    if not file.is_file() or file.stat().st_size != size:
        state = "is missing from" if not file.is_file() else "is damaged in"
        raise FormatError(f"{file}: {state} the saved diagnosis. Make the diagnosis again.")
    return in_file(file)


def _index_document(path: Path) -> dict[str, Any]:
    index = path / INDEX
    if not index.is_file():
        raise FormatError(
            f"{path}: is not a saved diagnosis: there is no "
            f"{INDEX if path.is_dir() else 'such folder'}. Make one with camilla diagnose."
        )
    try:
        head, text = index.read_text(encoding="utf-8").split("\n", 1)
        whole = json.loads(head)["sha256"] == _sha(text.removesuffix("\n").encode())
        document = json.loads(text)
        newest = document["format"]
    except (ValueError, KeyError, TypeError) as error:
        raise FormatError(
            f"{index}: is damaged and cannot be read ({error}). Make the diagnosis again."
        ) from error
    if isinstance(newest, int) and newest < FORMAT:
        raise FormatError(
            f"{path}: was written by an earlier version (format {newest}; this version reads {FORMAT}). "
            "Make the diagnosis again with camilla diagnose."
        )
    if isinstance(newest, int) and newest > FORMAT:
        raise FormatError(
            f"{path}: was written by a newer version (format {newest}; this version reads {FORMAT}). "
            "Update camilla."
        )
    if not whole:
        raise FormatError(
            f"{index}: is damaged: its content is not what was saved. Make the diagnosis again."
        )
    return document


def _leaves(params: Any) -> list[tuple[str, np.ndarray]]:
    """(name, array) of every parameter; a tuple's parts are numbered."""
    out = []
    for name, value in params._asdict().items():
        if isinstance(value, tuple):
            out += [(f"{name}.{i}", part) for i, part in enumerate(value)]
        elif value is not None:
            out.append((name, value))
    return out


def _params(kind: Any, arrays: dict[str, np.ndarray]) -> Any:
    fields = kind.parameters_type._fields
    values: dict[str, Any] = {}
    for name in fields:
        parts = sorted(
            (k for k in arrays if k.startswith(f"{name}.")), key=lambda k: int(k.rsplit(".", 1)[1])
        )
        if parts:
            values[name] = tuple(arrays[k] for k in parts)
        elif name in arrays:
            values[name] = arrays[name]
    return kind.parameters_type(**values)


def _sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
