"""Dependency trees: one distribution, and what goes with heads; inference is behind this door."""

from fairseq_struct.structure.dependency.distribution import DependencyTrees

__all__ = ["DependencyTrees"]
