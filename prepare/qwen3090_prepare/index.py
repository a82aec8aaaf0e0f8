"""model.safetensors.index.json: sorted, with the payload of every file in ``total_size``."""

import json


def index_bytes(weight_map: dict[str, str], total: int) -> bytes:
    """Serialize an index; ``total`` is the payload of all tensors in bytes."""
    content = {"metadata": {"total_size": total}, "weight_map": dict(sorted(weight_map.items()))}
    return (json.dumps(content, indent=2) + "\n").encode()
