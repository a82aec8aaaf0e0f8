"""What PROFILE serves is checked too: settings, key file, and the directories when they exist."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from qwen3090.main import cli
from qwen3090.verify import Asked, Finding, Status, verify
from qwen3090.verify.settings import check_settings


@pytest.fixture(autouse=True)
def nothing_else(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Leave out installation and weights, which other tests check; keep the state apart."""
    monkeypatch.setattr("qwen3090.verify.run.check_environment", list)
    monkeypatch.setattr("qwen3090.verify.run.check_series", list)
    monkeypatch.setattr("qwen3090.verify.run.check_hooks", list)
    monkeypatch.setattr("qwen3090.verify.run.installed_versions", dict)
    monkeypatch.setattr(
        "qwen3090.verify.run.check_checkpoint",
        lambda path, **_: [Finding("checkpoint", Status.PASS, str(path))],
    )
    monkeypatch.setenv("QWEN3090_STATE", str(tmp_path / "state"))
    monkeypatch.delenv("CREDENTIALS_DIRECTORY", raising=False)


def found(asked: Asked) -> dict[str, Finding]:
    return {finding.check: finding for finding in verify(asked)}


def test_without_a_profile_no_directory_is_looked_at() -> None:
    seen = found(Asked())
    assert seen["checkpoint"].status is Status.SKIP
    assert seen["drafter"].status is Status.SKIP
    assert seen["settings"].status is Status.PASS


def test_a_profiles_directories_are_named_while_they_are_not_there(tmp_path: Path) -> None:
    seen = found(Asked("fast"))
    for check, name in (("checkpoint", "prepared/fast"), ("drafter", "models/drafter")):
        assert seen[check].status is Status.WARN
        assert str(tmp_path / "state" / name) in seen[check].detail
        assert seen[check].next.startswith("qwen3090 up fast")


def test_a_profiles_directories_are_checked_when_they_exist(tmp_path: Path) -> None:
    (tmp_path / "state/prepared/fast").mkdir(parents=True)
    (tmp_path / "state/models/drafter").mkdir(parents=True)
    seen = found(Asked("fast"))
    assert seen["checkpoint"].detail == str(tmp_path / "state/prepared/fast")
    assert seen["drafter.files"].status is Status.FAIL


def test_a_profile_without_drafter_needs_none(tmp_path: Path) -> None:
    (tmp_path / "state/models/drafter").mkdir(parents=True)
    assert found(Asked("fast-mtp"))["drafter"].status is Status.SKIP


def test_a_named_model_must_exist(tmp_path: Path) -> None:
    seen = found(Asked(model=tmp_path / "mine"))
    assert seen["checkpoint"].detail == str(tmp_path / "mine")


@pytest.mark.parametrize(
    ("content", "mode", "says"),
    [
        ("secret-of-16-chars\n", 0o644, "every user"),
        ("", 0o600, "no key"),
        (None, 0, "No such file"),
    ],
)
def test_the_keys_file_is_held_to_serves_rules(
    tmp_path: Path, content: str | None, mode: int, says: str
) -> None:
    key = tmp_path / "key"
    if content is not None:
        key.write_text(content)
        key.chmod(mode)
    finding = found(Asked("fast", sets=[f"api_key_file={key}"]))["settings.key"]
    assert finding.status is Status.FAIL
    assert says in finding.detail
    assert str(key) in finding.next
    assert "secret" not in finding.detail


def test_a_private_key_passes(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("secret-of-16-chars")
    key.chmod(0o600)
    finding = found(Asked("fast", sets=[f"api_key_file={key}"]))["settings.key"]
    assert finding.status is Status.PASS
    assert "secret" not in finding.detail


def test_unservable_settings_fail_each_with_its_cure() -> None:
    _, findings = check_settings(Asked("fast", sets=["draft_tokens=9", "host=0.0.0.0"]))
    wrong = [finding for finding in findings if finding.status is Status.FAIL]
    assert len(wrong) == 2
    assert all("--set" in finding.next for finding in wrong)


def test_unreadable_settings_fail_and_the_rest_goes_on(tmp_path: Path) -> None:
    result = CliRunner().invoke(
        cli, ["verify", "fats", "--model", str(tmp_path / "m"), "--json", "--set", "seets=3"]
    )
    assert result.exit_code == 1
    shown = json.loads(result.stdout)["findings"]
    details = [item["detail"] for item in shown if item["status"] == "FAIL"]
    assert any("'fats'" in text for text in details)
    assert any("'seets'" in text for text in details)
    assert {"checkpoint", "drafter"} <= {item["check"] for item in shown}


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        (["fast"], "qwen3090 plan fast"),
        ([], "qwen3090 plan"),
        (["--config", "my file"], "qwen3090 plan --config 'my file'"),
        (["long", "--set", "a=b c"], "qwen3090 plan long --set 'a=b c'"),
    ],
)
def test_the_next_command_names_what_the_user_named(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], command: str
) -> None:
    bad = [Finding("settings.plan", Status.FAIL, "no room", "qwen3090 plan PROFILE")]
    monkeypatch.setattr("qwen3090.commands.verify.verify", lambda *_, **__: iter(bad))
    shown = CliRunner().invoke(cli, ["verify", *arguments])
    assert f"next: {command}\n" in shown.output
    shown = CliRunner().invoke(cli, ["verify", "--json", *arguments])
    assert json.loads(shown.output)["findings"][0]["next"] == command


def test_unreadable_settings_are_the_reason_for_what_was_left_out(tmp_path: Path) -> None:
    seen = found(Asked(config_file=tmp_path / "absent"))
    assert seen["settings"].status is Status.FAIL
    assert seen["checkpoint"].detail == seen["drafter"].detail == "the settings cannot be read"


@pytest.mark.parametrize("url", ["http://h:port", "http://[::1", "h:99999", "ftp://h", "http://"])
@pytest.mark.parametrize("command", [["verify", "--live"], ["bench", "chat"]])
def test_a_wrong_address_is_an_error_of_usage(command: list[str], url: str) -> None:
    shown = CliRunner().invoke(cli, [*command, "--url", url])
    assert shown.exit_code == 2
    assert "is not an address such as http://" in shown.output


def test_the_apis_base_url_is_an_address_too(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str | None] = []

    def note(*_: object, live: str | None, **__: object) -> list[Finding]:
        asked.append(live)
        return []

    monkeypatch.setattr("qwen3090.commands.verify.verify", note)
    CliRunner().invoke(cli, ["verify", "--live", "--url", "h:18020/v1/"])
    assert asked == ["http://h:18020"]
