"""What operators do: accounts, keys, money, the catalogue and the platform."""

# Made from /openapi.json by `npm run docs`: a change here is lost.
from __future__ import annotations

from ..models import FailedTrades, MendedTrade, Profile, ProfileWithBalance, UserPage
from .admin_4 import AdminPart4
from .operations import given
from .requests import segment
from .steps import Steps


class AdminPart5(AdminPart4):
    """One method for each operation."""

    def list_failed_trades(self, *, limit: int | None = None, cursor: int | None = None) -> Steps[FailedTrades]:
        """Trades that the contract refuses for good: each is tried again or unwound.

        `limit`: So many rows at most.
        `cursor`: The next_cursor of the page before.
        """
        return self._do(FailedTrades, "GET", "/admin/settlement/failed", query=given(limit=limit, cursor=cursor))

    def retry_trade(self, id: str) -> Steps[MendedTrade]:
        """Has a trade that has failed tried again, once its cause is mended."""
        return self._do(MendedTrade, "POST", f"/admin/settlement/trades/{segment(id)}/retry")

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
