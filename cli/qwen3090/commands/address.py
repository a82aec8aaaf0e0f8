"""The option ``--url``: a server's address, checked before anything is done with it."""

from urllib.parse import urlsplit

import click


class Address(click.ParamType[str]):
    """``HOST:PORT`` or ``http(s)://HOST:PORT``; a trailing ``/v1`` is the API's and taken off."""

    name = "url"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the address with a scheme and without a trailing slash; "" stays as it is.

        Raises:
            click.BadParameter: it is not the address of an HTTP server.
        """
        if not value:
            return value
        text = value if "//" in value else f"http://{value}"
        try:
            parts = urlsplit(text)
            good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:  # a port that is no number, a bracket that is not closed
            good = False
        if not good or parts.query or parts.fragment:
            self.fail(f"'{value}' is not an address such as http://127.0.0.1:18020", param, ctx)
        return text.rstrip("/").removesuffix("/v1")


ADDRESS = Address()
