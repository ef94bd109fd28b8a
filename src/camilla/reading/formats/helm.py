"""HELM: one folder per run, with `per_instance_stats.json` or the shorter `display_predictions.json`.

Instance ids are numbered within a run, so samples are known by a hash of their input, which is in
`instances.json` or `scenario_state.json`.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from camilla.reading.decoding import decode_file, digest, is_score, name_in, number_in, plain, shortened
from camilla.reading.runs import About, Answered, Asked, Content, Row, Run

MAIN = (
    "exact_match", "quasi_exact_match", "prefix_exact_match", "quasi_prefix_exact_match",
    "final_number_exact_match", "math_equiv_chain_of_thought", "math_equiv", "chain_of_thought_correctness",
    "f1_score", "rouge_l", "bleu_4",
)  # fmt: skip
# The main metric of scenarios, by the first group of a run: main_name in HELM's schemas (classic, lite,
# capabilities), as far as it is a per-instance score that is better when higher. Where schemas of several
# releases differ (gsm), the first that the run has.
MAIN_OF_GROUP = {
    "exact_match": ("hellaswag", "openbookqa", "truthful_qa", "mmlu", "blimp", "test_custom_qa"),
    "quasi_exact_match": (
        "boolq", "imdb", "raft", "civil_comments", "wikifact", "babi_qa", "synthetic_reasoning", "legalbench",
        "legal_support", "lsat_qa", "med_qa", "entity_data_imputation", "entity_matching", "bbq",
    ),
    "f1_score": ("narrative_qa", "natural_qa_closedbook", "natural_qa_openbook_longans", "quac"),
    "f1_set_match": ("synthetic_reasoning_natural",),
    "exact_match_indicator": ("dyck_language", "gsm"),
    "final_number_exact_match": ("gsm",),
    "math_equiv": ("math_regular",),
    "math_equiv_chain_of_thought": ("math_chain_of_thought",),
    "test_avg": ("code_apps",),
    "pass": ("code_humaneval",),
    "rouge_2": (
        "summarization_cnndm", "summarization_xsum", "billsum_legal_summarization",
        "multilexsum_legal_summarization", "eurlexsum_legal_summarization",
    ),
    "bleu_4": ("wmt_14",),
    "RR@10": ("msmarco_regular",),
    "NDCG@10": ("msmarco_trec",),
    "chain_of_thought_correctness": ("mmlu_pro", "gpqa"),
    "ifeval_strict_accuracy": ("ifeval",),
    "wildbench_score_rescaled": ("wildbench",),
    "omni_math_accuracy": ("omni_math",),
}  # fmt: skip
UNPERTURBED = "leaves perturbed instances out of its mean, and here they are samples of their own"
BOOKKEEPING = re.compile(
    r"num_|batch_size|inference_|training_|finish_reason|logprob|max_prob|predicted_index|estimated_|"
    r"truncated|prompt_tokens|completion_tokens|perplexity|bits_per_byte|logits|references"
)


class AdapterSpec(msgspec.Struct, frozen=True):
    model: Any = None
    model_deployment: Any = None
    method: Any = None
    max_eval_instances: Any = None
    max_train_instances: Any = None


class ScenarioSpec(msgspec.Struct, frozen=True):
    args: Any = None


class RunSpec(msgspec.Struct):
    name: str = ""
    adapter_spec: AdapterSpec = AdapterSpec()
    scenario_spec: ScenarioSpec = ScenarioSpec()
    groups: list[Any] = []


class Perturbation(msgspec.Struct):
    name: Any = None


class StatName(msgspec.Struct):
    name: str
    split: Any = None
    perturbation: Perturbation | None = None


class Stat(msgspec.Struct):
    name: StatName
    count: Any = 0
    mean: Any = None


class HelmInstance(msgspec.Struct):
    instance_id: Any = None
    train_trial_index: Any = 0
    perturbation: Perturbation | None = None
    stats: list[Stat] | dict[str, Any] = []


class Words(msgspec.Struct, frozen=True):
    text: Any = None


class Instance(msgspec.Struct, frozen=True):
    id: Any = None
    input: Words = Words()
    references: Any = None
    perturbation: Perturbation | None = None

    @property
    def name(self) -> str:
        """The id, or id+perturbation."""
        changed = plain(self.perturbation.name) if self.perturbation else ""
        return f"{self.id}+{changed}" if changed else f"{self.id}"


class Completions(msgspec.Struct):
    completions: list[Words] = []


class RequestState(msgspec.Struct):
    instance: Instance = Instance()
    train_trial_index: Any = 0
    reference_index: Any = None
    output_mapping: Any = None
    result: Completions | None = None


class Prediction(msgspec.Struct):
    instance_id: Any = None
    train_trial_index: Any = 0
    perturbation: Perturbation | None = None
    predicted_text: Any = None
    mapped_output: Any = None


class ScenarioState(msgspec.Struct):
    request_states: list[RequestState] = []


STATS = msgspec.json.Decoder(list[Stat])
INSTANCES = msgspec.json.Decoder(list[HelmInstance])
RUN_SPEC = msgspec.json.Decoder(RunSpec)
ASKED = msgspec.json.Decoder(list[Instance])
PREDICTIONS = msgspec.json.Decoder(list[Prediction])
STATE = msgspec.json.Decoder(ScenarioState)


def runs(path: Path) -> Iterator[Run]:
    """The one run of a folder."""
    spec = _beside(path, "run_spec.json", RUN_SPEC) or RunSpec(name=path.parent.name)
    task = _task(spec.name)
    texts = _texts(path)
    left_out: dict[str, str] = {}
    rows: list[Row] = []
    about: dict[str, About] = {}
    shared = _skills(spec)
    instances = decode_file(path, INSTANCES)
    perturbed = any(instance.perturbation for instance in instances)
    for instance in instances:
        id = name_in(instance.instance_id, where=str(path), what="instance_id")
        changed = plain(instance.perturbation.name) if instance.perturbation else ""
        sample = f"{id}+{changed}" if changed else id
        text = texts.get(sample, texts.get(id) if not changed else None)
        cluster = f"{task}/{digest(texts[id])[:12] if id in texts else id}" if perturbed else None
        about.setdefault(sample, About(shortened(text or ""), shared + _split(instance), cluster))
        rows += _scores(instance, sample, None if text is None else digest(text), left_out)
    stated = _stated(path)
    rows.sort(key=lambda row: MAIN.index(row.metric) if row.metric in MAIN else len(MAIN))
    yield Run(
        _learner(spec, path),
        task,
        [row for row in rows if row.metric not in left_out],
        source=str(path),
        format="helm",
        version=f"max_eval_instances={plain(spec.adapter_spec.max_eval_instances)}",
        about=about,
        settings=_settings(spec),
        left_out=left_out,
        unstable_ids=True,
        main=_main(spec, {row.metric for row in rows if row.metric not in left_out}),
        stated=stated,
        stated_how=dict.fromkeys(stated, UNPERTURBED if perturbed else ""),
        content=lambda: _content(path),
    )


def _main(spec: RunSpec, metrics: set[str]) -> str:
    """The main metric of the scenario, if its groups say it and the run has it."""
    groups = [plain(group) for group in spec.groups]
    mains = (name for group in groups for name, of in MAIN_OF_GROUP.items() if group in of)
    return next((name for name in mains if name in metrics), "")


def _stated(path: Path) -> dict[str, float]:
    """The means of stats.json over the unperturbed instances of all splits, which it gives for each split."""
    stats: list[Stat] = _beside(path, "stats.json", STATS) or []
    plain_stats = [stat for stat in stats if stat.name.perturbation is None]
    sizes = {
        plain(stat.name.split): number_in(stat.mean) or 0.0
        for stat in plain_stats
        if stat.name.name == "num_instances"
    }
    totals: dict[str, list[tuple[float, float]]] = {}
    for stat in plain_stats:
        mean, size = number_in(stat.mean), sizes.get(plain(stat.name.split), 0.0)
        if mean is not None and size and not BOOKKEEPING.search(stat.name.name):
            totals.setdefault(stat.name.name, []).append((mean, size))
    return {
        name: sum(mean * size for mean, size in parts) / sum(size for _, size in parts)
        for name, parts in totals.items()
        if sum(size for _, size in parts) == sum(sizes.values())
    }


def _split(instance: HelmInstance) -> tuple[tuple[str, str], ...]:
    names = [stat.name.split for stat in instance.stats if isinstance(stat, Stat)]
    return tuple(("split", plain(name)) for name in names[:1] if plain(name))


def _beside(path: Path, name: str, decoder: "msgspec.json.Decoder[Any]") -> Any:
    file = path.with_name(name)
    return decode_file(file, decoder) if file.is_file() else None


def _texts(path: Path) -> dict[str, str]:
    """Input of each instance, by id or id+perturbation."""
    asked = _beside(path, "instances.json", ASKED)
    if asked is None:
        state = _beside(path, "scenario_state.json", STATE)
        asked = [] if state is None else [one.instance for one in state.request_states]
    texts: dict[str, str] = {}
    for one in asked:
        if isinstance(one.input.text, str):
            texts[one.name] = one.input.text
    return texts


def _content(path: Path) -> Content:
    """Inputs and references of instances, and what was predicted, from the files beside the scores."""
    state = _beside(path, "scenario_state.json", STATE)
    states = [] if state is None else state.request_states
    instances = _beside(path, "instances.json", ASKED) or [one.instance for one in states]
    predictions = _beside(path, "display_predictions.json", PREDICTIONS) or []
    answers = [_predicted(one) for one in predictions] or [
        _completed(one) for one in states if one.reference_index is None
    ]
    return Content({one.name: _asked(one) for one in instances}, answers)


def _asked(instance: Instance) -> Asked:
    references = instance.references if isinstance(instance.references, list) else []
    choices, right = [], []
    for one in references:
        output = one.get("output") if isinstance(one, dict) else None
        text = output.get("text") if isinstance(output, dict) else None
        if isinstance(text, str):
            choices.append(text)
            tags = one.get("tags")
            right += [text] if isinstance(tags, list) and "correct" in tags else []
    offered = tuple(choices) if len(right) < len(choices) else ()
    prompt = instance.input.text if isinstance(instance.input.text, str) else ""
    return Asked(prompt, "\n".join(right), offered)


def _predicted(one: Prediction) -> Answered:
    changed = plain(one.perturbation.name) if one.perturbation else ""
    sample = f"{one.instance_id}+{changed}" if changed else f"{one.instance_id}"
    text = one.predicted_text if isinstance(one.predicted_text, str) else ""
    mapped = one.mapped_output if isinstance(one.mapped_output, str) else ""
    return Answered(sample, _trial(one.train_trial_index), text, extracted=mapped)


def _completed(one: RequestState) -> Answered:
    """The completion; where letters stand for choices, also the choice that it names."""
    first = one.result.completions[0].text if one.result and one.result.completions else ""
    text = first if isinstance(first, str) else ""
    mapping = one.output_mapping if isinstance(one.output_mapping, dict) else {}
    mapped = mapping.get(text.strip(), "")
    extracted = mapped if isinstance(mapped, str) else ""
    return Answered(one.instance.name, _trial(one.train_trial_index), text, extracted=extracted)


def _trial(value: Any) -> int:
    number = number_in(value)
    return int(number) if number is not None and 0 <= number < 2**31 else 0


def _scores(
    instance: HelmInstance, sample: str, content: str | None, left_out: dict[str, str]
) -> Iterator[Row]:
    trial = _trial(instance.train_trial_index)
    if isinstance(instance.stats, dict):
        values = list(instance.stats.items())
    else:
        values = [(stat.name.name, stat.mean if stat.count else None) for stat in instance.stats
                  if stat.name.perturbation is None or instance.perturbation is not None]  # fmt: skip
    for metric, value in values:
        if BOOKKEEPING.search(metric):
            continue
        found = number_in(value)
        if found is not None and not is_score(found):
            left_out.setdefault(metric, "outside 0 to 1")
        yield Row(sample, found, metric, "", trial, content, None if found is not None else "unscored")
    if not values:
        yield Row(sample, None, "", "", trial, content, "unscored")


def _learner(spec: RunSpec, path: Path) -> str:
    for name in (spec.adapter_spec.model, spec.adapter_spec.model_deployment, _argument(spec.name, "model")):
        if isinstance(name, str) and name:
            return name_in(name, where=str(path), what="the model")
    return path.parent.name or path.stem


def _argument(name: str, key: str) -> str:
    return next((part.partition("=")[2] for part in re.split("[:,]", name) if part.startswith(f"{key}=")), "")


def _task(name: str) -> str:
    """The run's name without its model: mmlu:subject=philosophy,method=multiple_choice_joint."""
    start, _, arguments = name.partition(":") if ":" in name else name.partition("-")
    kept = [
        part for part in arguments.split(",") if part and not part.startswith(("model=", "model_deployment="))
    ]
    return f"{start}:{','.join(kept)}" if kept else start or "helm"


def _skills(spec: RunSpec) -> tuple[tuple[str, str], ...]:
    arguments = spec.scenario_spec.args if isinstance(spec.scenario_spec.args, dict) else {}
    found = [(plain(key), plain(value)) for key, value in arguments.items() if plain(value)]
    groups = [plain(group) for group in spec.groups if plain(group)]
    return tuple(found + ([("group", groups[0])] if groups else []))


def _settings(spec: RunSpec) -> dict[str, str]:
    adapter = spec.adapter_spec
    said = {
        "model_deployment": adapter.model_deployment,
        "method": adapter.method,
        "max_train_instances": adapter.max_train_instances,
    }
    return {name: plain(value) for name, value in said.items() if plain(value)}
