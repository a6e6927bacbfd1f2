"""Reads the composer of another checkpoint, for models that build on its symbols."""

import torch
from fairseq.data import Dictionary
from fairseq.tasks import setup_task
from torch import Tensor, nn

from fairseq_struct.errors import InputError
from fairseq_struct.files.described_networks import model_of
from fairseq_struct.files.reserved_words import index_of
from fairseq_struct.files.trained_data import data_of_training, unset_for_training
from fairseq_struct.files.trained_words import check_words
from fairseq_struct.models.shared.composer_model import ComposerModel
from fairseq_struct.models.shared.other_checkpoint import read_other
from fairseq_struct.modules.recurrent_mechanisms import Composer


def read_composer(
    path: str, option: str, words: Dictionary, data: str | None = None
) -> Composer:  # fmt: skip
    """The composer of a checkpoint, whose word vectors are those of another dictionary's words.

    Words are the same if their forms are, lower-cased if the composer's were. Those that the
    composer does not know have the vector of its unknown words.

    Args:
        path: of the checkpoint.
        option: that names it, for messages.
        words: the dictionary of the composer's new words.
        data: folder of the composer's dictionary; by default the one that it was trained on.

    Raises:
        InputError: the file cannot be read (:func:`.read_other`), it is not of a composer, its data
            do not exist, or it does not fit them.
    """
    state, parameters = read_other(path, option)
    cfg = state.get("cfg")
    try:
        is_composer = cfg["task"]["_name"] == "grammar_induction" and "model" in cfg
    except (KeyError, TypeError):
        is_composer = False
    if not is_composer:
        raise InputError(f"{option} {path}: it is not a checkpoint of a composer")
    try:
        data = data or data_of_training(cfg, path, "--composer-data FOLDER")
        cfg["task"]["data"] = str(data or "")
        task = setup_task(cfg["task"])
        check_words(state.get("task_state"), task, path)
    except InputError as error:
        raise InputError(f"{option} {path}: it needs its data ({error})") from None
    unset_for_training(cfg["model"], ComposerModel)
    model = model_of(task, cfg, parameters, f"{option} {path}")
    composer = model.network
    composer.categories = None  # nobody asks for them
    rows = rows_of(words, task.source_dictionary, task.lower)
    vectors = composer.words.weight.detach()[rows]
    composer.words = nn.Embedding.from_pretrained(vectors, padding_idx=words.pad())
    return composer


def rows_of(words: Dictionary, known: Dictionary, lower: bool) -> Tensor:
    """(words,) the number in ``known`` of each word of ``words``.

    Args:
        words: some words.
        known: other words.
        lower: whether ``known`` has lower-cased words.
    """
    own = words.symbols[words.nspecial :]
    rows = [index_of(known, word.lower() if lower else word) for word in own]
    special = [known.unk()] * words.nspecial
    special[words.pad()] = known.pad()
    return torch.tensor(special + rows)
