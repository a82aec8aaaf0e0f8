"""What the engine's API layer (qwen3090_ops.api) is told: one variable, which holds no secret.

The layer does not start without it: a setting that is lost must never mean "no key".
"""

import json
from collections.abc import Mapping

from qwen3090.config.files import key_path, key_variable
from qwen3090.config.model import ServeConfig

# Names and values as in qwen3090_ops/api/settings.py (a test compares).
API_SETTINGS = "QWEN3090_API"
API_KEYS = "QWEN3090_API_KEYS"
FROM_VARIABLE = "environment"


def api_settings(config: ServeConfig, environ: Mapping[str, str]) -> str:
    """Return the value of API_SETTINGS: where the keys are, and what the layer does."""
    path = key_path(config, environ)
    keys = str(path.absolute()) if path else None
    if key_variable(config, environ):
        keys = FROM_VARIABLE
    found = {
        "keys": keys,
        "served_name": config.served_name,
        "max_body_bytes": config.max_body_bytes,
        "max_json_depth": config.max_json_depth,
        "max_grammar_repeats": config.max_grammar_repeats,
        "keep_alive_interval": config.keep_alive_interval,
        "request_log": config.request_log,
        "speculation": config.speculation != "none",
    }
    return json.dumps(found, separators=(",", ":"))
