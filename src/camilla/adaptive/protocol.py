"""Adaptive testing over lines of JSON: one command a line in, one answer a line out."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from camilla.adaptive.testing import AdaptiveTest
from camilla.errors import CamillaError, DataError

LONGEST_LINE = 100_000  # characters

WANTED = 'wanted {"sample": "name", "response": 0 to 1}, {"next": true} or {"stop": true}'


class Line(msgspec.Struct, forbid_unknown_fields=True):
    """What a line may say."""

    sample: str | None = None
    response: float | bool | None = None
    next: bool = False
    stop: bool = False


def answers(test: AdaptiveTest, lines: Iterable[str]) -> Iterator[str]:
    """The first question, then an answer to every line; ends when told to, when done, or with the lines.

    The first question has the test's provenance beside it. A line that cannot be used is answered by
    {"error": …} and changes nothing.
    """
    yield json.dumps(_said(test) | {"provenance": test.provenance}, ensure_ascii=False)
    for text in lines:
        if not text.strip():
            continue
        try:
            line = _line(text)
            if line.stop:
                yield json.dumps(_state(test) | {"done": True})
                return
            if not line.next:
                test.record(_given(line), float(line.response))  # type: ignore[arg-type]
            yield json.dumps(_said(test), ensure_ascii=False)
        except CamillaError as error:
            yield json.dumps({"error": str(error)}, ensure_ascii=False)
        if test.state().done:
            return


def _said(test: AdaptiveTest) -> dict[str, Any]:
    return {"next": test.next()} | _state(test)


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
    answered = line.sample is not None or line.response is not None
    if answered + line.next + line.stop > 1:
        raise DataError(f"the line has more than one of response, next and stop; {WANTED}.")
    return line


def _given(line: Line) -> str:
    if line.sample is None or line.response is None:
        raise DataError(f"the line has no sample or no response; {WANTED}.")
    return line.sample
