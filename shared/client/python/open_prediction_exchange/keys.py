"""Private keys of secp256k1: their addresses, and what they sign. The curve is that of a library.

Signatures are deterministic (RFC 6979) and have the lower of the two possible s. The first of these libraries that is
installed is used: coincurve, eth-keys (which eth-account brings), ecdsa.
"""

from __future__ import annotations

import hashlib
import importlib
from typing import Any, Callable, Protocol

CURVE_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
_V_OFFSET = 27


def _optional(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def _keccak() -> Callable[[bytes], bytes]:
    # Debian has pycryptodome under the first name, the package of the same name under the second.
    for package in ("Cryptodome.Hash.keccak", "Crypto.Hash.keccak"):
        module = _optional(package)
        if module is not None:
            return lambda data: bytes(module.new(digest_bits=256, data=data).digest())
    module = _optional("eth_hash.auto")
    if module is not None:
        return lambda data: bytes(module.keccak(data))
    raise ImportError("signing needs Keccak-256: install pycryptodome, or eth-account")


_kept_keccak: list[Callable[[bytes], bytes]] = []


def keccak256(data: bytes) -> bytes:
    """The hash of Ethereum, 32 bytes; not the SHA-3 of hashlib."""
    if not _kept_keccak:
        _kept_keccak.append(_keccak())
    return _kept_keccak[0](data)


def checksum_address(address: str) -> str:
    """The address with the case of EIP-55. ValueError unless it is 0x and 40 hex digits."""
    digits = address[2:].lower()
    if not address.startswith("0x") or len(digits) != 40 or digits.strip("0123456789abcdef"):
        raise ValueError(f"{address!r} is not an address")
    mask = keccak256(digits.encode()).hex()
    return "0x" + "".join(c.upper() if int(m, 16) >= 8 else c for c, m in zip(digits, mask))


class DigestSigner(Protocol):
    """A signer of orders: a `PrivateKey`, or any object with an address and this method, such as a key in a vault."""

    @property
    def address(self) -> str:
        """The wallet, 0x and 40 hex digits."""

    def sign_digest(self, digest: bytes) -> bytes:
        """r, s and v (27 or 28), 65 bytes, for the 32 bytes of an EIP-712 hash."""


class PrivateKey:
    """A private key. No text of it or of its errors shows the key."""

    address: str

    def __init__(self, key: str | bytes) -> None:
        """`key` is 0x and 64 hex digits, or 32 bytes. ValueError for anything else; its message does not contain the
        text.
        """
        secret = _secret_of(key)
        if secret is None:
            raise ValueError("the private key is not 0x and 64 hex digits of a valid key")
        self._public, self._sign = _backend(secret)
        self.address = checksum_address("0x" + keccak256(self._public)[12:].hex())

    def sign_digest(self, digest: bytes) -> bytes:
        """r, s and v (27 or 28), 65 bytes. `digest` is 32 bytes."""
        if len(digest) != 32:
            raise ValueError("a digest is 32 bytes")
        return self._sign(digest)

    def sign_text(self, text: str) -> str:
        """A signature by EIP-191 (`personal_sign`), as 0x and hex: it proves to the exchange that the wallet is
        yours.
        """
        message = text.encode()
        prefix = f"\x19Ethereum Signed Message:\n{len(message)}".encode()
        return "0x" + self.sign_digest(keccak256(prefix + message)).hex()

    def __repr__(self) -> str:
        return f"PrivateKey(address={self.address!r})"

    def __reduce__(self) -> Any:
        raise TypeError("a private key is not pickled")


def _secret_of(key: str | bytes) -> bytes | None:
    try:
        secret = bytes.fromhex(key.removeprefix("0x")) if isinstance(key, str) else bytes(key)
    except (TypeError, ValueError):
        return None
    if len(secret) != 32 or not 0 < int.from_bytes(secret, "big") < CURVE_ORDER:
        return None
    return secret if not isinstance(key, str) or len(key.removeprefix("0x")) == 64 else None


_Backend = tuple[bytes, Callable[[bytes], bytes]]


def _backend(secret: bytes) -> _Backend:
    """The public key without its first byte (64 bytes), and the function that signs with the secret."""
    for name, make in _BACKENDS.items():
        module = _optional(name)
        if module is not None:
            return make(module, secret)
    raise ImportError("signing orders needs secp256k1: install coincurve, eth-account or ecdsa")


def _with_coincurve(module: Any, secret: bytes) -> _Backend:
    key = module.PrivateKey(secret)

    def sign(digest: bytes) -> bytes:
        signature: bytes = key.sign_recoverable(digest, hasher=None)
        return signature[:64] + bytes([_V_OFFSET + signature[64]])

    return key.public_key.format(compressed=False)[1:], sign


def _with_eth_keys(module: Any, secret: bytes) -> _Backend:
    key = module.keys.PrivateKey(secret)

    def sign(digest: bytes) -> bytes:
        signature: bytes = key.sign_msg_hash(digest).to_bytes()
        return signature[:64] + bytes([_V_OFFSET + signature[64]])

    return key.public_key.to_bytes(), sign


def _with_ecdsa(module: Any, secret: bytes) -> _Backend:
    key = module.SigningKey.from_string(secret, curve=module.SECP256k1, hashfunc=hashlib.sha256)
    public: bytes = key.verifying_key.to_string()
    point = module.VerifyingKey

    def sign(digest: bytes) -> bytes:
        signature: bytes = key.sign_digest_deterministic(digest, sigencode=module.util.sigencode_string_canonize)
        # Of the two points with this r the library lists the one with an even y first.
        found = point.from_public_key_recovery_with_digest(
            signature, digest, module.SECP256k1, hashfunc=hashlib.sha256, sigdecode=module.util.sigdecode_string
        )
        return signature + bytes([_V_OFFSET + [each.to_string() for each in found].index(public)])

    return public, sign


_BACKENDS: dict[str, Callable[[Any, bytes], _Backend]] = {
    "coincurve": _with_coincurve,
    "eth_keys": _with_eth_keys,
    "ecdsa": _with_ecdsa,
}
