"""Every refusal is provoked, names its settings and its cure; what is allowed stays allowed."""

from pathlib import Path

import pytest
from qwen3090.config import ConfigError, profile_names, resolve, unavailable
from qwen3090.config.engine_rules import owner_of
from qwen3090.config.files import file_problems

CASES = [
    ("demo", [], "model is not set", "--set model=DIRECTORY"),
    ("fast", ["drafter=none", "speculation=dflash2", "device=cpu"], "needs Triton", "runner=v1"),
    ("fast-mtp", ["model=/m/DFlash2-tuned"], "'dflash' in the path", "ln -s"),
    ("fast-mtp", ["model=/m/eagle-x"], "'eagle-' in the path", "ln -s"),
    ("fast-mtp", ["model=/m/eagle3"], "'eagle3' in the path", "ln -s"),
    ("fast-mtp", ["model=/dspark/m"], "'dspark' in the path", "ln -s"),
    ("fast", ["served_name=a b"], "no spaces", "served_name"),
    ("fast", ["context=262145"], "longest is 262144", "context=262144"),
    (
        "fast",
        ["seats=300", "graph_sizes=64"],
        "= 2400 tokens do not fit",
        "max_batched_tokens=2400",
    ),
    ("fast", ["graph_sizes=7"], "none would use a graph", "graph_sizes=64"),
    ("fast", ["graph_sizes=513"], "more than 512 tokens", "graph_sizes=512"),
    ("fast", ["graph_sizes=[8, 600]"], "more than 512 tokens", "graph_sizes=512"),
    ("fast", ["max_batched_tokens=64", "graph_sizes=128"], "more than 64 tokens", "graph_sizes=64"),
    ("fast", ["speculation=none", "draft_tokens=2"], "with speculation = none", "draft_tokens=0"),
    ("fast", ["draft_tokens=0"], "with speculation = dflash2", "speculation=none"),
    ("fast", ["draft_tokens=8"], "block holds 7", "draft_tokens=7"),
    ("long-mtp", ["kv_format=fp8"], "FlashInfer crashes", "draft_tokens=3"),
    ("long", ["attention_backend=FLASH_ATTN"], "cannot read kv_format = int8", "TRITON_ATTN"),
    ("huge", ["attention_backend=FLASHINFER"], "cannot read kv_format = int4", "TRITON_ATTN"),
    ("batch", ["attention_backend=TRITON_ATTN"], "cannot read kv_format = fp8", "FLASHINFER"),
    ("long", ["drafter_attention_backend=FLASH_ATTN"], "drafter_kv_format = int8", "TRITON_ATTN"),
    ("huge", ["drafter_attention_backend=FLASH_ATTN"], "drafter_kv_format = int8", "TRITON_ATTN"),
    ("fast", ["runner=v1"], "without the candidate selector", "runner=v2"),
    (
        "fast-mtp",
        ["runner=v1", "prefix_cache=0"],
        "probabilistic is served",
        "draft_sampling=greedy",
    ),
    (
        "fast-mtp",
        ["runner=v1", "prefix_cache=0", "draft_sampling=greedy", "rejection_sampling=block"],
        "v1 would ignore it",
        "rejection_sampling=standard",
    ),
    (
        "fast-mtp",
        ["runner=v1", "draft_sampling=greedy"],
        "tail of draft_tokens",
        "prefix_cache=false",
    ),
    ("demo", ["model=/m", "runner=v2"], "which the CPU engine has not", "runner=v1"),
    ("demo", ["model=/m", "prefix_cache=1"], "needs a Triton kernel", "prefix_cache=false"),
    ("demo", ["model=/m", "temperature=0.7"], "above temperature 0", "temperature=0"),
    ("demo", ["model=/m", "temperature=none"], "above temperature 0", "temperature=0"),
    ("demo", ["model=/m", "kv_format=int8"], "keeps a bf16 cache", "kv_format=bf16"),
    ("demo", ["model=/m", "int8_activations=mlp"], "no such kernel", "int8_activations=none"),
    (
        "batch",
        ['engine.env={"VLLM_MARLIN_INPUT_DTYPE": "int8"}'],
        "VLLM_MARLIN_INPUT_DTYPE beside",
        "engine.env",
    ),
    ("demo", ["model=/m", "kv_bytes=none"], "the pool must be named", "kv_bytes=1GiB"),
    ("fast", ["host=0.0.0.0"], "reached from other machines", "api_key_file=FILE"),
    ("fast", ["host=::"], "reached from other machines", "api_key_file=FILE"),
    ("fast", ["host=box.example"], "reached from other machines", "api_key_file=FILE"),
    ("fast", ["engine.args=--port 1"], "--port belongs to the setting port", "use port instead"),
    ("fast", ["engine.args=--api-key=x"], "belongs to the setting api_key_file", "api_key_file"),
    ("fast", ["engine.args=-sc {}"], "belongs to the setting speculation", "speculation"),
    ("fast", ['engine.env={"VLLM_API_KEY": "x"}'], "readable in the configuration", "api_key_file"),
    ("fast", ["engine.command=[]"], "engine.command is empty", "engine.command=none"),
]


@pytest.mark.parametrize(("profile", "sets", "text", "cure"), CASES)
def test_refused(profile: str, sets: list[str], text: str, cure: str) -> None:
    found = resolve(profile, sets=sets, environ={})
    matching = [item for item in found.problems if text in item.text]
    assert matching, [str(item) for item in found.problems]
    assert cure in matching[0].next_step
    if sets:
        assert "--set" in matching[0].where
    with pytest.raises(ConfigError) as caught:
        found.require()
    assert caught.value.exit_code == 64


def test_every_rule_is_provoked() -> None:
    import inspect

    from qwen3090.config import engine_rules, rules

    refusals = inspect.getsource(rules).count("yield Found(") + inspect.getsource(
        engine_rules
    ).count("yield Found(")
    texts = {text for _, _, text, _ in CASES}
    # dflash2 without a drafter cannot be reached from a profile: the default fills it in.
    assert len(texts) >= refusals - 1


def test_dflash2_without_a_drafter() -> None:
    from qwen3090.config import rules

    config = resolve("fast", environ={}).config.model_copy(update={"drafter": None})
    assert any("drafter is not set" in item.text for item in rules.problems(config))


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "[::1]", "localhost"])
def test_loopback_needs_no_key(host: str) -> None:
    assert not resolve("fast", sets=[f"host={host}"], environ={}).problems


def test_a_wide_address_with_a_key_is_allowed() -> None:
    found = resolve("fast", sets=["host=0.0.0.0", "api_key_file=/run/key"], environ={})
    assert not found.problems


@pytest.mark.parametrize(
    ("sets", "text"),
    [
        (["graph_sizes=32"], "beyond 4 running requests a step uses no graph"),
        (["state_dtype=bf16"], "7 mantissa bits"),
    ],
)
def test_notes(sets: list[str], text: str) -> None:
    found = resolve("fast", sets=sets, environ={})
    assert not found.problems
    assert text in found.notes[0].text


@pytest.mark.parametrize("name", profile_names())
def test_profiles_have_no_problems_and_no_notes(name: str) -> None:
    found = resolve(name, sets=["model=/models/target"], environ={})
    assert (found.problems, found.notes) == ((), ())


GPU_EXPLICIT = {
    "context", "seats", "kv_format", "kv_bytes", "gpu_memory_utilization", "prefix_cache",
    "speculation", "draft_tokens", "draft_sampling", "state_dtype", "runner", "async_scheduling",
    "max_batched_tokens", "variant",
}  # fmt: skip


@pytest.mark.parametrize("name", [name for name in profile_names() if name != "demo"])
def test_gpu_profiles_write_out_what_matters(name: str) -> None:
    found = resolve(name, environ={})
    assert {key for key in GPU_EXPLICIT if found.origins[key] == f"profile {name}"} == GPU_EXPLICIT
    assert found.config.runner == "v2"


@pytest.mark.parametrize("name", unavailable())
def test_unavailable_profiles_say_why(name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve(name, environ={})
    assert unavailable()[name] in caught.value.message


def test_a_misspelt_profile() -> None:
    with pytest.raises(ConfigError, match="did you mean 'fast'"):
        resolve("fats", environ={})


@pytest.mark.parametrize(
    ("flag", "owner"),
    [
        ("--no-enable-prefix-caching", "prefix_cache"),
        ("--max_model_len", "context"),
        ("--max-model", "context"),
        ("--speculative-config=x", "speculation"),
        ("--seed", ""),
        ("--enable-log-requests", ""),
        ("--chat-template", ""),
    ],
)
def test_owner_of_a_flag(flag: str, owner: str) -> None:
    assert owner_of(flag) == owner


GOOD = "0123456789abcdef"


@pytest.mark.parametrize(
    ("content", "mode", "text"),
    [
        (None, 0, "cannot be read"),
        ("", 0o600, "holds no key"),
        ("  \n", 0o600, "holds no key"),
        ("# good-key-of-16-characters\n", 0o600, "holds no key"),
        (f"{GOOD}\ntwo words are no key", 0o600, "line 2: a key is printable ASCII"),
        ("sch\u00fcssel-of-16-characters", 0o600, "line 1: a key is printable ASCII"),
        (f"# short\n\n{GOOD[:15]}", 0o600, "line 3: a key has 16 characters or more"),
        (GOOD, 0o644, "read by every user"),
        (GOOD, 0o600, ""),
        (f"{GOOD}\n", 0o440, ""),
        (f"# ours\n  {GOOD}  \n\n# theirs\r\n{GOOD}2\r\n", 0o600, ""),
    ],
)
def test_the_key_file(tmp_path: Path, content: str | None, mode: int, text: str) -> None:
    path = tmp_path / "key"
    if content is not None:
        path.write_text(content)
        path.chmod(mode)
    config = resolve("fast", sets=[f"api_key_file={path}"], environ={}).config
    found = list(file_problems(config, {}))
    if not text:
        assert not found
    else:
        assert text in found[0].text
        assert str(path) in found[0].next_step
        assert GOOD[:15] not in found[0].text


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ("--ho 0.0.0.0", "belongs to the setting host"),
        ("--po=1", "belongs to the setting port"),
        ("--compilation-config.mode 3", "belongs to the setting graph_sizes"),
        ("-cc.mode=3", "belongs to the setting graph_sizes"),
        ("--speculative_config.method=mtp", "belongs to the setting speculation"),
        ("--config other.yaml", "is refused: it would hide flags"),
        ("--uds /run/socket", "is refused: the supervisor asks"),
        ("--ssl-keyfile k", "reverse proxy"),
        ("--block-size 32", "memory plan would not hold"),
        ("-ac.backend=FLASH_ATTN", "is refused: attention_backend"),
    ],
)
def test_no_spelling_of_a_flag_slips_past_its_setting(args: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve("fast", sets=[f"engine.args={args}"], environ={}).require()
    assert says in caught.value.message


@pytest.mark.parametrize("args", ["--middleware m.f", "--seed 3", "-tp 1", "--max-log-len=9"])
def test_other_flags_pass(args: str) -> None:
    resolve("fast", sets=[f"engine.args={args}"], environ={}).require()


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ('engine.env={"A;touch x": "1"}', "'A;touch x' is not a variable's name"),
        ('engine.env={"": "1"}', "'' is not a variable's name"),
        ('engine.env={"A=B": "1"}', "'A=B' is not a variable's name"),
        ('engine.env={"A": "x\\u0000y"}', "engine.env holds a NUL byte"),
        ("served_name=a\0b", "served_name holds a NUL byte"),
        ("served_name=--host=0.0.0.0", "no '-' at the beginning"),
        ("graph_sizes=[-3, 64]", "1 token or more"),
        ("graph_sizes=0", "1 token or more"),
    ],
)
def test_what_no_process_can_be_started_with(setting: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve("fast", sets=[setting], environ={}).require()
    assert says in caught.value.message


@pytest.mark.parametrize(
    "setting", ["health_interval=inf", "health_interval=1e12", 'engine.env={"A": [1]}']
)
def test_values_that_no_clock_or_variable_holds(setting: str) -> None:
    with pytest.raises(ConfigError):
        resolve("fast", sets=[setting], environ={})


def test_a_boolean_variable_is_1_or_0() -> None:
    config = resolve("fast", sets=['engine.env={"A": true, "B": 2}'], environ={}).require()
    assert config.engine.env == {"A": "1", "B": "2"}
