"""Serve Qwen3.8-27B on one RTX 3090: profiles, memory plan, patches, set-up and supervision."""

__version__ = "0.1.0"
