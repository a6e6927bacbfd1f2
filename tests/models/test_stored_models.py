"""Checkpoints of an earlier version, one per architecture, load and give the same outputs."""

import json
import re

import pytest
from stored_models import MODELS, OUTPUTS, STORED, outputs_of

from fairseq_struct import plugin

NUMBER = re.compile(r"-?\d+\.\d+")


@pytest.mark.parametrize("arch", MODELS)
def test_an_older_checkpoint_gives_the_same_numbers(arch):
    expected, found = json.loads(OUTPUTS.read_text())[arch], outputs_of(arch)
    assert found["validation"] == pytest.approx(expected["validation"], abs=0.0011)  # of 3 digits
    assert found.keys() == expected.keys()
    for verb in expected.keys() - {"validation"}:
        ours, theirs = "\n".join(found[verb]), "\n".join(expected[verb])
        assert NUMBER.sub("#", ours) == NUMBER.sub("#", theirs)
        numbers = [list(map(float, NUMBER.findall(text))) for text in (ours, theirs)]
        assert numbers[0] == pytest.approx(numbers[1], abs=0.00011)  # of 4 digits


def test_every_model_of_this_package_has_one():
    plugin.load()
    from fairseq.models import MODEL_REGISTRY

    own = {n for n, model in MODEL_REGISTRY.items() if model.__module__.startswith("fairseq_str")}
    assert own <= set(MODELS)
    assert all((STORED / f"{arch}.pt").is_file() for arch in MODELS)
