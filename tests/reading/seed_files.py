"""What a small log is, and how its files are written."""

import json
from typing import Any, NamedTuple


class Seed(NamedTuple):
    """Files of one log by path; `target` is the one that holds the scores."""

    format: str
    target: str
    files: dict[str, bytes]


def as_json(value: Any) -> bytes:
    return json.dumps(value).encode()


def as_lines(values: list[Any]) -> bytes:
    return b"".join(as_json(value) + b"\n" for value in values)
