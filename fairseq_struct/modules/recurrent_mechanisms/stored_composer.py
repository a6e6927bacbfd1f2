"""What must be known of a composer, beside its parameters, to make it again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from fairseq_struct.files.described_networks import without_memory
from fairseq_struct.modules.recurrent_mechanisms.lstm_composer import LstmComposer
from fairseq_struct.modules.recurrent_mechanisms.rim_composer import RimComposer
from fairseq_struct.modules.recurrent_mechanisms.symbols import Composer

RIM, LSTM = "rim", "lstm"
MOST_LAYERS = 1000  # a forged description must not take forever


def described(composer: Composer) -> dict[str, Any]:
    """The options of a composer, as numbers and strings; categories and dropout are left out."""
    if isinstance(composer, LstmComposer):
        return {"kind": LSTM, "layers": composer.lstm.num_layers}
    first = composer.layers[0]
    return {
        "kind": RIM, "units": first.units, "top_k": first.top_k, "layers": len(composer.layers),
        "key_size": first.key_size, "input_weights": first.input_weights,
        "span_attention": composer.span_attention, "positions": composer.positions,
        "pad_value": composer.pad_value,
    }  # fmt: skip


def as_described(about: Mapping[str, Any], words: nn.Embedding) -> Composer:
    """A new composer of these options.

    Args:
        about: of :func:`described`.
        words: its embeddings.

    Raises:
        ValueError: they are the options of no composer.
    """
    kinds = {RIM: RimComposer, LSTM: LstmComposer}
    options = dict(about)
    kind, layers = options.pop("kind", None), options.get("layers")
    if kind not in tuple(kinds) or not isinstance(layers, int) or layers > MOST_LAYERS:
        raise ValueError("it describes no composer")
    try:
        return kinds[kind](words, **options)
    except (TypeError, RuntimeError):
        raise ValueError("it describes no composer") from None


def stored_composer(about: Mapping[str, Any], parameters: Mapping[str, Tensor]) -> Composer:
    """A composer of the sizes of stored parameters, which are still to be loaded.

    It has no memory yet (device ``meta``): options may ask for any size.

    Args:
        about: of :func:`described`.
        parameters: by their names in the composer.

    Raises:
        ValueError: the options are of no composer, or of one with other parameters.
    """
    vectors = parameters.get("words.weight")
    if vectors is None or vectors.dim() != 2:
        raise ValueError("the composer has no word vectors")
    with without_memory():
        composer = as_described(about, nn.Embedding(*vectors.shape))
    shapes = {name: value.shape for name, value in composer.state_dict().items()}
    if shapes != {name: value.shape for name, value in parameters.items()}:
        raise ValueError("the composer's parameters are those of another one")
    return composer
