"""Pretrained encoders of Hugging Face from local folders."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from fairseq_struct.errors import InputError
from fairseq_struct.hugging_face import import_transformers

# Files of which a tokenizer has at least one.
TOKENIZER_FILES = (
    "tokenizer.json", "vocab.txt", "vocab.json", "spiece.model", "sentencepiece.bpe.model",
    "tokenizer.model",
)  # fmt: skip
NO_PIECE = -1


class PretrainedEncoder(nn.Module):
    """An encoder such as BERT, fine-tuned; a word's vector is that of its first sub-word.

    Nothing is downloaded. All words are read as if a space preceded them.

    Args:
        folder: with ``config.json``, the weights and the tokenizer, as ``save_pretrained`` writes
            them. The weights are read unless the module is built on the device ``meta``, or
            ``config.json`` says ``weights_elsewhere``: in an exported model, they are part of the
            whole model's.

    Raises:
        DependencyError: the package ``transformers`` is missing or unusable.
        InputError: there is no such folder, or no tokenizer or no encoder in it.
    """

    def __init__(self, folder: str | Path):
        super().__init__()
        folder = Path(folder)
        if not folder.is_dir():
            raise InputError(f"{folder}: no such folder; it must hold a Hugging Face encoder")
        if not any((folder / name).is_file() for name in TOKENIZER_FILES):
            raise InputError(f"{folder}: this encoder has no tokenizer; save the tokenizer there")
        transformers = import_transformers("--encoder-folder")
        try:
            local = {"local_files_only": True, "trust_remote_code": False}
            config = transformers.AutoConfig.from_pretrained(folder, **local)
            self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **local)
            elsewhere = getattr(config, "weights_elsewhere", False)
            if elsewhere or torch.get_default_device().type == "meta":
                self.encoder = transformers.AutoModel.from_config(config)
            else:
                self.encoder = transformers.AutoModel.from_pretrained(folder, **local)
        except (OSError, ValueError, KeyError) as error:
            said = " ".join(str(error).split())[:200]
            raise InputError(f"{folder}: holds no encoder that can be read ({said})") from None
        # A pooler of whole sentences would never get a gradient.
        if getattr(self.encoder, "pooler", None) is not None:
            self.encoder.pooler = None
        self.size = int(config.hidden_size)
        self.longest = _positions(self.encoder)

    def read_words(self, words: Sequence[str]) -> Tensor:
        """Sub-words of each word, (n, pieces) integers, with ``NO_PIECE`` after the last one.

        Raises:
            InputError: there are more sub-words than the encoder has positions.
        """
        tokenizer = self.tokenizer
        found = tokenizer([f" {word}" for word in words], add_special_tokens=False)["input_ids"]
        found = [pieces or [tokenizer.unk_token_id] for pieces in found]
        count = sum(map(len, found)) + len(self._before()) + len(self._after())
        if self.longest and count > self.longest:
            raise InputError(
                f"a sentence of {len(words)} words has {count} sub-words, but the encoder reads at "
                f"most {self.longest}"
            )
        most = max(map(len, found))
        return torch.tensor([own + [NO_PIECE] * (most - len(own)) for own in found])

    def forward(self, pieces: Tensor, lengths: Tensor) -> Tensor:
        """(batch, n, size), 0 beyond a sentence's end.

        Args:
            pieces: (batch, n, pieces) integers of :meth:`read_words`, ``NO_PIECE`` as padding.
            lengths: (batch,) words per sentence, at least 1.
        """
        there = pieces >= 0
        own, before, after = there.sum(2), self._before(), self._after()
        count = own.sum(1)
        flat, inside = pieces.flatten(1), there.flatten(1)
        order = (~inside).long().argsort(dim=1, stable=True)[:, : int(count.max())]
        ids = flat.gather(1, order).clamp_min(0)
        ids = torch.cat([ids.new_tensor(before).expand(len(ids), -1), ids,
                         ids.new_zeros(len(ids), len(after))], 1)  # fmt: skip
        places = torch.arange(ids.size(1), device=ids.device)
        for place, symbol in enumerate(after):
            ids[places == (count + len(before) + place)[:, None]] = symbol
        attended = places < (count + len(before) + len(after))[:, None]
        ids = ids.masked_fill(~attended, self.tokenizer.pad_token_id or 0)
        vectors = self.encoder(input_ids=ids, attention_mask=attended.long()).last_hidden_state
        first = (own.cumsum(1) - own + len(before)).clamp_max(ids.size(1) - 1)
        words = vectors.gather(1, first[..., None].expand(-1, -1, vectors.size(2)))
        beyond = torch.arange(pieces.size(1), device=ids.device) >= lengths[:, None]
        return words.masked_fill(beyond[..., None], 0.0)

    def _before(self) -> list[int]:
        return [i for i in (self.tokenizer.cls_token_id,) if i is not None]

    def _after(self) -> list[int]:
        return [i for i in (self.tokenizer.sep_token_id,) if i is not None]


def _positions(encoder: nn.Module) -> int:
    """Sub-words that an encoder can read; 0 without a limit."""
    positions = int(getattr(encoder.config, "max_position_embeddings", 0) or 0)
    table = getattr(getattr(encoder, "embeddings", None), "position_embeddings", None)
    padding = getattr(table, "padding_idx", None)
    if not positions or padding is None:
        return positions
    return positions - padding - 1  # RoBERTa and its kin count from the place after padding's
