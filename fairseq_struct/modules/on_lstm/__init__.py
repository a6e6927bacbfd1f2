"""ON-LSTM: layers, compiled steps of a sequence, and matrix products."""

from fairseq_struct.modules.on_lstm.layers import (
    ONLSTM,
    ONLSTMCell,
    ONLSTMOutput,
    State,
    compile_kernels,
    cumax,
)

__all__ = ["ONLSTM", "ONLSTMCell", "ONLSTMOutput", "State", "compile_kernels", "cumax"]
