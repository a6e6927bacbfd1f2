"""The files of an exported model.

::

    FOLDER/README.md             the model card, to be edited
    FOLDER/config.json           architecture, task, options, versions; SHA-256 of the other files
    FOLDER/model.safetensors     the parameters
    FOLDER/data/data-bin/        dictionaries, and settings of the prepared data
    FOLDER/data/                 segmentation model and manifest of the prepared data
    FOLDER/encoder/              configuration and tokenizer of a pretrained encoder, if any
"""

FORMAT, NUMBER = "fairseq-struct", 1
TRANSFORMERS = "transformers"  # a model of Hugging Face's library
FORMATS = (FORMAT, TRANSFORMERS)
CARD, CONFIG, WEIGHTS = "README.md", "config.json", "model.safetensors"
DATA, ENCODER = "data", "encoder"
DATA_BIN = f"{DATA}/data-bin"
# Lists the files of an export for another library, whose own ``config.json`` it has.
EXPORT = "export.json"
