"""The two signatures: of requests with the secret of an API key (HMAC-SHA256, version 2), of orders with a wallet.

Nothing here sends anything. The vectors of the documents about signing are those of these functions.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from dataclasses import dataclass, field
from typing import Mapping, Union

from .keys import keccak256
from .signed_fields import ORDER_TYPE, SIGNED_FIELDS

ZERO_ADDRESS = "0x" + "0" * 40
DOMAIN_TYPE = "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
SIDE_CODES = {"BUY": 0, "SELL": 1}


@dataclass(frozen=True)
class ApiKey:
    """The key that the administrator has issued. Its text contains neither the secret nor the passphrase."""

    key_id: str
    secret: str = field(repr=False)
    """As it was issued: base64url of 32 bytes."""
    passphrase: str = field(repr=False)


class RequestSigner:
    """Signs requests with an API key: version 2, with a nonce for each request."""

    def __init__(self, api_key: ApiKey) -> None:
        self._api_key = api_key
        self._secret = decode_secret(api_key.secret)

    def headers(
        self, method: str, path: str, body: bytes, timestamp_sec: int, nonce: str | None = None
    ) -> dict[str, str]:
        """The headers of one request. `path` has the query, and `body` is the bytes, exactly as they are sent.

        `timestamp_sec` is in Unix seconds, by the clock of the exchange to 30 seconds. The headers are good for one
        request, because each call takes a new nonce unless one is given.
        """
        nonce = nonce if nonce is not None else secrets.token_hex(16)
        text = string_to_sign(str(timestamp_sec), nonce, method, path, body)
        return {
            "X-SVC-API-KEY": self._api_key.key_id,
            "X-SVC-PASSPHRASE": self._api_key.passphrase,
            "X-SVC-TIMESTAMP": str(timestamp_sec),
            "X-SVC-NONCE": nonce,
            "X-SVC-SIGNING-VERSION": "2",
            "X-SVC-SIGNATURE": hmac_signature(self._secret, text),
        }


def decode_secret(secret: str) -> bytes:
    """The bytes of a secret; the error does not contain the text."""
    try:
        return base64.urlsafe_b64decode(secret + "=" * (-len(secret) % 4))
    except ValueError:
        raise ValueError("the secret of an API key is base64url") from None


def string_to_sign(timestamp_sec: str, nonce: str, method: str, path: str, body: bytes) -> str:
    """The six lines of which version 2 signs the HMAC."""
    return "\n".join(["v2", timestamp_sec, nonce, method, path, hashlib.sha256(body).hexdigest()])


def hmac_signature(secret: bytes, text: str) -> str:
    """HMAC-SHA256 in base64url without padding."""
    digest = hmac.new(secret, text.encode(), hashlib.sha256).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


@dataclass(frozen=True)
class Domain:
    """The EIP-712 domain that orders are signed for, of the platform's config: it changes with the contract."""

    name: str
    version: str
    chain_id: int
    verifying_contract: str

    @property
    def separator(self) -> bytes:
        """The domain separator, 32 bytes."""
        parts = [_text_hash(DOMAIN_TYPE), _text_hash(self.name), _text_hash(self.version)]
        return keccak256(b"".join(parts) + _word(self.chain_id) + _word(self.verifying_contract))


OrderMessage = Mapping[str, Union[str, int]]
"""The signed fields by their names in the type; numbers as ints or decimal texts, addresses in hex."""


def type_hash() -> bytes:
    """The hash of the type of orders, 32 bytes."""
    return _text_hash(ORDER_TYPE)


def struct_hash(message: OrderMessage) -> bytes:
    """The hash of one order without its domain, 32 bytes."""
    return keccak256(type_hash() + b"".join(_word(message[field.name]) for field in SIGNED_FIELDS))


def order_digest(message: OrderMessage, domain: Domain) -> bytes:
    """The 32 bytes that a wallet signs; as 0x and hex they are the order hash."""
    return keccak256(b"\x19\x01" + domain.separator + struct_hash(message))


def typed_data(message: OrderMessage, domain: Domain) -> dict[str, object]:
    """The order in the form that wallets sign (`eth_signTypedData_v4`, `full_message` of eth-account)."""
    fields = [each.split(" ") for each in DOMAIN_TYPE[len("EIP712Domain(") : -1].split(",")]
    return {
        "primaryType": "Order",
        "domain": {
            "name": domain.name,
            "version": domain.version,
            "chainId": domain.chain_id,
            "verifyingContract": domain.verifying_contract,
        },
        "types": {
            "EIP712Domain": [{"name": name, "type": kind} for kind, name in fields],
            "Order": [{"name": each.name, "type": each.type} for each in SIGNED_FIELDS],
        },
        "message": dict(message),
    }


def random_salt() -> int:
    """256 random bits, so that two otherwise equal orders differ."""
    return secrets.randbits(256)


def idempotency_key(method: str, path: str, body: str) -> str:
    """The Idempotency-Key of a request from its content: a UUID of version 8, the same in every process.

    A repeat after a lost answer so gets the first answer. A signed order has a salt of its own, so two orders that are
    meant to be two have different keys.
    """
    key = bytearray(keccak256(f"{method} {path}\n{body}".encode())[:16])
    key[6] = key[6] & 0x0F | 0x80
    key[8] = key[8] & 0x3F | 0x80
    text = key.hex()
    return "-".join([text[:8], text[8:12], text[12:16], text[16:20], text[20:]])


def _text_hash(text: str) -> bytes:
    return keccak256(text.encode())


def _word(value: str | int) -> bytes:
    number = int(value, 16 if value.startswith("0x") else 10) if isinstance(value, str) else int(value)
    return number.to_bytes(32, "big")
