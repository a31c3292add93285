"""Graph breaks as values: the catalogue of kinds, one occurrence, the errors that are no breaks."""
