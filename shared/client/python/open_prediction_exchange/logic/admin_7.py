"""What operators do: accounts, keys, money, the catalogue and the platform."""

# Made from /openapi.json by `npm run docs`: a change here is lost.
from __future__ import annotations

from typing import Literal

from ..models import ActiveDrills, Message, PlatformStatus, Restricted
from .admin_6 import AdminPart6
from .operations import given
from .requests import segment
from .steps import Steps


class AdminPart7(AdminPart6):
    """One method for each operation."""

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

    def get_platform(self) -> Steps[PlatformStatus]:
        """The switches and the state of the shards."""
        return self._do(PlatformStatus, "GET", "/admin/platform")

    def pause_platform(self) -> Steps[Message]:
        """Refuses everything that takes new risk; cancels and reads go on."""
        return self._do(Message, "POST", "/admin/platform/pause")

    def resume_platform(self) -> Steps[Message]:
        """Ends the pause."""
        return self._do(Message, "POST", "/admin/platform/resume")

    def set_drill(
        self,
        *,
        refusal: Literal["NOT_MATCHING_LEADER", "SETTLEMENT_UNHEALTHY"],
        enabled: bool,
    ) -> Steps[ActiveDrills]:
        """While a drill is enabled, everything that places is refused with its code. A restart ends it."""
        return self._do(ActiveDrills, "POST", "/admin/platform/drills", body=given(refusal=refusal, enabled=enabled))
