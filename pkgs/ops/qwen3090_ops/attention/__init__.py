"""Attention of a verify step: several query tokens a request over a long, paged cache."""
