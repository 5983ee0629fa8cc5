"""Cashing in and out: sessions at a provider, whose amounts are decimals of the currency that they name."""

# Made from /openapi.json by `npm run docs`: a change here is lost.
from __future__ import annotations

import uuid

from ..models import FiatSession, FiatTransaction, FiatTransfer, LaunchToken
from .cash_1 import CashPart1
from .operations import given
from .requests import segment
from .steps import Steps


class CashLogic(CashPart1):
    """One method for each operation."""

    def launch_offramp(self, id: str) -> Steps[LaunchToken]:
        """Another way to the page of the provider, for a session that has begun to cash out."""
        return self._do(
            LaunchToken, "POST", f"/v1/user/fiat/offramp/sessions/{segment(id)}/launch-token", repeat="harmless"
        )

    def cancel_offramp(self, id: str) -> Steps[FiatSession]:
        """Ends a session whose transfer is not signed yet; a repeat is answered in the same way."""
        return self._do(FiatSession, "POST", f"/v1/user/fiat/offramp/sessions/{segment(id)}/cancel", repeat="harmless")

    def get_offramp_transfer(self, id: str) -> Steps[FiatTransfer]:
        """The transfer: its state, what the wallet signs, and what the rail shows of it."""
        return self._do(FiatTransfer, "GET", f"/v1/user/fiat/offramp/sessions/{segment(id)}/transfer")

    def get_offramp_transaction(self, id: str) -> Steps[FiatTransaction]:
        """The transaction of the provider, or a message while there is none."""
        return self._do(FiatTransaction, "GET", f"/v1/user/fiat/offramp/sessions/{segment(id)}/transaction")

    def authorize_offramp_transfer(self, id: str, *, intent_id: str, signature: str) -> Steps[FiatTransfer]:
        """Takes the signature of the wallet, which is kept before the transfer is sent."""
        return self._do(
            FiatTransfer,
            "POST",
            f"/v1/user/fiat/offramp/sessions/{segment(id)}/transfer/authorization",
            body=given(intent_id=intent_id, signature=signature),
            repeat="harmless",
        )

    def submit_offramp_transfer(
        self,
        id: str,
        *,
        intent_id: str,
        idempotency_key: str | None = None,
    ) -> Steps[FiatTransfer]:
        """Sends the signed transfer again, with the same bytes."""
        return self._do(
            FiatTransfer,
            "POST",
            f"/v1/user/fiat/offramp/sessions/{segment(id)}/transfer/submit",
            body=given(intent_id=intent_id),
            headers={"idempotency-key": idempotency_key or str(uuid.uuid4())},
            repeat="harmless",
        )
