"""Acting with a network that imitates, and with one of its options alone."""

import numpy as np
import torch
from torch import Tensor, nn

from fairseq_struct.modules.option_controller.options import Pool
from fairseq_struct.modules.option_controller.policy import sampled


class ImitatingPolicy:
    """A network that imitates demonstrations, acting in several worlds.

    It is what :func:`.play` calls a policy. Actions are drawn from the mixture p_t^a (eq. 5.2.17 of
    Shen's thesis), so no single option runs: it makes one choice, for the whole episode.

    Args:
        network: with ``begin`` and ``step``, such as :class:`.OptionController`.
        count: number of worlds.
        task: number of the task.

    Attributes:
        switch: (count,) e_t of the last step.
        choice: (count, K) p_t^c of the last step; None for networks without options.
    """

    def __init__(self, network: nn.Module, count: int, task: int):
        self.network, self.count = network, count
        self.device = next(network.parameters()).device
        self.tasks = torch.full((count,), task, dtype=torch.long, device=self.device)
        self.switch: np.ndarray = np.ones(count, np.float32)
        self.choice: np.ndarray | None = None
        with torch.no_grad():
            self.state = network.begin(count, self.tasks)

    @torch.no_grad()
    def forget(self, which: np.ndarray):
        """Begin an episode in the rows ``which`` (count,)."""
        fresh, rows = self.network.begin(self.count, self.tasks), torch.from_numpy(which)
        self.state = {
            name: torch.where(_beside(rows.to(value.device), value), fresh[name], value)
            for name, value in self.state.items()
        }

    def ends(self, observations: np.ndarray) -> np.ndarray:
        """Zeros: the one choice lasts."""
        return np.zeros(self.count, np.float32)

    def choose(
        self, observations: np.ndarray, which: np.ndarray, noise: np.ndarray
    ) -> list[np.ndarray]:
        """The one choice: 0, at no cost, of no value."""
        return [np.zeros(self.count, kind) for kind in (np.int64, np.float32, np.float32)]

    @torch.no_grad()
    def actions(self, observations: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """(count,) actions drawn from p_t^a, by uniform noise (count,)."""
        seen = torch.from_numpy(observations).to(self.device)
        found, self.state = self.network.step(seen, self.state)
        self.switch = found.ends.float().cpu().numpy()
        self.choice = None if found.options is None else found.options.float().cpu().numpy()
        noise = torch.from_numpy(noise).to(self.device)
        return sampled(found.log_probabilities.exp(), noise).cpu().numpy()


class SingleOption:
    """One option of a pool in each of several worlds, acting until it ends; see :func:`.play`.

    Args:
        pool: the options.
        number: of the option; (count,) numbers if each world calls one of its own.
        count: number of worlds.
    """

    def __init__(self, pool: Pool, number: int | np.ndarray, count: int):
        self.pool, self.count = pool, count
        device = next(pool.parameters()).device
        self.chosen = torch.as_tensor(number, dtype=torch.long, device=device).expand(count)
        self.states: Tensor | None = None
        self._acts: Tensor | None = None

    def forget(self, which: np.ndarray):
        """Nothing: options start anew at every call."""

    @torch.no_grad()
    def ends(self, observations: np.ndarray) -> np.ndarray:
        """(count,) probability that the option is done; prepares its next action."""
        seen = torch.from_numpy(observations).to(self.chosen.device)
        self._acts, self.states, ends = self.pool.go_on(seen, self.states, self.chosen)
        return ends.cpu().numpy()

    @torch.no_grad()
    def choose(
        self, observations: np.ndarray, which: np.ndarray, noise: np.ndarray
    ) -> list[np.ndarray]:
        """Start the options in all rows: they are called once, in all worlds at the same time."""
        seen = torch.from_numpy(observations).to(self.chosen.device)
        self._acts, self.states = self.pool.start(seen, self.chosen)
        zeros = np.zeros(self.count, np.float32)
        return [self.chosen.cpu().numpy(), zeros, zeros]

    def actions(self, observations: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """(count,) actions of the option, by uniform noise (count,)."""
        return sampled(self._acts, torch.from_numpy(noise).to(self._acts.device)).cpu().numpy()


def _beside(rows: Tensor, value: Tensor) -> Tensor:
    """Rows (count,), to be broadcast over (count, ...)."""
    return rows.view(-1, *[1] * (value.dim() - 1))
