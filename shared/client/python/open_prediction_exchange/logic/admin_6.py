"""What operators do: accounts, keys, money, the catalogue and the platform."""

# Made from /openapi.json by `npm run docs`: a change here is lost.
from __future__ import annotations

from ..models import Delegate, Delegates, Profile, ProfileWithBalance, UserPage, Wallets
from .admin_5 import AdminPart5
from .operations import given
from .requests import segment
from .steps import Steps


class AdminPart6(AdminPart5):
    """One method for each operation."""

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
