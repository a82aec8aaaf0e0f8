"""Requantize a checkpoint of the architecture: pure, streaming, byte-reproducible steps."""
