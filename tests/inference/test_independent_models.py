"""A loaded model depends on nothing that happens around it, and changes nothing there."""

import io
import threading

import pytest
import torch
from exported_models import checkpoint_of, said_by
from stored_models import MODELS

import fairseq_struct
from fairseq_struct.errors import InputError
from fairseq_struct.files.described_networks import _at_most
from fairseq_struct.inference import evaluation_mode
from fairseq_struct.inference.restoring import restore


@pytest.mark.parametrize("arch", MODELS)
def test_training_and_the_default_precision_change_no_result(arch):
    torch.manual_seed(3)
    drawn, modules = torch.get_rng_state(), checkpoint_of(arch)
    expected = said_by(*modules)
    assert torch.equal(torch.get_rng_state(), drawn)
    assert said_by(*modules, training=True) == expected
    torch.set_default_dtype(torch.bfloat16)
    try:
        assert said_by(*modules) == expected
        assert torch.get_default_dtype() == torch.bfloat16
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("arch", MODELS)
def test_the_network_can_be_stored_as_it_is(arch):
    model, file = restore(*checkpoint_of(arch)).model, io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    again = torch.load(file, weights_only=False).state_dict()
    assert model.state_dict().keys() == again.keys()


def test_a_model_in_training_may_be_used_by_several_at_once():
    model = torch.nn.Sequential(torch.nn.Dropout(), torch.nn.Dropout()).eval()
    model[0].train()
    first, second = map(evaluation_mode.evaluation_of, (model, model[0]))
    first.__enter__()
    assert not model[0].training
    model[0].train()
    second.__enter__()
    assert not model[0].training
    first.__exit__(None, None, None)
    assert not model[0].training
    second.__exit__(None, None, None)
    assert model[0].training and not model[1].training and not model.training


def test_a_model_may_load_another_one():
    """As a student does that learns from a trained teacher."""
    loaded, lock = [], evaluation_mode.OF_ALL_THREADS
    with lock:
        loaded.append(fairseq_struct.load(*checkpoint_of("udgn")))
    assert lock.acquire(blocking=False) and not lock.release()
    assert loaded


def test_a_network_without_tools_is_to_be_restored():
    for arch in ("masked_transformer", "latent_clusters"):
        with pytest.raises(InputError, match=rf"{arch}\.pt: \w+ has no trees, labels, .*restore\("):
            fairseq_struct.load(*checkpoint_of(arch))


def test_other_threads_may_build_networks_meanwhile():
    """torch tells of every module of the process."""
    made = []
    with _at_most(1):
        thread = threading.Thread(target=lambda: made.append(torch.nn.Linear(2, 2)))
        thread.start()
        thread.join()
        with pytest.raises(Exception, match="more layers than it has"):
            torch.nn.Linear(2, 2)
    assert len(made) == 1
