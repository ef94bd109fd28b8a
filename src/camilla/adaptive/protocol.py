"""Adaptive testing over lines of JSON: one command a line in, one answer a line out."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from camilla.adaptive.testing import AdaptiveTest
from camilla.errors import CamillaError, DataError

LONGEST_LINE = 100_000  # characters

WANTED = (
    'wanted {"sample": "name", "response": 0 to 1, or null if it could not be run}, {"next": true} or '
    '{"stop": true}'
)


class Line(msgspec.Struct, forbid_unknown_fields=True):
    """What a line may say."""

    sample: str | None = None
    response: float | bool | msgspec.UnsetType | None = msgspec.UNSET
    next: bool = False
    stop: bool = False


def answers(test: AdaptiveTest, lines: Iterable[str]) -> Iterator[str]:
    """The first question, then an answer to every line; ends when told to, when done, or with the lines.

    All have the same fields; the first question has the test's provenance besides. A line that cannot be used
    changes nothing and is answered by where the test stands, `error` saying why.
    """
    yield json.dumps(_said(test) | {"provenance": test.provenance}, ensure_ascii=False)
    for text in lines:
        if not text.strip():
            continue
        stopped, error = False, None
        try:
            stopped = _taken(test, _line(text))
        except CamillaError as refused:
            error = str(refused)
        yield json.dumps(_said(test, stopped=stopped, error=error), ensure_ascii=False)
        if stopped or test.state().done:
            return


def _taken(test: AdaptiveTest, line: Line) -> bool:
    """Whether the line was the last one."""
    if line.next or line.stop:
        return line.stop
    if line.sample is None or line.response is msgspec.UNSET:
        raise DataError(f"the line has no sample or no response; {WANTED}.")
    if line.response is None:
        test.leave_out(line.sample)
    else:
        test.record(line.sample, float(line.response))
    return False


def _said(test: AdaptiveTest, *, stopped: bool = False, error: str | None = None) -> dict[str, Any]:
    state = _state(test)
    return (
        {"next": None if stopped else test.next()}
        | state
        | {"done": stopped or state["done"], "error": error}
    )


def _state(test: AdaptiveTest) -> dict[str, Any]:
    """Numbers to six decimals: more would be noise."""
    found = test.state()._asdict()
    return {name: round(value, 6) if isinstance(value, float) else value for name, value in found.items()}


def _line(text: str) -> Line:
    if len(text) > LONGEST_LINE:
        raise DataError(f"a line of {len(text)} characters; {WANTED}.")
    try:
        line = msgspec.json.decode(text.encode("utf-8", "replace"), type=Line)
    except (msgspec.DecodeError, RecursionError) as error:
        raise DataError(f"{error}; {WANTED}.") from None
    answered = line.sample is not None or line.response is not msgspec.UNSET
    if answered + line.next + line.stop > 1:
        raise DataError(f"the line has more than one of response, next and stop; {WANTED}.")
    return line
