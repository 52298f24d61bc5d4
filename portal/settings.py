"""All settings. What varies comes from the environment, read by the small typed readers beside it.

Every fault is collected and shown at once, so that one failed start is enough to mend them all.
Nothing but this file asks the environment; the rest reads `django.conf.settings`.
"""

import os
import sys
from pathlib import Path
from urllib.parse import unquote

import django_stubs_ext
from csp.constants import NONE, SELF
from django.utils.translation import gettext_lazy as _

from portal import environment as env

django_stubs_ext.monkeypatch()
BASE_DIR = Path(__file__).resolve().parent.parent
_MAIL_PORTS = {"smtp": 25, "smtps": 465, "smtp+tls": 587}
# An installation is "embedded" (demo, tests: everything in one place, no secrets needed) unless
# it says otherwise; production must bring its secrets and its host names.
EMBEDDED = env.flag("EVENSHARE_EMBEDDED", default="EVENSHARE_SECRET_KEY" not in os.environ)
VAR_DIR = Path(env.text("EVENSHARE_VAR", str(BASE_DIR / "var")))
SECRET_KEY = env.text("EVENSHARE_SECRET_KEY", "embedded-only-" + "k" * 50 if EMBEDDED else None)
STATIC_ROOT = VAR_DIR / "static" if EMBEDDED else BASE_DIR / "staticfiles"
if EMBEDDED:
    try:
        STATIC_ROOT.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        env.faults.append(f"EVENSHARE_VAR must be a folder to write in: {error}")
DEBUG = env.flag("EVENSHARE_DEBUG", default=False)
ALLOWED_HOSTS = env.words(
    "EVENSHARE_HOSTS", "localhost,127.0.0.1,[::1],testserver" if EMBEDDED else ""
)
if not ALLOWED_HOSTS:
    env.faults.append("EVENSHARE_HOSTS must name the hosts this portal answers to")
CSRF_TRUSTED_ORIGINS = env.words("EVENSHARE_ORIGINS", "")

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django.contrib.admin",
    "django.contrib.humanize",
    "django.forms",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "allauth.usersessions",
    "csp",
    "django_filters",
    "django_htmx",
    "django_tables2",
    "rest_framework",
    "knox",
    "portal.common.apps.CommonConfig",
    "portal.teams.apps.TeamsConfig",
    "portal.notifications.apps.NotificationsConfig",
    "portal.inventory.apps.InventoryConfig",
    "portal.quotas.apps.QuotasConfig",
    "portal.reservations.apps.ReservationsConfig",
    "portal.workloads.apps.WorkloadsConfig",
    "portal.slas.apps.SlasConfig",
    "portal.usage.apps.UsageConfig",
    "portal.scheduling.apps.SchedulingConfig",
    "portal.kubernetes.apps.KubernetesConfig",
    "portal.finance.apps.FinanceConfig",
    "portal.studies.apps.StudiesConfig",
    "portal.requests.apps.RequestsConfig",
    "portal.operations.apps.OperationsConfig",
    "portal.dashboards.apps.DashboardsConfig",
    "portal.celery.WorkersConfig",
]

MIDDLEWARE = [
    "portal.common.middleware.RequestIdMiddleware",
    "portal.operations.middleware.MachinesMiddleware",
    "portal.operations.middleware.CountingMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "portal.teams.throttling.ThrottleMiddleware",
    "portal.teams.middleware.TokenMiddleware",
    "portal.teams.middleware.PreferencesMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "portal.teams.middleware.AccessMiddleware",
]

ROOT_URLCONF = "portal.urls"
ACCESS_RULES = "portal.urls.ACCESS_RULES"
WSGI_APPLICATION = "portal.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "portal.teams.context.shell",
                "portal.dashboards.context.frame",
            ],
            "builtins": ["portal.common.templatetags.evenshare"],
        },
    }
]
FORM_RENDERER = "portal.common.forms.FormRenderer"

DATABASES = {
    "default": env.database(
        env.text("DATABASE_URL", f"sqlite:///{VAR_DIR / 'portal.sqlite3'}"),
        env.whole("EVENSHARE_DATABASE_STALL_SECONDS", 120, least=1),
    )
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
# Without a broker everything runs in one process: tasks at once, the cache in memory.
BROKER = env.address("EVENSHARE_BROKER", "" if EMBEDDED else None, ("redis", "rediss")).geturl()
CACHE = env.address("EVENSHARE_CACHE", env.beside(BROKER), ("redis", "rediss")).geturl()
CACHES = {
    "default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": CACHE}
    if CACHE
    else {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}
}

AUTH_USER_MODEL = "teams.User"
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 12},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
ACCOUNT_ADAPTER = "portal.teams.adapter.AccountAdapter"
ACCOUNT_LOGIN_METHODS = {"username"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "password1*", "password2*"]
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_RATE_LIMITS = {"login": "60/m/ip", "login_failed": "10/m/ip,5/5m/key"}
ACCOUNT_PREVENT_ENUMERATION = True
ACCOUNT_LOGOUT_ON_GET = False
ACCOUNT_SESSION_REMEMBER = None
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "dashboards:home"
ACCOUNT_LOGOUT_REDIRECT_URL = "account_login"
ACCOUNT_REAUTHENTICATION_TIMEOUT = 300
MFA_ADAPTER = "portal.teams.second_factor.SecondFactor"
# People sign in by name; an address of theirs plays no part in it.
MFA_ALLOW_UNVERIFIED_EMAIL = True
MFA_TOTP_TOLERANCE = 1
SECRET_KEY_FALLBACKS = env.words("EVENSHARE_SECRET_KEY_FALLBACKS", "")
# Single sign-on by OpenID Connect, where a provider is named; its groups bring roles.
SOCIALACCOUNT_ADAPTER = "portal.teams.joining.ByProvider"
SOCIALACCOUNT_OPENID_CONNECT_URL_PREFIX = ""
SOCIALACCOUNT_QUERY_EMAIL = False
ACCOUNT_UNIQUE_EMAIL = False
OIDC_GROUPS = env.text("EVENSHARE_OIDC_GROUPS", "groups")
OIDC_NAME = env.text("EVENSHARE_OIDC_NAME", "")
_issuer = env.address("EVENSHARE_OIDC_ISSUER", "", ("https", "http") if EMBEDDED else ("https",))
SOCIALACCOUNT_PROVIDERS = {
    "openid_connect": {
        "OAUTH_PKCE_ENABLED": True,
        "APPS": [
            {
                "provider_id": "oidc",
                "name": OIDC_NAME or _issuer.hostname,
                "client_id": env.text("EVENSHARE_OIDC_CLIENT"),
                "secret": env.text("EVENSHARE_OIDC_SECRET"),
                "settings": {"server_url": _issuer.geturl()},
            }
        ]
        if _issuer.hostname
        else [],
    }
}
# How many API requests a minute are answered: reads and writes of each token or person, and
# failures of an address to say who asks; and how many tokens a person may make in an hour.
API_READS = env.whole("EVENSHARE_API_READS", 1200, least=1)
API_WRITES = env.whole("EVENSHARE_API_WRITES", 240, least=1)
API_STRANGERS = env.whole("EVENSHARE_API_STRANGERS", 30, least=1)
TOKEN_MINTS = env.whole("EVENSHARE_TOKEN_MINTS", 20, least=1)
KNOX_TOKEN_MODEL = "teams.ApiToken"  # noqa: S105  # the name of a model
REST_KNOX = {"AUTH_HEADER_PREFIX": "Bearer"}

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("ko", "한국어")]
LOCALE_PATHS = [BASE_DIR / "portal" / "locale"]
USE_I18N = True
USE_TZ = True
TIME_ZONE = "UTC"
DEFAULT_ZONE = env.zone("EVENSHARE_ZONE", "Asia/Seoul")

STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
WHITENOISE_USE_FINDERS = EMBEDDED
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if EMBEDDED
        else "whitenoise.storage.CompressedManifestStaticFilesStorage"
    },
}

# Cookies and HTTPS: strict unless the installation is embedded, which speaks plain HTTP on loopback.
SESSION_COOKIE_SECURE = not EMBEDDED
CSRF_COOKIE_SECURE = not EMBEDDED
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SECURE_SSL_REDIRECT = not EMBEDDED
SECURE_HSTS_SECONDS = 0 if EMBEDDED else 31_536_000
SECURE_HSTS_INCLUDE_SUBDOMAINS = not EMBEDDED
SECURE_HSTS_PRELOAD = not EMBEDDED
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
BEHIND_PROXY = env.flag("EVENSHARE_BEHIND_PROXY", default=False)
# Whom rates count by: the address the proxy saw, not one that anybody may write into a header.
ALLAUTH_TRUSTED_PROXY_COUNT = 1 if BEHIND_PROXY else 0
if BEHIND_PROXY:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        # Off to the provider one signs in at, since browsers hold its answer to this rule as well.
        "form-action": [
            SELF,
            *([f"{_issuer.scheme}://{_issuer.netloc}"] if _issuer.netloc else []),
        ],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
}

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "portal.teams.tokens.ByToken",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["portal.common.bodies.JSONParser"],
    "DEFAULT_PAGINATION_CLASS": "portal.common.api.Paging",
    "DEFAULT_FILTER_BACKENDS": ["django_filters.rest_framework.DjangoFilterBackend"],
    "EXCEPTION_HANDLER": "portal.common.api.problem_from_exception",
    "URL_FORMAT_OVERRIDE": None,
    "DEFAULT_SCHEMA_CLASS": "portal.operations.openapi.Described",
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}
SPECTACULAR_SETTINGS = {"OAS_VERSION": "3.1.0", "COMPONENT_SPLIT_REQUEST": True}
DJANGO_TABLES2_TEMPLATE = "common/table.html"

DATA_UPLOAD_MAX_MEMORY_SIZE = 2_621_440
# One file, at the one page that takes one; everywhere else none is read, let alone kept.
DATA_UPLOAD_MAX_NUMBER_FILES = 1
FILE_UPLOAD_HANDLERS = ["portal.studies.uploading.TraceUpload"]
TICK_SECONDS = env.whole("EVENSHARE_TICK_SECONDS", 15)
LEASE_SECONDS = env.whole("EVENSHARE_LEASE_SECONDS", 60)
# How many writes to one cluster may be on their way at once.
SYNC_WRITERS = env.whole("EVENSHARE_SYNC_WRITERS", 4, least=1)
CHORE_SECONDS = env.whole("EVENSHARE_CHORE_SECONDS", 60)
# How long a job that was let start may take to get its nodes before it waits anew.
START_SECONDS = env.whole("EVENSHARE_START_SECONDS", 600, least=1)
FORECAST_SECONDS = env.whole("EVENSHARE_FORECAST_SECONDS", 30 if EMBEDDED else 180)
CONFLICT_HORIZON_DAYS = env.whole("EVENSHARE_CONFLICT_HORIZON_DAYS", 14)
# What-if studies: how many run at once, how long and how large each may grow, the largest trace.
STUDIES_AT_ONCE = env.whole("EVENSHARE_STUDIES_AT_ONCE", 1 if EMBEDDED else 2, least=1)
STUDY_SECONDS = env.whole("EVENSHARE_STUDY_SECONDS", 3600, least=1)
STUDY_MIB = env.whole("EVENSHARE_STUDY_MIB", 4096, least=512)
TRACE_MIB = env.whole("EVENSHARE_TRACE_MIB", 64, least=1)
REQUEST_EXPIRY_DAYS = env.whole("EVENSHARE_REQUEST_EXPIRY_DAYS", 14)

# What Prometheus brings to read /metrics, and where a server of several processes adds up.
METRICS_TOKEN = env.text("EVENSHARE_METRICS_TOKEN", "")
METRICS_FOLDER = env.text("PROMETHEUS_MULTIPROC_DIR", "")
# For how many days what explains the everyday is kept; the ledger, bills and audit stay for good.
KEEP_DAYS = {
    name: env.whole(f"EVENSHARE_KEEP_{name.upper()}_DAYS", days, least=7)
    for name, days in
    {"ticks": 400, "syncs": 400, "forecasts": 400, "news": 365, "messages": 90}.items()
}  # fmt: skip
UPKEEP_SECONDS = env.whole("EVENSHARE_UPKEEP_SECONDS", 3600, least=60)

CELERY_BROKER_URL = BROKER or "memory://localhost"
CELERY_TASK_ALWAYS_EAGER = not BROKER
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_TASK_TIME_LIMIT = 600
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_TRANSPORT_OPTIONS = {"visibility_timeout": 900}
# Beat keeps no file, which a full disk could take from it: what is due stands in rows.
CELERY_BEAT_SCHEDULER = "celery.beat:Scheduler"
CELERY_TIMEZONE = "UTC"

# Nothing is sent where no server is named.
_server = env.address("EVENSHARE_MAIL", "", tuple(_MAIL_PORTS))
EMAIL_BACKEND = f"django.core.mail.backends.{'smtp' if _server.hostname else 'dummy'}.EmailBackend"
EMAIL_HOST = _server.hostname or ""
EMAIL_PORT = _server.port or _MAIL_PORTS.get(_server.scheme, 25)
EMAIL_HOST_USER = unquote(_server.username or "")
EMAIL_HOST_PASSWORD = unquote(_server.password or "")
EMAIL_USE_SSL = _server.scheme == "smtps"
EMAIL_USE_TLS = _server.scheme == "smtp+tls"
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = env.text("EVENSHARE_MAIL_FROM", "evenshare@localhost")
# Where links in mails and webhooks lead.
SITE_URL = env.text(
    "EVENSHARE_URL",
    "http://127.0.0.1:8000" if EMBEDDED else f"https://{[*ALLOWED_HOSTS, 'localhost'][0]}",
).rstrip("/")
# Hosts inside one's own network that webhooks may reach all the same, also by plain http.
WEBHOOK_HOSTS = env.words("EVENSHARE_WEBHOOK_HOSTS", "")
# The only hosts, or host:port, that are asked how busy GPUs are.
PROMETHEUS_HOSTS = env.words("EVENSHARE_PROMETHEUS_HOSTS", "")

_CHATTY = ("portal.access", "portal.scheduling.services", "celery")
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"context": {"()": "portal.common.logs.Context"}},
    "formatters": {
        "line": {
            "()": "portal.common.logs.Lines",
            "format": "{asctime} {levelname} {name} {message}",
            "style": "{",
        },
        "json": {"()": "portal.common.logs.Json"},
    },
    "handlers": {
        "stderr": {
            "class": "logging.StreamHandler",
            "filters": ["context"],
            "formatter": env.one_of(
                "EVENSHARE_LOG_FORMAT", "line" if EMBEDDED else "json", ("line", "json")
            ),
        }
    },
    "root": {
        "handlers": ["stderr"],
        "level": env.one_of(
            "EVENSHARE_LOG_LEVEL", "INFO", ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
        ),
    },
    "loggers": {
        "django.server": {"level": "WARNING"},
        # What beat sends and a worker receives is said again when it is done.
        "celery.beat": {"level": "WARNING"},
        "celery.worker.strategy": {"level": "WARNING"},
        # A demo's terminal is for people; production wants a line a request, a task and a tick.
        **{name: {"level": "WARNING" if EMBEDDED else "INFO"} for name in _CHATTY},
    },
}

PAGE_SIZE = 50
SITE_TITLE = _("Evenshare")

if env.faults:
    sys.exit("Evenshare cannot start:\n" + "\n".join(f"  - {fault}" for fault in env.faults))
