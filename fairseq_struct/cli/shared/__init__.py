"""What several verbs share, paths and trained models as options; and parts of long verbs."""
