"""Where weights come from: the catalogue, the Hub, the package index, folders. Needs no model code."""
