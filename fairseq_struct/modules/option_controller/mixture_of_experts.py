"""A mixture of experts over time: the baseline whose options last one step."""

import torch
from torch import Tensor, nn

from fairseq_struct.modules.option_controller.controller import Controller
from fairseq_struct.modules.option_controller.imitation import Imitation, log_of, real_steps
from fairseq_struct.modules.option_controller.options import OptionPool


class MixtureOfExperts(nn.Module):
    """The option-controller network with e_t = 1: it chooses anew at every step.

    p_t^c, h_t^c = c(x_t, h_{t-1}^c) and p_t^a = sum_i p_{t,i}^c p_{i,t}^o (eqs. 5.2.14 to 5.2.16 of
    Shen's thesis). Options begin at h_0 at every step, so they need neither memory nor an end.

    Args:
        options: a pool whose cells have no hidden state and no end.
        controller: which chooses among them.

    Raises:
        ValueError: the parts do not fit each other.
    """

    def __init__(self, options: OptionPool, controller: Controller):
        super().__init__()
        if options.sizes.hidden or options.sizes.ends:
            raise ValueError("options that last one step have neither a hidden state nor an end")
        sizes = controller.cell.sizes
        if (sizes.outputs, sizes.observation) != (len(options), options.sizes.observation):
            raise ValueError(f"a controller of {sizes} does not fit {len(options)} options")
        self.options, self.controller = options, controller

    def forward(self, observations: Tensor, lengths: Tensor, tasks: Tensor) -> Imitation:
        """Probabilities of actions; ``ends`` are 1. Arguments as for :class:`.OptionController`."""
        real = real_steps(lengths, observations.shape[1])
        given = observations.masked_fill(~real[..., None], 0)
        cells, states = self.controller.stacked(), self.controller.begin(tasks)[None]
        choices = []
        for observed in cells.observe(given).unbind(-2):
            found = cells.run(observed, states)
            states = found.states
            choices.append(found.probabilities[0])
        options = torch.stack(choices, 1)
        actions = self._actions(given, options)
        padding = ~real[..., None]
        return Imitation(
            log_of(actions).masked_fill(padding, 0), real.to(actions.dtype),
            options.masked_fill(padding, 0),
        )  # fmt: skip

    def begin(self, count: int, tasks: Tensor) -> dict[str, Tensor]:
        """The state of ``count`` actors before their first step; tasks (count,)."""
        return {"hidden": self.controller.begin(tasks)}

    def step(self, observations: Tensor, state: dict[str, Tensor]) -> tuple[Imitation, dict]:
        """One step of actors: see :meth:`.OptionController.step`."""
        options, hidden, _ = self.controller.step(observations, state["hidden"])
        actions = self._actions(observations, options)
        return Imitation(log_of(actions), torch.ones_like(actions[:, 0]), options), {
            "hidden": hidden
        }

    def _actions(self, observations: Tensor, options: Tensor) -> Tensor:
        flat = observations.flatten(0, -2)
        found = (options.flatten(0, -2)[..., None] * self.options.start(flat)[0]).sum(1)
        return found.unflatten(0, observations.shape[:-1])
