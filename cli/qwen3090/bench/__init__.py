"""``qwen3090 bench``: what a server does, measured with its conditions, or no number at all.

Layers: a target (where the server is), a stream (one timed request), counters (what the server
itself counted), suites (what is asked), conditions (what was run on what), reports.
"""
