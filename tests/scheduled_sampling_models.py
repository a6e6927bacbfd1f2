"""Small scheduled-sampling models and batches, shared by several tests."""

from argparse import Namespace

import torch
from fairseq.data import Dictionary
from fairseq.models.transformer import TransformerModel

from fairseq_struct.models.scheduled_sampling_transformer import ScheduledSamplingTransformer

WORDS = 16


def toy_task(words: int = WORDS) -> Namespace:
    """Stand-in for fairseq's translation task, with one dictionary for both languages."""
    dictionary = Dictionary()
    for number in range(words):
        dictionary.add_symbol(f"w{number}")
    return Namespace(source_dictionary=dictionary, target_dictionary=dictionary)


def toy_options(**options) -> Namespace:
    """All options of a 2+2-layer model without dropout; the given ones override them."""
    sizes = {
        "encoder_layers": 2,
        "decoder_layers": 2,
        "encoder_embed_dim": 16,
        "encoder_ffn_embed_dim": 24,
        "encoder_attention_heads": 2,
        "decoder_attention_heads": 2,
        "share_all_embeddings": True,
        "dropout": 0.0,
        "max_update": 100,
    }
    return Namespace(**{**sizes, **options})


def toy_model(kind=ScheduledSamplingTransformer, seed: int = 1, **options):
    """A model with peaked predictions, built from its seed, in training mode."""
    torch.manual_seed(seed)
    model = kind.build_model(toy_options(**options), toy_task())
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(1.5)
    return model.train()


def plain_model(seed: int = 1, **options) -> TransformerModel:
    """Fairseq's own Transformer with the same parameters as :func:`toy_model`."""
    return toy_model(TransformerModel, seed, **options)


def constant(probability: float) -> dict:
    """Options of a schedule that stays at ``probability``."""
    return {"schedule": "constant", "schedule_k": probability}


def toy_batch(target_lengths=(6, 4, 3), source_lengths=(5, 7, 2), seed: int = 0) -> dict:
    """A batch as fairseq makes it: source padded left, target right, inputs shifted right."""
    generator = torch.Generator().manual_seed(seed)
    task = toy_task()
    dictionary = task.target_dictionary
    first, pad, eos = dictionary.nspecial, dictionary.pad(), dictionary.eos()

    def words(length):
        return torch.randint(first, first + WORDS, (length - 1,), generator=generator)

    rows = len(target_lengths)
    source = torch.full((rows, max(source_lengths)), pad)
    target = torch.full((rows, max(target_lengths)), pad)
    inputs = target.clone()
    for row, (n, m) in enumerate(zip(source_lengths, target_lengths, strict=True)):
        source[row, source.size(1) - n :] = torch.cat([words(n), torch.tensor([eos])])
        target[row, :m] = torch.cat([words(m), torch.tensor([eos])])
        inputs[row, :m] = target[row, :m].roll(1)
    return {
        "id": torch.arange(rows),
        "nsentences": rows,
        "ntokens": int(target.ne(pad).sum()),
        "net_input": {
            "src_tokens": source,
            "src_lengths": torch.tensor(source_lengths),
            "prev_output_tokens": inputs,
        },
        "target": target,
    }
