"""τ-bench: an array with an entry for each task and trial: task_id, reward, info, traj, trial.

The response is the reward. An entry whose info holds an error has reward 0 in the file, though the agent was
never judged: it is missing. The harness names its files after agent, model and user; the environment is in
the policy that a conversation starts with.
"""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from camilla.reading.decoding import (
    as_text,
    decode_file,
    digest,
    is_score,
    name_in,
    number_in,
    plain,
    shortened,
)
from camilla.reading.runs import About, Answered, Asked, Content, Row, Run, trial_numbers

METRIC = "reward"
POLICY = re.compile(r"#\s*(\w{1,40})\s+agent\s+policy", re.IGNORECASE)
RUN_NAME = re.compile(
    r"(?P<strategy>.+?)-(?P<model>[^-].*)-(?P<temperature>\d+(?:[.]\d+)?)_range_-?\d+--?\d+"
    r"_user-(?P<user>.+)-(?P<user_strategy>[a-z_]+)_(?P<time>\d{10})",
    re.DOTALL,
)
STRATEGIES = ("tool-calling", "few-shot", "react", "act")
ENVIRONMENTS = ("airline", "retail")


class RunResult(msgspec.Struct):
    task_id: Any
    reward: Any = None
    info: Any = None
    traj: Any = None
    trial: Any = None

    @property
    def task(self) -> dict[str, Any]:
        """What the user was to ask and the agent to do."""
        task = self.info.get("task") if isinstance(self.info, dict) else None
        return task if isinstance(task, dict) else {}

    @property
    def instruction(self) -> str:
        text = self.task.get("instruction")
        return text if isinstance(text, str) else ""

    @property
    def error(self) -> str:
        """What went wrong, if the run broke off."""
        failed = isinstance(self.info, dict) and self.info.get("error") is not None
        return as_text(self.info["error"])[:1000] or "an error" if failed else ""

    @property
    def messages(self) -> list[dict[str, Any]]:
        return [one for one in self.traj if isinstance(one, dict)] if isinstance(self.traj, list) else []


RESULTS = msgspec.json.Decoder(list[RunResult])


def runs(path: Path) -> Iterator[Run]:
    """The one run of a file."""
    results = decode_file(path, RESULTS)
    names = [name_in(one.task_id, where=str(path), what="task_id") for one in results]
    numbers = trial_numbers(names, (one.trial for one in results))
    left_out: dict[str, str] = {}
    rows = [_row(*one, left_out) for one in zip(results, names, numbers, strict=True)]
    learner, settings, date = _named(path)
    environment = _environment(results, path)

    def content() -> Content:
        asked = {name: _asked(one) for one, name in zip(results, names, strict=True)}
        answers = [
            Answered(name, number, _transcript(one), one.error or _judged(one))
            for one, name, number in zip(results, names, numbers, strict=True)
        ]
        return Content(asked, answers)

    yield Run(
        learner,
        f"tau-bench {environment}" if environment else path.stem,
        [row for row in rows if row.metric not in left_out],
        source=str(path),
        format="tau-bench",
        date=date,
        about={name: About(shortened(one.instruction)) for one, name in zip(results, names, strict=True)},
        settings=settings,
        left_out=left_out,
        named_by_task=bool(environment),
        task_is_file=not environment,
        main=METRIC,
        errors=Counter(shortened(one.error) for one in results if one.error),
        content=content,
    )


def _row(one: RunResult, name: str, number: int, left_out: dict[str, str]) -> Row:
    content = digest(one.instruction) if one.instruction else None
    if one.error:
        return Row(name, None, METRIC, "", number, content, "errored")
    reward = number_in(one.reward)
    if reward is not None and not is_score(reward):
        left_out[METRIC] = "outside 0 to 1"
    return Row(name, reward, METRIC, "", number, content, None if reward is not None else "unscored")


def _named(path: Path) -> tuple[str, dict[str, str], str]:
    """Learner, settings and date: <strategy>-<model>-<temperature>_range_…_user-<model>-<strategy>_<time>.

    Published trajectories are called <model>-<environment>.
    """
    found = RUN_NAME.fullmatch(path.stem)
    if found is None:
        learner = path.stem
        for environment in ENVIRONMENTS:
            learner = learner.removesuffix(f"-{environment}")
        return learner, {}, ""
    whole = f"{found['strategy']}-{found['model']}"
    strategy = next((one for one in STRATEGIES if whole.startswith(f"{one}-")), found["strategy"])
    settings = {
        "strategy": strategy,
        "temperature": found["temperature"],
        "user_model": found["user"],
        "user_strategy": found["user_strategy"],
    }
    return whole.removeprefix(f"{strategy}-"), settings, found["time"]


def _environment(results: list[RunResult], path: Path) -> str:
    """airline, retail, …: as the policy of the first conversation says, else as the file's name ends."""
    for one in results:
        for message in one.messages[:1]:
            found = POLICY.search(as_text(message.get("content"))[:2000])
            if found:
                return found[1].lower()
    return next((one for one in ENVIRONMENTS if path.stem.endswith(f"-{one}")), "")


def _asked(one: RunResult) -> Asked:
    wanted = {name: one.task.get(name) for name in ("actions", "outputs") if one.task.get(name)}
    return Asked(one.instruction, as_text(wanted) if wanted else "")


def _transcript(one: RunResult) -> str:
    """The conversation behind the policy, a paragraph for each message."""
    said = []
    for message in one.messages:
        if message.get("role") == "system":
            continue
        parts = (as_text(message.get(name)) for name in ("content", "tool_calls"))
        said.append(f"{plain(message.get('role'))}: {' '.join(filter(None, parts))}")
    return "\n\n".join(said)


def _judged(one: RunResult) -> str:
    """What the reward was made of: whether the database is right, or what the agent told the user."""
    reward = one.info.get("reward_info") if isinstance(one.info, dict) else None
    parts = reward.get("info") if isinstance(reward, dict) else None
    return as_text(parts)
