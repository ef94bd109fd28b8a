"""Small logs of every layout, written from the formats' definitions; no harness made them.

Wherever the format can say so: learner "org/m", task "quiz", samples 0 and 1, the first right, the second
wrong, subject "physics" and "law".
"""

import hashlib
import io
import json
import struct
import zipfile
import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

import polars as pl
import zstandard
from benchmark_seeds import BENCHMARK_LAYOUTS
from further_seeds import FURTHER
from seed_files import Seed
from seed_files import as_json as _json
from seed_files import as_lines as _lines

TIME = "2026-01-21T03-44-18.458309"
DOCS = [{"question": "How fast is light?", "subject": "physics"}, {"question": "Who sues?", "subject": "law"}]


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _lm_eval_row(doc_id: int, *, hashes: bool = True, filter: str | None = "none", **scores: Any) -> Any:
    row = {"doc_id": doc_id, "doc": DOCS[doc_id], "target": "1", "arguments": {"gen_args_0": {"arg_0": "?"}}}
    row |= {"resps": [[["-1.5", "False"]]], "filtered_resps": [["-1.5", "False"]]}
    if filter is not None:
        row |= {"filter": filter, "metrics": [name for name in scores if name != "scores_per_repeat"]}
    if hashes:
        row["doc_hash"] = _sha(json.dumps(DOCS[doc_id], indent=2, ensure_ascii=False))
    return row | scores


LM_RESULTS = {
    "results": {"quiz": {"acc,none": 0.5, "acc_stderr,none": "N/A", "alias": "quiz"}},
    "configs": {"quiz": {"task": "quiz", "tag": "exams", "metadata": {"version": 1.0}}},
    "group_subtasks": {"school": ["quiz"]},
    "versions": {"quiz": 1.0},
    "n-shot": {"quiz": 5},
    "higher_is_better": {"quiz": {"acc": True, "brier": False}},
    "config": {"model": "hf", "model_args": "pretrained=org/m,dtype=float16"},
    "lm_eval_version": "0.4.9",
}


def _lm_eval(rows: list[Any], **results: Any) -> Seed:
    folder = "out/org__m"
    target = f"{folder}/samples_quiz_{TIME}.jsonl"
    beside = {f"{folder}/results_{TIME}.json": _json(LM_RESULTS | {"model_name": "org/m"} | results)}
    return Seed("lm-eval", target, {target: _lines(rows)} | beside)


def lm_eval_filters() -> Seed:
    """≥ 0.4.7: a row a document and filter."""
    rows = [
        _lm_eval_row(0, filter="strict-match", exact_match=1.0),
        _lm_eval_row(1, filter="strict-match", exact_match=0.0),
        _lm_eval_row(0, filter="flexible-extract", exact_match=1.0),
        _lm_eval_row(1, filter="flexible-extract", exact_match=1.0),
    ]
    return _lm_eval(rows)


def lm_eval_hashes() -> Seed:
    """0.4.3 to 0.4.6: hashes, but neither filter nor metrics; a perplexity among the scores."""
    rows = [
        _lm_eval_row(0, filter=None, acc=1.0, word_perplexity=[-12.5, 3]),
        _lm_eval_row(1, filter=None, acc=0.0, word_perplexity=[-9.5, 4]),
    ]
    return _lm_eval(rows)


def lm_eval_repeats() -> Seed:
    """0.5.0.dev1: the scores of each repeat."""
    rows = [
        _lm_eval_row(0, acc=1.0, scores_per_repeat={"acc": [1.0, 1.0]}),
        _lm_eval_row(1, acc=0.5, scores_per_repeat={"acc": [0.0, 1.0]}),
    ]
    return _lm_eval(rows)


def lm_eval_array() -> Seed:
    """0.4.0: an indented array called .jsonl, named after model arguments and task; no hashes."""
    rows = [_lm_eval_row(i, hashes=False, filter=None, acc=1.0 - i) for i in range(2)]
    target = "out/pretrained__org__m,dtype__float16_quiz.jsonl"
    files = {target: json.dumps(rows, indent=4).encode(), "out/results.json": _json(LM_RESULTS)}
    return Seed("lm-eval", target, files)


def lm_eval_named_output() -> Seed:
    """`--output_path run.json`: <stem>_<time>.json beside the samples, no folder of the model."""
    target = f"out/samples_quiz_{TIME}.jsonl"
    rows = [_lm_eval_row(i, acc=1.0 - i) for i in range(2)]
    results = {f"out/run_{TIME}.json": _json(LM_RESULTS | {"model_name": "org/m"})}
    return Seed("lm-eval", target, {target: _lines(rows)} | results)


EVAL = {
    "run_id": "r1",
    "created": "2026-01-21T03:44:18+00:00",
    "task": "quiz",
    "task_version": 0,
    "model": "org/m",
    "solver": "generate",
    "dataset": {"name": "quiz", "samples": 2, "sample_ids": ["0", "1"]},
    "model_args": {"dtype": "float16"},
    "config": {"epochs": 1},
}


def inspect_sample(at: int, value: Any, epoch: int = 1, **more: Any) -> dict[str, Any]:
    sample = {"id": str(at), "epoch": epoch, "input": DOCS[at]["question"], "target": "A", "uuid": "u"}
    return (
        sample | {"metadata": {"subject": DOCS[at]["subject"]}, "scores": {"choice": {"value": value}}} | more
    )


INSPECT_SAMPLES = [inspect_sample(0, "C"), inspect_sample(1, "I")]
HEADER = {"version": 2, "status": "success", "eval": EVAL, "plan": {}, "results": None, "stats": {}}


class Packed(NamedTuple):
    """An entry of an archive as it is stored."""

    data: bytes
    size: int
    crc: int
    method: int


def zip_of(entries: dict[str, bytes], method: int) -> bytes:
    """A zip archive whose entries are stored (0), deflated (8) or, which Python cannot write, zstd (93)."""
    return zip_of_packed({name: packed(data, method) for name, data in entries.items()})


def packed(data: bytes, method: int) -> Packed:
    half = len(data) // 2  # of zstd two frames, as a writer that flushes leaves them
    body = {
        0: lambda: data,
        8: lambda: zlib.compress(data, wbits=-15),
        93: lambda: b"".join(zstandard.compress(part) for part in (data[:half], data[half:])),
    }[method]()
    return Packed(body, len(data), zlib.crc32(data), method)


def zip_of_packed(entries: dict[str, Packed]) -> bytes:
    body, directory = b"", b""
    for name, one in entries.items():
        sizes = (one.crc, len(one.data), one.size, len(name.encode()), 0)
        local = struct.pack("<4s5H3I2H", b"PK\x03\x04", 63, 0, one.method, 0, 33, *sizes)
        directory += struct.pack("<4s6H3I2H", b"PK\x01\x02", 63, 63, 0, one.method, 0, 33, *sizes)
        directory += struct.pack("<3H2I", 0, 0, 0, 0, len(body)) + name.encode()
        body += local + name.encode() + one.data
    count = len(entries)
    end = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, count, count, len(directory), len(body), 0)
    return body + directory + end


def _inspect(entries: dict[str, Any], method: int) -> Seed:
    target = "logs/quiz.eval"
    return Seed("inspect", target, {target: zip_of({name: _json(v) for name, v in entries.items()}, method)})


def inspect_with(method: int) -> Seed:
    entries = {"_journal/start.json": HEADER, "summaries.json": INSPECT_SAMPLES, "header.json": HEADER}
    return _inspect(entries, method)


def inspect_chunked() -> Seed:
    """A sample as a folder of its own, and no summary of it."""
    entries = {"header.json": HEADER, "summaries.json": INSPECT_SAMPLES[:1]}
    entries |= {
        "samples/0_epoch_1.json": INSPECT_SAMPLES[0],
        "samples/1_epoch_1/sample.json": INSPECT_SAMPLES[1],
    }
    return _inspect(entries | {"samples/1_epoch_1/events/0.json": []}, zipfile.ZIP_DEFLATED)


def inspect_unfinished() -> Seed:
    """A run that was cut off: the journal alone."""
    entries = {"_journal/start.json": {"version": 2, "eval": EVAL, "plan": {}}}
    entries |= {f"_journal/summaries/{i + 1}.json": [INSPECT_SAMPLES[i]] for i in range(2)}
    return _inspect(entries, zipfile.ZIP_DEFLATED)


def inspect_json() -> Seed:
    target = "logs/quiz.json"
    return Seed("inspect", target, {target: _json(HEADER | {"samples": INSPECT_SAMPLES})})


def helm(perturbed: bool = False) -> Seed:
    """After helm-summarize: predictions and instances beside the run's spec."""
    folder = "runs/v1/quiz:level=1,model=org_m"
    predictions = [
        {
            "instance_id": f"id{7 + i}",
            "train_trial_index": 0,
            "stats": {"exact_match": 1.0 - i, "num_output_tokens": 3},
        }
        for i in range(2)
    ]
    instances = [{"input": {"text": doc["question"]}, "id": f"id{7 + i}"} for i, doc in enumerate(DOCS)]
    if perturbed:
        typos = {"name": "typos"}
        predictions.append(predictions[0] | {"perturbation": typos, "stats": {"exact_match": 0.0}})
        instances.append({"input": {"text": "How fasst?"}, "id": "id7", "perturbation": typos})
    spec = {
        "name": "quiz:level=1,model=org_m",
        "scenario_spec": {"class_name": "QuizScenario", "args": {"subject": "physics"}},
        "adapter_spec": {"model": "org/m", "model_deployment": "hub/m", "max_eval_instances": 2},
        "groups": ["school"],
    }
    files = {"display_predictions.json": predictions, "instances.json": instances, "run_spec.json": spec}
    target = f"{folder}/display_predictions.json"
    return Seed("helm", target, {f"{folder}/{name}": _json(value) for name, value in files.items()})


def _parquet(columns: dict[str, Any]) -> bytes:
    buffer = io.BytesIO()
    pl.DataFrame(columns).write_parquet(buffer)
    return buffer.getvalue()


def lighteval(old: bool = False) -> Seed:
    """Details before 0.11 were flat."""
    target = "out/details/org/m/2026-01-21T03-44-18/details_lighteval|quiz:all|5_2026-01-21T03-44-18.parquet"
    queries = [doc["question"] for doc in DOCS]
    metrics = [{"acc": 1.0 - i, "lengths": [3, 4]} for i in range(2)]
    if old:
        return Seed("lighteval", target, {target: _parquet({"example": queries, "metrics": metrics})})
    docs = [{"query": query, "choices": ["a", "b"], "gold_index": 0} for query in queries]
    columns = {"doc": docs, "metric": metrics, "model_response": [{"text": "a"}] * 2}
    return Seed("lighteval", target, {target: _parquet(columns)})


def opencompass(as_list: bool = False) -> Seed:
    target = "out/20260121_034418/results/m/quiz.json"
    details: Any = {"type": "GEN"}
    details |= {
        str(i): {"prompt": doc["question"], "predictions": "x", "references": "y", "correct": i == 0}
        for i, doc in enumerate(DOCS)
    }
    if as_list:
        details = [
            {
                "example_abbr": f"quiz_{i}",
                "pred": ["x", "y"],
                "answer": ["y", "y"],
                "correct": [i == 0, i == 0],
            }
            for i in range(2)
        ]
    return Seed("opencompass", target, {target: _json({"accuracy": 50.0, "details": details})})


SWE = ("django__django-1", "sympy__sympy-2", "sympy__sympy-3")


def swe_report(schema: int = 2) -> Seed:
    report: dict[str, Any] = {
        "submitted_ids": list(SWE),
        "completed_ids": list(SWE[:2]),
        "resolved_ids": [SWE[0]],
        "unresolved_ids": [SWE[1]],
        "empty_patch_ids": [],
        "error_ids": [] if schema == 2 else [SWE[2]],
        "schema_version": schema,
    }
    if schema == 2:
        report |= {
            "infra_failure_ids": [SWE[2]],
            "ambiguous_failure_ids": [],
            "failure_reasons": {SWE[2]: "disk"},
        }
    return Seed("swe-bench", "org__m.run1.json", {"org__m.run1.json": _json(report)})


def swe_experiments() -> Seed:
    target = "evaluation/verified/20260121_m/results/results.json"
    return Seed(
        "swe-bench", target, {target: _json({"resolved": [SWE[0]], "no_generation": [], "no_logs": [SWE[2]]})}
    )


def swe_instances() -> Seed:
    root = "logs/run_evaluation/run1/org__m"
    files = {f"{root}/{id}/report.json": _json({id: {"resolved": i == 0}}) for i, id in enumerate(SWE[:2])}
    return Seed("swe-bench", f"{root}/{SWE[0]}/report.json", files)


def alpaca_eval() -> Seed:
    rows = [
        {"instruction": f"Do {i}.", "dataset": "d", "generator_1": "base", "generator_2": "m",
         "annotator": "j", "preference": preference}
        for i, preference in enumerate((2, 1, 1.5, 0, 1.75, None))
    ]  # fmt: skip
    return Seed("alpaca-eval", "annotations.json", {"annotations.json": _json(rows)})


BATTLES = [
    ("m", "n", "model_a"),
    ("n", "m", "model_b"),
    ("m", "n", "tie"),
    ("m", "o", "both_bad"),
    ("o", "n", "model_b"),
]


def arena(as_json: bool = False) -> Seed:
    if as_json:
        rows = [
            dict(zip(("model_a", "model_b", "winner"), one, strict=True)) | {"judge": "j"} for one in BATTLES
        ]
        return Seed("arena", "battles.json", {"battles.json": _json(rows)})
    text = "model_a,model_b,winner\n" + "".join(",".join(one) + "\n" for one in BATTLES)
    return Seed("arena", "battles.csv", {"battles.csv": text.encode()})


def every_eval_ever() -> Seed:
    rows = [
        {"schema_version": "0.3.0", "evaluation_id": "e1", "model_id": "org/m", "evaluation_name": "quiz",
         "sample_id": str(i), "sample_hash": _sha(doc["question"]), "interaction_type": "single_turn",
         "input": {"raw": doc["question"], "reference": ["A"]}, "output": {"raw": ["B"]},
         "answer_attribution": [], "evaluation": {"score": 1.0 - i, "is_correct": i == 0},
         "metadata": {"subject": doc["subject"]}}
        for i, doc in enumerate(DOCS)
    ]  # fmt: skip
    return Seed("every-eval-ever", "m.jsonl", {"m.jsonl": _lines(rows)})


OPENML = """% a run
@relation openml_task_9_predictions
@attribute repeat numeric
@attribute fold numeric
@attribute sample numeric
@attribute row_id numeric
@attribute confidence.cat numeric
@attribute 'confidence.big dog' numeric
@attribute prediction {cat,'big dog'}
@attribute correct {cat,'big dog'}
@data
0,0,0,11,0.9,0.1,cat,cat
0,1,0,12,0.6,0.4,cat,'big dog'
1,0,0,11,0.2,0.8,'big dog',cat
1,1,0,12,?,?,?,'big dog'
"""


def openml() -> Seed:
    return Seed("openml", "run_77/predictions.arff", {"run_77/predictions.arff": OPENML.encode()})


def py_irt() -> Seed:
    rows = [{"subject_id": "m", "responses": {"q1": 1, "q2": 0}}, {"subject_id": "n", "responses": {"q1": 0}}]
    return Seed("py-irt", "subjects.jsonl", {"subjects.jsonl": _lines(rows)})


TABLE = "learner,sample,response,task,trial\nm,a,1,t,0\nm,b,0,t,0\nn,a,,t,0\nn,b,0.5,t,0\n"


def table(ending: str = "csv") -> Seed:
    name = f"long.{ending}"
    if ending == "parquet":
        return Seed("table", name, {name: _parquet(pl.read_csv(TABLE.encode()).to_dict(as_series=False))})
    if ending == "jsonl":
        return Seed("table", name, {name: _lines(pl.read_csv(TABLE.encode()).to_dicts())})
    return Seed("table", name, {name: TABLE.encode()})


LAYOUTS: dict[str, Callable[[], Seed]] = {
    "lm-eval filters": lm_eval_filters,
    "lm-eval hashes": lm_eval_hashes,
    "lm-eval repeats": lm_eval_repeats,
    "lm-eval array": lm_eval_array,
    "lm-eval named output": lm_eval_named_output,
    "inspect stored": lambda: inspect_with(zipfile.ZIP_STORED),
    "inspect deflate": lambda: inspect_with(zipfile.ZIP_DEFLATED),
    "inspect zstd": lambda: inspect_with(93),
    "inspect chunked": inspect_chunked,
    "inspect unfinished": inspect_unfinished,
    "inspect json": inspect_json,
    "helm": helm,
    "helm perturbed": lambda: helm(True),
    "lighteval": lighteval,
    "lighteval flat": lambda: lighteval(True),
    "opencompass object": opencompass,
    "opencompass list": lambda: opencompass(True),
    "swe-bench schema 1": lambda: swe_report(1),
    "swe-bench schema 2": swe_report,
    "swe-bench experiments": swe_experiments,
    "swe-bench instances": swe_instances,
    "alpaca-eval": alpaca_eval,
    "arena table": arena,
    "arena array": lambda: arena(True),
    "every-eval-ever": every_eval_ever,
    "openml": openml,
    "py-irt": py_irt,
    "table csv": table,
    "table jsonl": lambda: table("jsonl"),
    "table parquet": lambda: table("parquet"),
    **BENCHMARK_LAYOUTS,
}  # fmt: skip
LAYOUTS |= {name: (lambda make=make: Seed(*make())) for name, make in FURTHER.items()}
