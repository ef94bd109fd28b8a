"""Tables as plain HTML: static, small, every name escaped."""

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from camilla.data.names import shown

if TYPE_CHECKING:
    from camilla.data.responses import ResponseTable

IN_NOTEBOOK = 10  # rows that a notebook shows


def html_table(caption: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Cells are escaped; numbers have three decimals, nothing stands where there is none."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in columns)
    body = "".join("<tr>" + "".join(f"<td>{_cell(value)}</td>" for value in row) + "</tr>" for row in rows)
    inside = f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
    return f"<table><caption>{escape(shown(caption))}</caption>{inside}</table>"


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    return f"{value:.3f}" if isinstance(value, float) else f"<bdi>{escape(shown(str(value)))}</bdi>"


def responses_in_notebook(table: "ResponseTable") -> str:
    """What a notebook shows of a table: its size, and the learners with the highest mean response."""
    mean, se, weight = table.learner_means()
    order = np.argsort(-np.nan_to_num(mean, nan=-1.0), kind="stable")[:IN_NOTEBOOK]
    rows = [(table.learners[i], float(mean[i]), float(se[i]), f"{weight[i]:g}") for i in order]
    more = table.n_learners - len(rows)
    tail = f"; the first {len(rows)} by mean response" if more else ""
    return html_table(f"{table!r}{tail}", ["learner", "mean", "se", "responses"], rows)
