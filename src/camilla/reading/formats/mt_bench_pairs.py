"""MT-Bench: `model_judgment/<judge>_pair.jsonl`, which of two answers a judge preferred: matches.

Each pair was judged twice, with its answers in both orders. As in MT-Bench's own results, a model wins if it
wins both, everything else is a tie, and a pair that the judge failed on is left out.
"""

from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from camilla.errors import DataError
from camilla.reading.decoding import decode_lines, name_in, plain
from camilla.reading.runs import Run

WINNERS = {"model_1": "a", "model_2": "b"}
FAILED = "error"


class PairJudgment(msgspec.Struct):
    question_id: Any
    model_1: Any
    model_2: Any
    g1_winner: Any
    g2_winner: Any
    judge: Any = None
    turn: Any = 1


JUDGMENT = msgspec.json.Decoder(PairJudgment)


def runs(path: Path) -> list[Run]:
    """None: a preference is no response to a sample; `matches` has them."""
    return []


def matches(path: Path) -> pl.DataFrame:
    """player_a, player_b, the winner as a, b or tie, the judge, and the question and turn as the round."""
    rows = []
    for number, one in decode_lines(path, JUDGMENT):
        where = f"{path}: line {number}"
        if FAILED in (one.g1_winner, one.g2_winner):
            continue
        agreed = one.g1_winner == one.g2_winner and isinstance(one.g1_winner, str)
        judge = one.judge[0] if isinstance(one.judge, list) and one.judge else one.judge
        question = name_in(one.question_id, where=where, what="question_id")
        rows.append(
            {
                "player_a": name_in(one.model_1, where=where, what="model_1"),
                "player_b": name_in(one.model_2, where=where, what="model_2"),
                "winner": WINNERS.get(one.g1_winner, "tie") if agreed else "tie",
                "judge": plain(judge),
                "round": f"{question} turn {name_in(one.turn, where=where, what='turn')}",
            }
        )
    if not rows:
        raise DataError(f"{path}: contains no pair that its judge decided.")
    return pl.DataFrame(rows)
