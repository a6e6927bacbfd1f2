"""Tokenizers of Hugging Face's library for exported translation models, where there is an equal.

A joint sentencepiece model without other tokenisation is what ``MarianTokenizer`` reads. There is
none for Moses and subword-nmt: ``FSMTTokenizer`` also rewrites punctuation, escapes characters and
splits at dashes, so that its tokens would be others than those of the training.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairseq_struct.data.prepared.vocabulary.subwords import SentencePiece
from fairseq_struct.inference.export.layout import DATA

SOURCE, TARGET = "source_vocab.json", "target_vocab.json"


def write_tokeniser(task, manifest: Mapping[str, Any], folder: Path, longest: int) -> bool:
    """Write the files of ``AutoTokenizer``, or the numbers of all symbols if it has no equal.

    Args:
        task: translation task with both dictionaries.
        manifest: of the prepared data; may be empty.
        folder: the export, with ``data/``.
        longest: maximum number of symbols of a sentence.

    Returns:
        Whether there is a tokenizer.
    """
    source, target = (_numbers(words) for words in (task.source_dictionary, task.target_dictionary))
    model = folder / DATA / SentencePiece.file_name
    tokenised = (manifest.get("options") or {}).get("tokenise") != "none"
    if not model.is_file() or tokenised or manifest.get("tokenised_by_owner"):
        _write(folder / SOURCE, source)
        _write(folder / TARGET, target)
        return False
    for side in ("source", "target"):
        shutil.copyfile(model, folder / f"{side}.spm")
    _write(folder / "vocab.json", source)
    if target != source:
        _write(folder / "target_vocab.json", target)
    _write(folder / "tokenizer_config.json", {
        "tokenizer_class": "MarianTokenizer", "separate_vocabs": target != source,
        "source_lang": task.cfg.source_lang, "target_lang": task.cfg.target_lang,
        "model_max_length": longest, "unk_token": "<unk>", "eos_token": "</s>",
        "pad_token": "<pad>",
    })  # fmt: skip
    return True


def _numbers(dictionary) -> dict[str, int]:
    return {symbol: number for number, symbol in enumerate(dictionary.symbols)}


def _write(path: Path, content: Mapping[str, Any]):
    path.write_text(json.dumps(content, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")
