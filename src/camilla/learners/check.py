"""What to know of a table before believing anything computed from it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from camilla.arrays import Floats
from camilla.display import Part, Printable, counted
from camilla.errors import DataError
from camilla.learners.response_bias import bias_notes
from camilla.names import quoted
from camilla.provenance import made_of
from camilla.reading.inputs import TableLike, as_table
from camilla.statistics.all_pairs import FEWEST_ALIKE, Alike, copies
from camilla.statistics.dependence import Agreement, agreement_of
from camilla.statistics.dimensions import Dimensions, parallel_analysis
from camilla.statistics.missingness import Missingness, missingness_of, overlap_of
from camilla.table.frames import WideRows
from camilla.table.responses import ResponseTable

Severity = Literal["fine", "note", "warning", "unknown"]
MOST_CELLS = 20_000_000  # above, copies are looked for on fewer samples
MOST_NAMED = 5  # sets of learners that answer alike
KEEP_ONE = "Ranks and fits count each of them; keep one."
STANDING_OUT = 5  # learners whose response is not the sample's median
NO_LEARNER, NO_SAMPLE = (
    "no two learners have the same responses, or nearly the same",
    "no two samples that tell learners apart have exactly the same responses",
)


@dataclass(frozen=True)
class TableFinding:
    """One thing looked at: what is there, and whether it is fine; "unknown" if the table cannot tell."""

    about: str
    level: Severity
    says: str
    names: tuple[str, ...] = ()  # learners or samples concerned


MARKS: dict[Severity, str] = {
    "fine": "fine   ", "note": "note   ", "warning": "WARNING", "unknown": "unknown",
}  # fmt: skip


class Gain(NamedTuple):
    """Error on responses that the fit has not seen, and by how much it is below that of sample means."""

    rmse: float
    gain: float


@dataclass(frozen=True)
class Control:
    """How well a diagnoser predicts with and without a learner signal in the table.

    Attributes
    ----------
    diagnoser : str
        Name of the diagnoser.
    real : Gain
        How much better it predicts held-out responses than a constant, on the table.
    permuted : tuple of Gain
        The same on tables without the learners' signal.
    n_learners : int
        Learners that were used.
    n_samples : int
        Samples that were used.

    Examples
    --------
    >>> control = camilla.permutation_control(camilla.simulate(12, 60, seed=1).table, "vanilla")
    >>> control.n_samples
    60
    """

    diagnoser: str
    real: Gain
    permuted: tuple[Gain, ...]
    n_learners: int  # looked at
    n_samples: int

    @property
    def holds(self) -> bool:
        """Whether the diagnoser gains from learners, and more than from any permuted table."""
        return self.real.gain > max(0.0, *(one.gain for one in self.permuted))

    @property
    def is_clean(self) -> bool:
        """Whether permuted tables give it, on average, no more than chance or a tenth of the real gain."""
        gains = np.array([one.gain for one in self.permuted])
        chance = 2 * gains.std(ddof=1) / np.sqrt(len(gains))
        return bool(gains.mean() <= max(0.1 * self.real.gain, chance))

    @property
    def finding(self) -> TableFinding:
        """The verdict on the fit."""
        gains = [one.gain for one in self.permuted]
        says = (
            f"knowing the learner reduces the error of sample means by {self.real.gain:.4f}; with responses "
            f"permuted within samples, by {min(gains):.4f} to {max(gains):.4f}"
        )
        if not self.holds:
            return TableFinding(
                f"{self.diagnoser} fit", "warning", f"{says}: it finds nothing about learners"
            )
        if not self.is_clean:
            says += ": it finds learners where there are none"
            return TableFinding(f"{self.diagnoser} fit", "warning", says)
        return TableFinding(
            f"{self.diagnoser} fit", "fine", f"{says}: what it says about learners is in the responses"
        )

    def to_document(self) -> dict[str, Any]:
        """Returns everything as plain data.

        Returns
        -------
        dict
            Plain data.

        Examples
        --------
        >>> control = camilla.permutation_control(camilla.simulate(12, 60, seed=1).table, "vanilla")
        >>> sorted(control.to_document())[:3]
        ['diagnoser', 'holds', 'is_clean']
        """
        return {
            "diagnoser": self.diagnoser,
            "real": self.real._asdict(),
            "permuted": [one._asdict() for one in self.permuted],
            "n_learners": self.n_learners,
            "n_samples": self.n_samples,
            "holds": self.holds,
            "is_clean": self.is_clean,
        }


@dataclass(frozen=True, repr=False)
class Checked(Printable):
    """What `camilla.check` found, in the order of the checks.

    Attributes
    ----------
    findings : tuple
        What was checked, in that order: each with its level (fine, note or warning) and a
        sentence.
    dimensions : Dimensions
        How many dimensions the responses have.
    provenance : mapping
        What the result was made of: hash and sizes of the table, settings, versions.
    control : Control or None
        What a diagnoser knows of learners, if one was fitted.

    Examples
    --------
    >>> checked = camilla.check(camilla.simulate(24, 40, seed=1).table)
    >>> len(checked.findings)
    8
    """

    findings: tuple[TableFinding, ...]
    dimensions: Dimensions
    provenance: Mapping[str, Any]
    control: Control | None = None  # of a fit, if one was made

    def with_control(self, control: Control) -> Self:
        """Returns the same findings with the verdict on a fit.

        Parameters
        ----------
        control : Control
            What `camilla.permutation_control` returned.

        Returns
        -------
        Checked
            The findings and one more.

        Examples
        --------
        >>> checked = camilla.check(camilla.simulate(24, 40, seed=1).table)
        >>> control = camilla.permutation_control(camilla.simulate(12, 60, seed=1).table, "vanilla")
        >>> checked.with_control(control).control is control
        True
        """
        return replace(self, findings=(*self.findings, control.finding), control=control)

    def without_control(self, diagnoser: str, why: str) -> Self:
        """Returns the same findings with the reason why there is no fit.

        Parameters
        ----------
        diagnoser : str
            Name of the diagnoser that was not fitted.
        why : str
            The reason.

        Returns
        -------
        Checked
            The findings and one more.

        Examples
        --------
        >>> checked = camilla.check(camilla.simulate(24, 40, seed=1).table)
        >>> len(checked.without_control("irt", "it takes too long").findings) - len(checked.findings)
        1
        """
        left_out = TableFinding(f"{diagnoser} fit", "unknown", f"left out: {why.rstrip('.')}")
        return replace(self, findings=(*self.findings, left_out))

    @property
    def unanswered(self) -> tuple[str, ...]:
        """What was looked at and cannot be answered by this table."""
        return tuple(finding.about for finding in self.findings if finding.level == "unknown")

    @property
    def verdict(self) -> Literal["warnings", "notes", "fine"]:
        """The most serious finding."""
        levels = {finding.level for finding in self.findings}
        return "warnings" if "warning" in levels else "notes" if "note" in levels else "fine"

    @property
    def answer(self) -> str:
        """How many warnings and notes there are; that nothing was found; what could not be answered."""
        levels = [finding.level for finding in self.findings]
        warnings, notes = levels.count("warning"), levels.count("note")
        said = f"{counted(len(levels), 'check')}: {counted(warnings, 'warning')}, {counted(notes, 'note')}"
        said += f", {len(self.unanswered)} without an answer." if self.unanswered else "."
        if self.control is not None and not self.control.holds:
            said += (
                f" {self.control.diagnoser} finds nothing about learners here: do not interpret its "
                "abilities."
            )
        if levels.count("fine") == len(levels):
            said += " No problem was found."
        if self.unanswered:
            said += (
                f" This table is too small or too uniform to answer: {', '.join(self.unanswered)}. The "
                "lines on these checks say why."
            )
        return said

    def parts(self) -> list[Part]:
        """Returns what `text` prints: the number of warnings and notes, then one line per check.

        Returns
        -------
        list
            Sentences, and tables with their titles.

        Examples
        --------
        >>> checked = camilla.check(camilla.simulate(24, 40, seed=1).table)
        >>> len(checked.parts()) > 1
        True
        """
        width = max(len(finding.about) for finding in self.findings)
        return [
            self.answer,
            "\n".join(
                f"{MARKS[finding.level]}  {finding.about.ljust(width)}  {finding.says}."
                for finding in self.findings
            ),
        ]

    def to_document(self) -> dict[str, Any]:
        """Returns everything as plain data.

        Returns
        -------
        dict
            Plain data: what the command prints with `--json`, without the schema's name.

        Examples
        --------
        >>> checked = camilla.check(camilla.simulate(24, 40, seed=1).table)
        >>> checked.to_document()["verdict"]
        'fine'
        """
        return {
            "verdict": self.verdict,
            "answer": self.answer,
            "findings": [asdict(finding) for finding in self.findings],
            "unanswered": list(self.unanswered),
            "dimensions": {
                name: value.tolist() if isinstance(value, np.ndarray) else value
                for name, value in self.dimensions._asdict().items()
            },
            "control": None if self.control is None else self.control.to_document(),
            "provenance": dict(self.provenance),
        }


def check(table: TableLike, *, rows: WideRows | None = None, seed: int = 0) -> Checked:
    """Checks a table before you rely on it.

    It looks for samples with the same response from every learner, copies of learners and samples, learners
    that agree more often than their levels explain, missing responses that are not random, blocks without
    overlap, and the number of dimensions.

    Parameters
    ----------
    table : ResponseTable, dataframe or path
        The responses. A dataframe or a path is read as by `camilla.read`.
    rows : {"samples", "learners"}, optional
        What the rows of a wide dataframe or file are. Without it a table is long: one row per response.
    seed : int
        Random seed. The same table, settings and seed give the same result.

    Returns
    -------
    Checked
        `answer`, `findings`, `unanswered`, `dimensions`, `provenance`.

    Examples
    --------
    >>> camilla.check(camilla.digits()).answer
    '8 checks: 0 warnings, 3 notes.'
    """
    table = as_table(table, rows=rows)
    if table.n_responses == 0:
        raise DataError(f"the table has no responses ({table.n_missing} are missing); fill some in.")
    matrix = table.matrix()
    dimensions = parallel_analysis(matrix, seed=seed)
    findings = (
        _size(table),
        _samples(table, matrix),
        _learners(table, matrix),
        *_copies(table, matrix),
        *_dependence(table, matrix),
        *(TableFinding("skills by class", "warning", says.rstrip(".")) for says in bias_notes(table)),
        *_missing(matrix),
        _dimensions(dimensions),
    )
    return Checked(findings, dimensions, made_of(table, seed=seed))


def _size(table: ResponseTable) -> TableFinding:
    kind = "right/wrong" if table.is_binary else "fractional"
    trials = table.n_responses / len(table.cells().response)
    says = (
        f"{counted(table.n_learners, 'learner')} × {counted(table.n_samples, 'sample')}, {kind} responses"
        + (f", {trials:.3g} trials per cell" if trials > 1 else "")
        + ("" if table.task is None else f", {len(set(table.task))} tasks")
        + ("" if table.cluster is None else f", {len(set(table.cluster))} clusters")
    )
    small = table.n_samples < 30
    return TableFinding(
        "size",
        "warning" if small else "fine",
        says + ("; with fewer than 30 samples, little is certain" if small else ""),
    )


def _samples(table: ResponseTable, matrix: Floats) -> TableFinding:
    low, high = _lowest(matrix), _highest(matrix)
    several = (~np.isnan(matrix)).sum(axis=0) > 1
    if not several.any():
        says = "no sample has responses from two learners: whether they differ cannot be seen"
        return TableFinding("constant samples", "unknown", says)
    constant = (low == high) & several
    right, wrong = int(np.sum(constant & (low == 1))), int(np.sum(constant & (low == 0)))
    share = float(constant.mean())
    says = (
        f"{int(constant.sum())} of {counted(table.n_samples, 'sample')} have the same response from "
        f"everybody ({right} all right, {wrong} all wrong): such samples do not distinguish learners"
        if constant.any()
        else "no sample has the same response from everybody"
    )
    level: Severity = "fine" if share == 0 else "note" if share <= 0.2 else "warning"
    return TableFinding(
        "constant samples", level, says, tuple(table.samples[j] for j in np.flatnonzero(constant))
    )


def _lowest(matrix: Floats) -> Floats:
    return np.min(np.where(np.isnan(matrix), np.inf, matrix), axis=0)


def _highest(matrix: Floats) -> Floats:
    return np.max(np.where(np.isnan(matrix), -np.inf, matrix), axis=0)


def _learners(table: ResponseTable, matrix: Floats) -> TableFinding:
    counts = (~np.isnan(matrix)).sum(axis=1)
    if counts.max() < 2:
        says = "no learner has two responses: whether they differ cannot be seen"
        return TableFinding("constant learners", "unknown", says)
    low, high = _lowest(matrix.T), _highest(matrix.T)
    constant, empty = (low == high) & (counts > 1), counts == 0
    names = tuple(table.learners[i] for i in np.flatnonzero(constant | empty))
    if not names:
        return TableFinding("constant learners", "fine", "no learner has the same response everywhere")
    says = (
        f"{counted(int(constant.sum()), 'learner', 'has', 'have')} the same response everywhere, "
        f"{int(empty.sum())} no response"
    )
    return TableFinding("constant learners", "warning", f"{says}: {quoted(names)}", names)


def _copies(table: ResponseTable, matrix: Floats) -> Iterator[TableFinding]:
    """Samples count only where five learners or more stand out: the same few failures are no copy."""
    yield _learner_copies(table, matrix)
    answered = ~np.isnan(matrix).all(axis=0)
    middle = np.full(table.n_samples, np.nan)
    middle[answered] = np.nanmedian(matrix[:, answered], axis=0)
    columns = np.flatnonzero(np.sum(~np.isnan(matrix) & (matrix != middle), axis=0) >= STANDING_OUT)
    if len(columns) < 2:
        says = (
            f"{counted(len(columns), 'sample')} on which {STANDING_OUT} learners differ from the median "
            "response; two are needed"
        )
        yield TableFinding("copies of samples", "unknown", says)
        return
    filled = np.nan_to_num(matrix, nan=-1.0)
    samples = [columns[group] for group in _equal_rows(np.ascontiguousarray(filled[:, columns].T))]
    names = tuple(table.samples[j] for group in samples for j in group)
    says = (
        f"{len(names)} samples have exactly the responses of another: {quoted(names)}" if names else NO_SAMPLE
    )
    yield TableFinding("copies of samples", "note" if names else "fine", says, names)


def _learner_copies(table: ResponseTable, matrix: Floats) -> TableFinding:
    alike = copies(matrix)
    if alike:
        names = tuple(table.learners[i] for group in alike for i in group.learners)
        sets = [_alike_in_words(table, group) for group in alike[:MOST_NAMED]]
        says = "; ".join(sets if len(alike) <= MOST_NAMED else [*sets, _more(alike)])
        return TableFinding("copies of learners", "warning", says, names)
    differ = int(np.sum(_lowest(matrix) < _highest(matrix)))
    if table.n_learners < 2 or differ < FEWEST_ALIKE:
        says = (
            f"{counted(table.n_learners, 'learner')} and {counted(differ, 'sample')} on which responses "
            f"differ; two learners and {FEWEST_ALIKE} samples are needed to tell a copy from chance"
        )
        return TableFinding("copies of learners", "unknown", says)
    return TableFinding("copies of learners", "fine", NO_LEARNER)


def copy_notes(table: ResponseTable) -> list[str]:
    """A sentence for each set of learners that answer alike."""
    part = _some_columns(table)
    alike = copies(part.matrix())
    notes = [f"{_alike_in_words(part, group)}. {KEEP_ONE}" for group in alike[:MOST_NAMED]]
    return (
        notes
        if len(alike) <= MOST_NAMED
        else [*notes, f"{_more(alike)}; camilla check --json names them all."]
    )


def _dependence(table: ResponseTable, matrix: Floats) -> Iterator[TableFinding]:
    """None of learners that are too few to know what chance explains."""
    found = agreement_of(matrix)
    if found is None:
        return
    names = tuple(table.learners[i] for i in found.closest) if found.n_alike else ()
    says = _dependent_in_words(found, names) if names else "none more often than their levels explain"
    yield TableFinding("learners that agree", "note" if names else "fine", says, names)


def _dependent_in_words(found: Agreement, names: Sequence[str]) -> str:
    return (
        f"{found.n_alike:,} of {found.n_pairs:,} pairs of learners agree more often than their levels "
        f"explain, most {quoted(names)}: they differ on {found.differ:,} samples, and independent learners "
        f"would on {found.expected:.0f}"
    )


def dependence_notes(table: ResponseTable) -> list[str]:
    """What to say beside ranks and P(best) that come from a model's draws, as where responses are missing.

    Where all learners answered all samples, the responses themselves decide, without that assumption, and
    intervals for samples like these hold .95 of the learners in worlds where 60 % of the answers are copied.
    """
    if table.is_complete:
        return []
    found = agreement_of(_some_columns(table).matrix())
    if found is None or not found.n_alike:
        return []
    says = _dependent_in_words(found, tuple(table.learners[i] for i in found.closest))
    return [
        f"{says}. Answers may have been copied, or learners made alike. Ranks and P(best) take learners for "
        "independent and may be too certain; camilla compare does not."
    ]


def _some_columns(table: ResponseTable) -> ResponseTable:
    """All samples, or as many, evenly spaced, as MOST_CELLS allow."""
    step = max(1, -(-table.n_learners * table.n_samples // MOST_CELLS))
    return table if step == 1 else table.take_samples(np.arange(0, table.n_samples, step))


def _more(alike: list[Alike]) -> str:
    """Of the sets that are not named."""
    return f"{len(alike) - MOST_NAMED} more sets of learners answer alike"


def _alike_in_words(table: ResponseTable, group: Alike) -> str:
    names = sorted(table.learners[i] for i in group.learners)
    samples = f"all {group.shared}" if group.same == group.shared else f"{group.same} of {group.shared}"
    return (
        f"{quoted(names)} answer alike on {samples} samples: they count as one learner under "
        f"{len(names)} names"
    )


def _equal_rows(values: Floats) -> list[NDArray[np.int64]]:
    """Sets of rows that are the same."""
    if values.size == 0:
        return []
    keys = np.ascontiguousarray(values).view(np.dtype((np.void, values.shape[1] * values.itemsize))).ravel()
    _, group, count = np.unique(keys, return_inverse=True, return_counts=True)
    order = np.argsort(group, kind="stable")
    starts = np.cumsum(count) - count
    return [order[start : start + n] for start, n in zip(starts, count, strict=True) if n > 1]


def _missing(matrix: Floats) -> Iterator[TableFinding]:
    if not np.isnan(matrix).any():
        yield TableFinding("missing responses", "fine", "none: every learner answered every sample")
        return
    found = missingness_of(matrix)
    where = (
        f"in whole blocks: {found.blocks} sets of samples, each answered or not as a whole"
        if found.in_blocks
        else f"here and there ({found.blocks} different sets of learners)"
    )
    if unasked := int(np.isnan(matrix).all(axis=0).sum()):
        where += f"; {unasked} samples were answered by nobody"
    yield TableFinding("missing responses", "note", f"{found.share * 100:.3g} % of the cells, {where}")
    yield _depends(found)
    overlap = overlap_of(~np.isnan(matrix))
    says = f"two learners share {overlap.median} samples (median), {overlap.fewest} at least"
    if overlap.parts > 1:
        says += f"; learners fall into {overlap.parts} sets with no sample in common: no scale joins them"
    elif overlap.none:
        says += f"; {overlap.none} pairs share none"
    yield TableFinding(
        "overlap", "warning" if overlap.none else "note" if overlap.fewest < 30 else "fine", says
    )


def _depends(found: Missingness) -> TableFinding:
    """Missing at random is never shown; what is shown is that it is not."""
    if found.by_sample_p == found.by_learner_p == 1:  # of neither a correlation is known
        says = "samples and learners miss the same number of responses each, or are fewer than 4"
        return TableFinding("missing at random", "unknown", says)
    parts = []
    if found.by_sample_p < 0.01:
        kind = "easy" if found.by_sample > 0 else "hard"
        parts.append(f"{kind} samples are missing more often (rank correlation {found.by_sample:+.2f})")
    if found.by_learner_p < 0.01:
        kind = "strong" if found.by_learner > 0 else "weak"
        parts.append(f"{kind} learners miss more (rank correlation {found.by_learner:+.2f})")
    if not parts:
        return TableFinding(
            "missing at random",
            "fine",
            "no evidence that it depends on the sample's difficulty or the learner's level",
        )
    says = "; ".join(parts) + ": plain means compare different things, pairs on shared samples do not"
    return TableFinding("missing at random", "warning", says)


def _part(number: int, whole: int) -> str:
    return f"{number:,}" if number == whole else f"{number:,} of {whole:,}"


def _dimensions(found: Dimensions) -> TableFinding:
    of = f"{_part(found.n_learners, found.of_learners)} learners × "
    of += f"{_part(found.n_samples, found.of_samples)} samples that vary"
    if len(found.eigenvalues) == 0:
        return TableFinding(
            "dimensions",
            "unknown",
            f"{of} are too few; three and two are needed. Whether learners' means differ is another "
            "question; compare and rank answer it",
        )
    if found.number == 0:
        return TableFinding(
            "dimensions",
            "warning",
            f"no dimension is distinguishable from chance ({of}): there is no pattern over samples that a "
            "diagnoser could use. Whether learners' means differ is another question; compare and rank "
            "answer it",
        )
    many = "dimension is" if found.number == 1 else "dimensions are"
    first = f"the first has {found.share * 100:.0f} % of the variance"
    says = f"{found.number} {many} distinguishable from chance ({of}), {first}"
    return TableFinding("dimensions", "fine", says)
