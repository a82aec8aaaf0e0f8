"""Where settings come from: precedence, types, empty values, unknown names, and who is blamed."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from qwen3090.config import ConfigError, Resolved, resolve
from qwen3090.config.problems import Problem


def get(
    profile: str | None = "fast",
    *sets: str,
    file: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> Resolved:
    return resolve(profile, config_file=file, sets=sets, environ=environ or {})


def fails(
    *sets: str, file: Path | None = None, environ: Mapping[str, str] | None = None
) -> tuple[Problem, ...]:
    with pytest.raises(ConfigError) as caught:
        get(None, *sets, file=file, environ=environ)
    return caught.value.problems


def write(directory: Path, text: str) -> Path:
    path = directory / "server.toml"
    path.write_text(text)
    return path


def test_each_source_wins_over_the_one_before(tmp_path: Path) -> None:
    file = write(tmp_path, 'profile = "long"\nseats = 5\nport = 5000\ncontext = 5000\n')
    environ = {"QWEN3090_SEATS": "6", "QWEN3090_PORT": "6000"}
    found = get(None, "seats=7", file=file, environ=environ)
    assert found.profile == "long"
    assert (found.config.seats, found.config.port, found.config.context) == (7, 6000, 5000)
    assert found.config.kv_format == "int8"
    assert found.origins["seats"] == "--set"
    assert found.origins["port"] == "QWEN3090_PORT"
    assert found.origins["context"] == f"{file}:4"
    assert found.origins["kv_format"] == "profile long"
    assert found.origins["served_name"] == "default"
    assert found.origins["attention_backend"] == "from kv_format = int8"


@pytest.mark.parametrize(
    ("argument", "environ", "wanted"),
    [
        ("batch", {"QWEN3090_PROFILE": "huge"}, "batch"),
        (None, {"QWEN3090_PROFILE": "huge"}, "huge"),
        (None, {"QWEN3090_PROFILE": ""}, "long"),
        (None, {}, "long"),
    ],
)
def test_the_profile_has_the_same_precedence(
    tmp_path: Path, argument: str | None, environ: dict[str, str], wanted: str
) -> None:
    file = write(tmp_path, 'profile = "long"\n')
    assert get(argument, file=file, environ=environ).profile == wanted


def test_fast_is_the_default_profile() -> None:
    assert get(None).profile == "fast"


@pytest.mark.parametrize("text", ["true", "True", "TRUE", "1"])
def test_true(text: str) -> None:
    assert get("demo", f"tools={text}").config.tools is True


@pytest.mark.parametrize("text", ["false", "False", "0"])
def test_false(text: str) -> None:
    assert get("demo", f"tools={text}").config.tools is False


@pytest.mark.parametrize("text", ["yes", "on", "2", "t", "enabled"])
def test_other_words_are_no_booleans(text: str) -> None:
    (problem,) = fails(f"tools={text}")
    assert "expected true, false, 1 or 0" in problem.text


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("5583457484", 5_583_457_484),
        ("5_583_457_484", 5_583_457_484),
        ("5.2GiB", 5_583_457_484),
        ("6 GiB", 6 << 30),
        ("512mib", 512 << 20),
        ("2.5GB", 2_500_000_000),
    ],
)
def test_sizes(text: str, size: int) -> None:
    assert get("fast", f"kv_bytes={text}").config.kv_bytes == size


@pytest.mark.parametrize("text", ["5.2", "GiB", "5XB", "-1", "lots", "0"])
def test_what_is_no_size(text: str) -> None:
    (problem,) = fails(f"kv_bytes={text}")
    assert problem.text.startswith(f"kv_bytes = '{text}'")


def test_an_empty_string_is_unset(tmp_path: Path) -> None:
    file = write(tmp_path, 'served_name = ""\nseats = 5\n')
    found = get("fast", "seats=", file=file, environ={"QWEN3090_SEATS": ""})
    assert found.config.seats == 5
    assert found.config.served_name == "qwen3.8-27b"


def test_none_clears_an_optional_setting() -> None:
    assert get("fast", "kv_bytes=none").config.kv_bytes is None
    (problem,) = fails("seats=none")
    assert "seats" in problem.text


def test_numbers_are_not_booleans(tmp_path: Path) -> None:
    (problem,) = fails(file=write(tmp_path, "seats = true\n"))
    assert "expected a number" in problem.text


def test_an_unknown_key_names_the_nearest_and_its_line(tmp_path: Path) -> None:
    file = write(tmp_path, "# a comment\nseats = 4\ncontxt = 4096\n")
    (problem,) = fails(file=file)
    assert problem.where == f"{file}:3"
    assert "unknown setting 'contxt'" in problem.text
    assert problem.next_step == "did you mean 'context'?"


def test_an_unknown_variable_names_the_nearest() -> None:
    (problem,) = fails(environ={"QWEN3090_SEAT": "4", "OTHER": "x"})
    assert "QWEN3090_SEAT" in problem.text
    assert problem.next_step == "did you mean QWEN3090_SEATS?"


def test_variables_of_other_parts_are_no_settings() -> None:
    environ = {"QWEN3090_TINY_TRAINED": "/somewhere", "QWEN3090_STATE": "/state"}
    assert get("fast", environ=environ).profile == "fast"


def test_a_set_without_equals_sign() -> None:
    (problem,) = fails("seats")
    assert "no '='" in problem.text


def test_all_problems_are_reported_at_once(tmp_path: Path) -> None:
    file = write(tmp_path, 'contxt = 1\nkv_format = "int9"\n')
    found = fails("port=0", file=file, environ={"QWEN3090_SEATS": "many", "QWEN3090_X": "1"})
    text = "\n".join(str(item) for item in found)
    for word in ("contxt", "kv_format", "port", "seats", "QWEN3090_X"):
        assert word in text
    assert len(found) == 5


def test_a_wrong_choice_lists_the_choices() -> None:
    (problem,) = fails("kv_format=int9")
    assert problem.next_step == "kv_format = bf16 | fp8 | int8 | int4"
    assert problem.where == "--set"


@pytest.mark.parametrize("text", ["seats = \n", "[seats", '"a'])
def test_a_broken_file(tmp_path: Path, text: str) -> None:
    (problem,) = fails(file=write(tmp_path, text))
    assert "not valid TOML" in problem.text
    assert "server.toml" in problem.text


def test_a_missing_file(tmp_path: Path) -> None:
    (problem,) = fails(file=tmp_path / "absent.toml")
    assert "absent.toml: cannot be read" in problem.text


def test_paths_in_a_file_are_relative_to_it(tmp_path: Path) -> None:
    file = write(tmp_path, 'model = "prepared"\ndrafter = "/models/d"\n')
    config = get("fast", file=file).config
    assert config.model == tmp_path / "prepared"
    assert config.drafter == Path("/models/d")


def test_the_engine_table(tmp_path: Path) -> None:
    text = '[engine]\ncommand = ["a", "b c"]\n[engine.env]\nOMP_NUM_THREADS = 2\n'
    found = get("fast", "engine.args=--seed 7", file=write(tmp_path, text))
    assert found.config.engine.command == ("a", "b c")
    assert found.config.engine.env == {"OMP_NUM_THREADS": "2"}
    assert found.config.engine.args == ("--seed", "7")
    environ = {"QWEN3090_ENGINE_COMMAND": '["x", "y z"]'}
    assert get("fast", environ=environ).config.engine.command == ("x", "y z")


def test_a_setting_gives_way_when_its_owner_changes_above() -> None:
    found = get("fast", "speculation=none")
    assert (found.config.draft_tokens, found.origins["draft_tokens"]) == (
        0,
        "from speculation = none",
    )
    assert not found.problems
    assert get("fast", "speculation=mtp").config.draft_tokens == 3
    assert get("fast", "speculation=mtp", "draft_tokens=2").config.draft_tokens == 2
    assert get("fast", "kv_format=int8").config.attention_backend == "TRITON_ATTN"
    same = get("fast-mtp", "speculation=mtp")
    assert same.config.draft_tokens == 4


def test_the_model_defaults_to_the_state_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QWEN3090_STATE", "/state")
    config = get("fast").config
    assert config.model == Path("/state/prepared/fast")
    assert config.drafter == Path("/state/models/drafter")
    assert get("batch").config.model == Path("/state/prepared/base")
    assert get("fast", "variant=base").config.model == Path("/state/prepared/base")
    assert get("demo").config.model is None


def test_every_variable_the_project_reads_is_known() -> None:
    """A variable that some part reads and serve does not know would stop serve."""
    import re

    from qwen3090.config.model import keys
    from qwen3090.config.sources import NOT_SETTINGS

    root = Path(__file__).resolve().parents[3]
    folders = ("cli/qwen3090", "prepare/qwen3090_prepare", "pkgs/ops/qwen3090_ops")
    files = [path for folder in folders for path in (root / folder).rglob("*.py")]
    used = {name for path in files for name in re.findall(r"QWEN3090_[A-Z_]+", path.read_text())}
    known = {"QWEN3090_" + key.replace(".", "_").upper() for key in ("profile", *keys())}
    assert len(files) > 20
    assert used - known - NOT_SETTINGS == set()


@pytest.mark.parametrize(
    ("change", "drafter"),
    [
        ("kv_format=int8", "int8"),
        ("kv_format=fp8", "fp8"),
        ("kv_format=int4", "int8"),
        ("speculation=mtp kv_format=int4", "int4"),
        ("speculation=mtp kv_format=int8", "int8"),
        ("kv_format=int8 drafter_kv_format=bf16", "bf16"),
    ],
)
def test_the_drafters_format_gives_way_to_the_models(change: str, drafter: str) -> None:
    assert get("fast", *change.split()).config.drafter_kv_format == drafter


def test_a_mark_of_windows_editors_is_no_error(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_bytes(b"\xef\xbb\xbfseats = 2\r\n")
    assert resolve(config_file=file, environ={}).config.seats == 2


def test_home_is_written_out_for_every_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    file = tmp_path / "c.toml"
    file.write_text('drafter = "~/d"\n')
    found = resolve(
        config_file=file, sets=["model=~/m"], environ={"QWEN3090_API_KEY_FILE": "~/k"}
    ).config
    assert (found.model, found.drafter) == (tmp_path / "m", tmp_path / "d")
    assert found.api_key_file == tmp_path / "k"


def test_an_unknown_table_is_found_by_its_line(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text("seats = 2\n[foo]\na = 1\n")
    with pytest.raises(ConfigError) as caught:
        resolve(config_file=file, environ={})
    assert f"{file}:2" in caught.value.message
