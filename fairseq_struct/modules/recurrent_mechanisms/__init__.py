"""Recurrent independent mechanisms, and grammar induction with them."""

from fairseq_struct.modules.recurrent_mechanisms.following import Followed, follow
from fairseq_struct.modules.recurrent_mechanisms.free_running import Composition, compose_freely
from fairseq_struct.modules.recurrent_mechanisms.layer import (
    INPUT_WEIGHTS,
    RecurrentMechanisms,
    UnitStates,
)
from fairseq_struct.modules.recurrent_mechanisms.lstm_composer import LstmComposer
from fairseq_struct.modules.recurrent_mechanisms.rim_composer import (
    POSITIONS,
    SPAN_ATTENTION,
    RimComposer,
)
from fairseq_struct.modules.recurrent_mechanisms.symbols import Composer

__all__ = [
    "INPUT_WEIGHTS", "POSITIONS", "SPAN_ATTENTION", "Composer", "Composition", "Followed",
    "LstmComposer", "RecurrentMechanisms", "RimComposer", "UnitStates", "compose_freely", "follow",
]  # fmt: skip
