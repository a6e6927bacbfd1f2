"""Ordered Memory against a loop over words, slots and numbers, and its invariances."""

from itertools import accumulate

import pytest
import torch
from ordered_memory_by_hand import Pointing, read_by_hand
from torch import nn
from torch.autograd import gradcheck

from fairseq_struct.modules.ordered_memory import (
    ATTENTIONS,
    GatedRecursiveCell,
    MaskedAttention,
    OrderedMemory,
)
from fairseq_struct.modules.ordered_memory.memory import compose_slots
from fairseq_struct.structure.spans import tree_of_stack

SIZE, SLOTS = 6, 4


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(3)


def memory_of(attention="paper", slots=SLOTS, **options):
    torch.manual_seed(5)
    memory = OrderedMemory(5, SIZE, slots, attention, **options).double()
    for parameter in memory.parameters():  # biases and gains of all sizes
        nn.init.normal_(parameter, std=0.7)
    return memory


def inputs_of(generator, *shape):
    return torch.randn(*shape, 5, generator=generator, dtype=torch.double)


@pytest.mark.parametrize("attention", ATTENTIONS)
@pytest.mark.parametrize("fused", [True, False])
def test_equations(attention, fused, generator):
    memory = memory_of(attention, fused=fused)
    inputs, lengths = inputs_of(generator, 7, 3), torch.tensor([4, 7, 1])
    result = memory(inputs, lengths, grid=True)
    for b, length in enumerate(lengths.tolist()):
        pointers, stack, candidates = read_by_hand(memory, inputs[:length, b].tolist(), SLOTS)
        torch.testing.assert_close(result.pointers[:length, b], pointers)
        torch.testing.assert_close(result.grid.candidates[:length, b], candidates)
        # Before the second word nothing is in the stack: its values do not matter.
        torch.testing.assert_close(result.grid.memory[1:length, b, -1], stack[1:, -1])
        torch.testing.assert_close(result.output[:length, b], candidates[:, -1])
        torch.testing.assert_close(result.last[b], candidates[-1, -1])
        for tensor in (result.output, result.pointers, *result.grid):
            assert not tensor[length:, b].any()


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_memories_follow_from_the_pointers(attention, generator):
    memory = memory_of(attention)
    result = memory(inputs_of(generator, 6, 2), grid=True)
    forwards = result.pointers.cumsum(2)[..., None]
    backwards = result.pointers.flip(2).cumsum(2).flip(2)[..., None]
    old, new = result.grid
    torch.testing.assert_close(
        old[1:], old[:-1] * (1 - backwards[1:]) + new[:-1] * backwards[1:]
    )
    words = memory.cell.norm(memory.input(inputs_of(torch.Generator().manual_seed(3), 6, 2)))
    below = torch.cat([words[:, :, None], new[:, :, :-1]], 2)
    expected = words[:, :, None] * (1 - forwards) + memory.cell(below, old) * forwards
    torch.testing.assert_close(new, expected)


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_pointers_sit_on_reachable_slots(attention, generator):
    pointers = memory_of(attention)(inputs_of(generator, 8, 5)).pointers
    assert not pointers[0].any()
    torch.testing.assert_close(pointers[1:].sum(2), torch.ones(7, 5, dtype=torch.double))
    for t in range(1, 8):
        reach = min(t, SLOTS)
        assert not pointers[t, :, : SLOTS - reach].any()
        assert (pointers[t, :, SLOTS - reach :] > 0).all()


@pytest.mark.parametrize(
    ("heads", "tree"),
    [
        ([4, 4, 4, 4], (((0, 1), 2), 3)),
        ([4, 4, 3, 2], (0, (1, (2, 3)))),
        ([4, 4, 3, 4], ((0, (1, 2)), 3)),
        ([4, 4, 4, 3], ((0, 1), (2, 3))),
        ([4, 4, 3, 3], (0, ((1, 2), 3))),
    ],
)
@pytest.mark.parametrize("fused", [True, False])
def test_sharp_pointers_run_a_stack(heads, tree, fused, generator):
    memory = memory_of(fused=fused)
    memory.attention = Pointing(heads, SLOTS)
    inputs = inputs_of(generator, 4, 2)
    result = memory(inputs, grid=True)
    words = memory.cell.norm(memory.input(inputs))

    def vector(node):
        if isinstance(node, int):
            return words[node]
        earlier, later = map(vector, node)
        return memory.cell(later, earlier)

    torch.testing.assert_close(result.last, vector(tree))
    for t in range(1, 4):
        head = heads[t] - 1
        old, new = result.grid.memory, result.grid.candidates
        assert torch.equal(old[t, :, : head + 1], new[t - 1, :, : head + 1])
        assert torch.equal(old[t, :, head + 1 :], old[t - 1, :, head + 1 :])

    def spans(node):
        if isinstance(node, int):
            return [(node, node + 1)]
        left, right = map(spans, node)
        return [(left[0][0], right[0][1]), *left, *right]

    assert tree_of_stack(heads) == [span for span in spans(tree) if span[1] - span[0] > 1]


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_padding_and_batch_change_nothing(attention, generator):
    memory = memory_of(attention)
    inputs, lengths = inputs_of(generator, 6, 4), torch.tensor([3, 6, 1, 5])
    inputs[torch.arange(6)[:, None] >= lengths] = torch.nan
    result = memory(inputs.requires_grad_(), lengths, grid=True)
    weights = list(memory.parameters())
    gradient, *of_weights = torch.autograd.grad(result.last.square().sum(), [inputs, *weights])
    sums = [torch.zeros_like(weight) for weight in weights]
    for b, length in enumerate(lengths.tolist()):
        alone = inputs[:length, b : b + 1].detach().requires_grad_()
        single = memory(alone, grid=True)
        by_alone, *own = torch.autograd.grad(
            single.last.square().sum(), [alone, *weights], materialize_grads=True
        )
        sums = [one + other for one, other in zip(sums, own, strict=True)]
        torch.testing.assert_close(result.last[b], single.last[0])
        torch.testing.assert_close(result.pointers[:length, b], single.pointers[:, 0])
        torch.testing.assert_close(result.grid.memory[:length, b], single.grid.memory[:, 0])
        torch.testing.assert_close(gradient[:length, b], by_alone[:, 0])
        assert not gradient[length:, b].any()
    torch.testing.assert_close(of_weights, sums)


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_more_slots_than_needed_change_nothing(attention, generator):
    memory, inputs = memory_of(attention), inputs_of(generator, 5, 3)
    enough = memory(inputs, slots=4)
    for slots in (5, 9):
        more = memory(inputs, slots=slots)
        torch.testing.assert_close(more.output, enough.output)
        torch.testing.assert_close(more.pointers[..., slots - 4 :], enough.pointers)
    assert not torch.allclose(memory(inputs, slots=2).last, enough.last)


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_gradients(attention, generator):
    memory = memory_of(attention, slots=3)
    inputs = inputs_of(generator, 5, 2).requires_grad_()
    parameters = tuple(memory.parameters())
    lengths = torch.tensor([5, 3])

    def read(inputs, *_):
        result = memory(inputs, lengths, grid=True)
        return result.output, result.pointers, *result.grid

    # All layers of the published form are followed by normalisations or a softmax.
    assert gradcheck(read, (inputs, *parameters), fast_mode=True)


@pytest.mark.parametrize("attention", ATTENTIONS)
@pytest.mark.parametrize("dropout", [0.0, 0.4, 1.0])
def test_fused_steps_equal_plain_ones(attention, dropout, generator):
    memory = memory_of(attention, dropout=dropout)
    inputs = inputs_of(generator, 9, 4).requires_grad_()
    lengths = torch.tensor([9, 2, 7, 7])
    parameters = [inputs, *memory.parameters()]
    found = []
    for fused in (True, False):
        memory.fused = fused
        if dropout:  # the same masks for both
            memory.cell.forward = None if fused else masked(memory.cell)
        torch.manual_seed(1)
        result = memory(inputs, lengths, grid=True)
        score = sum(part.sin().sum() for part in (result.output, result.pointers, *result.grid))
        found.append([result.output, *torch.autograd.grad(score, parameters)])
    for ours, plain in zip(*found, strict=True):
        torch.testing.assert_close(ours, plain, rtol=0, atol=1e-10)


def masked(cell):
    """The cell with dropout masks drawn in the order of the fused steps."""
    step, keep = {}, 1 - cell.dropout.p

    def forward(vertical, horizontal):
        size = cell.size
        if not step.get("left"):
            slots = step["slots"].pop(0)
            drawn = vertical.new_empty(slots, len(vertical), 6 * size).bernoulli_(keep)
            step["left"] = list(drawn / (keep or 1))
        mask = step["left"].pop(0)
        given = torch.cat([vertical, horizontal], -1) * mask[:, : 2 * size]
        gates = cell.gates(cell.hidden(given).relu() * mask[:, 2 * size :])
        v, h, c, u = gates.chunk(4, -1)
        return cell.norm(v.sigmoid() * vertical + h.sigmoid() * horizontal + c.sigmoid() * u)

    step["slots"] = [1, 2, 3, 4, 4, 4, 4, 4]
    return forward


def test_second_order_needs_the_plain_steps(generator):
    memory, inputs = memory_of(), inputs_of(generator, 3, 1).requires_grad_()
    with pytest.raises(RuntimeError, match="second-order gradients need OrderedMemory"):
        torch.autograd.grad(memory(inputs).last.sum(), inputs, create_graph=True)
    memory.fused = False
    (gradient,) = torch.autograd.grad(memory(inputs).last.sum(), inputs, create_graph=True)
    gradient.square().sum().backward()


def test_one_word_is_itself(generator):
    memory, inputs = memory_of(), inputs_of(generator, 1, 2)
    torch.testing.assert_close(memory(inputs).last, memory.cell.norm(memory.input(inputs))[0])


def test_unreachable_slots_take_no_part(generator):
    """Masks below the least one are 0, and their slots are not computed at all."""
    memory = memory_of("published")
    memory.attention.score.weight.data *= 300  # sharp
    inputs = inputs_of(generator, 12, 1)
    sizes = []
    plain = compose_slots

    def counting(word, stack, mass):
        sizes.append(len(stack))
        return plain(memory.cell, word, stack, mass)

    memory._compose = lambda words: counting
    sparse = memory(inputs, slots=12)
    assert sum(sizes) < sum(range(1, 12))
    del memory._compose
    pointers, _, candidates = read_by_hand(memory, inputs[:, 0].tolist(), 12)
    torch.testing.assert_close(sparse.pointers[:, 0], pointers)
    torch.testing.assert_close(sparse.output[:, 0], candidates[:, -1])


def test_evaluation_keeps_one_step(generator):
    memory, inputs = memory_of(), inputs_of(generator, 64, 2)

    def bytes_of(slots: int) -> int:
        """Peak of what a pass allocates."""
        profile = torch.profiler.profile(profile_memory=True)
        with torch.inference_mode(), profile:
            memory(inputs, slots=slots)
        events = profile.profiler.kineto_results.events()
        moves = (event.nbytes() for event in events if event.name() == "[memory]")
        return max(accumulate(moves))

    bytes_of(2)
    # One step has (batch, slots, size) memories, and p_t one number for each step and slot.
    more, kept = 40 * 2 * 6 * 8, 64 * 40 * 2 * 8
    assert bytes_of(42) - bytes_of(2) < 20 * more + 3 * kept
    with_gradients = memory(inputs, slots=2)
    with torch.inference_mode():
        torch.testing.assert_close(memory(inputs, slots=2).output, with_gradients.output)


def test_half_precision_follows(generator):
    memory, inputs = memory_of().float(), inputs_of(generator, 6, 2).float()
    expected = memory(inputs).last
    with torch.autocast("cpu", torch.bfloat16):
        found = memory(inputs).last
    torch.testing.assert_close(found.float(), expected, atol=0.1, rtol=0.1)
    half = memory.bfloat16()(inputs.bfloat16())
    assert half.last.dtype == torch.bfloat16 and half.pointers.dtype == torch.float32
    torch.testing.assert_close(half.last.float(), expected, atol=0.2, rtol=0.2)


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: OrderedMemory(5, 6, 0), "number of slots"),
        (lambda: OrderedMemory(0, 6, 1), "sizes"),
        (lambda: MaskedAttention(6, "hard"), "paper"),
        (lambda: MaskedAttention(6, least_mask=1.0), "least mask"),
        (lambda: GatedRecursiveCell(0), "size of a cell"),
        (lambda: memory_of()(torch.zeros(3, 2, 4)), r"\(T, batch, 5\)"),
        (lambda: memory_of()(torch.zeros(0, 2, 5)), "at least one step"),
        (lambda: memory_of()(torch.zeros(3, 2, 5).double(), torch.tensor([4, 1])), "lengths"),
        (lambda: memory_of()(torch.zeros(3, 2, 5).double(), torch.tensor([0, 1])), "lengths"),
        (lambda: memory_of()(torch.zeros(3, 2, 5).double(), slots=0), "number of slots"),
    ],
)
def test_bad_arguments(make, what):
    with pytest.raises(ValueError, match=what):
        make()
