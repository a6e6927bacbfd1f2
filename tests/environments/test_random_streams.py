"""Streams of different purposes or numbers differ, also where numbers are 0."""

from itertools import product

from fairseq_struct.environments.rollouts.random_streams import PURPOSES, stream


def test_no_two_streams_are_the_same():
    first = {
        (purpose, numbers): stream(purpose, *numbers).integers(2**63)
        for purpose in PURPOSES
        for numbers in product(range(3), repeat=2)
    }
    assert len(set(first.values())) == len(first) == 36
    assert stream("maps", 1, 2).integers(2**63) == first["maps", (1, 2)]
