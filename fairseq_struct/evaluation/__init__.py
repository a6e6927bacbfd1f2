"""Evaluation of predicted trees and sentence pairs, from files or from a model in training."""
