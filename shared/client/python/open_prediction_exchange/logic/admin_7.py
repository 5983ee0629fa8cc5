"""What operators do: accounts, keys, money, the catalogue and the platform."""

# Made from /openapi.json by `npm run docs`: a change here is lost.
from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, Mapping, Sequence

from ..models import ApiKeys, IssuedApiKey, Message, Restricted, RotatedApiKey
from .admin_6 import AdminPart6
from .operations import UNSET, Unset, as_list, as_time, given, set_or_null
from .requests import segment
from .steps import Steps


class AdminPart7(AdminPart6):
    """One method for each operation."""

    def issue_api_key(
        self,
        id: str,
        *,
        scopes: Sequence[Literal[
            "read:account",
            "trade:orders",
            "trade:bulk",
            "stream:market",
            "stream:user",
            "manage:account",
        ]],
        tier: Literal["standard", "premium", "market_maker"] | None = None,
        rate_limit_override: Mapping[str, Any] | None | Unset = UNSET,
        expires_at: datetime | str | None | Unset = UNSET,
        require_signing_version: Literal[1, 2] | None | Unset = UNSET,
        self_trade_prevention: Literal["none", "cancel_newest", "cancel_oldest", "cancel_both"] | None = None,
        allowed_ips: Sequence[str] | None | Unset = UNSET,
    ) -> Steps[IssuedApiKey]:
        """Issues an API key; its secret and passphrase are shown this once.

        `require_signing_version`: 2 when left out; null admits both.
        `allowed_ips`: Addresses and networks from which the key may be used; everywhere when left out.
        """
        return self._do(
            IssuedApiKey,
            "POST",
            f"/admin/users/{segment(id)}/api-keys",
            body={
                **given(scopes=as_list(scopes), tier=tier, self_trade_prevention=self_trade_prevention),
                **set_or_null(
                    rate_limit_override=rate_limit_override,
                    expires_at=as_time(expires_at),
                    require_signing_version=require_signing_version,
                    allowed_ips=as_list(allowed_ips),
                ),
            },
        )

    def list_api_keys(self, id: str) -> Steps[ApiKeys]:
        """The API keys of the account without their secrets, the revoked ones too."""
        return self._do(ApiKeys, "GET", f"/admin/users/{segment(id)}/api-keys")

    def revoke_api_key(self, key_id: str) -> Steps[Message]:
        """Revokes an API key; revoking it again changes nothing."""
        return self._do(Message, "DELETE", f"/admin/api-keys/{segment(key_id)}")

    def rotate_api_key(self, key_id: str) -> Steps[RotatedApiKey]:
        """Gives an API key another secret and passphrase, shown this once; the former ones are void at once."""
        return self._do(RotatedApiKey, "POST", f"/admin/api-keys/{segment(key_id)}/rotate")

    def set_account_state(self, id: str, *, state: Literal["active", "close_only", "frozen"]) -> Steps[Restricted]:
        """Restricts what the account may do, or lifts that; open orders that the state forbids are cancelled."""
        return self._do(Restricted, "PUT", f"/admin/users/{segment(id)}/state", body=given(state=state))

    def remove_wallet(self, id: str, address: str) -> Steps[Restricted]:
        """Takes a wallet and its delegates away from the account and cancels their open orders."""
        return self._do(Restricted, "DELETE", f"/admin/users/{segment(id)}/wallets/{segment(address)}")

    def remove_delegate(self, id: str, maker: str, signer: str) -> Steps[Restricted]:
        """Takes a delegate away from a wallet and cancels the open orders that it has signed."""
        return self._do(
            Restricted, "DELETE", f"/admin/users/{segment(id)}/delegates/{segment(maker)}/{segment(signer)}"
        )
