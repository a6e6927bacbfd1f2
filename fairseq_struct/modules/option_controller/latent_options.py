"""compILE's decoder as a pool of options: a policy and its termination for each latent."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from fairseq_struct.modules.option_controller.cell import CellSizes, check_chosen
from fairseq_struct.structure.precision import at_least_float32


class LatentOptions(nn.Module):
    """p(a | x, z), and the probability that the segment of z ended before x was seen.

    Two MLPs read the observation and z: nothing else, neither the task nor earlier steps, so that
    they can serve new tasks. (In the code of OMPN's authors, who ran compILE on Craft, the decoder
    reads the task, too.) Used by a controller, they have the verbs of a pool of options,
    :meth:`start` and :meth:`go_on`; their states are empty.

    Args:
        observation: numbers in an observation.
        actions: number of actions.
        count: K, number of latents.
        size: of hidden layers.
        depth: hidden layers, 1 or more. (The published decoders have one.)
    """

    def __init__(self, observation: int, actions: int, count: int, size: int = 128, depth: int = 2):
        super().__init__()
        self.count = count
        self.sizes = CellSizes(observation, actions, 0, size, depth, ends=True)
        self.policy = _perceptron(observation + count, size, depth, actions)
        self.termination = _perceptron(observation + count, size, depth, 1)

    def __len__(self) -> int:
        return self.count

    def action_logs(self, observations: Tensor, latents: Tensor) -> Tensor:
        """log p(a | x, z), (.., actions), in float32 or more.

        Args:
            observations: (.., observation) x.
            latents: (.., K) z, one-hot or relaxed; leading axes of length 1 are broadcast.
        """
        return at_least_float32(_run(self.policy, observations, latents)).log_softmax(-1)

    def end_scores(self, observations: Tensor, latents: Tensor) -> Tensor:
        """Scores (..,) whose sigmoid is the probability of the end; arguments as above."""
        return at_least_float32(_run(self.termination, observations, latents).squeeze(-1))

    def start(self, observations: Tensor, chosen: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The first step of options: probabilities, and states.

        Args:
            observations: (count, observation).
            chosen: (count,) the option that each row runs; None runs all of them.

        Returns:
            Probabilities (count, K, actions) and states (count, K, 0); without axis K if options
            are chosen.
        """
        found = self.action_logs(*self._inputs(observations, chosen)).exp()
        return found, found[..., :0]

    def go_on(
        self, observations: Tensor, states: Tensor, chosen: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """A later step of options: probabilities, states, and ends (count, K).

        ``ends`` is the probability that the subtask was done before this step, so that these
        probabilities do not apply.

        Args:
            observations: (count, observation).
            states: of the step before, which are empty.
            chosen: as for :meth:`start`.
        """
        given = self._inputs(observations, chosen)
        found = self.action_logs(*given).exp()
        return found, found[..., :0], self.end_scores(*given).sigmoid()

    def _inputs(self, observations: Tensor, chosen: Tensor | None) -> tuple[Tensor, Tensor]:
        latents = torch.eye(self.count, dtype=observations.dtype, device=observations.device)
        if chosen is None:
            return observations[:, None], latents
        check_chosen(chosen, len(observations), self.count)
        return observations, latents[chosen]


class JoinedOptions(nn.Module):
    """The latents of several decoders as one pool, in their order.

    Args:
        parts: the decoders.

    Raises:
        ValueError: they read other observations, or have other actions.
    """

    def __init__(self, parts: Iterable[LatentOptions]):
        super().__init__()
        self.parts = nn.ModuleList(parts)
        self.sizes = self.parts[0].sizes
        for number, part in enumerate(self.parts):
            for name in ("observation", "outputs"):
                if getattr(part.sizes, name) != getattr(self.sizes, name):
                    raise ValueError(
                        f"options of one pool have equal {name}; decoder {number} has "
                        f"{getattr(part.sizes, name)}, decoder 0 {getattr(self.sizes, name)}"
                    )

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def start(self, observations: Tensor, chosen: Tensor | None = None) -> tuple[Tensor, ...]:
        """As :meth:`LatentOptions.start`."""
        return self._run(
            lambda part, rows, own: part.start(observations[rows], own), chosen, len(observations)
        )

    def go_on(
        self, observations: Tensor, states: Tensor, chosen: Tensor | None = None
    ) -> tuple[Tensor, ...]:
        """As :meth:`LatentOptions.go_on`."""
        return self._run(
            lambda part, rows, own: part.go_on(observations[rows], states[rows], own),
            chosen, len(observations),
        )  # fmt: skip

    def _run(
        self, run: Callable[..., tuple], chosen: Tensor | None, rows: int
    ) -> tuple[Tensor, ...]:
        """What ``run(decoder, its rows, their numbers in it)`` gives, in the order of rows."""
        if chosen is None:
            found = [run(part, slice(None), None) for part in self.parts]
            return tuple(torch.cat(each, 1) for each in zip(*found, strict=True))
        check_chosen(chosen, rows, len(self))
        found, order, first = [], [], 0
        for part in self.parts:
            own = ((chosen >= first) & (chosen < first + len(part))).nonzero()[:, 0]
            if len(own) or not len(chosen):
                found.append(run(part, own, chosen[own] - first))
                order.append(own)
            first += len(part)
        order = torch.cat(order).argsort()
        return tuple(torch.cat(each)[order] for each in zip(*found, strict=True))


def _perceptron(given: int, size: int, depth: int, outputs: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    for _ in range(depth):
        layers += [nn.Linear(given, size), nn.ReLU()]
        given = size
    return nn.Sequential(*layers, nn.Linear(given, outputs))


def _run(layers: nn.Sequential, observations: Tensor, latents: Tensor) -> Tensor:
    """Outputs for [x, z]; the first layer reads them apart, so that neither is repeated."""
    first = layers[0]
    observations, latents = (part.to(first.weight.dtype) for part in (observations, latents))
    of_observations, of_latents = first.weight.split([observations.size(-1), latents.size(-1)], 1)
    hidden = linear(observations, of_observations, first.bias) + linear(latents, of_latents)
    for layer in layers[1:]:
        hidden = layer(hidden)
    return hidden
