"""compILE's decoder as a pool of options."""

import pytest
import torch
from torch import nn

from fairseq_struct.modules.option_controller import CellSizes, OptionPool, merge
from fairseq_struct.modules.option_controller.latent_options import LatentOptions
from fairseq_struct.modules.option_controller.stored_options import has_options, stored_options


def test_options_are_run_all_at_once_or_one_a_row():
    options = LatentOptions(4, 5, 3, 8).double()
    observations = torch.randn(6, 4, dtype=torch.double)
    chosen = torch.tensor([0, 2, 1, 1, 0, 2])
    assert len(options) == 3
    probabilities, states = options.start(observations)
    later, states, ends = options.go_on(observations, states)
    assert states.shape == (6, 3, 0)
    torch.testing.assert_close(probabilities, later)
    torch.testing.assert_close(later.sum(-1), torch.ones(6, 3, dtype=torch.double))
    rows = torch.arange(6)
    some, own = options.start(observations, chosen)
    torch.testing.assert_close(some, later[rows, chosen])
    some, own, own_ends = options.go_on(observations, own, chosen)
    torch.testing.assert_close(some, later[rows, chosen])
    torch.testing.assert_close(own_ends, ends[rows, chosen])
    assert own.shape == (6, 0)


@pytest.fixture
def decoders():
    torch.manual_seed(1)
    return [LatentOptions(4, 5, count, 8, depth) for count, depth in ((3, 1), (2, 2), (1, 3))]


def test_joined_options_act_as_before(decoders):
    """All at once and one a row; options that nobody calls do not disturb the others."""
    pool = merge([merge(decoders[:2]), decoders[2]])
    assert len(pool) == 6 and merge(decoders[:1]) is decoders[0]
    observations = torch.randn(7, 4)
    starts, goings = pool.start(observations), pool.go_on(observations, torch.zeros(7, 6, 0))
    alone = [part.go_on(observations, torch.zeros(7, len(part), 0)) for part in decoders]
    for found, parts in zip(goings, zip(*alone, strict=True), strict=True):
        torch.testing.assert_close(found, torch.cat(parts, 1))
    torch.testing.assert_close(starts[0], goings[0])
    assert starts[1].shape == goings[1].shape == (7, 6, 0)
    for chosen in ([5, 0, 3, 2, 4, 1, 0], [4, 4, 3, 3, 3, 4, 4]):
        rows = torch.arange(7), torch.tensor(chosen)
        own = pool.go_on(observations, torch.zeros(7, 0), rows[1])
        for found, every in zip(own, goings, strict=True):
            torch.testing.assert_close(found, every[rows])
        torch.testing.assert_close(pool.start(observations, rows[1])[0], starts[0][rows])


def test_options_are_read_as_they_were_stored(decoders):
    """Alone, joined, and as cells; under the names of the networks that hold them."""
    cells = OptionPool.of(2, CellSizes(4, 5, 3, 6, 3))
    experts = OptionPool.of(2, CellSizes(4, 5, 0, 6, 1, ends=False))
    for pool in (decoders[1], merge(decoders), cells, experts):
        holder = nn.Module()
        holder.options, holder.policy = pool, nn.Linear(2, 2)
        whole = nn.ModuleDict({"network": holder}).state_dict()
        assert has_options(whole) and not has_options(holder.policy.state_dict())
        found = stored_options(whole, 4)
        assert len(found) == len(pool) and found.sizes == pool.sizes
        assert found.state_dict().keys() == pool.state_dict().keys()
        for name, value in pool.state_dict().items():
            assert value.equal(found.state_dict()[name])


def test_what_is_no_pool_of_options_is_refused(decoders):
    cells = OptionPool.of(2, CellSizes(4, 5))
    for pools, message in (
        ([decoders[0], LatentOptions(3, 5, 2)], "equal observation; decoder 1 has 3, decoder 0 4"),
        ([decoders[0], LatentOptions(4, 6, 2)], "equal outputs; decoder 1 has 6, decoder 0 5"),
        ([decoders[0], cells], "are not of one pool"),
    ):
        with pytest.raises(ValueError, match=message):
            merge(pools)
    stored = {f"options.{name}": value for name, value in merge(decoders).state_dict().items()}
    for gone, message in (
        ("", "no options"), ("parts.0", "no options"), ("parts.1.termination", "decoder 1 is inco"),
        ("parts.2.policy", "options of another kind"),
    ):  # fmt: skip
        left = {k: value for k, value in stored.items() if not k.startswith(f"options.{gone}")}
        with pytest.raises(ValueError, match=message):
            stored_options(left, 4)
    with pytest.raises(ValueError, match="options of other observations"):
        stored_options(stored, 9)


@pytest.mark.parametrize("kind", ["cells", "latents", "joined"])
def test_chosen_options_of_no_row_and_such_as_there_are_not(decoders, kind):
    pool = {
        "cells": lambda: OptionPool.of(3, CellSizes(4, 5, hidden=2)),
        "latents": lambda: decoders[0],
        "joined": lambda: merge(decoders),
    }[kind]()
    none = torch.zeros(0, dtype=torch.long)
    probabilities, states = pool.start(torch.zeros(0, 4), none)
    assert probabilities.shape == (0, 5)
    assert [part.shape[:1] for part in pool.go_on(torch.zeros(0, 4), states, none)] == [(0,)] * 3
    for wrong in (-1, len(pool)):
        message = f"chosen options must be from 0 to {len(pool) - 1}, not {wrong}"
        with pytest.raises(ValueError, match=message):
            pool.start(torch.zeros(2, 4), torch.tensor([0, wrong]))
