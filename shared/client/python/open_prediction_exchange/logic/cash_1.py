"""Cashing in and out: sessions at a provider, whose amounts are decimals of the currency that they name."""

# Made from /openapi.json by `npm run docs`: a change here is lost.
from __future__ import annotations

import uuid
from typing import Literal

from ..amounts import Amount
from ..models import CreatedFiatSession, FiatSession, FiatSessions, LaunchToken
from .cash_signing import CashSigning
from .operations import as_decimal, given
from .requests import segment
from .steps import Steps


class CashPart1(CashSigning):
    """One method for each operation."""

    def sessions(
        self,
        *,
        kind: Literal["onramp", "offramp"] | None = None,
        status: Literal[
            "initiated",
            "awaiting_quote",
            "created",
            "processing",
            "completed",
            "failed",
            "expired",
            "cancelled",
        ] | None = None,
        limit: int | None = None,
        offset: int | None = None,
    ) -> Steps[FiatSessions]:
        """The sessions of the account, newest first.

        `kind`: Only those in this direction.
        `status`: Only those that stand so.
        `limit`: So many rows at most.
        `offset`: So many rows are left out.
        """
        return self._do(
            FiatSessions,
            "GET",
            "/v1/user/fiat/sessions",
            query=given(kind=kind, status=status, limit=limit, offset=offset),
        )

    def session(self, id: str) -> Steps[FiatSession]:
        """One session."""
        return self._do(FiatSession, "GET", f"/v1/user/fiat/sessions/{segment(id)}")

    def create_onramp(
        self,
        *,
        provider: str | None = None,
        fiat_currency: str | None = None,
        wallet_address: str | None = None,
        redirect_path: str | None = None,
        amount: Amount | None = None,
        payment_method: str | None = None,
        idempotency_key: str | None = None,
    ) -> Steps[CreatedFiatSession]:
        """Begins to cash in: a session, and the page of the provider to go to.

        `redirect_path`: A path of the page: where the provider sends the browser back.
        `amount`: Unit: fiat_currency.
        """
        return self._do(
            CreatedFiatSession,
            "POST",
            "/v1/user/fiat/onramp/sessions",
            body=given(
                provider=provider,
                fiat_currency=fiat_currency,
                wallet_address=wallet_address,
                redirect_path=redirect_path,
                amount=as_decimal(amount),
                payment_method=payment_method,
            ),
            headers={"idempotency-key": idempotency_key or str(uuid.uuid4())},
            repeat="harmless",
        )

    def create_offramp(
        self,
        *,
        provider: str | None = None,
        fiat_currency: str | None = None,
        wallet_address: str | None = None,
        redirect_path: str | None = None,
        amount: Amount | None = None,
        cashout_method: str | None = None,
        idempotency_key: str | None = None,
    ) -> Steps[CreatedFiatSession]:
        """Begins to cash out: a session, and the page of the provider to go to.

        `redirect_path`: A path of the page: where the provider sends the browser back.
        `amount`: Unit: USDC.
        """
        return self._do(
            CreatedFiatSession,
            "POST",
            "/v1/user/fiat/offramp/sessions",
            body=given(
                provider=provider,
                fiat_currency=fiat_currency,
                wallet_address=wallet_address,
                redirect_path=redirect_path,
                amount=as_decimal(amount),
                cashout_method=cashout_method,
            ),
            headers={"idempotency-key": idempotency_key or str(uuid.uuid4())},
            repeat="harmless",
        )

    def complete_onramp(self, id: str, *, provider_transaction_id: str | None = None) -> Steps[FiatSession]:
        """Says that the person is back from the provider, who is asked soon; credits nothing."""
        return self._do(
            FiatSession,
            "POST",
            f"/v1/user/fiat/onramp/sessions/{segment(id)}/complete",
            body=given(provider_transaction_id=provider_transaction_id),
            repeat="harmless",
        )

    def launch_onramp(self, id: str) -> Steps[LaunchToken]:
        """Another way to the page of the provider, for a session that has begun to cash in."""
        return self._do(
            LaunchToken, "POST", f"/v1/user/fiat/onramp/sessions/{segment(id)}/launch-token", repeat="harmless"
        )
