"""Word vectors of ``--embed-path``."""

import logging

import torch
from torch import Tensor

from fairseq_struct.errors import InputError
from fairseq_struct.modules.word_vectors import read_word_vectors

logger = logging.getLogger(__name__)


def set_known_vectors(weight: Tensor, path: str, dictionary):
    """Replace the vectors of the words that a file has, and log how many these are.

    Args:
        weight: (words of the dictionary, size), changed in place.
        path: file of lines ``word number number ...``.
        dictionary: fairseq's dictionary.

    Raises:
        InputError: the file cannot be read, has vectors of another size, or none of the words.
    """
    found = read_word_vectors(path, dictionary.symbols, weight.size(1))
    if not found:
        raise InputError(f"{path}: none of the data's words is in it")
    logger.info(f"{path} has {len(found)} of {len(dictionary) - dictionary.nspecial} words")
    with torch.no_grad():
        for word, vector in found.items():
            weight[dictionary.index(word)] = vector
