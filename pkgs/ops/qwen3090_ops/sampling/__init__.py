"""Sampling on vLLM's V2 runner: truncation without sorting, for the target and for drafts."""
