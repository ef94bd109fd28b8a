"""What reading found and decided, in words and as JSON."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from camilla.display import counted
from camilla.errors import DataError
from camilla.names import quoted, shown
from camilla.reading.decoding import shortened
from camilla.reading.joining import REMEDY, Merged
from camilla.reading.judges import JudgedAnswers, OtherJudge, PassedOver
from camilla.reading.proposing import proposal
from camilla.reading.runs import LearnerTask
from camilla.reading.skills import offered
from camilla.reading.stated import Differing
from camilla.table.columns import PLAIN
from camilla.table.frame_files import ENDINGS, read_frame
from camilla.table.responses import ResponseTable

MOST_LINES = 12


@dataclass
class Files:
    """What was found under the paths: files by format, and those that nobody knows."""

    read: dict[str, list[str]] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    companions: dict[str, int] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)
    damaged: dict[str, str] = field(default_factory=dict)
    empty: list[str] = field(default_factory=list)  # logs without a single row
    unusable: dict[str, str] = field(default_factory=dict)  # logs none of whose metrics is a score: why


@dataclass(frozen=True)
class Reading:
    """A response table with the account of how it was read.

    Attributes
    ----------
    responses : ResponseTable or None
        The responses; None where the logs hold only matches. `table` is the same, or an error.
    matches : polars.DataFrame or None
        Matches between two players, if the logs contain any.
    files : Files
        The files by format, and the files that were not used.
    merged : Merged or None
        How logs were joined. None for a single table file.
    repeated_rows : int
        Rows of a table that repeat an earlier learner and sample without a trial number.
    passed_over : list of PassedOver
        Metrics or judges that were available but not chosen.
    judged : callable or None
        Returns every score of every judge, where there are several.
    table_notes : tuple of str
        Notes about a table file.

    Examples
    --------
    >>> frame = pl.DataFrame({"learner": ["a", "b"], "sample": [1, 1], "response": [1, 0]})
    >>> reading = camilla.read_with_account(frame)
    >>> reading.lines()
    ['table: 1 file; one table', '2 learners × 1 sample, 2 responses']
    """

    responses: ResponseTable | None
    matches: pl.DataFrame | None
    files: Files
    merged: Merged | None = None
    repeated_rows: int = 0  # of a table: those of a learner and sample that came before, without a trial
    passed_over: Sequence[PassedOver] = ()  # where one judge of several was taken without being asked for
    judged: Callable[[], JudgedAnswers] | None = None  # every score of every judge, where there are several
    table_notes: tuple[str, ...] = ()

    @property
    def table(self) -> ResponseTable:
        """The responses, as a `ResponseTable`."""
        if self.responses is None:
            raise DataError(
                "the logs contain matches between players, not responses to samples. Rank them: camilla epp."
            )
        return self.responses

    def with_table(self, table: ResponseTable) -> "Reading":
        """Replaces the table and keeps the account.

        Parameters
        ----------
        table : ResponseTable
            The new table, such as the old one with skills.

        Returns
        -------
        Reading
            The same account with another table.

        Examples
        --------
        >>> frame = pl.DataFrame({"learner": ["a", "b"], "sample": [1, 1], "response": [1, 0]})
        >>> reading = camilla.read_with_account(frame)
        >>> reading.with_table(reading.table.take_learners([0])).table
        ResponseTable(1 learners × 1 samples, 1 responses)
        """
        return replace(self, responses=table, merged=self.merged and replace(self.merged, table=table))

    def document(self) -> dict[str, Any]:
        """Returns the whole account as plain data, for scripts.

        Returns
        -------
        dict
            Formats, files that were not used, sizes, chosen metrics, repeated runs: what `camilla load
            --json` prints.

        Examples
        --------
        >>> frame = pl.DataFrame({"learner": ["a", "b"], "sample": [1, 1], "response": [1, 0]})
        >>> camilla.read_with_account(frame).document()["responses"]
        2
        """
        return _document(self)

    def lines(self) -> list[str]:
        """Returns the whole account as sentences, for people.

        Returns
        -------
        list of str
            What `camilla load` prints.

        Examples
        --------
        >>> frame = pl.DataFrame({"learner": ["a", "b"], "sample": [1, 1], "response": [1, 0]})
        >>> camilla.read_with_account(frame).lines()[-1]
        '2 learners × 1 sample, 2 responses'
        """
        return _lines(self)

    def notes(self) -> list[str]:
        """Returns what a reader of a result must know about its source.

        Returns
        -------
        list of str
            Sentences, such as which metric was taken, or how many rows repeat a learner and sample.

        Examples
        --------
        >>> frame = pl.DataFrame({"learner": ["a", "b"], "sample": [1, 1], "response": [90, 10]})
        >>> camilla.read_with_account(frame, percent=True).notes()
        ['responses on the scale 0 to 100 were rescaled to 0 to 1']
        """
        return _notes(self)

    def joining_notes(self) -> list[str]:
        """Returns the notes that do not depend on the chosen metric or judge.

        Returns
        -------
        list of str
            Sentences about repeated runs, refused samples and shared sample names.

        Examples
        --------
        >>> frame = pl.DataFrame({"learner": ["a", "b"], "sample": [1, 1], "response": [1, 0]})
        >>> camilla.read_with_account(frame).joining_notes()
        []
        """
        return _of_joining(self)


def none_known(paths: Sequence[Path], files: Files, formats: Sequence[str]) -> str:
    """Why no log was found under the paths."""
    if len(paths) == 1 and paths[0].is_file() and paths[0].suffix.lower() in ENDINGS:
        read_frame(paths[0])  # a table that cannot be read says so itself
    if files.damaged:
        return f"no file could be read; the first: {next(iter(files.damaged.values()))}"
    where = quoted([str(path) for path in paths])
    if files.companions:
        names = ", ".join(f"{count} of {name}" for name, count in files.companions.items())
        return (
            f"{where} contain only files that belong to logs ({names}), no scores of samples. Was the "
            "harness told to log samples?"
        )
    if list(formats) == ["map"]:
        why = f"no file under {where} has what the recipe (map, --map) looks for"
    else:
        why = f"no known log under {where}"
    known = "" if list(formats) == ["map"] else f" Known are {', '.join(formats)}."
    return f"{why} ({len(files.unknown)} files looked at).{known} {proposal(map(Path, files.unknown))}"


def _document(loaded: Reading) -> dict[str, Any]:
    files = loaded.files
    refused = [] if loaded.merged is None else loaded.merged.conflicts
    in_part = files.unknown or files.damaged or files.unusable or refused
    found: dict[str, Any] = {
        "verdict": "read in part" if in_part else "read",
        "formats": {
            name: {
                "files": len(paths),
                "reason": files.reasons[name],
                "companions": files.companions.get(name, 0),
            }
            for name, paths in files.read.items()
        },
        "unknown_files": files.unknown,
        "damaged_files": files.damaged,
        "empty_logs": files.empty,
        "unusable_logs": files.unusable,
        "matches": 0 if loaded.matches is None else loaded.matches.height,
        "passed_over": [
            one._asdict() | {"others": [other._asdict() for other in one.others]}
            for one in loaded.passed_over
        ],
    }
    if loaded.responses is not None:
        found["response_scale"] = loaded.responses.scale._asdict()
    if loaded.merged is not None:
        return found | _of_merged(loaded.merged)
    if loaded.responses is None:
        return found
    table = loaded.responses
    sizes = {"learners": table.n_learners, "samples": table.n_samples, "responses": table.n_responses}
    return found | sizes | {"repeated_rows": loaded.repeated_rows}


def _of_merged(merged: Merged) -> dict[str, Any]:
    table = merged.table
    return {
        "learners": table.n_learners,
        "samples": table.n_samples,
        "responses": table.n_responses,
        "runs": merged.n_runs,
        "missing": merged.missing,
        "tasks": [_task(merged, task) for task in merged.chosen],
        "repeated_runs": [one._asdict() for one in merged.repeated],
        "refused_samples": [one._asdict() for one in merged.conflicts],
        "dropped_samples": merged.dropped,
        "repeated_rows": merged.twice,
        "without_the_metric": [one._asdict() for one in merged.lacking],
        "shared_sample_names": [one._asdict() for one in merged.namesakes],
        "scored_at_a_limit": merged.limited,
        "errors": merged.errors,
        "stated_otherwise": [one._asdict() for one in merged.differing],
        "skills_left_out": merged.no_skills,
        "skills": offered(table),
    }


def _task(merged: Merged, task: str) -> dict[str, Any]:
    chosen = merged.chosen[task]
    n_samples = sum(one == task for one in merged.table.task or ())
    if chosen is None:
        return {"task": task, "samples": n_samples, "metric": None, "rule": "no metric scored a sample"}
    return {
        "task": task,
        "samples": n_samples,
        "metric": chosen.pair.metric,
        "filter": chosen.pair.filter,
        "rule": chosen.rule,
        "others": [list(pair) for pair in chosen.others],
        "no_scores": chosen.left_out,
    }


def _lines(loaded: Reading) -> list[str]:
    out = [_format(name, loaded.files) for name in loaded.files.read]
    out += _of_files(loaded.files)
    if loaded.matches is not None:
        out.append(f"matches: {loaded.matches.height} between two players; rank them with camilla epp")
    if loaded.responses is None:
        return out
    table, merged = loaded.responses, loaded.merged
    size = f"{counted(table.n_learners, 'learner')} × {counted(table.n_samples, 'sample')}"
    size = f"{size}, {counted(table.n_responses, 'response')}"
    if merged is None:
        return [*out, size, *_notes(loaded)]
    out.append(f"{size} from {counted(merged.n_runs, 'run')}")
    out += _first([_task_line(merged, task) for task in merged.chosen], "tasks")
    out += [*_lacking(merged), *_missing(merged), *_limited(merged), *_repeated(merged), *_refused(merged)]
    return [*out, *_stated(merged), *_namesakes(merged), *_rest(merged)]


def _notes(loaded: Reading) -> list[str]:
    count = sum(map(len, loaded.files.read.values()))
    if loaded.merged is None and loaded.responses is not None:
        skill_map = loaded.responses.skill_map
        notes = [*(() if skill_map is None else skill_map.notes), *_scale(loaded.responses)]
        notes = [*judge_notes(loaded.passed_over), *loaded.table_notes, *notes]
        notes += _of_features(loaded.responses)
        return [*notes, *repeated_rows_note(loaded.repeated_rows)]
    if loaded.merged is None:
        return [f"{count} logs ({', '.join(loaded.files.read)})"]
    merged = loaded.merged
    metrics = sorted({one.pair.words for one in merged.chosen.values() if one is not None})
    first = f"{count} logs ({', '.join(loaded.files.read)}); responses are {', '.join(map(shown, metrics))}"
    out = [first, *judge_notes(loaded.passed_over), *_lacking(merged), *_missing(merged), *_limited(merged)]
    out += [*_scale(merged.table), *_stated(merged), *_of_joining(loaded), *_no_skills(merged)]
    out += [] if loaded.responses is None else _of_features(loaded.responses)
    if unscored := [task for task, one in merged.chosen.items() if one is None]:
        out.append(f"tasks on which no metric scored a sample, left out: {quoted(unscored)}")
    if loaded.files.empty:
        out.append(f"logs without a sample: {quoted(loaded.files.empty)}")
    out += _unusable(loaded.files)
    if loaded.files.unknown:
        out.append(f"{len(loaded.files.unknown)} files are not logs: {quoted(loaded.files.unknown[:1])}, …")
    return out


def _of_features(table: ResponseTable) -> list[str]:
    """What was done to features to make them fit."""
    both = (table.sample_features, table.learner_features)
    return [shown(note) for features in both if features is not None for note in features.notes]


def _of_joining(loaded: Reading) -> list[str]:
    merged = loaded.merged
    if merged is None:
        return repeated_rows_note(loaded.repeated_rows)
    out = [*_repeated(merged)[:1], *_refused(merged), *_namesakes(merged)]
    return [*out, *repeated_rows_note(merged.twice)]


def _format(name: str, files: Files) -> str:
    beside = f" and {files.companions[name]} beside" if files.companions.get(name) else ""
    return f"{name}: {counted(len(files.read[name]), 'file')}{beside}; {shown(files.reasons[name])}"


def _of_files(files: Files) -> list[str]:
    out = []
    if files.unknown:
        out.append(f"no log: {len(files.unknown)} files, {quoted(files.unknown)}")
    if files.empty:
        out.append(f"without a sample: {quoted(files.empty)}")
    out += _unusable(files)
    return out + [f"damaged and left out: {shown(reason)}" for reason in files.damaged.values()]


def _unusable(files: Files) -> list[str]:
    """Logs that have samples, but no metric that could be a response."""
    details = [f"  {shown(source)}: {shown(why)}" for source, why in files.unusable.items()]
    if not details:
        return []
    first = f"left out, because no metric of theirs is a score in [0, 1]: {len(details)} logs"
    return [first, *_first(details, "logs")]


def _first(texts: list[str], what: str) -> list[str]:
    rest = len(texts) - MOST_LINES
    return texts if rest <= 0 else [*texts[:MOST_LINES], f"  … and {rest} more {what} (all with --json)"]


def _task_line(merged: Merged, task: str) -> str:
    told = _task(merged, task)
    if told["metric"] is None:
        return f"  {shown(task)}: no metric scored a sample; left out"
    by = LearnerTask(told["metric"], told["filter"]).words
    line = f"  {shown(task)}: {counted(told['samples'], 'sample')} by {shown(by)} ({told['rule']})"
    if told["others"]:
        line += "; also " + ", ".join(shown(LearnerTask(*pair).words) for pair in told["others"][:4])
        line += ", …" if len(told["others"]) > 4 else ""
    if told["no_scores"]:
        line += "; no scores: " + ", ".join(f"{shown(m)} ({why})" for m, why in told["no_scores"].items())
    return line


def _lacking(merged: Merged) -> list[str]:
    if not merged.lacking:
        return []
    first = (
        f"without the metric, so left out: {len(merged.lacking)} runs. "
        "Another can be asked for: --metric, --filter."
    )
    details = [
        f"  {shown(one.learner)} on {shown(one.task)}, which has "
        f"{', '.join(map(shown, one.has)) or 'no score'}: {shown(one.source)}"
        for one in merged.lacking
    ]
    return [first, *_first(details, "runs")]


def _missing(merged: Merged) -> list[str]:
    total = sum(merged.missing.values())
    if not total:
        return []
    cells = merged.table.n_learners * merged.table.n_samples
    reasons = ", ".join(f"{count} {why}" for why, count in merged.missing.items() if count)
    line = f"missing: {total} of {cells} cells: {reasons}"
    if merged.missing.get("errored") and merged.errors:
        message, count = next(iter(merged.errors.items()))
        line += f" ({count} with {shown(shortened(message))})"
    return [line]


def _limited(merged: Merged) -> list[str]:
    """What became of samples that hit a limit and have a score."""
    if not merged.limited:
        return []
    what = "1 score is of a sample" if merged.limited == 1 else f"{merged.limited} scores are of samples"
    return [
        f"limits: {what} that hit a limit of time, tokens or messages; they count as the harness "
        "scored them. --on-error zero counts them as 0, --on-error drop leaves such samples out."
    ]


def _stated(merged: Merged) -> list[str]:
    """Where the harness states another mean than was read, and why."""
    return _first([_stated_line(one) for one in merged.differing], "runs with another mean")


def _stated_line(one: Differing) -> str:
    digits = next((n for n in (3, 4) if f"{one.stated:.{n}f}" != f"{one.read:.{n}f}"), 4)
    return (
        f"{shown(one.learner)} on {shown(one.task)}: the harness says {one.stated:.{digits}f} by "
        f"{shown(one.metric)}, {one.read:.{digits}f} was read, because {shown(one.why)}."
    )


def _repeated(merged: Merged) -> list[str]:
    if not merged.repeated:
        return []
    gone = sum(len(one.left_out) for one in merged.repeated)
    first = f"repeated runs: {gone} older ones of the same learner and task left out, the newest kept"
    details = [
        f"  {shown(one.learner)} on {shown(one.task)}: {len(one.left_out)} out, kept {shown(one.kept[0])}"
        + (f"; they differ in {', '.join(map(shown, one.differing))}" if one.differing else "")
        for one in merged.repeated
    ]
    return [first, *_first(details, "repeated runs")]


def _refused(merged: Merged) -> list[str]:
    if not merged.conflicts:
        return []
    total = sum(len(one.samples) for one in merged.conflicts)
    what = (
        counted(total, "sample", "has", "have")
        + " different content in different runs and "
        + ("is" if total == 1 else "are")
    )
    first = f"refused: {what} not joined. {REMEDY}"
    details = [
        f"  {shown(one.task)}: {quoted(one.samples)}, as in {' and '.join(map(shown, one.sources))}"
        for one in merged.conflicts
    ]
    return [first, *_first(details, "tasks")]


def _scale(table: ResponseTable) -> list[str]:
    """On which scale the responses came, if they were rescaled."""
    return (
        []
        if table.scale == PLAIN
        else [f"responses on the scale {table.scale.words} were rescaled to 0 to 1"]
    )


def _rest(merged: Merged) -> list[str]:
    out = _scale(merged.table)
    if merged.dropped:
        out.append(
            f"dropped: {counted(len(merged.dropped), 'sample')} with an error in some run, "
            f"{quoted(merged.dropped)}"
        )
    out += repeated_rows_note(merged.twice)
    if merged.table.skill_map is not None:
        out.append(f"skills: {merged.table.skill_map.n_skills}")
        return out
    out += _no_skills(merged)
    if kinds := offered(merged.table):
        told = ", ".join(f"{shown(name)} ({count})" for name, count in kinds.items())
        out.append(f"skills could be taken from: {told}; --skills-from NAME")
    return out


def _no_skills(merged: Merged) -> list[str]:
    if not merged.no_skills or merged.table.skill_map is not None:
        return []
    return [f"the skills of tables are left out: {merged.no_skills}"]


def _namesakes(merged: Merged) -> list[str]:
    """Which files share sample names, and whether they were taken for one benchmark."""
    out = []
    for one in merged.namesakes:
        what = f"{len(one.files)} files share {one.n_shared} sample names ({quoted(one.files)})"
        if one.joined:
            out.append(
                f"one benchmark: {what}, so samples with the same name are the same sample. If the files "
                "belong to several benchmarks, name the task of each in a column called task."
            )
        else:
            out.append(
                f"several benchmarks: {what}, so their samples are called task/name; the tasks are "
                f"{quoted(one.tasks)}. If they are one benchmark, use --one-benchmark, or name one task in "
                "a column called task."
            )
    return out


def repeated_rows_note(count: int) -> list[str]:
    """What became of rows that repeat a learner and sample, if there are any."""
    if not count:
        return []
    return [
        f"{count} {'row repeats' if count == 1 else 'rows repeat'} the learner and sample of another row; "
        "repeated rows count as further trials, and the "
        "mean of a sample's trials is the response to it. If they are trials, name their column: trial=… "
        "(--trial); if they are samples of several tasks, name the column of the task: task=… (--task); if "
        "they are copies, remove them."
    ]


MOST_OTHERS = 3  # judges that are named of those passed over, and sets of tasks
CHOOSE = " --metric NAME{} chooses one, --metric all takes their mean, and camilla judges compares them."


def judge_notes(passed_over: Sequence[PassedOver]) -> list[str]:
    """Which judge was taken of several, and how far the others agree; tasks with the same judges together."""
    alike: dict[tuple[str, ...], list[PassedOver]] = {}
    for one in passed_over:
        alike.setdefault((one.taken, *(other.judge for other in one.others)), []).append(one)
    notes = []
    for (taken, *others), of_tasks in alike.items():
        tasks = [one.task for one in of_tasks if one.task is not None]
        where = f" on {quoted(tasks)}" if tasks else ""
        told = [_agreement(name, [one.others[at] for one in of_tasks]) for at, name in enumerate(others)]
        more = f" and {len(told) - MOST_OTHERS} more" if len(told) > MOST_OTHERS else ""
        notes.append(
            f"several judges score the same answers{where}: {shown(taken)} was taken (rule: "
            f"{of_tasks[0].rule}), and {len(others)} {'other was' if len(others) == 1 else 'others were'} "
            f"passed over: {', '.join(told[:MOST_OTHERS])}{more}."
        )
    if (rest := len(notes) - MOST_OTHERS) > 1:
        notes = [*notes[:MOST_OTHERS], f"likewise on {rest} more sets of tasks."]
    filtered = " (--filter NAME its filter)" if " behind " in str(list(alike)) else ""
    return [*notes[:-1], notes[-1] + CHOOSE.format(filtered)] if notes else []


def _agreement(judge: str, parts: Sequence[OtherJudge]) -> str:
    """How far one judge agrees with the one taken, over tasks."""
    scored = [one for one in parts if one.n and one.equal is not None]
    n = sum(one.n for one in scored)
    if not n:
        return f"{shown(judge)} (no answer in common)"
    equal = sum(one.n * (one.equal or 0.0) for one in scored) / n
    said = f"equal on {100 * equal:.0f} % of {n} answers"
    known = [one.correlation for one in scored if one.correlation is not None]
    if known:
        ends = f"{min(known):.2f}" if len(known) == 1 else f"{min(known):.2f} to {max(known):.2f}"
        said += f", correlation {ends}"
    return f"{shown(judge)} ({said})"
