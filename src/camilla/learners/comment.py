"""A comparison as a comment on a pull request: the answer first, everything from data escaped."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import polars as pl

from camilla.display import counted, percent, signed
from camilla.learners.sentences import macro_sentence, sentence
from camilla.markdown import code, details, entities, table

if TYPE_CHECKING:
    from camilla.learners.compare import Comparison, Effect
    from camilla.learners.gates import Gate

MARK = "<!-- camilla compare -->"  # by which a workflow finds its comment again
MOST_TASKS = 100  # rows; a comment has 65,536 characters at most


def comment(found: "Comparison", gate: "Gate | None", *, flips: int) -> str:
    """The whole comment, ending in a line break."""
    overall = found.overall
    paragraphs = [
        MARK,
        f"### Camilla: {_headline(found)}",
        sentence(overall, found.level),
        f"A is {code(found.a)} (mean {overall.mean_a:.3f}), "
        f"B is {code(found.b)} (mean {overall.mean_b:.3f}).",
        *([] if found.macro is None else [macro_sentence(found.macro, found.level)]),
        *([] if gate is None else [_gate(found, gate)]),
        *_tasks(found),
        *_flipped(found, flips),
        *([_listed(found.notes)] if found.notes else []),
        _provenance(found),
    ]
    return "\n\n".join(paragraphs) + "\n"


def _headline(found: "Comparison") -> str:
    verdict = found.overall.verdict(found.level)
    b, a = code(found.b), code(found.a)
    if verdict in ("tied", "too few samples"):
        return f"{b} and {a} cannot be told apart"
    return f"{b} is {verdict} than {a}"


def _gate(found: "Comparison", gate: "Gate") -> str:
    """Whether B passes, what failed, and the rule."""
    failed = [
        "overall"
        if check.task is None
        else code(check.task) + (f" (may lose {100 * check.allowed:g} points)" if check.allowed else "")
        for check in gate.checks
        if not check.passed
    ]
    verdict = f"**Gate: failed** on {', '.join(failed)}." if gate.failed else "**Gate: passed.**"
    return f"{verdict} {gate.rule} {gate.sight.sentence}"


def _tasks(found: "Comparison") -> Iterator[str]:
    if not found.tasks:
        return
    alone, together = f"{percent(found.level)} CI", "simultaneous CI"
    heads = ("task", "n", "A", "B", "B − A", alone, "p", together, "Holm p", "verdict")
    rows = [_row(task, found.level) for task in found.tasks[:MOST_TASKS]]
    yield table(heads, rows, right=range(1, 9))
    more = len(found.tasks) - MOST_TASKS
    yield (
        f"Differences are in points. p and {alone} are of one task, Holm p and {together} (Bonferroni) "
        f"of all {len(found.tasks)} tasks together; verdicts follow Holm p."
        + (f" {more} more tasks are not shown." if more > 0 else "")
    )


def _row(task: "Effect", level: float) -> list[str]:
    def points(low: float | None, high: float | None) -> str:
        if low is None or high is None or low != low:
            return "–"
        return f"{signed(100 * low)} to {signed(100 * high)}"

    verdict = task.verdict(level)
    return [
        code(task.task or ""), str(task.n), f"{task.mean_a:.3f}", f"{task.mean_b:.3f}",
        signed(100 * task.difference), points(task.low, task.high), f"{task.p_value:.2g}",
        points(task.simultaneous_low, task.simultaneous_high), f"{task.holm_p:.2g}",
        f"**{verdict}**" if verdict in ("better", "worse") else verdict,
    ]  # fmt: skip


def _flipped(found: "Comparison", flips: int) -> Iterator[str]:
    lost, won = found.lost, found.won
    if lost.height + won.height == 0 or flips == 0:
        return
    summary = f"{counted(lost.height, 'sample')} lost and {won.height} won by B"
    parts = [
        part
        for word, rows in (("lost", lost), ("won", won))
        if rows.height
        for part in (f"**B {word} {_shown(rows.height, flips)}**", _samples(rows.head(flips)))
    ]
    yield details(summary, "\n\n".join(parts))


def _shown(n: int, flips: int) -> str:
    return counted(n, "sample") if n <= flips else f"{n} samples, of which {flips} are shown"


def _samples(rows: pl.DataFrame) -> str:
    cells = [
        (code(row["sample"]), code(row["task"]) if row["task"] else "", f"{row['a']:.3g}", f"{row['b']:.3g}")
        for row in rows.to_dicts()
    ]
    return table(("sample", "task", "A", "B"), cells, right=(2, 3))


def _listed(notes: Sequence[str]) -> str:
    return "\n".join(f"- note: {entities(note)}" for note in notes)


def _provenance(found: "Comparison") -> str:
    made, versions = found.provenance, found.provenance["versions"]
    packages = ", ".join(f"{name} {version}" for name, version in versions.items())
    return (
        f"<sub>{counted(found.overall.n, 'shared sample')} of {made['n_samples']}; "
        f"level {percent(found.level)}; data {made['data_hash'][:16]}; {packages}.</sub>"
    )
