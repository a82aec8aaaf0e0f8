"""The order of the live checks; a server without the report is a stock one, and fails them all."""

from collections.abc import Iterator

from qwen3090.config import ServeConfig
from qwen3090.config.files import read_keys
from qwen3090.data import data_file
from qwen3090.patches import load_series, series_hash
from qwen3090.verify.catalogue import CATALOGUE, entry
from qwen3090.verify.gate import gate
from qwen3090.verify.live.client import Client, url_of
from qwen3090.verify.live.compare import compare
from qwen3090.verify.live.facts import promise
from qwen3090.verify.live.requests import check_requests, finding
from qwen3090.verify.report import Finding, Status

ROUTE = "/qwen3090/engine"
KEY = "--set api_key_file=FILE, or --config FILE: the key that the server was started with"


def check_live(config: ServeConfig, url: str = "") -> Iterator[Finding]:
    """Yield what a running server does and uses.

    Args:
        config: the settings that it was started with.
        url: its address; the settings' host and port by default.
    """
    try:
        keys = read_keys(config)
    except (OSError, ValueError) as error:
        yield finding("live.health", f"the key cannot be read: {error}", "")
        return
    client = Client(url or url_of(config), keys[0] if keys else None)
    health = client.get("/health")
    if health.status != 200:
        yield finding("live.health", f"{client.url}/health: {health}", "")
        yield Finding("live", Status.SKIP, "the other live checks need a server")
        return
    if client.get("/v1/models").status == 401:
        has = "refuses the key of these settings" if client.key else "wants a key, and none is set"
        yield Finding("live.auth", Status.FAIL, f"/v1/models answers 401: the server {has}", KEY)
        yield Finding("live", Status.SKIP, "the other live checks need the server's key")
        return
    asked = [
        finding("live.health", "", f"{client.url}/health answers 200"),
        *check_requests(client, config),
    ]
    reports, why = _reports(client)
    if not reports:
        cure = entry("live.report").next
        yield from gate(asked, False, cure)
        yield Finding("live.report", Status.FAIL, why, cure)
        done = {each.check for each in asked} | {"live.report"}
        for item in CATALOGUE:
            if item.name.startswith("live.") and item.name not in done:
                yield Finding(item.name.removesuffix(".*"), Status.FAIL, "no report", cure)
        return
    asked.append(finding("live.report", "", f"{len(reports)} worker answered on {ROUTE}"))
    expected = promise(config, series_hash(load_series(data_file("patches"))))
    found = [each for report in reports for each in compare(expected, report)]
    series = [each for each in found if each.check == "live.series"]
    holds = bool(series) and all(each.status is Status.PASS for each in series)
    yield from gate([*asked, *found], holds, entry("live.series").next)


def _reports(client: Client) -> tuple[list[dict[str, object]], str]:
    """Return each worker's report, or none and why."""
    answer = client.get(ROUTE, timeout=90.0)
    body = answer.json()
    workers = body.get("workers") if isinstance(body, dict) else None
    if answer.status == 200 and isinstance(workers, list) and workers:
        reports = [each for each in workers if isinstance(each, dict)]
        if len(reports) == len(workers):
            return reports, ""
    return [], f"{ROUTE} answers {answer}: not an engine that qwen3090 serve started"
