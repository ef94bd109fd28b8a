"""Who asks: tokens, roles, logins of a browser, and how often one may ask."""

import hashlib
import hmac
import secrets
import threading
import time
from collections import OrderedDict
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, NamedTuple, get_args

from camilla.errors import SettingError
from camilla.names import in_quotes
from camilla.server.store import RefusedError, Store, now

Role = Literal["reader", "submitter", "owner"]
ROLES: tuple[Role, ...] = get_args(Role)  # each may do what those before it may
TOKEN_MARK = "camilla_"
TOKEN_BYTES = 32
LOGIN_HOURS = 12
LONGEST_ACCOUNT = 100
MOST_DAYS = 3650


class Caller(NamedTuple):
    """Who asks, and with which right; `login` is the secret of a browser's cookie."""

    account: str | None = None
    role: Role | None = None
    token_id: int | None = None
    login: str | None = None

    def may(self, role: Role) -> bool:
        """Whether this role includes the one that is needed."""
        return self.role is not None and ROLES.index(self.role) >= ROLES.index(role)

    @property
    def csrf(self) -> str:
        """What a form must carry: only pages that this browser was given know it."""
        return hmac.new((self.login or "").encode(), b"form", hashlib.sha256).hexdigest()


NOBODY = Caller()


class NewToken(NamedTuple):
    """A token as it is shown once."""

    id: int
    secret: str


def add_token(store: Store, account: str, role: str, *, days: int | None = None) -> NewToken:
    """Makes a token of 256 random bits; the store keeps only its SHA-256."""
    if role not in ROLES:
        raise SettingError(f"a role is one of {', '.join(ROLES)}, not {in_quotes(role)}.")
    if not 1 <= len(account) <= LONGEST_ACCOUNT or not account.isprintable() or account != account.strip():
        raise SettingError(
            f"an account is named by 1 to {LONGEST_ACCOUNT} printable characters without spaces at its ends; "
            f"got {in_quotes(account)}."
        )
    if days is not None and not 1 <= days <= MOST_DAYS:
        raise SettingError(f"a token is valid for 1 to {MOST_DAYS} days; got {days}.")
    secret = TOKEN_MARK + secrets.token_urlsafe(TOKEN_BYTES)
    expires = None if days is None else _later(timedelta(days=days))
    with store.writing() as transaction:
        number = transaction.insert_numbered(
            "tokens", account=account, role=role, sha256=_sha(secret), created=now(), expires=expires
        )
    return NewToken(number, secret)


def tokens(store: Store) -> list[dict[str, Any]]:
    """Every token without its hash: id, account, role, created, expires, revoked."""
    with store.reading() as transaction:
        return transaction.rows("SELECT id, account, role, created, expires, revoked FROM tokens ORDER BY id")


def revoke_token(store: Store, number: int) -> None:
    """From now on the token opens nothing; logins made with it end."""
    with store.writing() as transaction:
        known = transaction.value("SELECT id FROM tokens WHERE id = :id", id=number)
        if known is None:
            raise RefusedError(404, f"there is no token {number}.")
        transaction.run(
            "UPDATE tokens SET revoked = :now WHERE id = :id AND revoked IS NULL", now=now(), id=number
        )
        transaction.run("DELETE FROM logins WHERE token_id = :id", id=number)


def caller_of_token(store: Store, secret: str) -> Caller:
    """Whose token it is; one that is unknown, expired or revoked is refused without saying which."""
    with store.reading() as transaction:
        row = transaction.row(
            "SELECT id, account, role, expires, revoked FROM tokens WHERE sha256 = :sha", sha=_sha(secret)
        )
    return _valid(row)


def _valid(row: dict[str, Any] | None) -> Caller:
    if row is None or row["revoked"] is not None or (row["expires"] is not None and row["expires"] <= now()):
        raise RefusedError(
            401, "the token is not valid: it is unknown, expired or revoked. Ask the owner for one."
        )
    return Caller(row["account"], row["role"], row["id"])


def log_in(store: Store, token: str) -> Caller:
    """A login of a browser for some hours; its cookie holds a secret that is not the token."""
    caller = caller_of_token(store, token)
    login = secrets.token_urlsafe(TOKEN_BYTES)
    with store.writing() as transaction:
        transaction.run("DELETE FROM logins WHERE expires <= :now", now=now())
        transaction.insert(
            "logins", sha256=_sha(login), token_id=caller.token_id, created=now(),
            expires=_later(timedelta(hours=LOGIN_HOURS)),
        )  # fmt: skip
    return caller._replace(login=login)


def caller_of_login(store: Store, login: str) -> Caller:
    """Who logged in; nobody where the login is unknown or over."""
    with store.reading() as transaction:
        row = transaction.row(
            """SELECT tokens.id, account, role, tokens.expires, revoked FROM logins
            JOIN tokens ON tokens.id = token_id WHERE logins.sha256 = :sha AND logins.expires > :now""",
            sha=_sha(login),
            now=now(),
        )
    try:
        return _valid(row)._replace(login=login)
    except RefusedError:
        return NOBODY


def log_out(store: Store, login: str) -> None:
    """Ends a login."""
    with store.writing() as transaction:
        transaction.run("DELETE FROM logins WHERE sha256 = :sha", sha=_sha(login))


def check_form(caller: Caller, given: str) -> None:
    """Refuses a form that no page of this login carried."""
    if caller.login is None or not hmac.compare_digest(given.encode(), caller.csrf.encode()):
        raise RefusedError(
            403, "the form is not from a page of this login. Open the page again and send the form again."
        )


def need(caller: Caller, role: Role) -> None:
    """Refuses who has not this role."""
    if caller.role is None:
        raise RefusedError(401, "this needs a token: send the header Authorization: Bearer TOKEN, or log in.")
    if not caller.may(role):
        raise RefusedError(403, f"this needs the role {role}; the token has the role {caller.role}.")


class RateLimit:
    """Token buckets: `per_minute` requests on average, and as many at once after a pause.

    Who asks is a token or an address. The buckets are of this process, and only those used last are kept.
    """

    MOST_KNOWN = 10_000

    def __init__(self, per_minute: float) -> None:
        self.per_minute = per_minute
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # who: requests left, when
        self._lock = threading.Lock()

    def wait(self, who: str, at: float | None = None) -> float:
        """Counts a request; how many seconds it comes too early, 0 where it may pass."""
        at = time.monotonic() if at is None else at
        with self._lock:
            left, before = self._buckets.pop(who, (self.per_minute, at))
            left = min(self.per_minute, left + (at - before) * self.per_minute / 60)
            passes = left >= 1
            self._buckets[who] = (left - 1 if passes else left, at)
            while len(self._buckets) > self.MOST_KNOWN:
                self._buckets.popitem(last=False)
        return 0.0 if passes else (1 - left) * 60 / self.per_minute


def _later(span: timedelta) -> str:
    return (datetime.now(UTC) + span).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _sha(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()
