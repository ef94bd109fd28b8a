"""One file a source: table files, and the logs of evaluation harnesses."""

from camilla.reading.formats.alpaca_eval import ALPACA_EVAL
from camilla.reading.formats.arena import ARENA
from camilla.reading.formats.every_eval_ever import EVERY_EVAL_EVER
from camilla.reading.formats.helm import HELM
from camilla.reading.formats.inspect_logs import INSPECT
from camilla.reading.formats.lighteval import LIGHTEVAL
from camilla.reading.formats.lm_eval import LM_EVAL
from camilla.reading.formats.opencompass import OPENCOMPASS
from camilla.reading.formats.openml import OPENML
from camilla.reading.formats.py_irt import PY_IRT
from camilla.reading.formats.swebench import SWE_BENCH
from camilla.reading.formats.tabular import TABLE
from camilla.reading.runs import Loader

LOADERS: dict[str, Loader] = {
    "lm-eval": LM_EVAL,
    "inspect": INSPECT,
    "helm": HELM,
    "lighteval": LIGHTEVAL,
    "opencompass": OPENCOMPASS,
    "swe-bench": SWE_BENCH,
    "alpaca-eval": ALPACA_EVAL,
    "arena": ARENA,
    "every-eval-ever": EVERY_EVAL_EVER,
    "openml": OPENML,
    "py-irt": PY_IRT,
    "table": TABLE,
}
