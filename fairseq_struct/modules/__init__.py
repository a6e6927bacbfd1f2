"""The papers' networks as plain PyTorch modules, usable without fairseq."""
