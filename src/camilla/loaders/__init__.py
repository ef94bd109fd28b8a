"""One file a source: table files, and the logs of evaluation harnesses."""

from camilla.loaders.helm import HELM
from camilla.loaders.inspect_logs import INSPECT
from camilla.loaders.lm_eval import LM_EVAL
from camilla.loaders.runs import Loader
from camilla.loaders.tabular import TABLE

LOADERS: dict[str, Loader] = {
    "lm-eval": LM_EVAL,
    "inspect": INSPECT,
    "helm": HELM,
    "table": TABLE,
}
