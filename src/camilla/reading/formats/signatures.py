"""What files of further harnesses and of platforms for experiments look like."""

from camilla.reading.sniffing import Format, Signature

JSON, LINES = (".json",), (".jsonl", ".ndjson")
DEEPEVAL = "an object with testCases and their metrics, as a test run of DeepEval"
RUN_FILES = (".json", "")  # DeepEval calls files by the time alone
VLMEVALKIT = "rows have index, prediction and hit, as VLMEvalKit keeps what it judged"

FURTHER: dict[str, Format] = {
    "openai-evals": Format(
        "openai_evals",
        (
            Signature(
                0.95,
                "the first line has the spec of a run, as OpenAI Evals logs it",
                endings=LINES,
                keys=frozenset({"spec"}),
                head=(b'"eval_name"',),
            ),
        ),
    ),
    "simple-evals": Format(
        "simple_evals",
        (
            Signature(
                0.9,
                "a report with examples, each with its prompt and the sampled message, as of simple-evals",
                endings=(".html",),
                head=(b"<h1>Examples</h1>", b"<h3>Prompt conversation</h3>"),
            ),
            Signature(
                0.9,
                "an object with score, metrics and htmls, as simple-evals keeps all results",
                endings=JSON,
                object_only=True,
                keys=frozenset({"score", "metrics", "htmls"}),
            ),
            Signature(
                0.6,
                "means of a run of simple-evals",
                companion=True,
                endings=JSON,
                object_only=True,
                keys=frozenset({"score"}),
                key_with="score:",
            ),
        ),
    ),
    "deepeval": Format(
        "deepeval",
        (
            Signature(
                0.9,
                "an object with testRunData, as DeepEval keeps the latest test run",
                endings=RUN_FILES,
                keys=frozenset({"testRunData"}),
                head=(b'"testCases"',),
            ),
            *(
                Signature(
                    0.85, DEEPEVAL, endings=RUN_FILES, keys=frozenset({"testCases"}), head=(b'"%s"' % part,)
                )
                for part in (b"metricsData", b"metricsMetadata", b"actualOutput")
            ),
        ),
    ),
    "langsmith": Format(
        "langsmith",
        (
            Signature(
                0.9,
                "rows have feedback, example_id and execution_time, as LangSmith's experiments",
                endings=(".csv", *LINES),
                head=(b"feedback.",),
                columns=(("example_id",), ("execution_time",)),
            ),
            Signature(
                0.9,
                "entries have feedback, example_id and execution_time, as LangSmith's experiments",
                endings=JSON,
                keys=frozenset({"example_id", "execution_time"}),
                key_with="feedback.",
            ),
        ),
    ),
    "braintrust": Format(
        "braintrust",
        (
            Signature(
                0.9,
                "events have experiment_id, root_span_id and scores, as Braintrust's experiments",
                endings=(*JSON, *LINES),
                keys=frozenset({"experiment_id", "root_span_id"}),
                some_keys=frozenset({"scores", "span_attributes"}),
            ),
            Signature(
                0.9,
                "an object with events of an experiment, as Braintrust's API gives them",
                endings=JSON,
                object_only=True,
                keys=frozenset({"events"}),
                head=(b'"experiment_id"', b'"root_span_id"'),
            ),
        ),
    ),
    "mlflow": Format(
        "mlflow",
        (
            Signature(
                0.9,
                "columns and data with <metric>/score, as MLflow's evaluation tables",
                endings=JSON,
                object_only=True,
                keys=frozenset({"columns", "data"}),
                head=(b'/score"',),
            ),
        ),
    ),
    "wandb": Format(
        "wandb",
        (
            Signature(
                0.9,
                "columns and data with predictions and metrics of samples, as harnesses log to W&B",
                endings=JSON,
                name=r"(?s:.*[.]table[.]json)",
                object_only=True,
                keys=frozenset({"columns", "data"}),
                head=(b'"raw_predictions"', b'"filtered_predictions"'),
            ),
        ),
    ),
    "vlmevalkit": Format(
        "vlmevalkit",
        (
            Signature(
                0.85,
                "a workbook called …_result.xlsx, as VLMEvalKit keeps what it judged",
                starts=b"PK",
                endings=(".xlsx",),
                name=r"(?s:.+_result[.]xlsx)",
            ),
            Signature(
                0.85,
                VLMEVALKIT,
                endings=(".tsv",),
                name=r"(?s:.+_result[.]tsv)",
                columns=(("index",), ("hit",), ("prediction",)),
            ),
            Signature(
                0.85,
                VLMEVALKIT,
                endings=JSON,
                name=r"(?s:.+_result[.]json)",
                keys=frozenset({"index", "hit", "prediction"}),
            ),
            Signature(
                0.8,
                "means of VLMEvalKit",
                companion=True,
                endings=(".csv", *JSON),
                name=r"(?s:.+_acc[.](csv|json))",
                columns=(("split",), ("Overall",)),
            ),
        ),
    ),
    "lmms-eval": Format(
        "lmms_eval",
        (
            Signature(
                0.95,
                "rows have doc_id, input and filtered_resps, as lmms-eval logs samples",
                endings=LINES,
                keys=frozenset({"doc_id", "input", "filtered_resps", "target"}),
                without=frozenset({"doc"}),
            ),
            Signature(
                0.9,
                "a results file of lmms-eval",
                companion=True,
                endings=JSON,
                name=r"\d{8}_\d{6}_results[.]json",
                keys=frozenset({"results"}),
            ),
        ),
    ),
    "mteb": Format(
        "mteb",
        (
            Signature(
                0.95,
                "an object with task_name, scores and mteb_version, as MTEB's results",
                endings=JSON,
                object_only=True,
                keys=frozenset({"task_name", "scores", "mteb_version"}),
            ),
            Signature(
                0.7,
                "what MTEB knows of a model",
                companion=True,
                endings=JSON,
                name="model_meta[.]json",
                keys=frozenset({"name", "revision"}),
            ),
        ),
    ),
}
