"""Every diagnoser by name."""

from camilla.diagnoser import Diagnoser
from camilla.diagnosers.camilla import Camilla
from camilla.diagnosers.camilla_base import CamillaBase
from camilla.diagnosers.dina import DINA
from camilla.diagnosers.gaussian import Gaussian
from camilla.diagnosers.hier import HierMIRT, HierNCD
from camilla.diagnosers.irt import IRT
from camilla.diagnosers.ka_ncd import KaNCD
from camilla.diagnosers.mf import MF
from camilla.diagnosers.mirt import MIRT
from camilla.diagnosers.neural_cd import NeuralCD
from camilla.diagnosers.qc_cdm import QCCDM
from camilla.diagnosers.skill_vanilla import SkillVanilla
from camilla.diagnosers.vanilla import Vanilla

_KINDS: tuple[type[Diagnoser], ...] = (
    Vanilla, SkillVanilla, IRT, MIRT, MF, Gaussian, DINA, NeuralCD, KaNCD, HierMIRT, HierNCD, QCCDM,
    CamillaBase, Camilla,
)  # fmt: skip
DIAGNOSERS: dict[str, type[Diagnoser]] = {kind.name: kind for kind in _KINDS}
