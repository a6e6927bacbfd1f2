"""Tools of classifiers."""
