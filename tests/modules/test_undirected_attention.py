"""Undirected attention against eq. 5.14 of Mihaylova's thesis, torch's attention and its energy."""

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.autograd import gradcheck
from torch.nn import functional

from fairseq_struct.modules.transformer_parts import sinusoids
from fairseq_struct.modules.undirected import Passes
from fairseq_struct.modules.undirected.attention import (
    INFERRED,
    SelfAttention,
    UndirectedAttention,
    order_of,
)

SIZE, SYMBOLS = 6, 9
CLOSE = {"rtol": 0, "atol": 1e-12}


def network(order="forward_backward", passes=1, **options) -> UndirectedAttention:
    torch.manual_seed(3)
    made = UndirectedAttention(SYMBOLS, SIZE, order, Passes(passes, test=passes), **options)
    return made.double().eval()


def batch(lengths=(5, 7, 4), hidden=((1, 4), (2,), (0,)), seed=0):
    """Tokens with padding, lengths, and hidden places with padding."""
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randint(SYMBOLS, (len(lengths), max(lengths)), generator=generator)
    places = torch.full((len(lengths), max(map(len, hidden))), -1)
    for row, some in zip(places, hidden, strict=True):
        row[: len(some)] = torch.tensor(some)
    return tokens, torch.tensor(lengths), places


def by_hand(net, tokens, places, order):
    """Eq. 5.14 for one sequence, with all rows of X; yields the values after each update."""
    x = net.embedding.weight[tokens].clone()
    x[places] = 0
    w = dict(zip("QKV", net.graph.factors["inputs"].weight.chunk(3), strict=True))
    n = len(tokens)
    p = sinusoids(torch.arange(n), x)
    v = {name: x.new_zeros(n, SIZE) for name in "QKVH"} | {"S": x.new_zeros(n, n), "X": x}
    for name in order:
        if name == "Q":
            made = (v["X"] + p) @ w["Q"].T + v["S"] @ v["K"]
        elif name == "K":
            made = (v["X"] + p) @ w["K"].T + v["S"].T @ v["Q"]
        elif name == "V":
            made = (v["X"] + p) @ w["V"].T + v["S"].T @ v["H"]
        elif name == "S":
            scores = v["Q"] @ v["K"].T + v["H"] @ v["V"].T
            made = (scores / SIZE**0.5).softmax(-1)
        elif name == "H":
            made = v["S"] @ v["V"]
        else:
            made = v["X"].clone()
            made[places] = (v["Q"] @ w["Q"] + v["K"] @ w["K"] + v["V"] @ w["V"])[places]
        v[name] = made
        yield name, v


def completed(net, tokens, places, order):
    """Logits of the hidden symbols by hand."""
    for _, values in by_hand(net, tokens, places, order):  # noqa: B007 (the last one)
        pass
    return values["X"][places] @ net.embedding.weight.T


FORWARD_BACKWARD = "QKVSHSVKQX"


@pytest.mark.parametrize("passes", [1, 2, 3])
def test_the_published_order_gives_what_the_equations_give(passes):
    net, (tokens, lengths, places) = network(passes=passes), batch()
    logits = net(tokens, lengths, places).logits
    for row in range(len(tokens)):
        kept = places[row][places[row] >= 0]
        hand = completed(net, tokens[row, : lengths[row]], kept, FORWARD_BACKWARD * passes)
        torch.testing.assert_close(logits[row, : len(kept)], hand, **CLOSE)


def test_a_random_order_gives_what_the_equations_give():
    net, (tokens, _, places) = network("random", passes=3), batch((6,), ((2, 3),))
    found = net(tokens, torch.tensor([6]), places).logits[0]
    orders = ["".join(one) for one in itertools.permutations("QKVSH")]
    generator = torch.Generator().manual_seed(int(order_of(torch.tensor([6]), places)))
    drawn = [torch.randperm(5, generator=generator).tolist() for _ in range(3)]
    order = "".join("".join(INFERRED[place] for place in one) + "X" for one in drawn)
    assert order[:5] in orders and len({order[:5], order[6:11], order[12:17]}) == 3
    hand = completed(net, tokens[0], places[0], order)
    torch.testing.assert_close(found, hand, **CLOSE)


def test_from_zero_the_forward_half_is_scaled_dot_product_attention():
    """Lemma 1."""
    net, (tokens, lengths, places) = network(), batch()
    plain = SelfAttention(SYMBOLS, SIZE).double()
    plain.embedding.load_state_dict(net.embedding.state_dict())
    plain.projections.load_state_dict(net.graph.factors["inputs"].state_dict())
    observed, _, given = net.problem(tokens, lengths, places)
    given.pop("start")
    for order in ("QKVSH", "VQKSH", "KVQSH"):
        descent = net.graph.descent(observed, (*order, "hidden"), **given)
        descent.run(order)
        for row, length in enumerate(lengths):
            x = net.embedding.weight[tokens[row, :length]].clone()
            x[places[row][places[row] >= 0]] = 0
            x = x + sinusoids(torch.arange(int(length)), x)
            q, k, v = (x @ w.T for w in net.graph.factors["inputs"].weight.chunk(3))
            hand = functional.scaled_dot_product_attention(q, k, v)
            torch.testing.assert_close(descent.values["H"][row, :length], hand, **CLOSE)
        at_hidden = observed["places"].transpose(1, 2) @ descent.values["H"]
        logits = at_hidden @ net.embedding.weight.T
        torch.testing.assert_close(plain(tokens, lengths, places).logits, logits, **CLOSE)


def test_each_update_minimises_the_energy_numerically():
    net, (tokens, lengths, places) = network(), batch((5,), ((1, 3),))
    observed, order, _ = net.problem(tokens, lengths, places)
    descent = net.graph.descent(observed, order)
    for name in order:
        descent.run((name,))
    for name in (*INFERRED, "hidden"):
        descent.run((name,))
        best = descent.values[name]
        # Distributions are searched among softmax(t).
        read = (lambda t: t.softmax(-1)) if name == "S" else (lambda t: t)
        t = torch.zeros_like(best, requires_grad=True)
        solver = torch.optim.LBFGS([t], 1, 300, tolerance_grad=1e-9, tolerance_change=0,
                                   line_search_fn="strong_wolfe")  # fmt: skip

        def loss(name=name, read=read, t=t, solver=solver):
            solver.zero_grad()
            energy = net.graph.energy({**descent.values, name: read(t)}).sum()
            energy.backward(inputs=[t])
            return energy

        solver.step(loss)
        torch.testing.assert_close(read(t).detach(), best.detach(), rtol=0, atol=1e-6)


@settings(max_examples=20, deadline=None, derandomize=True)
@given(
    order=st.lists(st.sampled_from([*INFERRED, "hidden"]), min_size=4, max_size=14),
    seed=st.integers(0, 99),
)
def test_no_sequential_update_increases_the_energy(order, seed):
    net, (tokens, lengths, places) = network(), batch(seed=seed)
    observed, first, given = net.problem(tokens, lengths, places)
    descent = net.graph.descent(observed, first, **given)
    descent.run(first)  # from zero, S is not a distribution yet
    supports = given["supports"]
    before = net.graph.energy(descent.values, supports)
    for name in order:
        descent.run((name,))
        after = net.graph.energy(descent.values, supports)
        assert (after <= before + 1e-9).all()
        before = after


@pytest.mark.parametrize("order", ["forward_backward", "random"])
def test_gradients_of_the_unrolled_network(order):
    net, (tokens, lengths, places) = network(order, passes=2), batch((4, 3), ((1,), (0, 2)))
    net.requires_grad_(False)

    def logits(embedding, weight):
        given = {"embedding.weight": embedding, "graph.factors.inputs.weight": weight}
        made = torch.func.functional_call(net, given, (tokens, lengths, places)).logits
        return made[places >= 0]

    inputs = (net.embedding.weight, net.graph.factors["inputs"].weight)
    assert gradcheck(logits, [one.detach().clone().requires_grad_() for one in inputs])


@pytest.mark.parametrize("make", [
    network, lambda: network(passes=3), lambda: network("random", passes=2),
    lambda: SelfAttention(SYMBOLS, SIZE).double(),
])  # fmt: skip
def test_neither_batch_nor_padding_nor_hidden_symbols_change_a_value(make):
    net, (tokens, lengths, places) = make(), batch()
    together = net(tokens, lengths, places).logits
    for row, length in enumerate(lengths):
        kept = places[row][places[row] >= 0]
        own = tokens[row, :length].clone()
        own[kept] = (own[kept] + 1) % SYMBOLS  # what is hidden must not be read
        alone = net(own[None], length[None], kept[None]).logits
        torch.testing.assert_close(together[row, : len(kept)], alone[0], **CLOSE)


def test_only_the_embeddings_and_three_matrices_are_trained():
    sizes = {name: p.shape for name, p in network().named_parameters()}
    assert sizes == {
        "embedding.weight": (SYMBOLS, SIZE), "graph.factors.inputs.weight": (3 * SIZE, SIZE)
    }  # fmt: skip


def test_random_orders_follow_the_seed_and_outside_of_training_stay():
    given = batch()
    net = network("random", passes=2)
    assert torch.equal(net(*given).logits, net(*given).logits)
    net.train()

    def drawn(seed):
        torch.manual_seed(seed)
        return net(*given).logits

    assert torch.equal(drawn(1), drawn(1))
    assert not torch.equal(drawn(1), drawn(2))


def test_weights_are_those_of_both_halves_of_each_pass():
    net, (tokens, _, places) = network(passes=2), batch((5,), ((1, 3),))
    found = net.attentions(tokens, places)
    taken = [
        values["S"].clone()
        for name, values in by_hand(net, tokens[0], places[0], FORWARD_BACKWARD * 2)
        if name == "S"
    ]
    assert [len(steps) for steps in found] == [2, 2]
    for ours, hand in zip(itertools.chain(*found), taken, strict=True):
        torch.testing.assert_close(ours, hand, **CLOSE)
    plain = SelfAttention(SYMBOLS, SIZE).double()
    ((weights,),) = plain.attentions(tokens, places)
    torch.testing.assert_close(weights.sum(-1), torch.ones(5, dtype=torch.float64), **CLOSE)


def test_passes_end_by_tolerance_or_after_the_most():
    net, (tokens, lengths, places) = network(), batch()
    once = net(tokens, lengths, places)
    net.passes = Passes(test="converge", tolerance=1e9)
    early = net(tokens, lengths, places)
    assert early.passes.tolist() == [1, 1, 1] and once.energy is None
    torch.testing.assert_close(early.logits, once.logits, **CLOSE)
    # There is no minimum: without an end, some number always moves.
    net.passes = Passes(test="converge", tolerance=1e-9, most=4)
    late = net(tokens, lengths, places)
    net.passes = Passes(test=4)
    assert late.passes.tolist() == [4, 4, 4] and (late.energy < early.energy).all()
    torch.testing.assert_close(net(tokens, lengths, places).logits, late.logits, **CLOSE)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((9, 5), "even"), ((0, 4), "0 symbols"), ((9, 4, "sideways"), "unknown order 'sideways'")],
)
def test_bad_sizes_and_orders(arguments, message):
    with pytest.raises(ValueError, match=message):
        UndirectedAttention(*arguments)


def test_dropout_of_h_is_one_mask_for_all_passes():
    net = network(passes=3, dropout=0.5).train()
    observed, order, given = net.problem(*batch())
    descent, masks = net.graph.descent(observed, order, **given), []
    for _ in range(2):
        descent.run(order)
        masks.append(descent.values["H"] == 0)
    assert torch.equal(*masks) and 0.2 < masks[0][1].float().mean() < 0.8


@pytest.mark.parametrize(
    ("factor", "names"), [("inputs", ("X", *"QKV")), ("hidden_inputs", ("hidden", *"QKV"))]
)
def test_messages_are_the_slopes_of_the_energy(factor, names):
    net, (tokens, lengths, places) = network(), batch()
    observed, order, given = net.problem(tokens, lengths, places)
    values = net.graph.minimise(observed, order, **given)
    values = {name: value.detach().requires_grad_() for name, value in values.items()}
    one = net.graph.factors[factor]
    slopes = torch.autograd.grad(-one.energy(values).sum(), [values[name] for name in names])
    for name, slope in zip(names, slopes, strict=True):
        torch.testing.assert_close(one.message(name, values), slope, **CLOSE)
