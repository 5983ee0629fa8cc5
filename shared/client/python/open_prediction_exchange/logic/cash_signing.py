"""The signature by which a wallet sends the USDC of an off-ramp (EIP-3009).

A wallet shows to a person what it signs; a private key cannot, so what the exchange offers is compared with what the
caller wants: the digest is made here of the fields, and the sender has to be the wallet that signs.
"""

from __future__ import annotations

from typing import Any

from ..decoding import decode
from ..keys import PrivateKey, keccak256
from ..models import FiatTransfer
from ..signing import Domain
from .operations import Operations
from .requests import segment
from .steps import Steps

_TYPE = (
    "TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,"
    "bytes32 nonce)"
)


class CashSigning(Operations):
    """Reads a transfer, signs it and gives it to the exchange."""

    def sign_and_authorize(self, id: str, wallet: str | PrivateKey) -> Steps[FiatTransfer]:
        """Signs the transfer of the off-ramp `id` with the wallet that it is from. ValueError where nothing fits."""
        path = f"/v1/user/fiat/offramp/sessions/{segment(id)}/transfer"
        transfer = decode(FiatTransfer, (yield from self.requests.send("GET", path)))
        key = PrivateKey(wallet) if isinstance(wallet, str) else wallet
        signature = sign_transfer(transfer, key)
        body = {"intent_id": transfer.intent_id, "signature": signature}
        answer = yield from self.requests.send("POST", f"{path}/authorization", body, repeat="harmless")
        return decode(FiatTransfer, answer)


def sign_transfer(transfer: FiatTransfer, wallet: PrivateKey) -> str:
    """The signature, as 0x and hex."""
    typed, authorization = transfer.typed_data, transfer.authorization
    if typed is None or authorization is None or not transfer.can_submit:
        raise ValueError(f"nothing to sign now: {transfer.message}")
    given, message = typed.domain, typed.message
    domain = Domain(given.name, given.version, given.chainId, given.verifyingContract)
    sender = message.from_
    digest = transfer_digest(
        domain, sender, message.to, message.value, message.validAfter, message.validBefore, message.nonce
    )
    if "0x" + digest.hex() != authorization.digest.lower():
        raise ValueError("the digest is not that of the transfer: nothing is signed")
    if sender.lower() != wallet.address.lower():
        raise ValueError(f"the transfer is from {sender}, and this wallet is {wallet.address}")
    return "0x" + wallet.sign_digest(digest).hex()


def transfer_digest(
    domain: Domain, sender: str, to: str, value: Any, valid_after: Any, valid_before: Any, nonce: str
) -> bytes:
    """The EIP-712 hash of a transfer of `value` micro-USDC, valid between two Unix seconds."""
    words = [int(sender, 16), int(to, 16), int(value), int(valid_after), int(valid_before), int(nonce, 16)]
    encoded = keccak256(_TYPE.encode()) + b"".join(word.to_bytes(32, "big") for word in words)
    return keccak256(b"\x19\x01" + domain.separator + keccak256(encoded))
