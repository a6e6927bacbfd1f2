"""ON-LSTM against its equations, computed one number at a time, alone and in batches."""

import math

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_sequence

from fairseq_struct.modules import packed_product
from fairseq_struct.modules.dropouts import DropConnect, LockedDropout, WordDropout
from fairseq_struct.modules.on_lstm import ONLSTM, ONLSTMCell, cumax
from fairseq_struct.modules.packed_product import PackedProduct

LENGTHS = torch.tensor([6, 3, 1, 0])


def inputs(dtype=torch.float64, steps=6, size=5):
    generator = torch.Generator().manual_seed(3)
    return torch.randn(steps, 4, size, generator=generator, dtype=torch.float64).to(dtype)


def network(sizes=(8, 12), dtype=torch.float64, **options):
    torch.manual_seed(1)
    return ONLSTM(5, sizes, chunk_size=4, **options).to(dtype)


def test_cumax_rises_to_one():
    scores = torch.randn(50, 40, generator=torch.Generator().manual_seed(0)) * 10
    for given in (scores, scores.half(), scores.double(), torch.full((2, 40), -1e4)):
        gate = cumax(given)
        assert (gate.diff(dim=-1) >= 0).all() and gate.min() >= 0 and gate.max() <= 1
        torch.testing.assert_close(gate[:, -1], torch.ones_like(gate[:, -1]))
    torch.testing.assert_close(cumax(scores, 0), cumax(scores.t()).t())


def test_a_cell_is_its_equations():
    torch.manual_seed(2)
    size, chunk, width = 6, 3, 4
    cell = ONLSTMCell(width, size, chunk).double()
    x, h, c = (torch.randn(1, n, dtype=torch.float64) for n in (width, size, size))
    made = cell(x, (h, c))
    w, u, b = (p.detach().tolist() for p in (cell.weight_ih, cell.weight_hh, cell.bias))
    given, before, stored = x[0].tolist(), h[0].tolist(), c[0].tolist()

    def affine(row):
        return (b[row] + sum(w[row][k] * given[k] for k in range(width))
                + sum(u[row][k] * before[k] for k in range(size)))  # fmt: skip

    def sigmoid(value):
        return 1 / (1 + math.exp(-value))

    def rising(rows):
        weights = [math.exp(affine(row)) for row in rows]
        return [sum(weights[: k + 1]) / sum(weights) for k in range(len(weights))]

    groups = size // chunk
    master_forget = rising(range(groups))
    master_input = [1 - value for value in rising(range(groups, 2 * groups))]
    for j in range(size):
        row = 2 * groups + j
        f, i, o = (sigmoid(affine(row + k * size)) for k in range(3))
        candidate = math.tanh(affine(row + 3 * size))
        f_master, i_master = master_forget[j // chunk], master_input[j // chunk]
        w_t = f_master * i_master
        c_t = (f * w_t + (f_master - w_t)) * stored[j] + (i * w_t + (i_master - w_t)) * candidate
        assert made.cell[0, j].item() == pytest.approx(c_t, abs=1e-12)
        assert made.hidden[0, j].item() == pytest.approx(o * math.tanh(c_t), abs=1e-12)
    assert made.distance.item() == pytest.approx(groups - sum(master_forget), abs=1e-12)


@pytest.mark.parametrize("lengths", [None, LENGTHS])
@pytest.mark.parametrize(("dtype", "close"), [(torch.float64, 1e-10), (torch.float32, 1e-5)])
def test_the_fused_sequence_is_the_cell_step_by_step(dtype, close, lengths):
    results = []
    for fused in (True, False):
        layers = network(dtype=dtype, fused=fused)
        x = inputs(dtype).requires_grad_()
        state = tuple(
            tuple(torch.full((4, size), value, dtype=dtype, requires_grad=True) for size in (8, 12))
            for value in (0.1, -0.3)
        )
        made = layers.run(x, state, lengths)
        weights = torch.linspace(-1, 1, made.output.numel(), dtype=dtype).view_as(made.output)
        loss = (weights * made.output).sum()
        for part in (*made.state[0], *made.state[1]):
            loss = loss + part.square().sum()
        loss.backward()
        leaves = (x, *state[0], *state[1], *layers.parameters())
        results.append([*made.layers, made.distances, loss, *(leaf.grad for leaf in leaves)])
    for fused, plain in zip(*results, strict=True):
        torch.testing.assert_close(fused, plain, atol=close, rtol=close)


def test_gradients_of_the_fused_sequence():
    layers = network((8,))
    lengths = torch.tensor([3, 2, 1, 0])
    names = [name for name, _ in layers.named_parameters()]

    def run(x, hidden, cell, *weights):
        made, state = torch.func.functional_call(
            layers, dict(zip(names, weights, strict=True)), (x, ((hidden,), (cell,)), lengths)
        )
        return made, state[0][0], state[1][0]

    leaves = [inputs(steps=3), torch.randn(4, 8).double(), torch.randn(4, 8).double()]
    leaves += [parameter.detach() for parameter in layers.parameters()]
    torch.autograd.gradcheck(run, [leaf.requires_grad_() for leaf in leaves])


def test_gradients_of_second_order_need_the_plain_cell():
    x = inputs(steps=2).requires_grad_()
    (first,) = torch.autograd.grad(
        network((8,), fused=False)(x)[0].square().sum(), x, create_graph=True
    )
    assert torch.autograd.grad(first.square().sum(), x)[0].abs().sum() > 0
    made = network((8,))(x)[0]
    with pytest.raises(RuntimeError, match="second-order gradients need ONLSTM"):
        torch.autograd.grad(made.square().sum(), x, create_graph=True)


def test_a_state_holds_no_more_than_itself():
    for part in network().run(inputs()).state:
        for own in part:
            assert own.untyped_storage().nbytes() == own.numel() * own.element_size()


@pytest.mark.parametrize("fused", [True, False])
def test_carried_state_continues_the_sequence(fused):
    layers, x = network(fused=fused), inputs()
    whole = layers.run(x)
    first = layers.run(x[:2])
    second = layers.run(x[2:], first.state)
    torch.testing.assert_close(torch.cat([first.output, second.output]), whole.output)
    torch.testing.assert_close(torch.cat([first.distances, second.distances], 1), whole.distances)
    for ours, theirs in zip(second.state, whole.state, strict=True):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("fused", [True, False])
def test_a_sequence_depends_neither_on_its_batch_nor_on_padding(fused):
    layers, x = network(fused=fused), inputs()
    together = layers.run(x, lengths=LENGTHS)
    noisy = x.masked_fill((torch.arange(6)[:, None] >= LENGTHS)[..., None], 7.0)
    changed = layers.run(noisy, lengths=LENGTHS)
    torch.testing.assert_close(changed.output, together.output)
    for b, length in enumerate(LENGTHS[:3].tolist()):
        alone = layers.run(x[:length, b : b + 1])
        torch.testing.assert_close(together.output[:length, b], alone.output[:, 0])
        torch.testing.assert_close(together.distances[:, :length, b], alone.distances[..., 0])
        for ours, theirs in zip(together.state, alone.state, strict=True):
            for part, own in zip(ours, theirs, strict=True):
                torch.testing.assert_close(part[b], own[0])
        assert not together.output[length:, b].any() and not together.distances[:, length:, b].any()


def test_neurons_of_a_chunk_share_their_master_gates():
    cell = ONLSTMCell(2, 8, 4).double()
    for parameter in cell.parameters():
        nn.init.zeros_(parameter)
    # f~ = (1, 1), i~ = 1 - (0, 1): what is stored stays in the first chunk, joins f c in the other.
    cell.bias.data[:4] = torch.tensor([99.0, 0, 0, 99.0]).double()
    made = cell(torch.ones(1, 2).double(), (torch.zeros(1, 8).double(), torch.ones(1, 8).double()))
    expected = torch.tensor([0.5] * 4 + [1.0] * 4).double()
    torch.testing.assert_close(made.cell[0], expected)
    assert made.distance.item() == pytest.approx(0.0)


def test_it_is_called_as_torch_calls_its_own():
    ours = ONLSTM(5, 8, 2, chunk_size=2, batch_first=True)
    theirs = nn.LSTM(5, 8, 2, batch_first=True)
    x = inputs(torch.float32).transpose(0, 1)
    for state in (None, (torch.zeros(2, 4, 8), torch.ones(2, 4, 8))):
        (made, own), (output, other) = ours(x, state), theirs(x, state)
        assert made.shape == output.shape
        assert [part.shape for part in own] == [part.shape for part in other]
    assert ours.run(x).distances.shape == (2, 4, 6)


def test_half_precision_and_autocast_stay_finite_and_near():
    layers, x = network(dtype=torch.float32), inputs(torch.float32)
    exact = layers.run(x)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        made = layers.run(x)
    torch.testing.assert_close(made.output, exact.output)
    rough = layers.bfloat16().run(x.bfloat16())
    assert (rough.output.float() - exact.output).abs().max() < 0.03
    assert (rough.distances.float() - exact.distances).abs().max() < 0.03


def test_recurrent_weights_are_dropped_once_for_a_window():
    layers = network((8,), weight_dropout=0.5)
    x = inputs()
    torch.manual_seed(0)
    first = layers(x)[0]
    assert not torch.equal(first, layers(x)[0])
    torch.manual_seed(0)
    assert torch.equal(first, layers(x)[0])
    layers.eval()
    assert torch.equal(layers(x)[0], layers(x)[0])


def test_dropouts_keep_the_mean_and_lock_what_they_should():
    torch.manual_seed(0)
    dropped = DropConnect(0.25)(torch.ones(200, 200))
    assert set(dropped.unique().tolist()) == {0.0, torch.tensor(1 / 0.75).item()}
    assert dropped.mean().item() == pytest.approx(1, abs=0.02)
    locked = LockedDropout(0.5)(torch.ones(7, 20, 30))
    assert (locked == locked[:1]).all() and 0.4 < (locked[0] == 0).float().mean() < 0.6
    table = nn.Embedding(50, 4, 1)
    tokens = torch.arange(50).repeat(2, 1)
    vectors = WordDropout(0.5)(tokens, table)
    gone = (vectors == 0).all(-1)
    assert (gone[0] == gone[1]).all() and 10 < gone[0].sum() < 40
    kept = table.weight[~gone[0]] * 2
    torch.testing.assert_close(vectors[0][~gone[0]], kept)
    plain = WordDropout(0.5).eval()
    assert torch.equal(plain(tokens, table), table(tokens))
    with pytest.raises(ValueError, match="0 or more and below 1, not 1"):
        LockedDropout(1)


@pytest.mark.parametrize("instructions", ["avx512", "avx2", "none that are known"])
def test_packed_products_are_products(instructions, monkeypatch):
    monkeypatch.setattr(packed_product, "own_instructions", lambda: instructions)
    for operators in (packed_product._operators, packed_product._convolutions):
        operators.cache_clear()
        monkeypatch.setattr(packed_product, operators.__name__, operators.__wrapped__)
    if instructions == "avx2":
        assert packed_product._convolutions() is not None
    if instructions.startswith("none"):
        monkeypatch.setattr(packed_product, "_operators", lambda: None)
    for dtype in (torch.float32, torch.float64):
        for outputs, size, rows in ((7, 5, 3), (5, 7, 1), (1, 4, 2), (4, 1, 3)):
            weight, x = torch.randn(outputs, size).to(dtype), torch.randn(rows, size).to(dtype)
            torch.testing.assert_close(PackedProduct(weight, rows)(x), x @ weight.t())
            bias = torch.randn(outputs).to(dtype)
            torch.testing.assert_close(PackedProduct(weight, rows)(x, bias), x @ weight.t() + bias)
            swapped = PackedProduct(x.t(), outputs)
            torch.testing.assert_close(swapped(weight.new_ones(2, rows)), x.sum(0).expand(2, -1))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ONLSTMCell(3, 10, 4), "chunk size 4 must divide the size 10"),
        (lambda: ONLSTMCell(0, 10, 5), "must be 1 or more"),
        (lambda: ONLSTM(3, []), "at least one layer"),
        (lambda: network()(inputs(size=3)), "the last of 5"),
        (lambda: network()(pack_sequence(list(inputs()))), "padded .* not a PackedSequence"),
        (lambda: network()(inputs()[:0]), "no step or no sequence"),
        (lambda: network()(inputs(), lengths=torch.tensor([7, 1, 1, 1])), "between 0 and 6"),
        (lambda: network()(inputs(), lengths=torch.tensor([1, 1])), "4 integers between"),
        (lambda: network()(inputs(), lengths=[2.5, 1, 1, 1]), "4 integers between"),
        (lambda: ONLSTM(4, (6, 6), num_layers=5), "2 layer sizes, but 5 layers"),
        (lambda: network()(inputs(), (torch.zeros(2, 4, 8),) * 2), "does not fit 2 layers"),
        (lambda: network(8)(inputs(), (torch.zeros(1, 4, 8),) * 2), "state must be torch.float64"),
        (lambda: network()(inputs(), lengths=[7, 1, 1, 1]), "between 0 and 6"),
        (lambda: network(weight_dropout=1.5), "below 1, not 1.5"),
        (lambda: network()(inputs(torch.float32)), "must be torch.float64, like the weights"),
    ],
)
def test_impossible_requests_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
