"""What Marlin needs beyond vLLM for int8 activations: which layers, and the signs of scales."""
