"""Serves made-up requests with vLLM's own scheduler over a memory that knows what it holds."""
