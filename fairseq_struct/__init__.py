"""fairseq-struct: models with latent discrete structure, as a plugin for fairseq.

The models infer trees, segmentations, clusters or partially decoded sequences while they learn
another task. The networks in ``fairseq_struct.modules`` and the inference routines in
``fairseq_struct.structure`` are plain PyTorch. ``--user-dir user_dir`` registers everything with
fairseq's command-line tools.

Importing this package is fast and does not import fairseq.
"""

__version__ = "0.1.0"

__all__ = ["__version__", "export", "load"]


def load(checkpoint, data=None, **options):
    """Load a trained model: see :func:`fairseq_struct.inference.load`, which imports fairseq."""
    from fairseq_struct.inference import load as load_model

    return load_model(checkpoint, data, **options)


def export(checkpoint, folder, **options):
    """Write a trained model as one folder to keep or to share, which :func:`load` reads.

    See :func:`fairseq_struct.inference.export.writing.export_model`, which imports fairseq.
    """
    from fairseq_struct.inference import export_model

    return export_model(checkpoint, folder, **options)
