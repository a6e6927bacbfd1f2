"""Translation models as models of Hugging Face's library ``transformers``.

fairseq's Transformer, and with it the scheduled-sampling Transformer, has an equal there:
``FSMTForConditionalGeneration``, for post-norm, sinusoidal positions, and embeddings that are
shared or not. Parameter names are the same, positions count from the padding's number in both, and
decoding begins with the end symbol in both. (``MarianMTModel`` counts positions from 0 and has
other frequencies, so its translations would differ.) Scores agree to rounding. So does the best
translation of a beam search, unless it is cut at the longest length, where the libraries score the
forced end differently; further ones of an n-best list may differ at its end.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from torch import nn

from fairseq_struct.errors import InputError
from fairseq_struct.hugging_face import import_transformers
from fairseq_struct.inference.export.config_file import write_config
from fairseq_struct.inference.export.data_files import write_data_files
from fairseq_struct.inference.export.layout import EXPORT, TRANSFORMERS
from fairseq_struct.inference.export.model_card import Described, count_of
from fairseq_struct.inference.export.transformers_tokeniser import write_tokeniser
from fairseq_struct.inference.restoring import Restored

EQUALS = "scheduled_sampling_transformer and fairseq's transformer"
ACTIVATIONS = ("relu", "gelu")
# fairseq-generate's defaults.
BEAM, MOST_WORDS = 5, 200
# Rebuilt by both libraries.
NOT_STORED = ("version", "embed_positions")


def write(
    found: Restored, entries: Mapping[str, Any], folder: Path, name: str, half: bool
) -> Described:
    """Write a model that ``AutoModelForSeq2SeqLM.from_pretrained(folder)`` loads.

    Args:
        found: the trained model.
        entries: what an export tells of it.
        folder: an empty folder.
        name: name of the final folder.
        half: store the parameters with 16 bits.

    Raises:
        DependencyError: the library is missing.
        InputError: it has no equal of the model.
    """
    task = found.task
    model = fsmt_of(found.model)
    model.config.langs = [task.cfg.source_lang, task.cfg.target_lang]
    manifest = write_data_files(task, task.cfg.data, folder)
    (model.half() if half else model).save_pretrained(folder)
    has_tokeniser = write_tokeniser(task, manifest, folder, found.model.max_positions()[0])
    listed = ("architecture", "task", "training", "versions")
    config = write_config(folder, {key: entries[key] for key in listed}, EXPORT, TRANSFORMERS)
    return Described(
        name=name, config=config, manifest=manifest, parameters=count_of(found.model),
        usage=_usage(name, has_tokeniser), notes=_notes(manifest, has_tokeniser),
        library=TRANSFORMERS,
    )  # fmt: skip


def fsmt_of(model: nn.Module) -> nn.Module:
    """The equal ``FSMTForConditionalGeneration`` of a translation model.

    Args:
        model: a Transformer of fairseq.

    Raises:
        DependencyError: the library is missing.
        InputError: it has no equal of the model; the message says why.
    """
    reason = next(_differences(model), None)
    if reason is not None:
        raise InputError(
            f"{type(model).__name__} has no equal in transformers, because {reason}; there is one "
            f"of {EQUALS}, with post-norm and sinusoidal positions"
        )
    transformers = import_transformers("--format transformers")
    transformers.utils.logging.disable_progress_bar()
    encoder, decoder = model.encoder, model.decoder
    weights = {
        f"model.{name}": value for name, value in model.state_dict().items()
        if name.split(".")[1] not in NOT_STORED
    }  # fmt: skip
    shared = encoder.embed_tokens is decoder.embed_tokens and (
        decoder.output_projection.weight is decoder.embed_tokens.weight
    )
    first, words = encoder.layers[0], decoder.dictionary
    config = transformers.FSMTConfig(
        src_vocab_size=len(encoder.dictionary), tgt_vocab_size=len(words),
        activation_function=encoder.cfg.activation_fn, d_model=encoder.embed_tokens.embedding_dim,
        max_position_embeddings=max(model.max_positions()),
        encoder_layers=len(encoder.layers), decoder_layers=len(decoder.layers),
        encoder_ffn_dim=first.fc1.out_features, decoder_ffn_dim=decoder.layers[0].fc1.out_features,
        encoder_attention_heads=first.self_attn.num_heads,
        decoder_attention_heads=decoder.layers[0].self_attn.num_heads,
        dropout=encoder.cfg.dropout, attention_dropout=encoder.cfg.attention_dropout,
        activation_dropout=encoder.cfg.activation_dropout,
        scale_embedding=not encoder.cfg.no_scale_embedding, tie_word_embeddings=shared,
        bos_token_id=words.bos(), pad_token_id=words.pad(), eos_token_id=words.eos(),
        decoder_start_token_id=words.eos(), forced_eos_token_id=words.eos(),
    )  # fmt: skip
    found = transformers.FSMTForConditionalGeneration(config)
    missing, unknown = found.load_state_dict(weights, strict=False)
    if unknown or any("embed_positions" not in name for name in missing):
        raise InputError(f"{type(model).__name__} has other parameters than its equal")
    found.generation_config = _generation(transformers, config, model.max_positions()[1])
    return found.eval()


def _generation(transformers, config, positions: int):
    """Beam search as of fairseq-generate: padding and an immediate end are impossible."""
    most = min(MOST_WORDS, positions - 1)
    return transformers.GenerationConfig(
        num_beams=BEAM, length_penalty=1.0, early_stopping=True, min_new_tokens=1,
        max_length=most + 2, suppress_tokens=[config.pad_token_id],
        bos_token_id=config.bos_token_id, pad_token_id=config.pad_token_id,
        eos_token_id=config.eos_token_id, decoder_start_token_id=config.eos_token_id,
        forced_eos_token_id=config.eos_token_id,
    )  # fmt: skip


def _differences(model: nn.Module) -> Iterator[str]:
    """Reasons why there is no equal."""
    from fairseq.models.transformer import TransformerModelBase

    if not isinstance(model, TransformerModelBase):
        yield "it is no Transformer for translation"
        return
    encoder, decoder = model.encoder, model.decoder
    cfg = encoder.cfg
    if hasattr(encoder, "arc_scores"):
        yield "its encoder has a parser"
    if cfg.encoder.normalize_before or cfg.decoder.normalize_before:
        yield "its layers are normalised before, not after (--encoder-normalize-before)"
    for side in (encoder, decoder):
        if type(side.embed_positions).__name__ != "SinusoidalPositionalEmbedding":
            yield "its positions are not sinusoidal"
        if side.layernorm_embedding is not None or side.layer_norm is not None:
            yield "it has further layer norms"
        if not len(side.layers):
            yield "it has no layers"
    if decoder.adaptive_softmax is not None or cfg.adaptive_input:
        yield "it has an adaptive softmax or input"
    if decoder.project_in_dim is not None or decoder.project_out_dim is not None:
        yield "its decoder has embeddings of another size than its layers"
    if cfg.no_cross_attention or cfg.cross_self_attention:
        yield "its decoder has another attention (--cross-self-attention, --no-cross-attention)"
    if cfg.activation_fn not in ACTIVATIONS:
        yield f"its activation is {cfg.activation_fn}"
    if encoder.embed_tokens.embedding_dim != decoder.embed_tokens.embedding_dim:
        yield "its encoder and decoder differ in size"


def _usage(name: str, has_tokeniser: bool) -> tuple[str, ...]:
    first = ("from transformers import AutoModelForSeq2SeqLM",)
    load = (f"model = AutoModelForSeq2SeqLM.from_pretrained({json.dumps(name)})",)
    if not has_tokeniser:
        return (*first, "", *load, "words = model.generate(ids)  # see below")
    return (
        "from transformers import AutoModelForSeq2SeqLM, AutoTokenizer", "", *load,
        f"tokenizer = AutoTokenizer.from_pretrained({json.dumps(name)})",
        'batch = tokenizer(["a sentence"], return_tensors="pt", padding=True)',
        "tokenizer.batch_decode(model.generate(**batch), skip_special_tokens=True)",
    )  # fmt: skip


def _notes(manifest: Mapping[str, Any], has_tokeniser: bool) -> tuple[str, ...]:
    options = manifest.get("options") or {}
    normalised = f"`{options.get('normalise')}`" if options else "not recorded"
    if has_tokeniser:
        return (f"The tokenizer expects text as it was normalised for training ({normalised}; "
                "`unicode`: NFC, plain spaces, no invisible characters).",)  # fmt: skip
    return (
        "There is no equal tokenizer in transformers. `source_vocab.json` and `target_vocab.json` "
        "give the number of each symbol. Prepare text as for training "
        f"(normalisation {normalised}; tokenisation `{options.get('tokenise', 'not recorded')}`; "
        f"segmentation `{options.get('segment', 'not recorded')}`, its model is in `data/`), look "
        "up the symbols (3 for unknown ones), and append 2, the end symbol.",
    )  # fmt: skip
