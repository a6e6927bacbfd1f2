"""All models train on a device other than the CPU as on the CPU; see ``other_device.py``."""

from argparse import Namespace

import pytest
import torch
from other_device import from_device, module_to_device, other_device, to_device
from stored_models import MODELS, STORED

from fairseq_struct import compat
from fairseq_struct.inference.restoring import restore

# The episodes of a policy are played by the model of fairseq's trainer.
WITHOUT_BATCHES = ("option_policy",)


def restored(arch):
    data = MODELS[arch][0]
    return restore(STORED / f"{arch}.pt", STORED / data / "data-bin" if data else None)


def criterion_of(arch, task):
    options = compat.load_state(STORED / f"{arch}.pt")["cfg"]["criterion"]
    return task.build_criterion(Namespace(**options, criterion=options["_name"]))


def first_batch(task):
    task.load_dataset("valid")
    batches = task.get_batch_iterator(task.dataset("valid"), max_tokens=200, max_sentences=8)
    return next(batches.next_epoch_itr(shuffle=False))


def step(model, criterion, batch):
    """The loss of a training step, and the gradients."""
    torch.manual_seed(7)
    model.train()
    if hasattr(model, "set_num_updates"):
        model.set_num_updates(3)
    loss = criterion(model, batch)[0]
    loss.backward()
    named = model.named_parameters()
    gradients = {name: from_device(own.grad) for name, own in named if own.grad is not None}
    return {"the loss": from_device(loss.detach()), **gradients}


@pytest.mark.parametrize("arch", [arch for arch in MODELS if arch not in WITHOUT_BATCHES])
def test_a_step_there_is_the_step_here(arch):
    from fairseq.utils import apply_to_sample

    here = restored(arch)
    criterion, batch = criterion_of(arch, here.task), first_batch(here.task)
    expected = step(here.model, criterion, batch)
    model = restored(arch).model
    with other_device():
        module_to_device(model)
        found = step(model, criterion, apply_to_sample(to_device, batch))
    assert len(expected) > 1 and found.keys() == expected.keys()
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value, msg=f"{name} differs")


def test_mixed_devices_are_found():
    with other_device():
        there = to_device(torch.ones(2, 2))
        assert (there + 1).device != torch.device("cpu") and from_device(there + there).sum() == 8
        for mix in (lambda: there + torch.ones(2, 2), lambda: there.new_ones(2) @ torch.ones(2)):
            with pytest.raises(RuntimeError, match="are on the CPU, others are elsewhere"):
                mix()
        with pytest.raises(RuntimeError):
            there.numpy()
