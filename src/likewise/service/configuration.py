"""How a service is set up: where its log is, who may reach it, and its limits.

Values come from the command, else from environment variables (``LIKEWISE_DATABASE``, ``LIKEWISE_MAX_BATCH`` …), else
from a TOML file, else from the defaults here.
"""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from tomllib import TOMLDecodeError
from typing import Any, Literal

from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, TomlConfigSettingsSource

from likewise.errors import InvalidParameter

DAY = 86_400
"""Seconds."""


class Configuration(BaseSettings):
    """Everything that can be set about a service.

    Examples
    --------
    >>> Configuration(max_batch=64).max_batch
    64
    """

    model_config = SettingsConfigDict(env_prefix="LIKEWISE_", extra="forbid", frozen=True)

    database: str = Field(
        default="likewise.db", description="A file for SQLite, or postgresql://… for several workers."
    )
    key: Path | None = Field(
        default=None, description="The file with the key that signs checkpoints. By default it is beside the database."
    )
    key_pem: str | None = Field(
        default=None,
        repr=False,
        description="The key itself, in PEM, instead of a file: for a secret in the environment.",
    )
    key_command: str | None = Field(
        default=None, description="A command that prints the key in PEM, instead of a file: for a key store."
    )
    origin: str = Field(
        default="likewise",
        pattern=r"^[^\s+]+$",
        description="What the names of the logs begin with, for witnesses and other outsiders: for example the host. "
        "It can't be changed later.",
    )
    witnesses: str = Field(
        default="",
        description="Witnesses that cosign checkpoints, separated by commas: each its address, a space, and its key.",
    )
    timestamps: str = Field(
        default="",
        description="The address of an authority that stamps a checkpoint of each stream every hour (RFC 3161).",
    )
    checkpoints: Path | None = Field(
        default=None, description="The file that checkpoints are written to. By default it is beside the database."
    )
    erasures: Path | None = Field(
        default=None,
        description="The file that lists what was erased, by reference. By default it is beside the database.",
    )
    host: str = Field(default="127.0.0.1", description="The address to listen on.")
    port: int = Field(default=8321, ge=0, le=65535, description="The port to listen on; 0 picks a free one.")
    workers: int = Field(default=1, ge=1, description="How many processes to run. More than one needs PostgreSQL.")
    tls_certificate: Path | None = Field(default=None, description="A certificate, if the service itself does TLS.")
    tls_key: Path | None = Field(default=None, description="The certificate's private key.")
    behind_proxy: bool = Field(default=False, description="Whether a proxy in front of the service does TLS.")
    proxies: str = Field(
        default="127.0.0.1",
        description="Behind a proxy: the addresses of the proxies that are trusted to name the caller's address.",
    )
    hosts: str = Field(
        default="", description="The host names that requests may ask for, separated by commas. By default any."
    )
    contact: str = Field(
        default="", max_length=500, description="Whom people may ask about a decision: it stands in their notices."
    )
    webhook: str = Field(
        default="",
        pattern="^(https?://.+)?$",
        description="An address that alarms are sent to, as JSON, when they begin or end.",
    )
    address: str = Field(
        default="",
        description="The address that people reach the pages at, https://loans.example say, for links that log in.",
    )
    max_body: int = Field(default=2_000_000, ge=1024, description="The most bytes in a request.")
    max_seconds: float = Field(
        default=30, gt=0, le=DAY, description="Seconds within which the body of a request must arrive."
    )
    max_head_seconds: float = Field(
        default=10, gt=0, le=DAY, description="Seconds within which the head of a request must arrive."
    )
    max_waiting: int = Field(
        default=500,
        ge=1,
        description="The most connections that have not sent the head of a request yet; the oldest is let go.",
    )
    max_batch: int = Field(default=256, ge=1, description="The most people in a round.")
    max_features: int = Field(default=200, ge=1, description="The most features of a stream.")
    max_sample: int = Field(default=5000, ge=1, description="The most people in the sample that cuts are taken from.")
    max_size: int = Field(default=100_000, ge=1, description="The most cuts, or cells, of a stream.")
    max_page: int = Field(default=1000, ge=1, description="The most events on a page.")
    max_rate: float = Field(default=30_000, gt=0, le=1e9, description="The most requests per minute for each user.")
    max_anonymous_rate: float = Field(
        default=120, gt=0, le=1e9, description="The most requests per minute without a token, for each address."
    )
    lease: float = Field(
        default=600, gt=0, le=365 * DAY, description="Seconds for which a claimed round is reserved for its auditor."
    )
    keep_at_least: float = Field(
        default=0,
        ge=0,
        le=36_500,
        description="Days for which people are kept at least, whatever a stream says: for a duty to keep records.",
    )
    tick: float = Field(default=0.5, gt=0, le=DAY, description="Seconds between two checks for rounds that are due.")
    metrics_by_stream: bool = Field(
        default=False, description="Whether /metrics, which is open to everybody, tells of each stream by its name."
    )
    log_format: Literal["text", "json"] = Field(
        default="text", description="How the service's own log is written: text, or json with a line per request."
    )
    traces: bool = Field(
        default=False, description="Whether traces are sent by OpenTelemetry; OTEL_… variables say where to."
    )
    threads: int = Field(default=40, ge=1, description="The most requests worked on at the same time.")

    @property
    def key_file(self) -> Path:
        """Where the signing key is: as configured, else beside the database, else in the current folder."""
        return self.key or self._beside(".key")

    @property
    def checkpoint_file(self) -> Path:
        """Where signed checkpoints go: as configured, else beside the database, else in the current folder."""
        return self.checkpoints or self._beside(".checkpoints")

    @property
    def erasure_file(self) -> Path:
        """Where erasures are listed: as configured, else beside the database, else in the current folder."""
        return self.erasures or self._beside(".erasures")

    @property
    def allowed_hosts(self) -> tuple[str, ...]:
        """The host names that requests may ask for; none for any.

        Examples
        --------
        >>> Configuration(hosts="loans.example, Localhost").allowed_hosts
        ('loans.example', 'localhost')
        """
        return tuple(name.strip().lower() for name in self.hosts.split(",") if name.strip())

    @property
    def key_source(self) -> dict[str, Any]:
        """Where the key is, if not in its file, and the name that it signs under."""
        return {"pem": self.key_pem, "command": self.key_command, "origin": self.origin}

    def environment(self) -> dict[str, str]:
        """Variables from which another process gets the same configuration.

        Examples
        --------
        >>> Configuration(port=80).environment()["LIKEWISE_PORT"]
        '80'
        """
        return {f"LIKEWISE_{name.upper()}": str(value) for name, value in self if value is not None}

    def _beside(self, suffix: str) -> Path:
        from likewise.service.log.connections import address

        url = address(self.database)
        file = url.database if url.get_backend_name() == "sqlite" else None
        return Path(file or "likewise.db").with_suffix(suffix)

    @classmethod
    def settings_customise_sources(
        cls, settings_cls: type[BaseSettings], init_settings: Any, env_settings: Any, dotenv_settings: Any,
        file_secret_settings: Any,
    ) -> tuple[PydanticBaseSettingsSource, ...]:  # fmt: skip
        """The command before the environment before the file."""
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls)


def configured(file: str | Path | None = None, **given: Any) -> Configuration:
    """The configuration from a file, the environment and what was given; None means not given.

    Examples
    --------
    >>> configured(port=None, max_batch=64).max_batch
    64
    """
    model: Any = Configuration
    if file is not None:
        if not Path(file).is_file():
            raise InvalidParameter(f"`config` must be a TOML file, got {str(file)!r}, which does not exist.")
        settings = SettingsConfigDict(**{**Configuration.model_config, "toml_file": file})
        model = type("Configuration", (Configuration,), {"model_config": settings})
    try:
        configuration: Configuration = model(**{name: value for name, value in given.items() if value is not None})
    except (TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidParameter(f"`config` must be a TOML file, got {str(file)!r}, which is not one: {error}.") from None
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            close = get_close_matches(name, Configuration.model_fields, 1)
            nearest = f"the nearest is `{close[0]}`" if close else "docs/service.md lists them all"
            raise InvalidParameter(f"There is no setting `{name}`; {nearest}.") from None
        raise InvalidParameter(f"`{name}` is not valid: {first['msg']}, got {first.get('input')!r}.") from None
    return configuration
