"""What several verbs share: their options for paths and trained models."""
