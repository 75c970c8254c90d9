//! Properties: each written once, used by the property tests, the fuzz targets and the replay of the corpus.
