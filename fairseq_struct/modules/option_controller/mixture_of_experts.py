"""A mixture of experts over time: the baseline whose options last one step."""

import torch
from torch import Tensor, nn

from fairseq_struct.modules.option_controller.controller import Controller
from fairseq_struct.modules.option_controller.imitation import Imitation, log_of
from fairseq_struct.modules.option_controller.options import OptionPool
from fairseq_struct.modules.recurrent.steps_of_batch import StepsOfBatch


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
        batch = StepsOfBatch(observations, lengths)
        cells = self.controller.stacked()
        states = self.controller.begin(batch.sorted(tasks))[None]
        choices = []
        for observed in cells.observe(batch.given).split(batch.rows, 1):
            found = cells.run(observed, states[:, : observed.size(1)])
            states = found.states
            choices.append(found.probabilities[0])
        actions = self._actions(batch.given, torch.cat(choices))
        ends = batch.padded(torch.ones_like(actions[:, 0]).split(batch.rows))
        logs = log_of(actions).split(batch.rows)
        return Imitation(batch.padded(logs), ends, batch.padded(choices))

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
        return (options[..., None] * self.options.start(observations)[0]).sum(1)
