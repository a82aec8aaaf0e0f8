"""The suites by name. One that asks with our own client has ``plan``, the others have ``run``."""

import importlib
from types import ModuleType

# name -> (module, one line for --help)
SUITES = {
    "chat": ("chat", "eight prompts of our own: chat, code, English and other languages"),
    "copy": ("copying", "reproduce, edit, quote and list from a document of 25,000 tokens"),
    "depth": ("depth", "decode and prefill at 4,096 to 250,000 tokens"),
    "ladder": ("ladder", "1 to 64 streams at once, by vllm bench serve"),
    "prefill": ("prefill", "prompts of 1,024 to 100,000 tokens, by vllm bench serve"),
    "prefix": ("prefix", "a second question on the same document"),
    "cold-start": ("coldstart", "starts the server itself: process to ready to first token"),
}


def load(name: str) -> ModuleType:
    """Return a suite's module."""
    return importlib.import_module(f"qwen3090.bench.suites.{SUITES[name][0]}")
