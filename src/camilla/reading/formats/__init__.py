"""The formats of logs: here, as data, what their files look like; a module for each reads them."""

from importlib import import_module
from importlib.metadata import entry_points

from camilla.errors import DataError, SettingError
from camilla.names import nearest
from camilla.reading.formats.signatures import FURTHER
from camilla.reading.sniffing import Format, Loader, Signature
from camilla.reading.tables import LONG_NAMES
from camilla.table.frame_files import ENDINGS

GROUP = "camilla.loaders"  # of entry points
JSON, LINES = (".json",), (".jsonl", ".ndjson")
LM_EVAL_ROWS = "rows have doc_id, doc and resps, as lm-evaluation-harness logs samples"
LM_EVAL_RESULTS = "a results file of lm-evaluation-harness"
INSPECT_ARCHIVE = "a zip archive with the ending of Inspect's logs"
HELM_STATS = "entries have instance_id and stats, as HELM writes"
HELM_COMPANIONS = "(run_spec|scenario|scenario_state|stats|instances|display_requests)[.]json"
HELM_RUN = frozenset({"per_instance_stats.json", "display_predictions.json", "run_spec.json"})
OPENCOMPASS = "an object with details of samples, as OpenCompass"
SWE_IDS = frozenset({"resolved_ids", "unresolved_ids", "completed_ids", "submitted_ids"})
OPENML = "ARFF with row_id, prediction and correct, as of OpenML's runs"
ARFF = (b"@relation", b"prediction")
EVERY_EVAL_EVER = frozenset({"evaluation_id", "model_id", "evaluation_name", "sample_id", "evaluation"})

TERMINAL_TRIALS = (b'"trial_name"', b'"is_resolved"')
PROMPTFOO = "results of tests with score, success and gradingResult, as promptfoo writes"
EVALPLUS = "results of base and extra tests for each task, as EvalPlus writes"
LIVECODEBENCH = "problems with question_id and graded_list, as LiveCodeBench writes"


def _lighteval(query: str, metrics: str) -> Signature:
    reason = f"Parquet with columns {query} and {metrics}, as LightEval's details"
    return Signature(0.9, reason, endings=(".parquet",), structs=frozenset({metrics}), columns=((query,),))


FORMATS: dict[str, Format] = {
    "lm-eval": Format(
        "lm_eval",
        (
            Signature(
                0.95,
                LM_EVAL_ROWS,
                keys=frozenset({"doc_id", "doc"}),
                some_keys=frozenset({"resps", "filtered_resps", "target"}),
            ),
            Signature(
                0.8,
                LM_EVAL_RESULTS,
                companion=True,
                endings=JSON,
                keys=frozenset({"results"}),
                some_keys=frozenset({"configs", "versions", "n-shot"}),
            ),
            Signature(
                0.8,
                LM_EVAL_RESULTS,
                companion=True,
                endings=JSON,
                keys=frozenset({"results"}),
                name="(?s:results_.*)",
            ),
        ),
    ),
    "inspect": Format(
        "inspect_logs",
        (
            Signature(0.95, INSPECT_ARCHIVE, starts=b"PK", endings=(".eval",)),
            Signature(0.95, INSPECT_ARCHIVE, starts=b"PK", head=(b"_journal/start.json",)),
            Signature(
                0.95,
                "a JSON object with version, status and eval, as Inspect writes",
                endings=JSON,
                keys=frozenset({"version", "status", "eval"}),
            ),
            Signature(
                0.9,
                "a JSON object with eval and plan, as Inspect writes when a run starts",
                endings=JSON,
                object_only=True,
                keys=frozenset({"eval", "plan"}),
            ),
        ),
    ),
    "helm": Format(
        "helm",
        (
            Signature(
                0.95,
                HELM_STATS,
                companion=True,
                endings=JSON,
                name="per_instance_stats[.]json",
                beside=frozenset({"display_predictions.json"}),
                keys=frozenset({"instance_id", "stats"}),
            ),
            Signature(0.95, HELM_STATS, endings=JSON, keys=frozenset({"instance_id", "stats"})),
            Signature(
                0.9,
                "a file of a HELM run",
                companion=True,
                endings=JSON,
                name=HELM_COMPANIONS,
                beside=HELM_RUN,
            ),
        ),
    ),
    "lighteval": Format(
        "lighteval",
        (
            _lighteval("doc", "metric"),
            _lighteval("__doc__", "__metric__"),
            _lighteval("doc", "metrics"),
            _lighteval("example", "metrics"),
        ),
    ),
    "opencompass": Format(
        "opencompass",
        (
            Signature(
                0.9,
                OPENCOMPASS,
                endings=JSON,
                object_only=True,
                folder="results",
                keys=frozenset({"details"}),
            ),
            Signature(0.6, OPENCOMPASS, endings=JSON, object_only=True, keys=frozenset({"details"})),
            Signature(
                0.7,
                "predictions of OpenCompass, scored in results/",
                companion=True,
                endings=JSON,
                object_only=True,
                folder="predictions",
                keys=frozenset({"0"}),
            ),
        ),
    ),
    "swe-bench": Format(
        "swebench",
        (
            Signature(
                0.95,
                "an object with resolved_ids and its like, as SWE-bench's harness reports",
                endings=JSON,
                object_only=True,
                some_keys=SWE_IDS,
                least=2,
                without=frozenset({"results"}),  # Terminal-Bench has the same lists, with an entry per trial
            ),
            Signature(
                0.9,
                "results.json with a list of resolved instances, as in SWE-bench/experiments",
                object_only=True,
                name="results[.]json",
                keys=frozenset({"resolved"}),
            ),
            Signature(
                0.9,
                "report.json of one instance, as SWE-bench's harness logs it",
                object_only=True,
                name="report[.]json",
                head=(b'"resolved"',),
                key_with="__",
            ),
        ),
    ),
    "alpaca-eval": Format(
        "alpaca_eval",
        (
            Signature(
                0.95,
                "entries have generator_1, generator_2 and preference, as in AlpacaEval",
                endings=JSON,
                keys=frozenset({"instruction", "generator_1", "generator_2"}),
            ),
        ),
    ),
    "arena": Format(
        "arena",
        (
            Signature(
                0.9,
                "rows have model_a, model_b and winner, as arenas publish battles",
                columns=(("model_a",), ("model_b",), ("winner",)),
            ),
        ),
    ),
    "every-eval-ever": Format(
        "every_eval_ever",
        (
            Signature(
                0.95,
                "lines have model_id, evaluation_name and sample_id, as Every Eval Ever",
                endings=LINES,
                keys=EVERY_EVAL_EVER,
            ),
            Signature(
                0.9,
                "an aggregate of Every Eval Ever",
                companion=True,
                endings=JSON,
                keys=frozenset({"evaluation_id", "evaluation_results"}),
            ),
        ),
    ),
    "openml": Format(
        "openml",
        (
            Signature(0.95, OPENML, lowered=(*ARFF, b"row_id", b"correct")),
            Signature(0.95, OPENML, lowered=(*ARFF, b"row_id", b"truth")),
            Signature(0.4, OPENML, lowered=ARFF),
        ),
    ),
    "py-irt": Format(
        "py_irt",
        (
            Signature(
                0.95,
                "lines have subject_id and responses, as py-irt reads them",
                keys=frozenset({"subject_id", "responses"}),
            ),
        ),
    ),
    "terminal-bench": Format(
        "terminal_bench",
        (
            Signature(
                0.97,
                "an object with results of trials, as Terminal-Bench writes",
                endings=JSON,
                object_only=True,
                keys=frozenset({"results"}),
                head=TERMINAL_TRIALS,
            ),
            Signature(
                0.95,
                "results.json of one trial of Terminal-Bench",
                endings=JSON,
                object_only=True,
                keys=frozenset({"trial_name", "task_id", "is_resolved"}),
            ),
            Signature(
                0.9,
                "what a run of Terminal-Bench was started with",
                companion=True,
                name="run_metadata[.]json",
                keys=frozenset({"run_id", "agent_name"}),
            ),
        ),
    ),
    "tau-bench": Format(
        "tau_bench",
        (
            Signature(
                0.95,
                "entries have task_id, reward, info and traj, as τ-bench writes",
                endings=JSON,
                keys=frozenset({"task_id", "reward", "info"}),
                some_keys=frozenset({"traj", "trial"}),
            ),
        ),
    ),
    "promptfoo": Format(
        "promptfoo",
        (
            Signature(
                0.95,
                PROMPTFOO,
                endings=JSON,
                object_only=True,
                keys=frozenset({"evalId", "results"}),
            ),
            Signature(
                0.9,
                PROMPTFOO,
                endings=JSON,
                object_only=True,
                keys=frozenset({"results"}),
                head=(b'"gradingResult"', b'"success"', b'"timestamp"'),
            ),
            Signature(
                0.9,
                PROMPTFOO,
                endings=JSON,
                object_only=True,
                keys=frozenset({"results", "createdAt"}),
                head=(b'"testPassCount"',),
            ),
        ),
    ),
    "mt-bench": Format(
        "mt_bench",
        (
            Signature(
                0.95,
                "lines have question_id, model, judge, judgment and score, as MT-Bench's single gradings",
                endings=LINES,
                keys=frozenset({"question_id", "model", "judge", "score"}),
                some_keys=frozenset({"judgment", "user_prompt", "turn"}),
                least=2,
            ),
            Signature(
                0.7,
                "questions of MT-Bench",
                companion=True,
                endings=LINES,
                keys=frozenset({"question_id", "category", "turns"}),
            ),
            Signature(
                0.7,
                "answers to MT-Bench, judged in model_judgment/",
                companion=True,
                endings=LINES,
                keys=frozenset({"question_id", "answer_id", "model_id", "choices"}),
            ),
        ),
    ),
    "mt-bench-pairs": Format(
        "mt_bench_pairs",
        (
            Signature(
                0.95,
                "lines have model_1, model_2, g1_winner and g2_winner, as MT-Bench's pairwise judgments",
                endings=LINES,
                keys=frozenset({"question_id", "model_1", "model_2", "g1_winner", "g2_winner"}),
            ),
        ),
    ),
    "evalplus": Format(
        "evalplus",
        (
            Signature(
                0.95,
                EVALPLUS,
                endings=JSON,
                object_only=True,
                keys=frozenset({"date", "hash", "eval"}),
                head=(b'"base',),
            ),
            Signature(
                0.9,
                EVALPLUS,
                endings=JSON,
                object_only=True,
                keys=frozenset({"eval"}),
                head=(b'"base_status"',),
            ),
        ),
    ),
    "livecodebench": Format(
        "livecodebench",
        (
            Signature(
                0.95,
                LIVECODEBENCH,
                endings=JSON,
                name="(?s:.*_eval_all[.]json)",
                keys=frozenset({"question_id", "contest_id"}),
            ),
            Signature(0.9, LIVECODEBENCH, endings=JSON, keys=frozenset({"question_id", "graded_list"})),
            Signature(
                0.8,
                "what LiveCodeBench's problems come to, or answers that it has not graded",
                companion=True,
                endings=JSON,
                name=r"(?s:Scenario[.].*_[\d.]+(_eval)?[.]json)",
            ),
        ),
    ),
    "big-bench-hard": Format(
        "big_bench_hard",
        (
            Signature(
                0.9,
                "outputs with input, prediction and target, as published with BIG-Bench Hard",
                endings=JSON,
                object_only=True,
                keys=frozenset({"canary", "outputs"}),
                head=(b'"prediction"', b'"target"'),
            ),
            Signature(
                0.8,
                "the accuracy of outputs of BIG-Bench Hard",
                companion=True,
                endings=LINES,
                name="(?s:.*_few_shot_template_.*_eval_metrics[.]jsonl)",
                keys=frozenset({"accuracy"}),
            ),
        ),
    ),
    **FURTHER,
    "table": Format(
        "tabular",
        (
            Signature(
                0.6,
                "a table with columns {columns}",
                endings=ENDINGS,
                columns=tuple(LONG_NAMES.values()),
            ),
            Signature(
                0.9,
                "what samples of a table ask and learners answered",
                companion=True,
                endings=(".parquet",),
                name=".*[.]content[.]parquet",
                columns=(("sample",), ("learner",), ("prompt",), ("extracted",)),
            ),
        ),
    ),
}


def all_formats(only: str | None = None) -> dict[str, Format | Loader]:
    """The formats of this package, and those that installed packages bring by entry point; or one of them."""
    found: dict[str, Format | Loader] = dict(FORMATS)
    for point in entry_points(group=GROUP):
        try:
            loader = point.load()
        except (ImportError, AttributeError) as error:
            raise DataError(
                f"the loader {point.name!r} of {point.value} cannot be loaded: {error}."
            ) from error
        if not isinstance(loader, Loader):
            raise DataError(
                f"the loader {point.name!r} of {point.value} is not a camilla.reading.sniffing.Loader."
            )
        found[point.name] = loader
    if only is not None and only not in found:
        raise SettingError(f"no format is called {only!r}. {nearest(only, list(found))}")
    return found if only is None else {only: found[only]}


def loader_of(one: Format | Loader) -> Loader:
    """What reads files of a format; the module of one of ours is imported now."""
    if isinstance(one, Loader):
        return one
    module = import_module(f"camilla.reading.formats.{one.module}")
    return Loader(one.sniff, module.runs, getattr(module, "matches", None))
