"""One file a source: table files, and the logs of evaluation harnesses."""

from camilla.loaders.lm_eval import LM_EVAL
from camilla.loaders.runs import Loader
from camilla.loaders.tabular import TABLE

LOADERS: dict[str, Loader] = {"lm-eval": LM_EVAL, "table": TABLE}
