"""The poolings, decoders and backbones that RE compares, beside the configuration that ships."""
