"""What loading found and decided, in words and as JSON."""

from typing import Any

from camilla.names import quoted, shown
from camilla.reading.joining import REMEDY, Merged
from camilla.reading.logs import Files, LoadedLogs
from camilla.reading.runs import LearnerTask
from camilla.reading.skills import offered

MOST_LINES = 12


def document(loaded: LoadedLogs) -> dict[str, Any]:
    """Everything, for scripts."""
    files = loaded.files
    found: dict[str, Any] = {
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
        "matches": 0 if loaded.matches is None else loaded.matches.height,
    }
    return found if loaded.merged is None else found | _of_merged(loaded.merged)


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


def lines(loaded: LoadedLogs) -> list[str]:
    """Everything, for people."""
    out = [_format(name, loaded.files) for name in loaded.files.read]
    out += _of_files(loaded.files)
    if loaded.matches is not None:
        out.append(f"matches: {loaded.matches.height} between two players; rank them with camilla epp")
    if loaded.merged is None:
        return out
    merged = loaded.merged
    table = merged.table
    size = f"{table.n_learners} learners × {table.n_samples} samples"
    out.append(f"{size}, {table.n_responses} responses from {merged.n_runs} runs")
    out += _first([_task_line(merged, task) for task in merged.chosen], "tasks")
    out += [*_lacking(merged), *_missing(merged), *_repeated(merged), *_refused(merged), *_rest(merged)]
    return out


def briefly(loaded: LoadedLogs) -> list[str]:
    """What a reader of a result must know about where it came from."""
    count = sum(map(len, loaded.files.read.values()))
    if loaded.merged is None:
        return [f"{count} logs ({', '.join(loaded.files.read)})"]
    merged = loaded.merged
    metrics = sorted({one.pair.words for one in merged.chosen.values() if one is not None})
    first = f"{count} logs ({', '.join(loaded.files.read)}); responses are {', '.join(map(shown, metrics))}"
    out = [first, *_lacking(merged), *_missing(merged), *_repeated(merged)[:1], *_refused(merged)]
    out += _no_skills(merged)
    if unscored := [task for task, one in merged.chosen.items() if one is None]:
        out.append(f"tasks on which no metric scored a sample, left out: {quoted(unscored)}")
    if loaded.files.empty:
        out.append(f"logs without a sample: {quoted(loaded.files.empty)}")
    if loaded.files.unknown:
        out.append(f"{len(loaded.files.unknown)} files are no log: {quoted(loaded.files.unknown[:1])}, …")
    return out


def _format(name: str, files: Files) -> str:
    beside = f" and {files.companions[name]} beside" if files.companions.get(name) else ""
    return f"{name}: {len(files.read[name])} files{beside}; {files.reasons[name]}"


def _of_files(files: Files) -> list[str]:
    out = []
    if files.unknown:
        out.append(f"no log: {len(files.unknown)} files, {quoted(files.unknown)}")
    if files.empty:
        out.append(f"without a sample: {quoted(files.empty)}")
    return out + [f"damaged and left out: {shown(reason)}" for reason in files.damaged.values()]


def _first(texts: list[str], what: str) -> list[str]:
    rest = len(texts) - MOST_LINES
    return texts if rest <= 0 else [*texts[:MOST_LINES], f"  … and {rest} more {what} (all with --json)"]


def _task_line(merged: Merged, task: str) -> str:
    told = _task(merged, task)
    if told["metric"] is None:
        return f"  {shown(task)}: no metric scored a sample; left out"
    by = LearnerTask(told["metric"], told["filter"]).words
    line = f"  {shown(task)}: {told['samples']} samples by {shown(by)} ({told['rule']})"
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
    return [f"missing: {total} of {cells} cells: {reasons}"]


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
    first = f"refused: {total} samples mean different things in different runs and are not joined. {REMEDY}"
    details = [
        f"  {shown(one.task)}: {quoted(one.samples)}, as in {' and '.join(map(shown, one.sources))}"
        for one in merged.conflicts
    ]
    return [first, *_first(details, "tasks")]


def _rest(merged: Merged) -> list[str]:
    out = []
    if merged.dropped:
        out.append(
            f"dropped: {len(merged.dropped)} samples with an error in some run, {quoted(merged.dropped)}"
        )
    if merged.twice:
        out.append(f"repeated rows: {merged.twice} of the same run, sample and trial; kept as further trials")
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
