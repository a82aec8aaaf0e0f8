"""What the running engine really uses, told from inside its worker: `qwen3090 verify --live`.

``extension`` adds one method to vLLM's worker (``--worker-extension-cls``), ``middleware`` serves
its answer as ``GET /qwen3090/engine`` (``--middleware``). Nothing here repeats a setting: each fact
is read off the loaded layers, the allocated cache, the captured graphs and vLLM's registries.
"""
