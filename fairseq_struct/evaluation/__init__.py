"""Predictions against gold: trees and pairs of sentences, of files or of a model in training."""
