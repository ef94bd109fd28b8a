"""One file a source: table files, and the logs of evaluation harnesses."""

from camilla.loaders.alpaca_eval import ALPACA_EVAL
from camilla.loaders.arena import ARENA
from camilla.loaders.every_eval_ever import EVERY_EVAL_EVER
from camilla.loaders.helm import HELM
from camilla.loaders.inspect_logs import INSPECT
from camilla.loaders.lighteval import LIGHTEVAL
from camilla.loaders.lm_eval import LM_EVAL
from camilla.loaders.opencompass import OPENCOMPASS
from camilla.loaders.openml import OPENML
from camilla.loaders.py_irt import PY_IRT
from camilla.loaders.runs import Loader
from camilla.loaders.swebench import SWE_BENCH
from camilla.loaders.tabular import TABLE

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
