"""compILE's decoder as a pool of options."""

import torch

from fairseq_struct.modules.option_controller.latent_options import LatentOptions


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
