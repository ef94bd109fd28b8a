"""Small logs of further harnesses and platforms, written from their own code and published files.

Each maker gives the format, the file that holds the scores, and all files. Where a format can say so, there
are two samples, the first right, the second wrong. Where a layout was seen is said beside its maker.
"""

import html
import io
import json
import zipfile
from collections.abc import Callable
from typing import Any

Made = tuple[str, str, dict[str, bytes]]
QUESTIONS = ("How fast is light?", "Who sues?")


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


def _lines(values: list[Any]) -> bytes:
    return b"".join(_json(value) + b"\n" for value in values)


def _event(number: int, sample: int, kind: str, data: dict[str, Any]) -> dict[str, Any]:
    return {"run_id": "r1", "event_id": number, "sample_id": f"quiz.dev.{sample}", "type": kind, "data": data,
            "created_by": "", "created_at": "2026-01-21 03:44:18"}  # fmt: skip


SPEC = {
    "completion_fns": ["org/m"], "eval_name": "quiz.dev.v0", "base_eval": "quiz", "split": "dev",
    "run_config": {"seed": 7, "max_samples": None, "initial_settings": {"visible": True}},
    "created_by": "", "run_id": "r1", "created_at": "2026-01-21 03:44:18",
}  # fmt: skip


def openai_evals() -> Made:
    """openai/evals evals/record.py; a whole log: Significant-Gravitas/Auto-GPT-Benchmarks README.md."""
    lines: list[Any] = [{"spec": SPEC}, {"final_report": {"accuracy": 0.5}}]
    for at, question in enumerate(QUESTIONS):
        sampled = {"prompt": f"User: {question}", "sampled": "A"}
        match = {
            "correct": at == 0,
            "expected": "AB"[at],
            "picked": "A",
            "sampled": "A",
            "options": ["A", "B"],
        }
        lines += [_event(3 * at, at, "sampling", sampled), _event(3 * at + 1, at, "match", match)]
    lines.append(_event(9, 2, "error", {"type": "Timeout", "message": "too slow"}))
    return "openai-evals", "logs/run.jsonl", {"logs/run.jsonl": _lines(lines)}


def openai_evals_graded() -> Made:
    """openai/evals evals/elsuite/basic/fuzzy_match.py and modelgraded/classify.py: metrics of samples."""
    lines: list[Any] = [{"spec": SPEC}]
    for at, question in enumerate(QUESTIONS):
        raw = {"input": [{"role": "user", "content": question}], "ideal": "A"}
        lines += [
            _event(0, at, "raw_sample", raw),
            _event(1, at, "sampling", {"prompt": raw["input"], "sampled": "B"}),
            _event(2, at, "sampling", {"prompt": "grade it", "sampled": "It is fine."}),
            _event(3, at, "metrics", {"choice": "Yes", "accuracy": 1.0 - at, "f1_score": 0.75}),
        ]
    lines.append({"final_report": {"accuracy": 0.5, "f1_score": 0.75}})
    return "openai-evals", "logs/graded.jsonl", {"logs/graded.jsonl": _lines(lines)}


def _message(role: str, text: str) -> str:
    return (
        f'<div class="message {role}">\n    <div class="role">\n    {role}\n    </div>\n'
        f'    <div class="content">\n    <pre>{html.escape(text)}</pre>\n    </div>\n</div>\n'
    )


def _example(at: int) -> str:
    return (
        "<h3>Prompt conversation</h3>\n" + _message("system", "Be brief.") + _message("user", QUESTIONS[at])
        + "<h3>Sampled message</h3>\n" + _message("assistant", "<b>A</b>")
        + f"<h3>Results</h3>\n<p>Correct Answer: {'AB'[at]}</p>\n<p>Extracted Answer: A</p>\n"
        + f"<p>Score: {1.0 - at}</p>\n"
    )  # fmt: skip


def simple_evals() -> Made:
    """openai/simple-evals common.py; results/2024-11-28_04-46-49/gpqa_customgpt.html and .json."""
    body = "".join(f"    {_example(at)}\n    <hr>\n" for at in range(2))
    page = f"<!DOCTYPE html>\n<html><body>\n<h1>Metrics</h1>\n<h1>Examples</h1>\n{body}</body></html>\n"
    means = {"chars": 3.0, "chars:std": 0.0, "score:std": 0.5, "score": 0.5}
    files = {"out/quiz_org-m.html": page.encode(), "out/quiz_org-m.json": _json(means)}
    return "simple-evals", "out/quiz_org-m.html", files


def simple_evals_json() -> Made:
    """openai/simple-evals simple_evals.py (…_allresults.json), healthbench_eval.py (metadata of examples)."""
    convos = [[{"role": "user", "content": one}, {"role": "assistant", "content": "A"}] for one in QUESTIONS]
    metadata = [
        {"score": 1.0 - at, "rubric_items": [{"criterion": "c", "explanation": f"because {at}"}]}
        for at in range(2)
    ]
    results = {
        "score": 0.5, "metrics": {"chars": 3.0}, "htmls": [_example(0), None], "convos": convos,
        "metadata": {"example_level_metadata": metadata},
    }  # fmt: skip
    target = "out/quiz_org-m_20260121_034418_allresults.json"
    return "simple-evals", target, {target: json.dumps(results, indent=2).encode()}


def deepeval(wrapped: bool = True) -> Made:
    """confident-ai/deepeval deepeval/test_run/api.py; a whole file: AKR9634/LLM_Evaluation .deepeval."""
    cases = []
    for at, question in enumerate(QUESTIONS):
        measured = [
            {"name": "Recall", "threshold": 0.7, "success": at == 0, "score": 1.0 - at / 2,
             "reason": f"r{at}", "strictMode": False, "evaluationModel": "judge"},
            {"name": "Bias", "threshold": 0.5, "success": True, "score": 0.1, "reason": "none"},
        ]  # fmt: skip
        cases.append(
            {"name": f"test_case_{at}", "input": question, "actualOutput": "A", "expectedOutput": "AB"[at],
             "success": at == 0, "metricsData": measured, "runDuration": 0.1, "order": at,
             "metadata": {"subject": ("physics", "law")[at]}}
        )  # fmt: skip
    broken = [{"name": "Recall", "threshold": 0.7, "success": False, "error": "rate limit"}]
    cases.append({"name": "test_case_2", "input": "Why?", "success": False, "metricsData": broken})
    run = {
        "testCases": cases, "conversationalTestCases": [],
        "hyperparameters": {"model": "org/m", "top_k": "5"},
        "metricsScores": [{"metric": "Recall", "scores": [1.0, 0.5], "passes": 1, "fails": 1, "errors": 1}],
        "testPassed": 1, "testFailed": 2, "testFile": "test_quiz.py",
    }  # fmt: skip
    target = "runs/latest.json" if wrapped else "runs/20260121_034418"
    return "deepeval", target, {target: _json({"testRunData": run} if wrapped else run)}


def deepeval_conversation() -> Made:
    """confident-ai/deepeval deepeval/test_run/api.py: ConversationalApiTestCase."""
    turns = [
        {"role": "user", "content": "Hi", "order": 0},
        {"role": "assistant", "content": "Yes?", "order": 1},
    ]
    case = {
        "name": "chat", "success": True, "scenario": "A user greets.", "expectedOutcome": "A greeting.",
        "turns": turns, "metricsData": [{"name": "Polite", "threshold": 0.5, "success": True, "score": 0.9}],
    }  # fmt: skip
    return "deepeval", "chat.json", {"chat.json": _json({"testCases": [], "conversationalTestCases": [case]})}


LANGSMITH = [
    {"inputs.question": question, "outputs.answer": "A", "error": None, "reference.answer": "AB"[at],
     "feedback.correct": at == 0, "feedback.overlap": 0.5, "execution_time": 1.5, "example_id": f"e{at}",
     "id": f"r{at}"}
    for at, question in enumerate(QUESTIONS)
]  # fmt: skip
LANGSMITH.append(
    LANGSMITH[0] | {"id": "r2", "feedback.correct": None, "error": "Timeout()", "feedback.overlap": None}
)


def langsmith(ending: str = "csv") -> Made:
    """langchain-ai/langsmith-sdk python/langsmith/evaluation/_runner.py: _flatten_experiment_results."""
    name = f"exports/m.{ending}"
    if ending == "csv":
        rows = [["" if value is None else str(value) for value in row.values()] for row in LANGSMITH]
        text = ",".join(LANGSMITH[0]) + "\n" + "".join(",".join(row) + "\n" for row in rows)
        return "langsmith", name, {name: text.encode()}
    return "langsmith", name, {name: _lines(LANGSMITH) if ending == "jsonl" else _json(LANGSMITH)}


def _braintrust() -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = []
    for at, question in enumerate(QUESTIONS):
        root = {
            "id": f"i{at}", "_xact_id": "1", "created": f"2026-01-2{at}", "experiment_id": "x1",
            "input": {"question": question}, "output": "A", "expected": "AB"[at], "error": None,
            "scores": {"Exact": 1 - at, "Tone": None}, "metadata": {"subject": ("physics", "law")[at]},
            "span_id": f"s{at}", "root_span_id": f"s{at}", "is_root": True,
            "span_attributes": {"name": "eval"},
        }  # fmt: skip
        scorer = root | {"span_id": f"t{at}", "is_root": False, "scores": {"Exact": 0.25}}
        events += [root, scorer]
    return events


def braintrust(as_lines: bool = False) -> Made:
    """Braintrust's API reference, FetchExperimentEventsResponse: events and cursor; ExperimentEvent."""
    if as_lines:
        records = [
            event | {"origin": {"object_id": "quiz", "id": f"rec{event['id']}"}} for event in _braintrust()
        ]
        return "braintrust", "m.jsonl", {"m.jsonl": _lines(records)}
    return "braintrust", "m.json", {"m.json": _json({"events": _braintrust(), "cursor": None})}


def mlflow() -> Made:
    """Wongyenchik/finetune-mlx-math-model eval_results_table.json; run folders as MLflow's file store."""
    columns = ["inputs", "ground_truth", "outputs", "latency", "exact/v1/score", "grade/v1/score",
               "exact/v1/justification", "toxicity/v1/score"]  # fmt: skip
    data = [
        [question, "AB"[at], "A", 31.5, 1.0 - at, 4, f"because {at}", 0.01]
        for at, question in enumerate(QUESTIONS)
    ]
    folder = "mlruns/0/abc123"
    target = f"{folder}/artifacts/quiz_eval_results_table.json"
    text = json.dumps({"columns": columns, "data": data}).replace("/", "\\/")  # as pandas writes
    return "mlflow", target, {target: text.encode()}


def wandb() -> Made:
    """wandb/wandb sdk/data_types/table.py; EvolvingLMMs-Lab/lmms-eval lmms_eval/loggers/wandb_logger.py."""
    columns = ["id", "data", "choices", "input_len", "labels", "output_type", "raw_predictions",
               "filtered_predictions", "acc", "word_perplexity_loglikelihood", "group", "task"]  # fmt: skip
    data = [
        [at, question, "0. yes\n1. no", 12, at, "multiple_choice", 0, 0, 1.0 - at, -3.5, "school", "quiz"]
        for at, question in enumerate(QUESTIONS)
    ]
    target = "wandb/run-20260121_034418-ab12/files/media/table/school_eval_results_3_abc.table.json"
    return "wandb", target, {target: _json({"columns": columns, "data": data})}


VLM_COLUMNS = ("index", "question", "A", "B", "answer", "category", "l2-category", "prediction", "hit", "log")
VLM_ROWS = [
    (
        at,
        question,
        "yes",
        "no",
        "AB"[at],
        ("physics", "law")[at],
        "science",
        "A",
        1 - at,
        f"Match Log: {at}",
    )
    for at, question in enumerate(QUESTIONS)
]


def workbook(rows: list[tuple[Any, ...]]) -> bytes:
    """The smallest workbook that Excel's format allows: one sheet, texts in its cells."""
    lines = []
    for at, row in enumerate(rows, start=1):
        cells = "".join(
            f'<c r="{chr(65 + i)}{at}"><v>{value}</v></c>' if isinstance(value, int)
            else f'<c r="{chr(65 + i)}{at}" t="inlineStr"><is><t>{html.escape(value)}</t></is></c>'
            for i, value in enumerate(row)
        )  # fmt: skip
        lines.append(f'<row r="{at}">{cells}</row>')
    spread = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    entries = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types"><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Override PartName="/xl/workbook.xml" '
        f'ContentType="{kind}.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" '
        f'ContentType="{kind}.worksheet+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" '
        f'Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{spread}" xmlns:r="{office}"><sheets><sheet name="Sheet1" '
        'sheetId="1" r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" '
        f'Type="{office}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{spread}"><sheetData>'
        f"{''.join(lines)}</sheetData></worksheet>",
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in entries.items():
            archive.writestr(zipfile.ZipInfo(name), text, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def vlmevalkit(ending: str = "xlsx") -> Made:
    """open-compass/VLMEvalKit vlmeval/dataset/image_mcq.py (names), utils/multiple_choice.py (hit, means),
    smp/file.py (endings); assets/benchmarks/vila_8b/vila_8b_MMStar_openai_result.xlsx."""
    folder = "outputs/vila_8b/T20260121_G1ff966c3"
    target = f"{folder}/vila_8b_quiz_VAL_openai_result.{ending}"
    if ending == "xlsx":
        data = workbook([VLM_COLUMNS, *VLM_ROWS])
    elif ending == "tsv":
        table = [VLM_COLUMNS, *VLM_ROWS]
        data = "".join("\t".join(f'"{cell}"' for cell in row) + "\n" for row in table).encode()
    else:
        records = [dict(zip(VLM_COLUMNS, row, strict=True)) for row in VLM_ROWS]
        data = json.dumps(records, indent=4).encode()
    means = b'"split","Overall","science","law","physics"\n"none","0.5","0.5","0.0","1.0"\n'
    return "vlmevalkit", target, {target: data, f"{folder}/vila_8b_quiz_VAL_acc.csv": means}


LMMS_TIME = "20260121_034418"


def lmms_eval(records: bool = False) -> Made:
    """EvolvingLMMs-Lab/lmms-eval lmms_eval/loggers/evaluation_tracker.py; shruum/lmms-eval
    results/liuhaotian__llava-v1.5-7b/20260218_234435_samples_scienceqa_img.jsonl and …_results.json."""
    rows = []
    for at, question in enumerate(QUESTIONS):
        row = {"doc_id": at, "target": "AB"[at], "filtered_resps": ["A"], "doc_hash": "74234e98"}
        record = {"question_id": at, "score": 1.0 - at, "prediction": "A"}
        scores = {"acc": record, "f1": record} if records else {"exact_match": 1.0 - at}
        rows.append(row | scores | {"input": question})
    mean = {"acc,none": 0.5, "f1,none": 0.3} if records else {"exact_match,none": 0.5}
    listed = [
        {
            "metric": name.partition(",")[0],
            "aggregation": "<function f>" if records else "mean",
            "higher_is_better": True,
        }
        for name in mean
    ]
    results = {
        "results": {"quiz": {"alias": "quiz"} | mean},
        "configs": {"quiz": {"metric_list": listed, "score_key": "score"}},
        "n-shot": {"quiz": 0}, "config": {"model": "llava", "model_args": "pretrained=org/m"},
        "model_name": "org/m", "git_hash": "v0.6",
    }  # fmt: skip
    folder = "logs/org__m"
    target = f"{folder}/{LMMS_TIME}_samples_quiz.jsonl"
    return "lmms-eval", target, {target: _lines(rows), f"{folder}/{LMMS_TIME}_results.json": _json(results)}


def mteb_task(task: str, scores: dict[str, Any]) -> bytes:
    return _json({"dataset_revision": "37c8", "evaluation_time": 34.5, "kg_co2_emissions": None,
                  "mteb_version": "1.12.75", "scores": scores, "task_name": task})  # fmt: skip


def mteb() -> Made:
    """embeddings-benchmark/results GritLM__GritLM-7B/13f00a…/FrenkSlClassification.json, model_meta.json."""
    folder = "results/org__m/13f00a"
    target = f"{folder}/quiz.json"
    scores = {"test": [{"accuracy": 0.6, "hf_subset": one, "languages": [f"{one}-Latn"], "main_score": score}
                       for one, score in (("eng", 0.75), ("slv", 0.25))]}  # fmt: skip
    meta = {"name": "org/m", "revision": "13f00a", "n_parameters": 7}
    return "mteb", target, {target: mteb_task("quiz", scores), f"{folder}/model_meta.json": _json(meta)}


FURTHER: dict[str, Callable[[], Made]] = {
    "openai-evals match": openai_evals,
    "openai-evals graded": openai_evals_graded,
    "simple-evals report": simple_evals,
    "simple-evals json": simple_evals_json,
    "deepeval": deepeval,
    "deepeval bare": lambda: deepeval(False),
    "deepeval conversation": deepeval_conversation,
    "langsmith csv": langsmith,
    "langsmith jsonl": lambda: langsmith("jsonl"),
    "langsmith json": lambda: langsmith("json"),
    "braintrust events": braintrust,
    "braintrust lines": lambda: braintrust(True),
    "mlflow": mlflow,
    "wandb": wandb,
    "vlmevalkit xlsx": vlmevalkit,
    "vlmevalkit tsv": lambda: vlmevalkit("tsv"),
    "vlmevalkit json": lambda: vlmevalkit("json"),
    "lmms-eval": lmms_eval,
    "lmms-eval records": lambda: lmms_eval(True),
    "mteb": mteb,
}
