"""Results that a harness returned in Python: written as the harness writes its logs, and read as those are.

Inspect's `eval()` returns `EvalLog` objects. They have `eval`, `samples`, `status` and, as
Pydantic models do, `model_dump_json`. lm-evaluation-harness's `simple_evaluate(log_samples=True)` returns a
dictionary with `results`, `samples` by task, and `config`. Neither package is imported.
"""

import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from camilla.errors import DataError
from camilla.reading.decoding import plain

OF_LM_EVAL = (
    "results", "group_subtasks", "configs", "versions", "n-shot", "higher_is_better", "n-samples", "config",
    "model_name", "lm_eval_version", "chat_template_sha",
)  # fmt: skip


def are_results(source: Any) -> bool:
    """Whether a harness returned it: the dictionary of lm-eval, an EvalLog of Inspect or a list of them."""
    if isinstance(source, Mapping):
        return isinstance(source.get("results"), Mapping) and "configs" in source
    if isinstance(source, Sequence) and not isinstance(source, str | bytes):
        return len(source) > 0 and all(map(_is_inspect, source))
    return _is_inspect(source)


def _is_inspect(source: Any) -> bool:
    fields = ("eval", "samples", "status", "model_dump_json")
    return not isinstance(source, Mapping) and all(hasattr(source, name) for name in fields)


@contextmanager
def as_logs(sources: Iterable[Any]) -> Iterator[list[Path]]:
    """Paths of logs: a path as it is, results in a folder that is there while they are read."""
    with tempfile.TemporaryDirectory(prefix="camilla-results-") as folder:
        yield [
            source if isinstance(source, Path) else _written(source, Path(folder) / str(number))
            for number, source in enumerate(sources)
        ]


def _written(source: Any, folder: Path) -> Path:
    if isinstance(source, Mapping):
        return _write_lm_eval(source, folder)
    logs = source if isinstance(source, Sequence) else [source]
    folder.mkdir()
    if len(logs) == 1 and logs[0].samples is None:
        return _location(logs[0])
    for number, log in enumerate(logs):
        text = log.model_dump_json(exclude_none=True, fallback=lambda _: None)
        (folder / f"{number}.json").write_text(text, encoding="utf-8")
    return folder


def _location(log: Any) -> Path:
    """The file of a log whose samples were left there."""
    location = Path(str(getattr(log, "location", "") or ""))
    if not location.is_file():
        raise DataError(
            "the EvalLog has no samples: only its header was read. Read it with read_eval_log(path), or give "
            "the path of the log."
        )
    return location


def _write_lm_eval(source: Mapping[str, Any], folder: Path) -> Path:
    samples = source.get("samples")
    if not isinstance(samples, Mapping) or not samples:
        raise DataError(
            "the results of lm-eval contain no samples. Run simple_evaluate with log_samples=True; "
            "differences are judged sample by sample."
        )
    inside = folder / (re.sub(r"[^\w.-]+", "_", _model(source)) or "model")
    inside.mkdir(parents=True)
    time = _time(source.get("date"))
    for task, rows in samples.items():
        name = re.sub(r"[/\\]", "_", str(task))
        with (inside / f"samples_{name}_{time}.jsonl").open("wb") as file:
            for row in rows:
                file.write(_encoded(row) + b"\n")
    kept = {name: source[name] for name in OF_LM_EVAL if source.get(name) is not None}
    (inside / f"results_{time}.json").write_bytes(_encoded(kept))
    return inside


def _model(source: Mapping[str, Any]) -> str:
    """What the harness calls the model; what its arguments say is read from the log."""
    config = source.get("config")
    named = config.get("model") if isinstance(config, Mapping) else None
    return plain(source.get("model_name")) or plain(named)


def _time(date: Any) -> str:
    seconds = date if isinstance(date, int | float) and 0 <= date < 1e11 else 0
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H-%M-%S.%f")


def _encoded(value: Any) -> bytes:
    return msgspec.json.encode(value, enc_hook=_builtin)


def _builtin(value: Any) -> Any:
    """NumPy's numbers and arrays and sets as JSON has them, anything else, such as a picture, as null."""
    if hasattr(value, "tolist"):
        return value.tolist()
    return list(value) if isinstance(value, set | frozenset) else None
