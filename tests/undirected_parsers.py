"""Undirected parsers of given vectors, and the biaffine parser that they begin with."""

import torch
from torch import nn

from fairseq_struct.modules.undirected import Passes
from fairseq_struct.modules.undirected.parser import UndirectedParser


class Vectors(nn.Module):
    """An encoder of given vectors."""

    size = 6

    def forward(self, tokens, lengths):
        return tokens


def words_and_lengths():
    torch.manual_seed(4)
    lengths = torch.tensor([4, 2, 5, 1])
    words = torch.randn(4, 5, 6, dtype=torch.float64)
    words[torch.arange(5) >= lengths[:, None]] = 0
    return words, lengths


def parser(passes=1, weight=0.4, **options):
    torch.manual_seed(3)
    made = UndirectedParser(Vectors(), 5, passes=Passes(passes, test=passes), **options).double()
    for parameter in made.parameters():
        nn.init.normal_(parameter, std=weight)
    return made.eval()


def weights_of(network):
    graph = network.graph
    names = ("heads", "modifiers", "arcs", *(["root"] if network.learned_root else []))
    return [graph.variables[name].bias for name in "hm"] + [
        graph.factors[name].weight for name in names
    ]


def biaffine(network, words):
    """Z = H^T V M of Dozat and Manning's parser, words as rows; row 0 of H is the root's."""
    head_bias, modifier_bias, to_head, to_modifier, v, *root = weights_of(network)
    heads = (words @ to_head.T + head_bias).relu()
    if root:
        heads = torch.cat([root[0].T.relu().expand(len(words), 1, -1), heads], 1)
    modifiers = (words @ to_modifier.T + modifier_bias).relu()
    return heads, modifiers, packed(torch.einsum("bid,de,bje->bij", heads, v, modifiers))


def packed(scores):
    """Of (n + 1) heads and n modifiers, the root first, with the root's on the diagonal."""
    if scores.size(1) == scores.size(2):
        return scores
    diagonal = torch.eye(scores.size(2), dtype=torch.bool)
    return torch.where(diagonal, scores[:, :1], scores[:, 1:])


def unpacked(arcs):
    """The other way round."""
    root = arcs.diagonal(dim1=1, dim2=2)
    return torch.cat([root.unsqueeze(1), arcs - torch.diag_embed(root)], 1)
