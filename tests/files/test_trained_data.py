"""Options that only training reads are unset, whatever holds the options."""

from argparse import Namespace

import pytest
from omegaconf import OmegaConf

from fairseq_struct.files.trained_data import unset_for_training

GIVEN = {"vectors": "glove.txt", "eval_bleu": True, "size": 3, "_name": "x"}


class Owner:
    ONLY_FOR_TRAINING = ("vectors", "of_a_later_version")


@pytest.mark.parametrize("kind", [dict, lambda given: Namespace(**given), OmegaConf.create])
def test_only_what_training_reads_is_unset(kind):
    options = kind(GIVEN)
    unset_for_training(options, Owner, ["eval_bleu"])
    found = vars(options) if isinstance(options, Namespace) else dict(options)
    assert found == GIVEN | {"vectors": None, "eval_bleu": False}


def test_a_class_that_lists_none_unsets_none():
    for owner in (None, dict):
        options = dict(GIVEN)
        unset_for_training(options, owner)
        assert options == GIVEN
