"""Key files: what is a key, what is refused, and that refusing never means open."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as how
from hypothesis import strategies as st
from qwen3090_ops.api import keys, settings
from qwen3090_ops.api.middleware import Api

from .fake import KEY, OTHER, Inside, get, scope_of

GOOD = {
    "keys": None,
    "served_name": "m",
    "max_body_bytes": 1000,
    "max_json_depth": 10,
    "max_grammar_repeats": 100,
    "keep_alive_interval": 0,
    "request_log": True,
    "speculation": False,
}


def test_several_keys_comments_and_blank_lines() -> None:
    text = f"# mine\n\n  {KEY}\t\r\n#{OTHER}x\n{OTHER}"
    assert keys.parse(text, "file") == [KEY, OTHER]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "file: holds no key"),
        ("# only\n\n", "file: holds no key"),
        (f"{KEY}\nshort", "file:2: "),
        (f"{KEY} {OTHER}", "file:1: "),
        ("sch\u00fcssel-of-16-characters", "file:1: "),
        (f"{KEY}\n\n{KEY}\x7f", "file:3: "),
    ],
)
def test_refusals_name_the_line_and_not_the_key(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says) as caught:
        keys.parse(text, "file")
    assert not [word for word in text.split() if len(word) > 4 and word in str(caught.value)]


@how(deadline=None)  # the first example imports the command line
@given(
    st.lists(
        st.one_of(
            st.text(max_size=24),
            st.sampled_from([KEY, OTHER, "#x", "", " ", KEY[:15], KEY[:16], "\x1c", "\u2028"]),
        ),
        max_size=4,
    )
)
def test_the_command_line_reads_key_files_the_same_way(lines: list[str]) -> None:
    keyfile = pytest.importorskip("qwen3090.config.keyfile")
    text = "\n".join(lines)

    def result(parse: object, *more: str) -> list[str] | None:
        try:
            return parse(text, *more)  # type: ignore[operator, no-any-return]
        except ValueError:
            return None

    assert result(keys.parse, "file") == result(keyfile.parse_keys)


def test_the_command_line_names_the_same_variables_and_settings() -> None:
    api = pytest.importorskip("qwen3090.serve.api")
    from qwen3090.config import resolve

    assert api.API_SETTINGS == settings.VARIABLE
    assert api.API_KEYS == settings.KEYS_VARIABLE
    assert api.FROM_VARIABLE == settings.FROM_VARIABLE
    config = resolve("fast", environ={}).config
    found = settings.read({settings.VARIABLE: api.api_settings(config, {})})
    assert found.keys is None
    assert found.served_name == config.served_name


@pytest.mark.parametrize(
    "text", [None, "", "{}", "[]", "null", "{", json.dumps(GOOD | {"more": 1})]
)
def test_without_its_settings_the_server_does_not_start(
    text: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(settings.VARIABLE, raising=False)
    if text is not None:
        monkeypatch.setenv(settings.VARIABLE, text)
    with pytest.raises(RuntimeError, match=r"QWEN3090_API.*qwen3090 serve"):
        Api(Inside())


@pytest.mark.parametrize("content", [None, "", "short", b"\xff\xfe"])
def test_without_its_keys_the_server_does_not_start(
    tmp_path: Path, content: str | bytes | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "keys"
    if content is not None:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    monkeypatch.setenv(settings.VARIABLE, json.dumps(GOOD | {"keys": str(path)}))
    with pytest.raises(RuntimeError, match=str(path)):
        Api(Inside())


def test_a_variable_that_is_gone_does_not_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(settings.VARIABLE, json.dumps(GOOD | {"keys": settings.FROM_VARIABLE}))
    monkeypatch.delenv(settings.KEYS_VARIABLE, raising=False)
    with pytest.raises(RuntimeError, match="is not set, and a key is required"):
        Api(Inside())
    monkeypatch.setenv(settings.KEYS_VARIABLE, KEY)
    app = Api(Inside())
    assert get(app, scope_of()).status == 401
    bearer = [(b"authorization", f"Bearer {KEY}".encode())]
    assert get(app, scope_of(headers=bearer)).status == 200
