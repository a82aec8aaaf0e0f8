# The scenario, for NixOS's test driver: `home` has no key and listens on loopback, `lan` is on the
# network with one.
# The driver gives it the machines and its own functions; default.nix gives it KEY.
# ruff: noqa: F821
import json

PORT = 18020
URL = f"http://127.0.0.1:{PORT}"


def about(machine):
    return json.loads(machine.succeed(f"curl -sf {URL}/stub/about"))


def main_pid(machine):
    return machine.succeed("systemctl show -P MainPID qwen3090.service").strip()


def wait_for_new_engine(machine, old_pid):
    def changed(last):
        status, output = machine.execute(f"curl -sf -m 2 {URL}/stub/about")
        return status == 0 and json.loads(output)["pid"] != old_pid

    retry(changed, 60)
    machine.wait_for_unit("qwen3090.service")


start_all()

with subtest("ready only after a token was generated"):
    home.wait_for_unit("qwen3090.service")
    home.succeed("journalctl -u qwen3090.service | grep -F 'ready after'")

with subtest("loopback only"):
    listening = home.succeed(f"ss -Hltn 'sport = :{PORT}'").split("\n")
    assert all("127.0.0.1:" in line for line in listening if line), listening
    lan.wait_for_unit("multi-user.target")
    lan.fail(f"curl -sf -m 5 http://home:{PORT}/health")

with subtest("not root, and no write outside its directories"):
    facts = about(home)
    assert facts["uid"] != 0, facts["uid"]
    assert facts["writable"] == [], facts["writable"]
    assert facts["cache"], "the cache directory cannot be written"
    assert "NOTIFY_SOCKET" not in facts["environment"]

with subtest("the engine speaks with nobody outside"):
    lan.wait_for_unit("qwen3090.service")
    home.succeed(f"curl -sf -m 5 http://lan:{PORT}/health")
    assert home.succeed(f"curl -sf {URL}/stub/reach/lan") == "false"
    assert home.succeed(f"curl -sf {URL}/stub/reach/127.0.0.1") == "true"
    # The same question where it is allowed.
    assert lan.succeed(f"curl -sf {URL}/stub/reach/lan") == "true"

with subtest("a killed engine comes back"):
    old = about(home)["pid"]
    home.succeed(f"kill -9 {old}")
    wait_for_new_engine(home, old)

with subtest("a killed supervisor leaves nothing behind, and comes back"):
    old = about(home)["pid"]
    home.succeed(f"kill -9 {main_pid(home)}")
    wait_for_new_engine(home, old)
    home.fail(f"test -d /proc/{old}")

with subtest("a hung engine is caught by the watchdog"):
    old = about(home)["pid"]
    home.succeed(f"curl -sf -X POST {URL}/stub/hang")
    wait_for_new_engine(home, old)
    home.succeed("journalctl -u qwen3090.service | grep -i 'watchdog timeout'")

with subtest("the power limit is set before, and waking up restarts"):
    home.succeed("journalctl -u qwen3090-power-limit.service | grep -e '-i 0 -pl 250'")
    old = about(home)["pid"]
    home.succeed("systemctl start qwen3090-resume.service")
    wait_for_new_engine(home, old)

with subtest("a stop is clean"):
    home.succeed("systemctl stop qwen3090.service")
    assert "success" in home.succeed("systemctl show -P Result qwen3090.service")
    home.succeed("systemctl start qwen3090.service")

with subtest("wrong settings are not tried again"):
    home.succeed("mkdir -p /run/systemd/system/qwen3090.service.d")
    home.succeed(
        "printf '[Service]\\nEnvironment=QWEN3090_SEATS=none\\n'"
        " > /run/systemd/system/qwen3090.service.d/wrong.conf && systemctl daemon-reload"
    )
    home.fail("systemctl restart qwen3090.service")
    assert home.succeed("systemctl show -P ExecMainStatus qwen3090.service").strip() == "64"
    assert home.succeed("systemctl show -P ActiveState qwen3090.service").strip() == "failed"
    home.succeed("rm /run/systemd/system/qwen3090.service.d/wrong.conf && systemctl daemon-reload")

with subtest("with a key: the network, the key, and nowhere the key's text"):
    lan.wait_for_unit("qwen3090.service")
    home.succeed(f"curl -sf -m 5 http://lan:{PORT}/health")
    request = (
        f"curl -s -m 5 -o /dev/null -w '%{{http_code}}' -d '{{}}' http://lan:{PORT}/v1/completions"
    )
    assert home.succeed(request).strip() == "401"
    assert home.succeed(f"{request} -H 'Authorization: Bearer {KEY}'").strip() == "200"
    text = f"[{KEY[0]}]{KEY[1:]}"  # does not find its own command line
    lan.fail(f"systemctl cat qwen3090.service | grep '{text}'")
    lan.fail(f"journalctl | grep '{text}'")
    lan.fail(f"cat /proc/[0-9]*/cmdline | tr '\\0' '\\n' | grep -e '{text}' -e '^--api-key'")
    lan.fail(f"grep -q '{text}' /proc/{main_pid(lan)}/environ")
    environment = about(lan)["environment"]
    assert not [name for name, value in environment.items() if KEY in value]
    assert "/run/credentials/qwen3090.service/api-key" in environment["QWEN3090_API"]
