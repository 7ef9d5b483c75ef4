"""Settings, from the environment (``SPANSEEK_...``) or a file ``.env``. Only composition roots read them."""

from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias, TypeVar

from pydantic import Field, PrivateAttr
from pydantic_settings import BaseSettings, SettingsConfigDict

from models.backbones.packages import DEFAULT
from models.encoders.registry import EncoderOptions
from models.entry_points import entry_points_of

CATALOG_FILE = "catalog.sqlite3"

# Executors by their names of before version 0.3.
EXECUTOR_OF: Final = MappingProxyType({"auto": "candidates", "scan": "local"})
# The names of engines that the extra of the same name installs.
_EXTRAS: Final = ("ray",)
if TYPE_CHECKING:
    EngineName: TypeAlias = str
    IndexEngine: TypeAlias = str
else:
    EngineName = Literal[tuple(sorted({*EXECUTOR_OF, *entry_points_of("spanseek.executors"), *_EXTRAS}))]
    IndexEngine = Literal[tuple(sorted({"local", *entry_points_of("spanseek.index_engines"), *_EXTRAS}))]

_YEAR_S: Final = 365 * 86_400
# A year to wait and a century to keep something, so that what is added to a time stays in the calendar.
Seconds: TypeAlias = Annotated[float, Field(ge=0, le=_YEAR_S, allow_inf_nan=False)]
Hours: TypeAlias = Annotated[float, Field(ge=0, le=876_000, allow_inf_nan=False)]
Days: TypeAlias = Annotated[float, Field(ge=0, le=36_500, allow_inf_nan=False)]


OfPlugin = TypeVar("OfPlugin", bound="PluginSettings")


class PluginSettings(BaseSettings):
    """The base of the settings of plug-ins, which have the same sources as those of the core."""

    model_config = SettingsConfigDict(env_prefix="SPANSEEK_", env_file=".env", extra="ignore", frozen=True)


class Settings(PluginSettings):
    """The settings of the core with defaults and descriptions; ``docs/settings.md`` lists them.

    >>> class Greeting(PluginSettings):
    ...     greeting: str = "Hello"
    >>> Settings(greeting="Good morning").of(Greeting).greeting
    'Good morning'
    """

    _given: dict[str, Any] = PrivateAttr(default_factory=dict)

    data_dir: Path = Field(Path("data"), description="The data folder: segments and the embedded catalog.")
    database_url: str = Field(
        "", description="The catalog's database: empty for SQLite in the data folder, or postgresql://..."
    )
    segments_url: str = Field(
        "",
        description="Where published segments lie: empty for the data folder, or a bucket that several machines share, "
        "such as s3://BUCKET/PREFIX or file:///mnt/segments. It needs the extra bucket.",
    )
    segments_cache: Path | None = Field(
        None,
        description="Folder on a disk of this machine for segments of SPANSEEK_SEGMENTS_URL; by default segment-cache "
        "in the data folder.",
    )
    segments_cache_gb: float = Field(
        100.0,
        gt=0,
        allow_inf_nan=False,
        description="Size of that folder, in GiB. Segments used least recently are removed from it, but none that is "
        "open.",
    )
    network_mounts: bool = Field(
        False,
        description="Whether segments may lie, or be cached, on a network mount such as NFS. A server ends when files "
        "that it has mapped are cut or cannot be read.",
    )
    encoder: str = Field("slice", description="Encoder of new collections: slice, slice128, untrained or hashing.")
    backbone: str = Field(DEFAULT, description="Backbone: package:NAME, hub:OWNER/NAME, or a local folder.")
    trusted_backbones: str = Field(
        "",
        description="Further backbones that restored collections may name, separated by commas, each as in "
        "SPANSEEK_BACKBONE. A snapshot that names another is refused.",
    )
    weights: Path | None = Field(None, description="Folder of trained SLICE weights, instead of those shipped.")
    nugget_weights: Path | None = Field(None, description="Folder of trained nugget weights, instead of those shipped.")
    restorable_weights: Path | None = Field(
        None, description="Folder of trained weights of the restorer, instead of those shipped."
    )
    verifier_weights: Path | None = Field(
        None, description="Folder of trained weights of the second look, instead of those shipped."
    )
    restore_warn_below: float = Field(
        0.5, ge=0, le=1, description="Restored texts whose least certain token is less probable come with a warning."
    )
    words: bool = Field(True, description="Whether new collections store words, which modes that read words need.")
    device: str = Field(
        "auto",
        description="Device of encoders, of the engines device and faiss_gpu, and of FAISS: auto, cpu, cuda or cuda:N.",
    )
    engine: EngineName = Field(
        "auto",
        description="Search engine. auto: approximate search with exact rescoring in collections that have candidate "
        "files, else scan; scan: exact search; device: exact search on SPANSEEK_DEVICE, such as a GPU, with the "
        "segments in its memory; faiss_gpu: as auto, with vectors in FAISS indexes on the GPU; ray: as auto, by the "
        "actors of a Ray cluster; or the name of another executor.",
    )
    index_engine: IndexEngine = Field(
        "local",
        description="Where `spanseek index`, `spanseek reindex` and tasks that reindex encode: local, in their "
        "process; ray, in actors of a Ray cluster.",
    )
    candidates_from: int = Field(
        8_000_000,
        gt=0,
        description="Collections of at least this many units get candidate files for approximate search.",
    )
    segment_units: int = Field(
        500_000,
        gt=0,
        description="Units after which indexing publishes a segment, if five seconds have not passed before.",
    )
    grace_s: Seconds = Field(
        10.0,
        description="Seconds for which the files of merged segments are kept for searches that are about to read them, "
        "and old generations for those who read on by a cursor.",
    )
    withdrawn_days: Days = Field(30.0, description="Days for which withdrawn matches are kept for readers of events.")
    open_segments: int = Field(
        2_000,
        gt=0,
        description="Segments that stay open for the next search; collections used least recently are closed.",
    )
    host: str = Field("127.0.0.1", description="Address to serve on; any but loopback needs an API key first.")
    port: int = Field(8000, ge=0, le=65535, description="Port to serve on.")
    allowed_hosts: str = Field(
        "", description="Names, separated by commas, under which a server without API keys answers beside localhost."
    )
    cors_origins: str = Field(
        "",
        description="Origins of web pages whose scripts may use the API, separated by commas, such as https://app.example.",
    )
    trusted_proxies: str = Field(
        "",
        description="Addresses or networks of proxies, separated by commas, whose X-Forwarded-For, X-Forwarded-Proto "
        "and X-Forwarded-Prefix are believed; of others these headers are ignored.",
    )
    root_path: str = Field(
        "",
        description="Path prefix under which a proxy serves Spanseek, such as /spanseek; a trusted proxy may send it "
        "as X-Forwarded-Prefix instead.",
    )
    jwt_issuer: str = Field(
        "",
        description="Issuer of an identity provider (OpenID Connect) whose tokens are accepted beside API keys, such "
        "as https://login.example/realms/main; empty for none. The extra oidc installs what it needs.",
    )
    jwt_audience: str = Field("", description="Audience that tokens must name.")
    jwt_jwks_url: str = Field(
        "", description="Address of the issuer's public keys; without it the issuer's discovery document says."
    )
    jwt_algorithms: str = Field(
        "RS256,ES256",
        description="Algorithms of signatures that are accepted, separated by commas; none with a secret.",
    )
    jwt_leeway_s: float = Field(
        30.0, ge=0, le=300, description="Seconds by which the issuer's clock may differ from the server's."
    )
    jwt_scopes_claim: str = Field(
        "scope", description="Claim with the scopes search, index and admin; other words in it are ignored."
    )
    jwt_collections_claim: str = Field(
        "", description="Claim with the collections of the token, which has none without it; empty: all collections."
    )
    jwt_filter_claim: str = Field(
        "", description="Claim with the filter that always holds, which every token must have; empty: no filter."
    )
    jwt_filter_key: str = Field(
        "",
        description="Metadata key, such as tenant, that must equal the filter claim, or one of its list; empty: the "
        "claim is a filter expression.",
    )
    jwt_client_id: str = Field(
        "",
        description="Public client of the issuer, without a secret, as which the page signs people in; empty: the page "
        "asks for keys alone.",
    )
    jwt_client_scope: str = Field("openid", description="Scopes that the page asks the issuer for, with spaces.")
    queue_limit: int = Field(
        256, gt=0, description="Maximum number of waiting searches; further ones are answered 429."
    )
    deadline_s: Seconds = Field(10.0, gt=0, description="Seconds after which a request is answered 504.")
    write_deadline_s: Seconds = Field(
        60.0,
        gt=0,
        description="Seconds after which writing documents, spans of texts, previews or calibrations are answered 504.",
    )
    body_limit_bytes: int = Field(8 * 2**20, gt=0, description="Largest request body; a larger one is answered 413.")
    header_limit_bytes: int = Field(
        2**16, ge=1024, description="Largest URL and headers of a request, together; larger ones are answered 431."
    )
    read_timeout_s: Seconds = Field(
        30.0, gt=0, description="Seconds for which the server waits for a body; then it answers 408."
    )
    keep_alive_s: int = Field(
        5,
        gt=0,
        le=_YEAR_S,
        description="Seconds after an answer, or before a further request, until a connection is closed.",
    )
    lease_wait_s: Seconds = Field(
        5.0,
        description="Seconds for which a write waits while another process writes to the collection; then it is "
        "answered 409.",
    )
    connection_limit: int = Field(
        1000,
        gt=0,
        description="Maximum number of requests at once; one more is answered 503. A proxy limits connections.",
    )
    task_backlog_bytes: int = Field(
        16 * 2**30,
        gt=0,
        description="Bytes that tasks which have not ended may hold on the disk; further ones are answered 429.",
    )
    upload_limit: int = Field(
        64, gt=0, description="Maximum number of uploads that arrive at once; a further one is answered 429."
    )
    task_workers: int = Field(2, gt=0, description="Threads that run tasks, each of another collection.")
    task_days: Days = Field(7.0, description="Days for which tasks that ended are kept, with their results.")
    batch_limit: int = Field(100, gt=0, description="Maximum number of queries in one POST /search/batch.")
    audit_log: str = Field(
        "",
        description="File to which the server appends who searched, read and changed what, one JSON object a line; - "
        "for standard output, empty for none.",
    )
    audit_texts: bool = Field(
        False, description="Whether the audit log has the queries of searches, with their texts and filters."
    )
    log_level: str = Field("info", description="debug, info, warning or error.")
    telemetry: bool = Field(
        False, description="Whether the server sends traces by OpenTelemetry, which the extra telemetry installs."
    )
    log_format: str = Field("text", description="text, or json: one object a line, without texts and names.")

    def __init__(self, **given: Any) -> None:  # noqa: ANN401  also options of pydantic and settings of plug-ins
        super().__init__(**given)
        self._given = given

    def of(self, kind: type[OfPlugin]) -> OfPlugin:
        """The settings of a plug-in, from the same sources. Raises ``ValidationError``."""
        changed = {name: value for name, value in vars(self).items() if name in kind.model_fields}  # by ``model_copy``
        return kind(**self._given | changed)

    @property
    def catalog_url(self) -> str:
        """The database: the one that is set, or SQLite in the data folder."""
        return self.database_url or f"sqlite:///{self.data_dir / CATALOG_FILE}"

    @property
    def cache_folder(self) -> Path:
        """The folder of segments that come from a bucket."""
        return self.segments_cache or self.data_dir / "segment-cache"

    @property
    def encoder_options(self) -> EncoderOptions:
        """The options of encoders and of the models that read by them."""
        return EncoderOptions(
            self.backbone,
            self.weights,
            self.device,
            self.nugget_weights,
            self.restorable_weights,
            self.verifier_weights,
            whitenings=self.data_dir / "whitenings",
            trusted_backbones=listed(self.trusted_backbones),
            plugin_weights=self._plugin_weights(),
        )

    def _plugin_weights(self) -> dict[str, Path]:
        settings = (self.of(kind) for kind in settings_classes()[1:])
        return {name: value for each in settings for name, value in each if isinstance(value, Path)}


def settings_classes() -> tuple[type[PluginSettings], ...]:
    """The settings of the core, and those of all plug-ins, which are loaded."""
    return (Settings, *(point.load() for point in entry_points_of("spanseek.settings").values()))


def listed(names: str) -> tuple[str, ...]:
    """The names of a setting that are separated by commas.

    >>> listed(" a, b,,")
    ('a', 'b')
    """
    return tuple(name.strip() for name in names.split(",") if name.strip())
