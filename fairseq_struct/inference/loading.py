"""Trained models from their checkpoints."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, MutableMapping
from pathlib import Path

from fairseq_struct import compat, plugin
from fairseq_struct.checkpoint_file import options_of, parameters_of
from fairseq_struct.errors import InputError
from fairseq_struct.inference.building import build_model, build_task
from fairseq_struct.inference.constituency import ConstituencyParser
from fairseq_struct.inference.dependency import Classifier, TranslationParser
from fairseq_struct.inference.language_model import LanguageModelScorer
from fairseq_struct.inference.masked_language_model import MaskedParser
from fairseq_struct.inference.reading import LONGEST


def load(
    checkpoint: str | Path,
    data: str | Path | None = None,
    truncate: bool = False,
    layer: int | None = None,
    split: str | None = None,
    multiple_roots: bool = False,
    bfloat16: bool = False,
    longest: int = LONGEST,
) -> Classifier | TranslationParser | ConstituencyParser | MaskedParser:
    """Load a trained model with latent trees, as what it can do.

    That is a :class:`.Classifier`, or the parser of a translation model or of a language model.

    Args:
        checkpoint: a file that fairseq-train wrote.
        data: folder with its dictionaries; the one it was trained with if not given.
        truncate: cut sentences that are longer than the model's ``--longest-sentence``.
        layer, split: as for :class:`.ConstituencyParser`.
        multiple_roots: not only trees whose root has one modifier; for :class:`.MaskedParser`.
        bfloat16: as for that.
        longest: most words of a sentence, for a model that takes sentences of any length.

    Raises:
        InputError: the file is missing or damaged, or no model that this function can use; or
            ``truncate`` for a model that takes sentences of any length, ``layer`` or ``split`` for
            one without constituents, or ``multiple_roots`` or ``bfloat16`` for one that is no
            masked language model.
    """
    if longest < 1:
        raise InputError(f"--longest-sentence must be 1 or more, not {longest}")
    plugin.load()
    from fairseq_struct.models.latent_tree_transformer import LatentTreeTransformer
    from fairseq_struct.models.on_lstm_lm import ONLSTMLanguageModel
    from fairseq_struct.models.shared.classifier import ClassifierModel
    from fairseq_struct.models.shared.masked_language_model import MaskedModel

    task, model = _restore(checkpoint, data)
    known = ClassifierModel | LatentTreeTransformer | ONLSTMLanguageModel | MaskedModel
    if not isinstance(model, known):
        raise InputError(f"{checkpoint}: {type(model).__name__} infers no trees")
    if truncate and not isinstance(model, ClassifierModel):
        raise InputError(f"{checkpoint}: takes sentences of any length, --truncate has no use")
    if (multiple_roots or bfloat16) and not isinstance(model, MaskedModel):
        name = "--multiple-roots" if multiple_roots else "--bfloat16"
        raise InputError(f"{checkpoint}: {name} is for masked language models")
    if isinstance(model, ONLSTMLanguageModel):
        return ConstituencyParser(model, task.source_dictionary, layer, split or "word", longest)
    if layer is not None or split is not None:
        raise InputError(f"{checkpoint}: no ON-LSTM, --layer and --split are of no use")
    if isinstance(model, MaskedModel):
        return MaskedParser(model, task.source_dictionary, not multiple_roots, bfloat16, longest)
    if isinstance(model, LatentTreeTransformer):
        return TranslationParser(model.encoder, task.source_dictionary, longest)
    own = task.cfg.longest_sentence  # with a default where the checkpoint is older than the option
    if truncate and not own:
        raise InputError(f"{checkpoint}: takes sentences of any length, --truncate has no use")
    truncate = truncate or task.cfg.truncate
    return Classifier(model, task.words, task.labels, own, truncate, task.lower, longest)


def load_language_model(
    checkpoint: str | Path, data: str | Path | None = None
) -> LanguageModelScorer:
    """Load a trained language model as what scores sentences.

    Args:
        checkpoint, data: as for :func:`load`.

    Raises:
        InputError: as for :func:`load`, or it is no language model of this package.
    """
    plugin.load()
    from fairseq_struct.models.on_lstm_lm import RecurrentLM

    task, model = _restore(checkpoint, data)
    if not isinstance(model, RecurrentLM):
        raise InputError(f"{checkpoint}: {type(model).__name__} is no recurrent language model")
    return LanguageModelScorer(model, task.source_dictionary)


def load_masked_model(checkpoint: str | Path, data: str | Path | None = None):
    """A trained masked language model, with a parser or without one, and its dictionary.

    Args:
        checkpoint, data: as for :func:`load`.

    Raises:
        InputError: as for :func:`load`, or it is no masked language model of this package.
    """
    plugin.load()
    from fairseq_struct.models.shared.masked_language_model import MaskedModel

    task, model = _restore(checkpoint, data)
    if not isinstance(model, MaskedModel):
        raise InputError(f"{checkpoint}: {type(model).__name__} is no masked language model")
    return model.eval(), task.source_dictionary


def _restore(checkpoint: str | Path, data: str | Path | None):
    """Task and model of a checkpoint."""
    from fairseq import checkpoint_utils

    # This one says what is wrong with a damaged file, fairseq's own adds what old ones lack.
    found = compat.load_state(checkpoint)
    if not {"args", "cfg"} & set(found) or "model" not in found:
        raise InputError(f"{checkpoint}: not written by fairseq-train")
    parameters_of(found, checkpoint)
    if found.get("cfg") is not None:
        options_of(found, checkpoint, "task", "model")
    del found
    try:
        state = checkpoint_utils.load_checkpoint_to_cpu(str(checkpoint))
        cfg = options_of(state, checkpoint, "task", "model")
    except InputError:
        raise
    except Exception as error:  # what made-up options raise is anything
        said = (str(error).splitlines() or [""])[0]
        raise InputError(
            f"{checkpoint}: not written by fairseq-train ({type(error).__name__}: {said})"
        ) from error
    if data is not None:
        cfg["task"]["data"] = str(data)
    # What only training reads; the vectors of words are in the checkpoint.
    _unset(cfg["model"], "embed_path", "encoder_embed_path", "decoder_embed_path")
    _unset(cfg["task"], "heads_path", "treebank")
    task = build_task(cfg, checkpoint)
    return task, build_model(cfg, task, state, checkpoint)


def _unset(options: MutableMapping | Namespace, *names: str):
    for name in names:
        if name not in options:
            continue
        if isinstance(options, Namespace):
            setattr(options, name, None)
        else:
            options[name] = None


def made_by(checkpoint: str | Path) -> dict:
    """How a checkpoint was made, for records of results.

    Returns:
        ``model``, its name, and its ``options``; ``seed``; ``epochs`` that it was to be trained
        for; ``updates`` so far; ``data``, its folder then; and ``text``, in words.

    Raises:
        InputError: the file is missing or damaged.
    """
    plugin.load()
    state = compat.load_state(checkpoint)
    cfg = options_of(state, checkpoint, "common", "optimization", "task", "model")
    history = state.get("optimizer_history") or [{}]
    seed, updates = cfg["common"].get("seed"), history[-1].get("num_updates", 0)
    model = cfg["model"] if isinstance(cfg["model"], Mapping) else vars(cfg["model"])
    name = model["_name"]
    return {
        "model": name,
        "options": dict(model),
        "seed": seed,
        "epochs": int(cfg["optimization"].get("max_epoch", 0)),
        "updates": updates,
        "data": str(cfg["task"].get("data")),
        "text": f"{name}, seed {seed}, {updates} updates",
    }
