"""The rendered command line: golden files for each profile, ownership of flags, shell and JSON."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from qwen3090.config import profile_names, resolve
from qwen3090.config.engine_rules import OWNED_FLAGS, SHARED_FLAGS, owner_of
from qwen3090.serve.dryrun import as_json, as_shell
from qwen3090.serve.render import Launch, render

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
PLACES = ("model=/models/target", "drafter=/models/drafter", "api_key_file=/run/key")
REFRESH = "QWEN3090_UPDATE_GOLDEN=1 python -m pytest cli/tests/serve/test_render.py"


def launch(profile: str, *sets: str, inherited: dict[str, str] | None = None) -> Launch:
    config = resolve(profile, sets=[*PLACES, *sets], environ={}).require()
    return render(config, inherited or {})


def value(found: Launch, flag: str) -> str:
    return found.argv[found.argv.index(flag) + 1]


@pytest.mark.parametrize("profile", profile_names())
def test_golden(profile: str) -> None:
    """Each profile's exact command line and environment."""
    text = as_shell(launch(profile)).replace(sys.executable, "python") + "\n"
    path = GOLDEN / f"{profile}.sh"
    if os.environ.get("QWEN3090_UPDATE_GOLDEN") == "1":
        path.write_text(text)
    assert path.read_text() == text, f"differs from {path.name}; when meant: {REFRESH}"


def test_no_golden_file_without_a_profile() -> None:
    assert {path.stem for path in GOLDEN.glob("*.sh")} == set(profile_names())


@pytest.mark.parametrize("profile", profile_names())
def test_every_flag_has_its_setting(profile: str) -> None:
    sets = ("temperature=0", "kv_bytes=1GiB")
    flags = [word for word in launch(profile, *sets).argv if word.startswith("--")]
    assert {flag for flag in flags if not owner_of(flag)} <= SHARED_FLAGS


def test_every_owned_flag_is_rendered_somewhere() -> None:
    seen: set[str] = set()
    for profile in profile_names():
        for extra in ((), ("eager=true",)):
            seen.update(launch(profile, *extra).argv)
    assert set(OWNED_FLAGS) - seen == {"--api-key"}


@pytest.mark.parametrize("profile", [name for name in profile_names() if name != "demo"])
def test_gpu_profiles_say_everything(profile: str) -> None:
    found = launch(profile)
    caching = {"--enable-prefix-caching", "--no-enable-prefix-caching"} & set(found.argv)
    assert len(caching) == 1
    assert ("--mamba-cache-mode" in found.argv) == ("--enable-prefix-caching" in found.argv)
    assert value(found, "--kv-cache-memory-bytes").isdigit()
    assert value(found, "--mamba-ssm-cache-dtype") == "float16"
    assert found.environment["VLLM_USE_V2_MODEL_RUNNER"] == "1"
    if "--speculative-config" in found.argv:
        drafting = json.loads(value(found, "--speculative-config"))
        assert drafting["method"] in ("mtp", "dflash")
        assert drafting["draft_sample_method"] == "probabilistic"


def test_the_drafters_cache_and_kernels_are_named() -> None:
    sets = ("kv_format=int8", "drafter_kv_format=bf16")
    drafting = json.loads(value(launch("fast", *sets), "--speculative-config"))
    assert drafting["kv_cache_dtype"] == "bfloat16"
    assert drafting["attention_backend"] == "FLASH_ATTN"


def test_greedy_mtp_drafts_take_the_best_of_the_short_vocabulary() -> None:
    greedy = json.loads(value(launch("fast-mtp", "draft_sampling=greedy"), "--speculative-config"))
    assert greedy["use_local_argmax_reduction"] is True
    for found in (launch("fast-mtp"), launch("fast", "draft_sampling=greedy")):
        other = json.loads(value(found, "--speculative-config"))
        assert "use_local_argmax_reduction" not in other


def test_exact_graph_sizes() -> None:
    compilation = json.loads(value(launch("fast", "graph_sizes=[64, 8]"), "--compilation-config"))
    assert compilation["cudagraph_capture_sizes"] == [8, 64]
    assert "max_cudagraph_capture_size" not in compilation


@pytest.mark.parametrize(
    ("profile", "sets", "expected"),
    [
        (
            "fast-mtp",
            "mtp_draft_vocab=0",
            {"mtp_draft_vocab": False, "draft_truncation": True, "split_attention": True},
        ),
        (
            "fast",
            "draft_truncation=0",
            {"candidate_topk": "flashinfer", "draft_truncation": False, "split_attention": True},
        ),
        (
            "fast",
            "draft_sampling=greedy",
            {"candidate_topk": "flashinfer", "split_attention": True},
        ),
        (
            "fast-mtp",
            "split_attention=0",
            {"mtp_draft_vocab": True, "draft_truncation": True, "split_attention": False},
        ),
        (
            "long",
            "candidate_topk=torch",
            {"candidate_topk": "torch", "draft_truncation": True, "split_attention": True},
        ),
        (
            "huge",
            "split_attention=0",
            {"candidate_topk": "flashinfer", "draft_truncation": True, "split_attention": False},
        ),
        ("batch-262k", "split_attention=0", {"split_attention": False}),
        (
            "long-mtp",
            "kv_format=fp8 draft_tokens=3",
            {"mtp_draft_vocab": True, "draft_truncation": True},
        ),
    ],
)
def test_knobs_that_are_compiled_travel_where_vllm_hashes_them(
    profile: str, sets: str, expected: dict[str, object]
) -> None:
    found = launch(profile, *sets.split())
    assert json.loads(value(found, "--additional-config")) == {"qwen3090": expected}


def test_inherited_variables() -> None:
    inherited = {
        "PATH": "/bin",
        "VLLM_MARLIN_INPUT_DTYPE": "",
        "VLLM_LOGGING_LEVEL": "DEBUG",
        "VLLM_PLUGINS": "other",
        "VLLM_USE_V2_MODEL_RUNNER": "0",
        "QWEN3090_SEATS": "8",
        "NOTIFY_SOCKET": "/run/notify",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    found = launch("fast", inherited=inherited)
    assert found.removed == (
        "NOTIFY_SOCKET",
        "PYTHONDONTWRITEBYTECODE",
        "QWEN3090_SEATS",
        "VLLM_MARLIN_INPUT_DTYPE",
    )
    assert found.environment["VLLM_PLUGINS"] == "qwen3090"
    wanted = launch("fast", 'engine.env={"VLLM_MARLIN_INPUT_DTYPE": "int8"}', inherited=inherited)
    assert wanted.environment["VLLM_MARLIN_INPUT_DTYPE"] == "int8"
    assert "VLLM_MARLIN_INPUT_DTYPE" not in wanted.removed


def test_the_guard_is_the_outermost_middleware() -> None:
    """vLLM puts a later --middleware outside an earlier one; a user's own must not come after."""
    found = launch("fast", "engine.args=--middleware mine.Layer --seed 1")
    layers = [found.argv[i + 1] for i, word in enumerate(found.argv) if word == "--middleware"]
    assert layers[-1] == "qwen3090_ops.api.middleware.Api"
    assert "mine.Layer" in layers


def test_the_api_layer_is_told_everything() -> None:
    sets = ("max_body_bytes=1MiB", "max_json_depth=20", "keep_alive_interval=0", "request_log=0")
    assert json.loads(launch("fast", *sets).environment["QWEN3090_API"]) == {
        "keys": "/run/key",
        "served_name": "qwen3.8-27b",
        "max_body_bytes": 2**20,
        "max_json_depth": 20,
        "max_grammar_repeats": 4000,
        "keep_alive_interval": 0,
        "request_log": False,
        "speculation": True,
    }


def test_code_that_would_stand_outside_the_guard_is_not_inherited() -> None:
    names = ("CUSTOM_FASTAPI_MIDDLEWARE_THROTTLE", "CUSTOM_PRE_PROCESS", "SAGEMAKER_MODEL_PATH")
    found = launch("fast", inherited=dict.fromkeys(names, "mine.py:layer"))
    assert set(found.removed) == set(names)


def test_the_shell_text_runs_as_printed() -> None:
    code = "import json, os, sys; print(json.dumps([sys.argv[1:], dict(os.environ)]))"
    command = json.dumps([sys.executable, "-c", code])
    inherited = {"VLLM_STRAY": "1", "VLLM_API_KEY": "the-key-that-is-in-the-environment"}
    sets = (f"engine.command={command}", "served_name=it's", "api_key_file=none")
    found = launch("fast", *sets, inherited=inherited)
    text = as_shell(found)
    assert "the-key" not in text
    # An argument of env could be read by every user.
    assert text.index("QWEN3090_API_KEYS=") < text.index("env ")
    done = subprocess.run(
        ["bash", "-c", text], env=os.environ | inherited, capture_output=True, check=True
    )
    arguments, environment = json.loads(done.stdout)
    assert arguments == list(found.argv[3:])
    assert environment["QWEN3090_API_KEYS"] == inherited["VLLM_API_KEY"]
    assert not {"VLLM_API_KEY", "VLLM_STRAY"} & set(environment)
    assert {k: environment[k] for k in found.environment} == found.environment


def test_json_shows_no_key() -> None:
    resolved = resolve("fast", sets=PLACES[:2], environ={})
    found = render(resolved.require(), {"VLLM_API_KEY": "the-key-that-is-in-the-environment"})
    document = json.loads(as_json(resolved, found))
    assert document["argv"] == list(found.argv)
    assert document["environment"]["QWEN3090_API_KEYS"] == "<from VLLM_API_KEY>"
    assert "the-key" not in json.dumps(document)
    assert document["settings"]["seats"] == 8


@pytest.mark.engine
def test_vllms_own_parser_accepts() -> None:
    """The real parser of the installed vLLM reads what we render, flag for flag."""
    pytest.importorskip("vllm")
    launches = {profile: launch(profile) for profile in profile_names()}
    lines = {p: found.argv[found.argv.index("/models/target") :] for p, found in launches.items()}
    code = """
import dataclasses, json, sys
from vllm.config import SpeculativeConfig
from vllm.engine.arg_utils import AsyncEngineArgs
from vllm.entrypoints.openai.cli_args import make_arg_parser, validate_parsed_serve_args
from vllm.utils.argparse_utils import FlexibleArgumentParser
keys = ("max_model_len", "kv_cache_memory_bytes", "kv_cache_dtype", "shutdown_timeout")
found = {}
for profile, words in json.loads(sys.argv[1]).items():
    args = make_arg_parser(FlexibleArgumentParser()).parse_args(words)
    validate_parsed_serve_args(args)
    AsyncEngineArgs.from_cli_args(args)
    names = {field.name for field in dataclasses.fields(SpeculativeConfig)}
    assert set(args.speculative_config or {}) <= names, args.speculative_config
    found[profile] = {key: getattr(args, key) for key in keys}
print(json.dumps(found))
"""
    done = subprocess.run(
        [sys.executable, "-c", code, json.dumps(lines)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    for profile, parsed in json.loads(done.stdout.splitlines()[-1]).items():
        found = launches[profile]
        assert str(parsed["max_model_len"]) == value(found, "--max-model-len")
        assert str(parsed["kv_cache_memory_bytes"]) == value(found, "--kv-cache-memory-bytes")
        assert parsed["kv_cache_dtype"] == value(found, "--kv-cache-dtype")
        assert parsed["shutdown_timeout"] == 10, "half of kill_timeout"


def test_a_relative_directory_is_no_flag() -> None:
    found = launch("fast", "model=--trust-remote-code", "drafter=d")
    assert found.argv[found.argv.index("serve") + 1] == str(Path.cwd() / "--trust-remote-code")
    assert f'"model":"{Path.cwd() / "d"}"' in " ".join(found.argv)
