"""A recipe for a file of unknown layout: what it holds, what may be which role, and whether that reads."""

import re
import shlex
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, product
from pathlib import Path
from typing import Any, NamedTuple

from camilla.display import counted
from camilla.errors import CamillaError, SettingError
from camilla.names import shortened, shown
from camilla.reading.mapped import can_be_mapped, read_mapped, records
from camilla.reading.recipes import Recipe, field_of, step_text
from camilla.reading.tables import TableRead
from camilla.table.columns import PLAIN, Scale
from camilla.table.frame_files import called

MOST_RECORDS = 2_000  # that are looked at
MOST_ROWS = 20_000  # that are read on trial
MOST_ENTRIES = 2_000  # of one list or object
MOST_NODES = 300_000
MOST_PATHS = 300
MOST_DEPTH = 8
MOST_DISTINCT = 5_000
MOST_FILES = 3
MOST_TRIALS = 100
SECONDS = 10.0
MOST_SHOWN = 20
LARGEST = 256 << 20  # bytes of a file for which a recipe is sought

EACH, VALUES, KEY = "\0each", "\0values", "\0key"
LOOPS = (EACH, VALUES, KEY)
Steps = tuple[str, ...]

# Names that fields of a role have in public results, the surest first.
FIELDS = {
    "response": """
        is_correct correct score passed resolved success reward exact_match accuracy acc is_resolved is_solved
        solved is_pass pass correctness rating is_success successful is_right right em match is_match hit f1
        f1_score grade verdict judgement judgment outcome result label_correct answer_correct evaluation eval
        points status value metric_score llm_score final_score resp response""",
    "learner": """
        model model_name model_id learner model_name_or_path system agent agent_name llm llm_name model_path
        system_name model_key engine generator student student_id subject_id participant submission solver
        method bot player respondent run_name deployment provider algorithm approach team""",
    "sample": """
        question_id sample_id instance_id task_id problem_id item_id example_id prompt_id doc_id case_id
        test_id query_id qid uid id sample item idx index question_idx question_index task_idx test_case_id
        scenario_id uuid key problem_idx test_case test_name row_id row number task_name problem_name name
        title
        problem question scenario test prompt query instruction input input_text file filename image task""",
    "trial": """
        trial attempt turn epoch repeat repetition trial_id trial_index attempt_id attempt_number seed run
        run_id iteration sample_idx sample_index rep replicate completion_id rollout round try generation""",
    "condition": """
        condition harness strategy variant mode setting prompt_type prompt_style prompting method approach
        prompt_template template scaffold config temperature language format technique arm""",
    "task": "task task_name dataset dataset_name benchmark subject subset suite domain category",
}
NAMES = {role: names.split() for role, names in FIELDS.items()}
TELLING = {
    "response": """
        correct score passed pass success resolved solved accuracy acc reward match rating f1 em grade verdict
        judgement judgment right correctness graded faithfulness relevance relevancy similarity helpfulness
        quality precision recall bleu rouge status outcome""",
    "learner": "model agent system llm learner student",
    "sample": "question sample instance problem item example prompt case",
}
TOKENS = {role: frozenset(words.split()) for role, words in TELLING.items()}
ALWAYS_TASKS = ("task", "task_name", "dataset", "dataset_name", "benchmark", "subject", "subset")
LISTS = {
    "no score": """
        time latency cost token tokens id idx index length len count num seed temperature confidence prob
        logprob logprobs std stderr ci threshold total weight year date version step steps size duration price
        timestamp created level difficulty k n ms seconds secs max min expected gold target reference error
        errors""",
    "no sample": "run trace experiment session user model agent request job response message attempt",
    "others": "judge grader evaluator reference baseline embedding reviewer annotator critic rater",
    "parts": """
        steps messages history trajectory choices options subscores criteria turns traces logs tool calls
        actions rubric rubrics votes usage config settings args""",
    "learners": "models systems agents learners llms participants submissions runs students",
    "right": "correct right pass passed true yes success succeeded solved resolved c good accept accepted",
    "wrong": """
        incorrect wrong fail failed false no failure unsolved unresolved i bad reject rejected not_correct
        not_passed not_attempted""",
    "bad": "failed failure incorrect wrong hallucination hallucinated error_rate wer cer loss",
    "unscored": "error errored unknown skipped skip n/a na none timeout missing invalid unscored",
}
WORDS = {name: frozenset(words.split()) for name, words in LISTS.items()}
MODEL_LIKE = re.compile(
    r"gpt|claude|llama|qwen|gemini|gemma|mistral|mixtral|deepseek|phi-?\d|falcon|vicuna|grok|\d+b\b|o[134]-",
    re.IGNORECASE,
)
GENERAL = re.compile(
    r"(results?|outputs?|scores?|eval\w*|predictions?|samples?|data|test|details|log|report|all|records?|"
    r"responses?|judg\w*|answers?|metrics|summary|index|trajectories|final|traj|\d+)",
    re.I,
)
SCALES = ((1, 5), (0, 5), (1, 10), (0, 10), (0, 100))


@dataclass
class Leaf:
    """The values at one path: how many, of which kinds, between which numbers, how many different ones."""

    steps: Steps
    n: int = 0
    kinds: set[str] = field(default_factory=set)
    low: float = float("inf")
    high: float = float("-inf")
    values: set[Any] = field(default_factory=set)
    fractions: bool = False

    def add(self, value: Any) -> None:
        """Counts one more value in."""
        self.n += 1
        if len(self.values) < MOST_DISTINCT:
            self.values.add(value[:200] if isinstance(value, str) else value)
        number = _number(value)
        is_truth = isinstance(value, bool) or str(value).strip().lower() in ("true", "false")
        self.kinds.add("text" if number is None else "truth" if is_truth else "number")
        if number is not None:
            self.low, self.high = min(self.low, number), max(self.high, number)
            self.fractions |= number != int(number)

    @property
    def text(self) -> str:
        """The path as a recipe writes it."""
        written = {EACH: "[]", VALUES: ".*", KEY: ".{key}"}
        return "".join(written.get(step) or step_text(step) for step in self.steps).removeprefix(".")

    @property
    def stages(self) -> list[Steps]:
        """The paths to every list and object that is gone through."""
        return [self.steps[:at] for at, step in enumerate(self.steps) if step in LOOPS]

    @property
    def name(self) -> str:
        """The last key, in small letters joined by underscores; of a list of plain values the list's."""
        keys = [step for step in self.steps if step not in LOOPS]
        return _plain(keys[-1]) if keys else ""

    @property
    def names(self) -> list[str]:
        """What the field may be called: its key; where that is id or name, what it is the id of."""
        keys = [_plain(step) for step in self.steps if step not in LOOPS]
        if (
            len(keys) > 1
            and keys[-1] in ("id", "name", "label", "description")
            and self.steps[-2] not in LOOPS
        ):
            return [f"{keys[-2]}_{keys[-1]}", keys[-2]]
        return keys[-1:]

    @property
    def above(self) -> set[str]:
        """The words of all keys before the last."""
        keys = [step for step in self.steps if step not in LOOPS]
        return {word for key in keys[:-1] for word in _plain(key).split("_")}


def _plain(key: str) -> str:
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key[:100])
    return re.sub(r"[^a-z0-9]+", "_", spaced.lower()).strip("_")


def _number(value: Any) -> float | None:
    if isinstance(value, str):
        value = {"true": True, "false": False}.get(value.strip().lower(), value)
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if number - number == 0 else None


@dataclass
class Holdings:
    """What the records of a file hold, by path."""

    leaves: dict[Steps, Leaf] = field(default_factory=dict)
    is_map: dict[Steps, bool] = field(default_factory=dict)
    n_records: int = 0
    n_nodes: int = 0

    def add(self, record: Any, *, is_document: bool) -> None:
        """Counts one more record in; only a whole document may be an object of records by key."""
        self.n_records += 1
        if not is_document and isinstance(record, dict):
            self.is_map[()] = False
        self._walk(record, ())

    def _walk(self, node: Any, steps: Steps) -> None:
        self.n_nodes += 1
        if len(steps) > MOST_DEPTH or self.n_nodes > MOST_NODES:
            return
        if isinstance(node, dict):
            self._walk_object(node, steps)
        elif isinstance(node, list):
            for entry in islice(node, MOST_ENTRIES):
                self._walk(entry, (*steps, EACH))
        elif steps and node is not None and (steps in self.leaves or len(self.leaves) < MOST_PATHS):
            self.leaves.setdefault(steps, Leaf(steps)).add(node)

    def _walk_object(self, node: dict[str, Any], steps: Steps) -> None:
        if steps not in self.is_map:
            self.is_map[steps] = holds_records(node)
        if not self.is_map[steps]:
            for key, value in islice(node.items(), MOST_ENTRIES):
                self._walk(value, (*steps, key))
            return
        for key, value in islice(node.items(), MOST_ENTRIES):
            self._walk(key, (*steps, KEY))
            self._walk(value, (*steps, VALUES))


def holds_records(node: dict[str, Any]) -> bool:
    """Whether the keys of an object are data, such as ids of samples, and not names of fields."""
    values = list(islice(node.values(), 30))
    keys = list(islice(node, 30))
    telling = sum(bool(re.search(r"[\d/:\- ]", key)) or len(key) > 25 for key in keys) * 2 > len(keys)
    if len(values) < 2:
        return False
    if all(isinstance(value, dict) for value in values):
        sets = [set(value) for value in values if value]
        if not sets:
            return False
        shared, mean = len(set.intersection(*sets)), sum(map(len, sets)) / len(sets)
        nested = telling and all(isinstance(inner, dict) for value in values for inner in value.values())
        return nested or (2 * shared >= mean and (len(values) > 3 or telling))
    if all(isinstance(value, list) for value in values):
        return telling or any(isinstance(entry, dict) for value in values for entry in value[:1])
    numbers = all(isinstance(value, bool | int | float) or value is None for value in values)
    return numbers and telling and len(node) >= 5


def holdings(path: Path) -> Holdings:
    """What the first records of a file hold."""
    found = records(path)
    seen = Holdings()
    for record in islice(found.items, MOST_RECORDS):
        seen.add(record, is_document=not found.place(0) if seen.n_records == 0 else False)
    return seen


class Candidate(NamedTuple):
    """A path for a role, and how well it fits."""

    points: float
    text: str
    settings: dict[str, Any]


def name_points(leaf: Leaf, role: str) -> float:
    """10 for the surest name down to 6, 4 for a name with a telling word in it, 0 for others."""
    words = leaf.name.split("_")
    if role in ("learner", "response") and WORDS["others"] & {*words, *leaf.above}:
        return 0
    usual = NAMES[role]
    if found := [usual.index(name) for name in leaf.names if name in usual]:
        return 10 - 4 * min(found) / len(usual)
    if role == "response" and WORDS["no score"] & set(words):
        return 0
    tokens = TOKENS.get(role, frozenset())
    if role == "learner" and words[-1] not in tokens | {"name", "id", "path", "key"}:
        return 0
    if role == "sample" and words[-1] == "id" and not WORDS["no sample"] & set(words):
        return 3.5
    return 4 if tokens & set(words) else 0


def response_points(leaf: Leaf, most: int) -> Candidate | None:
    """How much a field looks like scores of samples; None where it cannot be."""
    if leaf.n < 2 or leaf.steps[-1] == KEY:
        return None
    points = name_points(leaf, "response")
    if not points and leaf.above & TOKENS["response"] and not WORDS["no score"] & set(leaf.name.split("_")):
        points = 3.5
    settings = _settings(leaf)
    if settings is None or (not points and leaf.kinds == {"number"}):
        return None
    if WORDS["bad"] & {leaf.name, *leaf.name.split("_")} and not settings:
        settings["lower"] = True
        points = points or 1
    points += 3 if leaf.kinds <= {"truth"} or leaf.values <= {0, 1} else 2 if not settings else 1
    points -= (
        len(leaf.above) / 5
        + 3 * bool(WORDS["parts"] & leaf.above)
        + 2 * (len(leaf.values) < 2)
        + 3 * (leaf.n < most / 4)
    )
    return Candidate(points, leaf.text, settings)


def _settings(leaf: Leaf) -> dict[str, Any] | None:
    """The scale and the words that a recipe needs for these values; None where they are no scores."""
    if "text" in leaf.kinds:
        words = {
            str(value).strip() for value in leaf.values if isinstance(value, str) and _number(value) is None
        }
        right = sorted(word for word in words if word.casefold().replace(" ", "_") in WORDS["right"])
        wrong = sorted(word for word in words if word.casefold().replace(" ", "_") in WORDS["wrong"])
        missing = sorted(word for word in words - {""} if word.casefold() in WORDS["unscored"])
        if not (right or wrong) or len(right) + len(wrong) + len(missing) < len(words - {""}):
            return None
        found: dict[str, Any] = {"right": tuple(right), "wrong": tuple(wrong), "missing": tuple(missing)}
        return found if leaf.kinds == {"text"} or (leaf.low >= 0 and leaf.high <= 1) else None
    if leaf.low >= 0 and leaf.high <= 1:
        return {}
    for low, high in SCALES:
        if low <= leaf.low and leaf.high <= high:
            return {"scale": Scale(low, high)}
    return {"scale": Scale(-1, 1)} if leaf.low >= -1 and leaf.high <= 1 else None


def runs_along(leaf: Leaf, response: Leaf) -> bool:
    """Whether a field has one value per response, or one for several of them."""
    own, other = leaf.stages, response.stages
    if own == other[: len(own)]:
        return True
    kinds = [step for step in leaf.steps if step in (EACH, VALUES)]
    alike = kinds == [step for step in response.steps if step in (EACH, VALUES)]
    return alike and own[:-1] == other[:-1] and leaf.n == response.n


def candidates(seen: Holdings, role: str, response: Leaf) -> list[str]:
    """Paths for a role beside this response, the best first."""
    found = []
    for leaf in seen.leaves.values():
        if leaf is response or not runs_along(leaf, response):
            continue
        points = _key_points(leaf, role) if leaf.steps[-1] == KEY else name_points(leaf, role)
        points -= _misfit(leaf, role, response)
        if points > 0:
            found.append((points + len(leaf.stages) / 10, leaf.text))
    return [text for _, text in sorted(found, key=lambda one: -one[0])]


def _key_points(leaf: Leaf, role: str) -> float:
    """What the keys of an object may name: samples, unless they or the object are called like models."""
    models = WORDS["learners"] & {*leaf.name.split("_"), *leaf.above} or (
        sum(bool(MODEL_LIKE.search(str(key))) for key in leaf.values) * 2 > len(leaf.values)
    )
    if role == "learner":
        return 9 if models else 0
    return {"sample": 1 if models else 7.5, "task": 5}.get(role, 0)


def _misfit(leaf: Leaf, role: str, response: Leaf) -> float:
    """Points off for values that do not look like the role."""
    n_values = len(leaf.values)
    if role == "sample":
        alone = n_values < 2 and leaf.n > 1
        return 20 if alone or leaf.kinds == {"truth"} or leaf.fractions else 0
    if role == "learner":
        unique = n_values == leaf.n == response.n > 3
        return 20 if leaf.fractions or "truth" in leaf.kinds or unique else 0
    return 20 if leaf.fractions or n_values < 2 else 0


class Proposal(NamedTuple):
    """A recipe that reads a file, and what came of it."""

    recipe: Recipe
    read: TableRead


def proposed(path: Path, siblings: Sequence[Path] = ()) -> Proposal | None:
    """The first recipe that reads the file, of those that its names and values suggest."""
    seen = holdings(path)
    most = max((leaf.n for leaf in seen.leaves.values()), default=0)
    ranked = [
        (found, leaf)
        for leaf in seen.leaves.values()
        if (found := response_points(leaf, most)) is not None and found.points > 0
    ]
    ranked.sort(key=lambda one: -one[0].points)
    until, second_best = time.monotonic() + SECONDS, None
    n_trials = 0
    for response, leaf in ranked[:5]:
        for recipe in _recipes(seen, response, leaf, path, siblings):
            n_trials += 1
            if n_trials > MOST_TRIALS or time.monotonic() > until:
                return second_best
            read = _tried(path, recipe)
            if read is not None and not read.repeated and _shares_samples(read):
                return Proposal(recipe, read)
            if read is not None and (second_best is None or second_best.read.repeated > read.repeated):
                second_best = Proposal(recipe, read)
    return second_best


def _shares_samples(read: TableRead) -> bool:
    """Whether several learners meet on a sample, or there is only one."""
    return read.table.n_learners == 1 or read.table.n_samples < read.table.n_responses


def _recipes(
    seen: Holdings, response: Candidate, leaf: Leaf, path: Path, siblings: Sequence[Path]
) -> Iterator[Recipe]:
    learners = [*candidates(seen, "learner", leaf)[:2], _file_name(path, siblings)]
    samples = [*candidates(seen, "sample", leaf)[:5], "{row}"]
    trials = candidates(seen, "trial", leaf)[:2]
    tasks = candidates(seen, "task", leaf)[:2]
    always = [task for task in tasks if re.split(r"[.\]]", task)[-1] in ALWAYS_TASKS]
    extras: list[dict[str, str]] = [{"task": task} for task in always[:1]] + [{}]
    extras += [{"trial": trial} for trial in trials] + [{"task": task} for task in tasks]
    extras += [{"trial": trial, "task": task} for trial in trials[:1] for task in tasks[:1]]
    conditions = candidates(seen, "condition", leaf)[:2]
    extras += [{"condition": condition} for condition in conditions]
    extras += [{"condition": condition, "trial": trial} for condition in conditions for trial in trials[:1]]
    words = {
        name: response.settings[name] for name in ("right", "wrong", "missing") if name in response.settings
    }
    scale = response.settings.get("scale", PLAIN)._replace(lower_is_better="lower" in response.settings)
    for learner, sample, extra in product(learners[:2], samples, extras):
        texts = {"learner": learner, "sample": sample, "response": response.text} | extra
        if "condition" in texts and texts["condition"] != learner:
            texts["learner"] = f"{learner}+{texts.pop('condition')}"
        if "condition" in texts or len(set(texts.values())) < len(texts) or (sample == "{row}" and extra):
            continue
        try:
            yield Recipe({role: field_of(text) for role, text in texts.items()}, **words, scale=scale)
        except SettingError:
            continue


def _file_name(path: Path, siblings: Sequence[Path]) -> str:
    """{file}, or {folder} where files are called alike in every folder."""
    if any(other.name == path.name and other != path for other in siblings):
        return "{folder}"
    name = path.name.removesuffix(".gz")
    return "{folder}" if GENERAL.fullmatch(Path(name).stem) and len(siblings) < 2 else "{file}"


def _tried(path: Path, recipe: Recipe) -> TableRead | None:
    """The table that a recipe makes of the first rows, if it makes one of several samples."""
    try:
        read = read_mapped(path, recipe, most=MOST_ROWS)
    except CamillaError:
        return None
    enough = read.table.n_samples > 1 and read.table.n_responses > 1
    return read if enough else None


def proposal(paths: Iterable[Path]) -> str:
    """What the first of these files holds, and the recipe that reads it or what is missing for one."""
    files = [path for path in islice(paths, 1_000) if _is_small(path)]
    said = ""
    for path in files[:MOST_FILES]:
        try:
            found, seen = proposed(path, files), holdings(path)
        except CamillaError as error:
            said = said or f"{called(path)} cannot be read for a recipe: {error}"
            continue
        if found is not None:
            return f"{_seen(path, seen)} {_told(path, found)}"
        said = said or f"{_seen(path, seen)} {_lacking(seen)}"
    return said or (
        "Files of any layout are read by a recipe: --map learner=…,sample=…,response=…. None of these ends "
        "in .csv, .tsv, .json, .jsonl, .parquet or .arrow."
    )


def _is_small(path: Path) -> bool:
    try:
        return can_be_mapped(path) and (not path.is_file() or path.stat().st_size <= LARGEST)
    except OSError:
        return False


def _seen(path: Path, seen: Holdings) -> str:
    texts = [shortened(shown(leaf.text), 60) for leaf in seen.leaves.values()]
    more = f" and {len(texts) - MOST_SHOWN} more" if len(texts) > MOST_SHOWN else ""
    return f"{called(path)} contains {', '.join(texts[:MOST_SHOWN]) or 'no values'}{more}."


def _told(path: Path, found: Proposal) -> str:
    recipe, table, repeated = found.recipe, found.read.table, found.read.repeated
    size = f"{table.n_learners} learners × {table.n_samples} samples, {table.n_responses} responses"
    head = "the first rows give " if table.n_responses + table.n_missing >= MOST_ROWS else ""
    guessed = " The scale is a guess from the values." if recipe.scale[:2] != PLAIN[:2] else ""
    again = f" {counted(repeated, 'row', 'repeats', 'repeat')} a learner and sample." if repeated else ""
    return f"This recipe reads it: --map {shlex.quote(shown(recipe.text))} ({head}{size}).{guessed}{again}"


def _lacking(seen: Holdings) -> str:
    most = max((leaf.n for leaf in seen.leaves.values()), default=0)
    scored = [leaf for leaf in seen.leaves.values() if response_points(leaf, most) is not None]
    shares = [
        leaf
        for leaf in seen.leaves.values()
        if len(leaf.steps) == 1 and leaf.kinds == {"number"} and leaf.low >= 0 and leaf.high <= 1
    ]
    if not scored and len(shares) > 1:
        return (
            f"No recipe was found: no field is called a response, but {len(shares)} columns hold numbers "
            "from 0 to 1, as in a wide table. Commands that take a table (camilla load takes logs) read it "
            "with --rows samples (one column per learner) or --rows learners."
        )
    why = (
        "no field looks like a response: truth values, numbers from 0 to 1 or on a scale such as 1 to 10, or "
        "words such as correct and incorrect"
        if not scored
        else f"{shortened(shown(scored[0].text), 60)} may be the response, but no sample goes with it"
    )
    return f"No recipe was found: {why}. If there is one, name it: --map learner=…,sample=…,response=…."
