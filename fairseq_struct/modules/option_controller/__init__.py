"""Option-controller networks: skills from demonstrations, chosen by a controller.

Source: Y. Shen's thesis, chapter 5.
"""

from fairseq_struct.modules.option_controller.cell import Cell, CellOutput, CellSizes
from fairseq_struct.modules.option_controller.controller import Controller
from fairseq_struct.modules.option_controller.imitation import Imitation, log_of
from fairseq_struct.modules.option_controller.mixture_of_experts import MixtureOfExperts
from fairseq_struct.modules.option_controller.network import OptionController
from fairseq_struct.modules.option_controller.options import OptionPool, merge

__all__ = [
    "Cell", "CellOutput", "CellSizes", "Controller", "Imitation", "MixtureOfExperts",
    "OptionController", "OptionPool", "log_of", "merge",
]  # fmt: skip
