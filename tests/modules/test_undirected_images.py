"""Undirected networks of images: the thesis's equations, orders, losses and sizes."""

import pytest
import torch
from torch.nn import functional

from fairseq_struct.modules.undirected.convnet import UndirectedConvnet, UntiedConvnet
from fairseq_struct.modules.undirected.images import pixel_losses
from fairseq_struct.modules.undirected.mlp import UndirectedMLP
from fairseq_struct.modules.undirected.passes import CONVERGE, Passes

SHAPE, LABELS = (1, 12, 12), 3


def network(kind="convnet", passes=1, gamma=0.1, **options):
    """A network in float64, with biases that are not zero, not training."""
    torch.manual_seed(1)
    passes = passes if isinstance(passes, Passes) else Passes(passes, test=passes)
    if kind == "mlp":
        made = UndirectedMLP(SHAPE, LABELS, (7, 5), passes, gamma, **options)
    else:
        made = UndirectedConvnet(SHAPE, LABELS, passes, gamma, channels=(4, 5), **options)
    with torch.no_grad():
        for name, weight in made.named_parameters():
            if name.endswith("bias"):
                weight.normal_(0, 0.3)
            else:
                weight.mul_(3)  # so that passes differ
    return made.double().eval()


@pytest.fixture
def images():
    draw = torch.Generator().manual_seed(2)
    return 2 * torch.rand(6, *SHAPE, dtype=torch.float64, generator=draw) - 1


GOLD = torch.tensor([0, 2, 1, 2, 0, 0])


def plain(made, images):
    """The plain network of the same weights, without factor graphs."""
    variables, factors = made.graph.variables, made.graph.factors
    if isinstance(made, UndirectedMLP):
        h = images.flatten(1)
        for name, factor in (("H1", "X_H1"), ("H2", "H1_H2")):
            h = torch.tanh(functional.linear(h, factors[factor].weight, variables[name].bias))
    else:
        h = images
        for name, factor in (("H1", "X_H1"), ("H2", "H1_H2")):
            weight, bias = factors[factor].weight, variables[name].bias.flatten()
            h = torch.tanh(functional.conv2d(h, weight, bias, stride=2))
    return functional.linear(h.flatten(1), factors["H2_Y"].weight, variables["Y"].bias)


@pytest.mark.parametrize("gamma", [0.0, 0.1])
@pytest.mark.parametrize("kind", ["mlp", "convnet"])
def test_one_pass_from_zero_is_the_plain_network(kind, gamma, images):
    made = network(kind, gamma=gamma)
    torch.testing.assert_close(made(images).logits, plain(made, images), atol=1e-12, rtol=0)
    more = network(kind, 2, gamma)
    assert not torch.allclose(more(images).logits, plain(more, images), atol=1e-3)


def test_two_passes_are_the_updates_of_appendix_d(images):
    made = network(passes=2)
    c1, c2 = (made.graph.factors[name].weight for name in ("X_H1", "H1_H2"))
    v = made.graph.factors["H2_Y"].weight
    b1, b2, b = (made.graph.variables[name].bias for name in ("H1", "H2", "Y"))
    up1 = functional.conv2d(images, c1, stride=2)
    h2, y = images.new_zeros(6, 5, 1, 1), images.new_zeros(6, LABELS)
    for _ in range(2):
        h1 = torch.tanh(up1 + functional.conv_transpose2d(h2, c2, stride=2) + b1)
        up2 = functional.conv2d(h1, c2, stride=2)
        h2 = torch.tanh(up2 + (y @ v).view_as(h2) + b2)
        y = (h2.flatten(1) @ v.t() + b).softmax(1)
        h2 = torch.tanh(up2 + (y @ v).view_as(h2) + b2)
    torch.testing.assert_close(made(images).logits.softmax(1), y, atol=1e-12, rtol=0)


@pytest.mark.parametrize("gamma", [0.0, 0.1])
def test_orders_are_those_of_the_thesis(gamma, images):
    made = network(passes=3, gamma=gamma)
    order = ("H1", "H2", "Y", "H2") if gamma else ("H1", "H2", "Y")
    values = made.graph.minimise({"X": images}, order, 3)
    torch.testing.assert_close(made(images).logits.softmax(1), values["Y"], atol=1e-12, rtol=0)
    given = functional.one_hot(GOLD, LABELS).double()
    values = made.graph.minimise({"Y": given}, ("H2", "H1", "X", "H1"), 3)
    torch.testing.assert_close(made.prototypes(GOLD), values["X"], atol=1e-12, rtol=0)
    again = made.graph.minimise({"Y": given}, ("H2", "H1", "X", "H1"), 2)
    torch.testing.assert_close(made.prototypes(GOLD, 2), again["X"], atol=1e-12, rtol=0)


@pytest.mark.parametrize("kind", ["mlp", "convnet"])
def test_the_energy_never_increases(kind, images):
    made = network(kind)
    draw = torch.Generator().manual_seed(3)

    def values_of(name):
        value = made.graph.minimise({"X": images}, ("H1", "H2", "Y"))[name]
        start = torch.rand(value.shape, generator=draw, dtype=value.dtype)
        return start.softmax(1) if name == "Y" else 2 * start - 1

    start = {name: values_of(name) for name in ("X", "H1", "H2", "Y")}
    order = ("H2", "X", "Y", "H1", "H2", "Y", "X", "H1")
    descent = made.graph.descent({}, order, start)
    energy = made.graph.energy(descent.values)
    for name in order:
        descent.run([name])
        after = made.graph.energy(descent.values)
        assert (after <= energy + 1e-9).all()
        energy = after
    assert (energy < made.graph.energy(start) - 0.1).all()


def test_given_pixels_never_move_and_hidden_ones_are_inferred(images):
    made = network()
    hidden = torch.zeros(SHAPE, dtype=torch.bool)
    hidden[:, 6:] = True
    found = made.complete(images, hidden, 3)
    rows = found.unbind(2)
    assert all(torch.equal(rows[place], images[:, :, place]) for place in range(6))
    other = images.masked_fill(hidden, 0.7)
    assert torch.equal(made.complete(other, hidden, 3), found)  # it cannot see what is hidden
    assert not torch.allclose(found, images)
    masks = hidden.expand_as(images).clone()
    masks[1] = False
    torch.testing.assert_close(made.complete(images, masks, 3)[1], images[1], atol=0, rtol=0)


@pytest.mark.parametrize("initialisation", ["zero", "random", "uniform"])
@pytest.mark.parametrize("passes", [Passes(2, test=2), Passes(2, test=CONVERGE)])
def test_a_batch_gives_what_each_image_gives_alone(passes, initialisation, images):
    made = network(passes=passes, initialisation=initialisation)
    found = made(images, GOLD, with_energy=True)
    for place in range(len(images)):
        part = slice(place, place + 1)
        alone = made(images[part], GOLD[part], with_energy=True)
        for name in ("logits", "energy", "label_losses", "image_losses", "losses", "passes"):
            torch.testing.assert_close(
                getattr(found, name)[part], getattr(alone, name), atol=1e-10, rtol=0
            )


def test_losses_are_cross_entropies_of_labels_and_pixels(images):
    made = network(passes=2, gamma=0.25)
    found = made(images, GOLD)
    labels = -found.logits.log_softmax(1)[torch.arange(6), GOLD]
    # tanh(t) gives t back, and the sigmoid of t is the probability of a pixel.
    on = made.prototypes(GOLD).atanh().sigmoid()
    pixels = -torch.where(images > 0, on, 1 - on).log().flatten(1).mean(1)
    torch.testing.assert_close(found.label_losses, labels)
    torch.testing.assert_close(found.image_losses, pixels)
    torch.testing.assert_close(found.losses, labels + 0.25 * pixels)
    assert pixel_losses(torch.tensor([[40.0, -40.0]]), torch.tensor([[1.0, -1.0]])) < 1e-9


def test_dropout_is_for_classification_alone(images):
    made = network(passes=2, dropout=0.5)
    kept = made(images, GOLD)
    dropped = made.train()(images, GOLD)
    assert torch.equal(kept.image_losses, dropped.image_losses)
    assert (kept.label_losses != dropped.label_losses).all()
    (slope,) = torch.autograd.grad(dropped.image_losses.sum(), made.graph.factors["X_H1"].weight)
    made.eval().zero_grad()
    singly = sum(made(images[i : i + 1], GOLD[i : i + 1]).image_losses.sum() for i in range(6))
    (alone,) = torch.autograd.grad(singly, made.graph.factors["X_H1"].weight)
    torch.testing.assert_close(slope, alone)


def test_losses_and_energies_of_half_precision_are_summed_in_float32(images):
    half = torch.bfloat16
    made = network(passes=2).to(half)
    found = made(images.to(half), GOLD, with_energy=True)
    expected = functional.cross_entropy(found.logits.double(), GOLD, reduction="none")
    assert (found.label_losses - expected).abs().max() < 1e-6
    assert {found.losses.dtype, found.image_losses.dtype, found.energy.dtype} == {torch.float32}
    found.losses.sum().backward()
    assert {weight.grad.dtype for weight in made.parameters()} == {half}


def test_the_first_label_is_zero_uniform_or_random(images):
    uniform, start = network(initialisation="uniform"), torch.full((6, LABELS), 1 / LABELS)
    values = uniform.graph.minimise({"X": images}, ("H1", "H2", "Y"), start={"Y": start.double()})
    torch.testing.assert_close(uniform(images).logits.softmax(1), values["Y"])
    random, zero = network(initialisation="random"), network()
    assert torch.equal(random(images).logits, random(images).logits)
    assert not torch.allclose(random(images).logits, zero(images).logits)
    assert not torch.allclose(random(images).logits, uniform(images).logits)
    random.train()  # without dropout, so that only the first label differs
    assert not torch.equal(random(images).logits, random(images).logits)
    with pytest.raises(ValueError, match="unknown initialisation 'ones'; choose one of zero"):
        network(initialisation="ones")


def test_convergence_ends_each_image_at_a_fixed_point(images):
    one, many = (network(passes=Passes(test=CONVERGE, tolerance=tolerance, most=200))
                 for tolerance in (9.0, 1e-9))  # fmt: skip
    found = one(images)
    torch.testing.assert_close(found.logits, plain(one, images))
    assert found.passes.tolist() == [1] * 6
    found = many(images, with_energy=True)
    assert found.passes.max() < 200 and len(set(found.passes.tolist())) > 1
    for place, passes in enumerate(found.passes.tolist()):
        fixed = network(passes=passes)(images[place : place + 1])
        torch.testing.assert_close(found.logits[place : place + 1], fixed.logits)
    values = many.graph.converge({"X": images}, many.classification, 1e-9, 200).values
    for name in ("H1", "H2", "Y"):  # no variable moves any more, in whatever order
        again = many.graph.minimise({"X": images}, (name,), start=values)[name]
        torch.testing.assert_close(again, values[name], atol=1e-7, rtol=0)
    torch.testing.assert_close(found.energy, many.graph.energy(values), atol=1e-9, rtol=0)


@pytest.mark.parametrize("kind", ["mlp", "convnet"])
def test_gradients_of_unrolled_networks(kind, images):
    made = network(kind, 2)
    names, weights = zip(*made.named_parameters(), strict=True)

    def losses(*given):
        state = dict(zip(names, given, strict=True))
        return torch.func.functional_call(made, state, (images[:2], GOLD[:2])).losses.sum()

    assert torch.autograd.gradcheck(losses, tuple(w.detach().requires_grad_() for w in weights),
                                    fast_mode=True)  # fmt: skip
    assert all(grad.abs().sum() > 0 for grad in torch.autograd.grad(losses(*weights), weights))


@pytest.mark.parametrize(
    ("k", "count"), [(1, 50_026), (2, 51_220), (3, 51_651), (4, 53_608), (5, 51_750)]
)
def test_untied_networks_have_the_parameters_of_table_5_4(k, count):
    made = UntiedConvnet((1, 28, 28), 10, k)
    assert sum(weight.numel() for weight in made.parameters()) == count
    tied = UndirectedConvnet((1, 28, 28), 10, Passes(k, test=k))
    assert sum(weight.numel() for weight in tied.parameters()) == 50_026


def test_an_untied_network_with_the_same_weights_everywhere_is_the_tied_one(images):
    tied = network(passes=3, gamma=0.0)
    untied = UntiedConvnet(SHAPE, LABELS, 3, (4, 15)).double().eval()
    for graph in untied.graphs:
        graph.load_state_dict(tied.graph.state_dict())
    found, wanted = untied(images, GOLD), tied(images, GOLD)
    torch.testing.assert_close(found.losses, wanted.losses, atol=1e-12, rtol=0)
    assert found.passes.tolist() == [3] * 6 and found.energy is None
    untied.graphs[1].variables["H1"].bias.data += 1
    assert not torch.allclose(untied(images).logits, wanted.logits)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: UndirectedConvnet((1, 10, 10), 3, Passes()), "too small"),
        (lambda: UndirectedConvnet((1, 12, 14), 3, Passes()), "must be square, not 12 by 14"),
        (lambda: UntiedConvnet(SHAPE, 3, 5, (4, 4)), "4 channels cannot be divided among 5"),
        (lambda: UndirectedMLP(SHAPE, 3, (), Passes()), "needs a hidden layer"),
        (lambda: UndirectedMLP(SHAPE, 3, (5,), Passes(), gamma=-1), "gamma must be 0 or more"),
    ],
)
def test_networks_that_cannot_be(make, message):
    with pytest.raises(ValueError, match=message):
        make()
