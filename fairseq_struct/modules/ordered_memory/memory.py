"""Ordered Memory: a stack of memory slots that composes a sentence bottom-up.

Source: Y. Shen's thesis, section 3.5 and algorithm 2; Y. Shen et al., "Ordered Memory" (2019).
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor, nn

from fairseq_struct.modules.ordered_memory.attention import MaskedAttention
from fairseq_struct.modules.ordered_memory.cell import GatedRecursiveCell
from fairseq_struct.modules.ordered_memory.compose import CellProducts, ComposeSlots, is_plain
from fairseq_struct.structure.checks import is_integral, refuse_fractions


class Grid(NamedTuple):
    """The memories of every step and slot, 0 beyond each sequence's end.

    Args:
        memory: (T, batch, slots, D) M.
        candidates: (T, batch, slots, D) M-hat.
    """

    memory: Tensor
    candidates: Tensor


class OrderedMemoryOutput(NamedTuple):
    """Result of :class:`OrderedMemory` for a batch.

    Args:
        output: (T, batch, D) M-hat_t^N, 0 beyond each sequence's end.
        last: (batch, D) M-hat_T^N at each sequence's end.
        pointers: (T, batch, slots) p_t; 0 for the first word, which finds no slot, and beyond the
            end.
        grid: the memories, if asked for.
    """

    output: Tensor
    last: Tensor
    pointers: Tensor
    grid: Grid | None


class _State(NamedTuple):
    """Slots that are in use after a step; those below hold the word itself.

    Args:
        word: (batch, D) x~.
        memory, candidates: (used, batch, D) M and M-hat of the last slots.
        mass: (used, batch) pi-> of the same slots.
    """

    word: Tensor
    memory: Tensor
    candidates: Tensor
    mass: Tensor


class OrderedMemory(nn.Module):
    """Reads sequences with a stack of N memory slots of width D.

    With x~_t = LN(W x_t + b) (eq. 3.5.1) and, for every slot i from 1 to N:
    p_t = Att(x~_t, M-hat_{t-1}, pi->_{t-1}) (eq. 3.5.2), pi->_t^i = sum_{j <= i} p_t^j (eq. 3.5.3),
    pi<-_t^i = sum_{j >= i} p_t^j (eq. 3.5.4),
    M_t^i = M_{t-1}^i (1 - pi<-_t^i) + M-hat_{t-1}^i pi<-_t^i (eq. 3.5.5),
    o_t^i = cell(M_t^i, M-hat_t^{i-1}) with M-hat_t^0 = x~_t (eq. 3.5.6), and
    M-hat_t^i = x~_t (1 - pi->_t^i) + o_t^i pi->_t^i. The output is M-hat_t^N.

    The thesis contradicts itself in four places: eq. 3.5.7 has (1 - pi->)^{i+1}, algorithm 2
    (1 - pi->^i), as here; the text below it calls M-hat_t^0 x_t, algorithm 2 x~_t, as here; line 7
    of algorithm 2 calls pi<- pi->; and the attention has width D, not N (see
    :class:`.MaskedAttention`). As in the published code, no slot exists at the first word: p_1 = 0
    and M-hat_1^i = x~_1 in all slots, where the equations would give p_1^N = 1.

    Slots with pi->_t^i = 0 in the whole batch hold x~_t exactly, and are not computed. No parameter
    belongs to a slot, so another number of slots may serve after training.

    Args:
        input_size: size of x_t.
        size: D.
        slots: N.
        attention: form of the attention, see :class:`.MaskedAttention`.
        dropout: of the cell.
        attention_dropout: of the attention ("memory" in the published code).
        least_mask: see :class:`.MaskedAttention`.
        fused: use :class:`.ComposeSlots`, which has no gradients of second order, where the cell
            is as it was made: without hooks and with its own layers.

    Raises:
        ValueError: a size or the number of slots is below 1 or no integer, or another number is out
            of range.
    """

    def __init__(
        self,
        input_size: int,
        size: int,
        slots: int,
        attention: str = "paper",
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        least_mask: float | None = None,
        fused: bool = True,
    ):
        super().__init__()
        refuse_fractions(input_size=input_size, size=size, slots=slots)
        if min(input_size, size, slots) < 1:
            raise ValueError("the sizes and the number of slots must be 1 or more")
        self.slots, self.fused = slots, fused
        self.input = nn.Linear(input_size, size)
        self.attention = MaskedAttention(size, attention, attention_dropout, least_mask)
        self.cell = GatedRecursiveCell(size, dropout)  # its LN is that of eq. 3.5.1

    def extra_repr(self) -> str:
        """The number of slots."""
        return f"slots={self.slots}, fused={self.fused}"

    def forward(
        self,
        inputs: Tensor,
        lengths: Tensor | None = None,
        slots: int | None = None,
        grid: bool = False,
    ) -> OrderedMemoryOutput:
        """Read sequences.

        Args:
            inputs: (T, batch, input_size) x.
            lengths: (batch,) steps of each sequence, 1 to T; T if not given.
            slots: in place of the module's own number.
            grid: return the memories, too. Without it and without gradients, only the memories of
                one step are kept.

        Raises:
            ValueError: wrong shapes or lengths, or fewer than one slot.
        """
        lengths = self._checked(inputs, lengths)
        slots = self.slots if slots is None else slots
        refuse_fractions(slots=slots)
        if slots < 1:
            raise ValueError(f"the number of slots must be 1 or more, not {slots}")
        # From long to short, so that the sequences that have not ended are always the first ones.
        order = lengths.argsort(descending=True, stable=True)
        steps = torch.arange(len(inputs), device=lengths.device)
        inside = steps[:, None] < lengths
        running = [count for count in inside.sum(1).tolist() if count]
        order = order.to(inputs.device)
        # Gradients of the layers would read what is beyond a sequence's end.
        inputs = inputs.masked_fill(~inside.to(inputs.device)[..., None], 0.0)
        words = self.cell.norm(self.input(inputs[:, order]))
        queries = self.attention.queries(words)
        compose = self._compose(words)
        state, made, pointers, grids = None, [], [], []
        for word, query, batch in zip(words, queries, running, strict=False):
            state, pointer = self._step(state, word[:batch], query[:batch], compose, slots)
            top = state.candidates[-1] if len(state.candidates) else state.word
            # A view would keep the memories of all steps.
            made.append(top if torch.is_grad_enabled() else top.clone())
            pointers.append(pointer)
            if grid:
                grids.append(_grid(state, grids[-1] if grids else None, slots))
        collect = partial(_collect, sizes=inputs.shape[:2], back=order.argsort())
        output = collect(made)
        last = output[lengths.to(output.device) - 1, torch.arange(output.size(1))]
        memories = Grid(*map(collect, zip(*grids, strict=True))) if grid else None
        return OrderedMemoryOutput(output, last, collect(pointers), memories)

    def _checked(self, inputs: Tensor, lengths: Tensor | None) -> Tensor:
        width = self.input.in_features
        if inputs.dim() != 3 or inputs.size(2) != width or not inputs.numel():
            raise ValueError(
                f"inputs must be (T, batch, {width}) with at least one step and one sequence, not "
                f"{tuple(inputs.shape)}"
            )
        steps, batch, _ = inputs.shape
        lengths = [steps] * batch if lengths is None else lengths
        lengths = torch.as_tensor(lengths, device="cpu")
        fits = is_integral(lengths) and lengths.shape == (batch,)
        lengths = lengths.long()  # torch compares no large unsigned integers
        if not fits or lengths.min() < 1 or lengths.max() > steps:
            raise ValueError(f"lengths must be {batch} integers between 1 and {steps}")
        return lengths

    def _compose(self, words: Tensor) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
        """Return the function from x~, M and pi-> of a step to M-hat."""
        cell, device = self.cell, words.device.type
        mixed = device != "cpu" and torch.is_autocast_enabled(device)
        exact = words.dtype in (torch.float32, torch.float64)
        if not (self.fused and exact and is_plain(cell)) or mixed:
            return partial(compose_slots, cell)
        products = CellProducts(cell, words.size(1), words.dtype)
        weights = (
            cell.hidden.weight, cell.hidden.bias, cell.gates.weight, cell.gates.bias,
            cell.norm.weight, cell.norm.bias,
        )  # fmt: skip

        def compose(word: Tensor, memory: Tensor, mass: Tensor) -> Tensor:
            with torch.autocast(device, enabled=False):
                return ComposeSlots.apply(
                    word, memory, mass[..., None].to(word.dtype), *weights, products,
                    products.masks(memory),
                )  # fmt: skip

        return compose

    def _step(
        self, state: _State | None, word: Tensor, query: Tensor, compose: Callable, slots: int
    ) -> tuple[_State, Tensor]:
        """The state after a word, and p_t (batch, slots)."""
        if state is None:
            none = word.new_zeros(0, *word.shape)
            pointer = word.new_zeros(len(word), slots)
            return _State(word, none, none, none[..., 0]), pointer
        before = _State(state.word[: len(word)], *(part[:, : len(word)] for part in state[1:]))
        # A word can reach the slots in use and the next one, which holds the word before it.
        candidates = _with_word(before)[-slots :]
        mask = torch.cat([before.mass, torch.ones_like(before.word[None, :, 0])])[-slots :]
        pointer = self.attention(query, candidates, mask)
        mass = pointer.cumsum(0).clamp(max=1.0)
        # 1 - pi<- is pi-> of the slot below. It is 0 for the first slot in reach, where M_t is
        # M-hat_{t-1}, whatever M_{t-1} is.
        kept = torch.cat([torch.zeros_like(mass[:1]), mass[:-1]])[..., None].to(word.dtype)
        old = before.memory
        old = old if len(old) == len(candidates) else torch.cat([candidates[:1], old])
        memory = torch.lerp(candidates, old, kept)
        first = 0
        if self.attention.least_mask:
            first = int((mass > 0).any(1).int().argmax())
        memory, mass = memory[first:], mass[first:]
        whole = nn.functional.pad(pointer.t(), (slots - len(pointer), 0))
        return _State(word, memory, compose(word, memory, mass), mass), whole


def _grid(state: _State, before: Grid | None, slots: int) -> Grid:
    """M and M-hat (batch, slots, D) of all slots after a step."""
    batch, unused = len(state.word), slots - len(state.memory)
    word = state.word[:, None].expand(-1, unused, -1)
    # An unused slot copies M-hat_{t-1}, because pi<- = 1 there.
    old = torch.zeros_like(word) if before is None else before.candidates[:batch, :unused]
    memory, candidates = (part.transpose(0, 1) for part in (state.memory, state.candidates))
    return Grid(torch.cat([old, memory], 1), torch.cat([word, candidates], 1))


def compose_slots(cell: nn.Module, word: Tensor, memory: Tensor, mass: Tensor) -> Tensor:
    """M-hat (slots, batch, D) of a step in plain torch: algorithm 2, lines 8, 11 and 12.

    Args:
        cell: composes M-hat^{i-1} and M^i.
        word: (batch, D) x~.
        memory: (slots, batch, D) M.
        mass: (slots, batch) pi->.
    """
    below, made = word, []
    for own, share in zip(memory, mass[..., None].to(word.dtype), strict=True):
        below = torch.lerp(word, cell(below, own).to(word.dtype), share)
        made.append(below)
    return torch.stack(made)


def _with_word(state: _State) -> Tensor:
    """M-hat^i of the next unused slot and of those in use, (used + 1, batch, D)."""
    return torch.cat([state.word[None], state.candidates])


def _collect(parts: Sequence[Tensor], sizes: tuple[int, int], back: Tensor) -> Tensor:
    """Stack the rows of each step, 0 where a sequence has ended, in the original order."""
    steps, batch = sizes
    rows = [nn.functional.pad(p, (0, 0) * (p.dim() - 1) + (0, batch - len(p))) for p in parts]
    stacked = nn.functional.pad(torch.stack(rows), (0, 0) * rows[0].dim() + (0, steps - len(rows)))
    return stacked[:, back]
