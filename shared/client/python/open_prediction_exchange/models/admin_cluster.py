# Made from /openapi.json by `npm run docs`: a change here is lost.
from __future__ import annotations

from dataclasses import dataclass

from .admin_operations import Cluster


@dataclass(frozen=True, kw_only=True)
class HandedOver:
    """Hands the lead over to a standby: this leader ends once the standby is ready, and begins anew as one."""

    member: str
    leads: bool
    """True: it leads already. False: this leader ends once the member has accepted."""
