"""The synthetic experiment with latent clusters: its data, the V-measure, the network."""

import pytest
import torch

from fairseq_struct.data.datasets.cluster_instances import ClusterMixtureDataset
from fairseq_struct.data.generators.cluster_mixture import generate_mixture
from fairseq_struct.errors import InputError
from fairseq_struct.metrics.v_measure import _counted, contingency_table, v_measure
from fairseq_struct.modules.latent_clusters import BASELINES, LATENT_METHODS, LatentClassifier

LATENT = [method for method in LATENT_METHODS if method not in BASELINES]


def tiny(clusters=2, size=400, seed=3):
    samples = {"train": size}, {"test": size}
    return generate_mixture(samples, clusters, dim=10, sigma=0.3, seed=seed)


# Data


def test_data_are_the_same_for_the_same_seed_only():
    first, again, other = (generate_mixture([{"train": 50}], seed=s)["train"] for s in (1, 1, 2))
    for name in ("inputs", "targets", "clusters"):
        assert torch.equal(getattr(first, name), getattr(again, name))
        assert not torch.equal(getattr(first, name), getattr(other, name))


def test_default_data_are_the_papers():
    """Label counts and corners of the data that the published generator draws from seed 42."""
    mixture = generate_mixture(({"train": 5000, "valid": 1000}, {"test": 1000}), clusters=3)
    train, test = mixture["train"], mixture["test"]
    assert torch.bincount(train.clusters).tolist() == [1657, 1711, 1632]
    assert torch.bincount(test.clusters).tolist() == [356, 322, 322]
    assert train.targets.sum() == 2482 and test.targets.sum() == 502


def test_every_sample_has_balanced_labels_in_every_cluster():
    """Subsets are cut from one sample in order; a subset may lack a cluster."""
    whole = generate_mixture([{"train": 60}], clusters=40, dim=5)["train"]
    parts = generate_mixture([{"train": 50, "valid": 10}], clusters=40, dim=5)
    for name in ("inputs", "targets", "clusters"):
        joined = torch.cat([getattr(parts[subset], name) for subset in ("train", "valid")])
        assert torch.equal(getattr(whole, name), joined)
    counts = torch.bincount(whole.clusters, minlength=40)
    positive = torch.zeros(40).index_add(0, whole.clusters, whole.targets)
    assert (counts == 0).any()
    several = counts > 1
    assert (positive[several] > 0).all() and (positive < counts)[several].all()


def test_data_have_the_stated_distribution():
    samples = {"train": 20_000, "valid": 1}, {"test": 20_000}
    mixture = generate_mixture(samples, clusters=4, dim=30, sigma=0.5)
    train, test = mixture["train"], mixture["test"]
    assert torch.bincount(train.clusters).tolist() == pytest.approx([5000] * 4, rel=0.06)
    for cluster in range(4):
        x, y = train.inputs[train.clusters == cluster], train.targets[train.clusters == cluster]
        centre = x.mean(0)
        assert torch.allclose(x.std(0), torch.tensor(0.5), atol=0.03)
        covariance = torch.cov(x.T) - 0.25 * torch.eye(30)
        assert covariance.abs().max() < 0.03
        assert centre.std() == pytest.approx(1, abs=0.4)
        assert y.mean() == pytest.approx(0.5, abs=0.04)
        # Linear in the cluster: the direction that separates the means separates the labels,
        # in the other subsets too, because their clusters are the same.
        direction = x[y == 1].mean(0) - x[y == 0].mean(0)
        own = test.clusters == cluster
        agree = ((test.inputs[own] - centre) @ direction > 0) == test.targets[own].bool()
        assert agree.float().mean() > 0.94


def test_batches_hold_every_instance_and_are_repeated():
    instances = tiny(size=50)["train"]
    dataset = ClusterMixtureDataset(instances, batches_per_epoch=5)
    batches = dataset.batch_by_size(dataset.ordered_indices(), None, 20, 8)
    assert [len(batch) for batch in batches] == [20, 20, 10, 20, 20]
    sample = dataset.collater(dataset.__getitems__(batches[2]))
    assert torch.equal(sample["net_input"]["inputs"], instances.inputs[40:])
    assert sample["id"].tolist() == list(range(40, 50))
    everything = dataset.collater([dataset[index] for index in range(50)])
    assert everything["net_input"]["targets"] is instances.targets


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"clusters": 1}, "at least 2 clusters, not 1"),
        ({"dim": 0}, "dimension"),
        ({"sigma": 0.0}, "sigma"),
        ({"samples": [{"train": 5}, {"valid": 0}]}, "the valid set needs"),
    ],
)
def test_impossible_data_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        generate_mixture(**{"samples": [{"train": 5}]} | options)


# V-measure


def test_v_measure_of_known_tables():
    assert v_measure(torch.tensor([[0, 5], [7, 0]])) == pytest.approx(100)
    assert v_measure(torch.tensor([[5, 0], [5, 0]])) == 0
    assert v_measure(torch.tensor([[4, 4], [4, 4]])) == pytest.approx(0)
    # Two classes, one split in halves: h = 1, c = ln 2 / (1.5 ln 2).
    table = torch.tensor([[2, 2, 0], [0, 0, 4], [0, 0, 0]])
    assert v_measure(table) == pytest.approx(100 * 2 * (2 / 3) / (1 + 2 / 3))
    with pytest.raises(ValueError, match="no instances"):
        v_measure(torch.zeros(2, 2))
    with pytest.raises(ValueError, match="a cluster is outside 0 to 1"):
        contingency_table(torch.tensor([0, 1]), torch.tensor([0, 2]), 2)
    with pytest.raises(ValueError, match="a class is outside 0 to 1"):
        contingency_table(torch.tensor([0, -1]), torch.tensor([0, 1]), 2)


def test_without_a_look_at_the_labels_torch_refuses_what_is_out_of_range():
    """As on accelerators, where a check of the labels would wait for the device."""
    for label in (-1, 2):
        for labels in ((torch.tensor([label]), torch.tensor([0])),
                       (torch.tensor([0]), torch.tensor([label]))):  # fmt: skip
            with pytest.raises(IndexError):
                _counted(*labels, 2)


def test_v_measure_agrees_with_scikit_learn():
    sklearn = pytest.importorskip("sklearn.metrics")
    classes, clusters = torch.randint(5, (2, 300), generator=torch.Generator().manual_seed(1))
    clusters = torch.where(torch.arange(300) < 150, classes, clusters)
    expected = 100 * sklearn.v_measure_score(classes, clusters)
    assert v_measure(contingency_table(classes, clusters, 5)) == pytest.approx(expected)


# Network


def test_gold_decoder_trains_the_rows_of_its_clusters_only():
    """The gradient of row k is the mean of (p - y) x over the instances of cluster k, for y = 1,
    and its negative for y = 0."""
    data = tiny(clusters=3)["train"]
    network = LatentClassifier(10, 3, "gold")
    some = data.clusters != 1
    x, y, z = data.inputs[some], data.targets[some], data.clusters[some]
    output = network(x, y, z)
    output.losses.mean().backward()
    zero, one = ((w[z] * x).sum(1) for w in network.decoder_weight)
    logits = one - zero + network.decoder_bias.diff()
    assert torch.allclose(output.logits, logits.detach(), atol=1e-5)
    assert torch.equal(output.clusters, z)
    gradient = network.decoder_weight.grad
    assert torch.equal(gradient[:, 1], torch.zeros(2, 10))
    error = (logits.sigmoid() - y).detach()
    for k in (0, 2):
        expected = (error * (z == k)) @ x / len(x)
        assert torch.allclose(gradient[:, k], torch.stack((-expected, expected)), atol=1e-6)


@pytest.mark.parametrize("method", LATENT)
def test_every_method_gives_the_encoder_a_gradient(method):
    data = tiny(clusters=3, size=60)["train"]
    torch.manual_seed(1)
    network = LatentClassifier(10, 3, method, step_size=0.5, steps=2, temperature=0.7)
    for _ in range(2):  # the first loss is its own moving average, and sfe_baseline's gradient 0
        network.zero_grad()
        network(**vars(data)).losses.mean().backward()
    for parameter in network.parameters():
        assert parameter.grad.isfinite().all()
        assert parameter.grad.abs().max() > 0


@pytest.mark.parametrize("method", LATENT)
def test_evaluation_draws_nothing(method):
    """Argmax methods read the best choice, relaxed methods their relaxation, both without noise."""
    data = tiny(clusters=3, size=60)["train"]
    network = LatentClassifier(10, 3, method, temperature=0.5).eval()
    output, again = (network(**vars(data)) for _ in range(2))
    assert torch.equal(output.logits, again.logits)
    scores = network.encoder(data.inputs)
    z = torch.nn.functional.one_hot(scores.argmax(1), 3).float()
    if method == "softmax":
        z = scores.softmax(1)
    elif method == "gumbel_softmax":
        z = (scores / 0.5).softmax(1)
    elif method == "sparsemax":
        assert not torch.equal(output.logits, _decoded(network, data.inputs, z))
        return
    assert torch.allclose(output.logits, _decoded(network, data.inputs, z), atol=1e-5)


def _decoded(network, x, z):
    """z' W x + b as in eq. 4.15: the score of one label minus that of the other."""
    scores = torch.einsum("bk,ykd,bd->by", z, network.decoder_weight, x) + network.decoder_bias
    return scores[:, 1] - scores[:, 0]


def test_networks_have_the_parameters_of_the_papers():
    """Mihaylova's thesis, table A.1: 2K without and 3K with an encoder."""
    for method, expected in (("gold", 2_000), ("spigot", 3_000)):
        parameters = LatentClassifier(100, 10, method).parameters()
        assert sum(p.numel() for p in parameters) == pytest.approx(expected, abs=20)


def test_baselines_have_no_encoder():
    assert LatentClassifier(10, 3, "linear").decoder_weight.shape == (2, 1, 10)
    assert all(LatentClassifier(10, 3, method).encoder is None for method in BASELINES)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "spiggot"}, "unknown latent method 'spiggot'; choose one of linear"),
        ({"clusters": 1}, "at least 2 clusters"),
        ({"step_size": 0.0}, "step size"),
        ({"steps": 0}, "pullback steps"),
        ({"temperature": -1.0}, "temperature"),
    ],
)
def test_impossible_networks_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        LatentClassifier(**{"dim": 4, "clusters": 3, "method": "spigot"} | options)


@pytest.mark.parametrize("method", ["softmax", "ste_identity", "spigot_ce"])
def test_clusters_beat_the_linear_model_where_it_cannot_do(method):
    """Two clusters with opposite classifiers: no linear model is better than chance."""
    generator = torch.Generator().manual_seed(1)
    z = torch.randint(2, (500,), generator=generator)
    x = torch.randn(500, 6, generator=generator)
    x[:, 0] = 4.0 * z - 2
    y = (x[:, 1] * (2 * z - 1) > 0).float()
    accuracies = []
    for name in (method, "linear"):
        torch.manual_seed(1)
        network = LatentClassifier(6, 2, name)
        optimizer = torch.optim.AdamW(network.parameters(), lr=0.03)
        for _ in range(300):
            optimizer.zero_grad()
            network(x, y, z).losses.mean().backward()
            optimizer.step()
        output = network.eval()(x, y, z)
        accuracies.append(float(((output.logits > 0) == y.bool()).float().mean()))
    assert accuracies[0] > 0.9 and accuracies[1] < 0.65
