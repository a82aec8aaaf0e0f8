"""The settings of the API layer, which `qwen3090 serve` writes into one environment variable.

A server without the variable does not start: what is missing must never mean "no key".
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields

VARIABLE = "QWEN3090_API"
# Holds keys when they came to `qwen3090 serve` as a variable (VLLM_API_KEY), not as a file.
KEYS_VARIABLE = "QWEN3090_API_KEYS"
FROM_VARIABLE = "environment"
NEXT = "start the engine with `qwen3090 serve`"


@dataclass(frozen=True)
class Settings:
    """What the API layer does.

    Attributes:
        keys: path of the key file; FROM_VARIABLE for KEYS_VARIABLE; None for no key.
        served_name: the model's name in the API.
        max_body_bytes: longest body of a request.
        max_json_depth: deepest nesting of brackets in a body.
        max_grammar_repeats: most parts that repetition counts of a body's grammars unfold to.
        keep_alive_interval: seconds of silence before a comment goes into a stream; 0 for never.
        request_log: whether each request gets a line in the log.
        speculation: whether drafts are made, so that tokens a step are worth a word.
    """

    keys: str | None
    served_name: str
    max_body_bytes: int
    max_json_depth: int
    max_grammar_repeats: int
    keep_alive_interval: float
    request_log: bool
    speculation: bool


def read(environ: Mapping[str, str]) -> Settings:
    """Return the settings in the environment.

    Raises:
        RuntimeError: the variable is missing, or is not the object described above.
    """
    text = environ.get(VARIABLE)
    if text is None:
        raise RuntimeError(
            f"{VARIABLE} is not set, so nothing says whether a key is needed; {NEXT}"
        )
    try:
        found = json.loads(text)
        wanted = {field.name for field in fields(Settings)}
        if not isinstance(found, dict) or set(found) != wanted:
            raise ValueError(f"expected an object with exactly {sorted(wanted)}")
        return Settings(**found)
    except ValueError as error:
        raise RuntimeError(f"{VARIABLE}: {error}; {NEXT}") from error
