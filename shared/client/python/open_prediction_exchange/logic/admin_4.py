"""What operators do: accounts, keys, money, the catalogue and the platform."""

# Made from /openapi.json by `npm run docs`: a change here is lost.
from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, Mapping, Sequence

from ..models import (
    ApiKeys,
    Delegate,
    Delegates,
    IssuedApiKey,
    MendedTrade,
    Profile,
    ProfileWithBalance,
    UserPage,
    Wallets,
)
from .admin_3 import AdminPart3
from .operations import UNSET, Unset, as_list, as_time, given, set_or_null
from .requests import segment
from .steps import Steps


class AdminPart4(AdminPart3):
    """One method for each operation."""

    def unwind_trade(self, id: str) -> Steps[MendedTrade]:
        """Undoes a trade that has failed in the ledger, for both parties; a repeat changes nothing. ApprovalNeededError
        where another operator has to approve it.
        """
        return self._do_or_ask(MendedTrade, "POST", f"/admin/settlement/trades/{segment(id)}/unwind")

    def create_user(
        self,
        *,
        display_name: str | None = None,
        email: str | None = None,
        wallet_address: str | None = None,
        role: str | None = None,
        referral_code: str | None = None,
    ) -> Steps[Profile]:
        """Makes a user with an account of its own."""
        return self._do(
            Profile,
            "POST",
            "/admin/users",
            body=given(
                display_name=display_name,
                email=email,
                wallet_address=wallet_address,
                role=role,
                referral_code=referral_code,
            ),
        )

    def list_users(
        self,
        *,
        limit: int | None = None,
        cursor: int | None = None,
        wallet: str | None = None,
    ) -> Steps[UserPage]:
        """The users in the order in which they were made, a page at a time.

        `limit`: So many rows at most.
        `cursor`: The `next_cursor` of the page before.
        `wallet`: Only the account that owns this wallet, or ever owned it.
        """
        return self._do(UserPage, "GET", "/admin/users", query=given(limit=limit, cursor=cursor, wallet=wallet))

    def get_user(self, id: str) -> Steps[ProfileWithBalance]:
        """A user and the USDC of the account."""
        return self._do(ProfileWithBalance, "GET", f"/admin/users/{segment(id)}")

    def add_wallet(self, id: str, *, address: str) -> Steps[Profile]:
        """Links a wallet to the account; its orders are paid by the account from then on."""
        return self._do(Profile, "POST", f"/admin/users/{segment(id)}/wallets", body=given(address=address))

    def list_wallets(self, id: str) -> Steps[Wallets]:
        """The linked wallets of the account, the primary one first."""
        return self._do(Wallets, "GET", f"/admin/users/{segment(id)}/wallets")

    def add_delegate(self, id: str, *, maker: str, signer: str) -> Steps[Delegate]:
        """Lets another wallet sign orders that a wallet of the account pays for."""
        return self._do(
            Delegate, "POST", f"/admin/users/{segment(id)}/delegates", body=given(maker=maker, signer=signer)
        )

    def list_delegates(self, id: str) -> Steps[Delegates]:
        """Who else may sign orders that a wallet of the account pays for."""
        return self._do(Delegates, "GET", f"/admin/users/{segment(id)}/delegates")

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
