"""Sentences of one word, of which nothing is composed, in batches of their own."""

import random

import pytest
from fairseq_commands import USER_DIR
from two_processes import assert_trained_alike, train

from fairseq_struct.data.prepared.labelled_folder import write_labelled_folder
from fairseq_struct.data.readers.labelled_text import Instance, LabelledCorpus


@pytest.mark.parametrize("arch", ["ordered_memory_classifier", "beam_tree_classifier"])
def test_sentences_of_one_word_leave_no_process_waiting(tmp_path, arch):
    """Nothing is composed of one word, so that the weights of composition have no gradient."""
    corpus = LabelledCorpus("small", {})
    draw = random.Random(1)
    for split, count in (("train", 40), ("valid", 8), ("test", 2)):
        sizes = [1 + place % 3 for place in range(count)]
        corpus.splits[split] = [
            Instance((" ".join(draw.choices("abcde", k=size)),), draw.choice(["yes", "no"]))
            for size in sizes
        ]
    write_labelled_folder(corpus, tmp_path / "data")
    of_memory = [f"--{part}-dropout=0" for part in ("cell", "input", "output", "memory")]
    without = ["--dropout=0", "--beam-noise=0"] if arch == "beam_tree_classifier" else of_memory
    options = [tmp_path / "data" / "data-bin", f"--arch={arch}", "--sides=1", "--embed-dim=8",
               "--hidden-size=8", *without, "--batch-size=5",
               "--task=structured_classification", "--criterion=structured_classification",
               "--optimizer=sgd", "--lr=0.1", "--no-progress-bar", "--log-format=json",
               "--num-workers=0", "--no-epoch-checkpoints", "--required-batch-size-multiple=1",
               f"--user-dir={USER_DIR}", "--max-epoch=2"]  # fmt: skip
    one = train(tmp_path / "one", *options, "--update-freq=2")
    two = train(tmp_path / "two", *options, workers=2, ddp="pytorch_ddp")
    assert_trained_alike(one, two)
