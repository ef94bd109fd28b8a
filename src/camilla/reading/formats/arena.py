"""Arena battles: two models, and which of them a judge preferred; matches, not responses.

Tables (CSV, JSONL, Parquet) and JSON arrays with model_a, model_b and winner: model_a, model_b, tie, or
both_bad, which is a tie between two bad answers.
"""

from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from camilla.errors import DataError
from camilla.reading.decoding import decode_file, digest, name_in, plain
from camilla.reading.formats.alpaca_eval import ANNOTATIONS, response
from camilla.reading.runs import Run
from camilla.reading.sniffing import peek
from camilla.table.frame_files import read_frame


class Battle(msgspec.Struct):
    model_a: Any
    model_b: Any
    winner: Any
    judge: Any = None
    language: Any = None


BATTLES = msgspec.json.Decoder(list[Battle])


def runs(path: Path) -> list[Run]:
    """None: a battle is no response to a sample; `matches` has them."""
    return []


def matches(path: Path) -> pl.DataFrame:
    """player_a, player_b, and the winner as a, b or tie, or the probability that player_a is better."""
    if path.suffix.lower() != ".json":
        frame = read_frame(path)
        return frame.rename({"model_a": "player_a", "model_b": "player_b"}, strict=False)
    if "generator_1" in peek(path).keys:
        return _annotations(path)
    battles = decode_file(path, BATTLES)
    rows = [
        {
            "player_a": name_in(one.model_a, where=str(path), what="model_a"),
            "player_b": name_in(one.model_b, where=str(path), what="model_b"),
            "winner": plain(one.winner),
            "judge": plain(one.judge),
            "language": plain(one.language),
        }
        for one in battles
    ]
    return _frame(rows, path)


def _annotations(path: Path) -> pl.DataFrame:
    """AlpacaEval's comparisons; player_a is the model, player_b the reference, each round an instruction."""
    rows = []
    for one in decode_file(path, ANNOTATIONS):
        probability = response(one.preference)
        if probability is not None:
            rows.append(
                {
                    "player_a": name_in(one.generator_2, where=str(path), what="generator_2"),
                    "player_b": name_in(one.generator_1, where=str(path), what="generator_1"),
                    "probability": probability,
                    "round": digest(one.instruction)[:12],
                }
            )
    return _frame(rows, path)


def _frame(rows: list[dict[str, Any]], path: Path) -> pl.DataFrame:
    if not rows:
        raise DataError(f"{path}: contains no battles.")
    return pl.DataFrame(rows)
