"""Small option-controller networks, and the thesis's equations for one demonstration at a time."""

import torch

from fairseq_struct.modules.option_controller import (
    CellSizes,
    Controller,
    OptionController,
    OptionPool,
)

OBSERVED, ACTIONS, HIDDEN, MLP = 6, 4, 3, 5


def sizes(outputs=ACTIONS, **changes):
    return CellSizes(OBSERVED, outputs, **({"hidden": HIDDEN, "mlp": MLP} | changes))


def network(options=3, levels=1, temperature=10.0, tasks=2):
    """A network in float64 whose parameters are large, so that nothing is nearly uniform."""
    torch.manual_seed(1)
    between, below = [], options
    for count in range(2, 1 + levels):
        between.append(OptionPool.of(count, sizes(below)))
        below = count
    controller = Controller(sizes(below, ends=False), tasks, temperature)
    made = OptionController(OptionPool.of(options, sizes()), controller, between).double()
    with torch.no_grad():
        controller.initial.weight.mul_(10)
        for name, weight in made.named_parameters():
            chooses = "act" in name and not name.startswith("options")
            weight.mul_(2 * temperature if chooses else 3)
    return made


def demonstrations(lengths=(7, 1, 4), seed=2):
    draw = torch.Generator().manual_seed(seed)
    steps = max(lengths)
    observations = torch.randn(len(lengths), steps, OBSERVED, generator=draw, dtype=torch.double)
    return observations, torch.tensor(lengths), torch.arange(len(lengths)) % 2


class CellByHand:
    """Eqs. 5.2.3 to 5.2.7 of one cell, for one observation."""

    def __init__(self, cell, temperature=1.0):
        self.cell, self.temperature = cell, temperature
        self.beginning = torch.zeros(HIDDEN, dtype=torch.double)

    def __call__(self, x, h):
        cell = self.cell
        first = torch.cat([cell.observed.weight, cell.recurrent.weight], 1)
        y = torch.tanh(first @ torch.cat([x, h]) + cell.observed.bias)
        for layer in cell.layers:
            y = torch.tanh(layer.weight @ y + layer.bias)
        p = torch.softmax((cell.act.weight @ y + cell.act.bias) / self.temperature, 0)
        end = None
        if cell.sizes.ends:
            end = torch.sigmoid((cell.end.weight @ y + cell.end.bias)[0])
        return p, torch.tanh(cell.hid.weight @ y + cell.hid.bias), end


class OptionByHand(CellByHand):
    """An option: (p, state) at its start, (p, state, e) later."""

    low_end = None

    def start(self, x):
        return self(x, self.beginning)[:2]

    def go_on(self, x, h):
        return self(x, h)

    def mix(self, e, new, old):
        return e * new + (1 - e) * old


class ControllerByHand(CellByHand):
    """Eqs. 5.2.8 to 5.2.17 of a controller over options, which may be controllers."""

    def __init__(self, cell, options, temperature):
        super().__init__(cell, temperature)
        self.options = options

    def start(self, x):
        choice, h, _ = self(x, self.beginning)
        begun = [option.start(x) for option in self.options]
        return sum(c * p for c, (p, _) in zip(choice, begun, strict=True)), (
            h,
            choice,
            [s for _, s in begun],
        )

    def go_on(self, x, state):
        h, choice, states = state
        later, low_ends = [], []
        for option, s in zip(self.options, states, strict=True):
            later.append(option.go_on(x, s))
            low_ends.append(option.low_end)
        e = sum(c * end for c, (_, _, end) in zip(choice, later, strict=True))
        old = sum(c * p for c, (p, _, _) in zip(choice, later, strict=True))
        new_choice, new_h, own_end = self(x, h)
        begun = [option.start(x) for option in self.options]
        new = sum(c * p for c, (p, _) in zip(new_choice, begun, strict=True))
        mixed = [
            option.mix(e, fresh, kept)
            for option, (_, fresh), (_, kept, _) in zip(self.options, begun, later, strict=True)
        ]
        after = (e * new_h + (1 - e) * h, e * new_choice + (1 - e) * choice, mixed)
        low = isinstance(self.options[0], OptionByHand)
        self.low_end = e if low else sum(c * end for c, end in zip(choice, low_ends, strict=True))
        return e * new + (1 - e) * old, after, e if own_end is None else e * own_end

    def over_options(self, state):
        if isinstance(self.options[0], OptionByHand):
            return state[1]
        each = zip(state[1], self.options, state[2], strict=True)
        return sum(c * option.over_options(s) for c, option, s in each)

    def mix(self, e, new, old):
        states = [
            option.mix(e, *both) for option, *both in zip(self.options, new[2], old[2], strict=True)
        ]
        return e * new[0] + (1 - e) * old[0], e * new[1] + (1 - e) * old[1], states


def by_hand(made):
    """The highest controller, made of the parts above."""
    parts = [OptionByHand(cell) for cell in made.options]
    temperature = made.controller.temperature
    for pool in made.between:
        parts = [ControllerByHand(cell, parts, temperature) for cell in pool]
    return ControllerByHand(made.controller.cell, parts, temperature)
