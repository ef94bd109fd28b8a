"""Every diagnoser by name."""

from camilla.fitting.protocol import Diagnoser
from camilla.models.bayes import Bayes
from camilla.models.camilla import Camilla
from camilla.models.camilla_base import CamillaBase
from camilla.models.dina import DINA
from camilla.models.gaussian import Gaussian
from camilla.models.hier import HierMIRT, HierNCD
from camilla.models.irt import IRT
from camilla.models.ka_ncd import KaNCD
from camilla.models.mf import MF
from camilla.models.mirt import MIRT
from camilla.models.neural_cd import NeuralCD
from camilla.models.qc_cdm import QCCDM
from camilla.models.skill_vanilla import SkillVanilla
from camilla.models.vanilla import Vanilla

_KINDS: tuple[type[Diagnoser], ...] = (
    Vanilla, SkillVanilla, IRT, MIRT, MF, Bayes, Gaussian, DINA, NeuralCD, KaNCD, HierMIRT, HierNCD, QCCDM,
    CamillaBase, Camilla,
)  # fmt: skip
DIAGNOSERS: dict[str, type[Diagnoser]] = {kind.name: kind for kind in _KINDS}
