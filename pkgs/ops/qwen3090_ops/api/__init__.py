"""What stands between the network and vLLM's API: key, limits, keep-alive, clear errors, log.

vLLM loads it through `--middleware`, so it is the outermost layer of the server.
"""
