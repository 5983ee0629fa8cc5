"""What operators do: accounts, keys, money, the catalogue and the platform."""

# Made from /openapi.json by `npm run docs`: a change here is lost.
from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any, Literal, Mapping, Sequence

from ..models import EventSet, Market, MarketEvent
from .admin_texts import AdminTexts
from .operations import UNSET, Unset, as_list, as_number, as_time, as_units, given, set_or_null
from .requests import segment
from .steps import Steps


class AdminPart1(AdminTexts):
    """One method for each operation."""

    def create_event(
        self,
        *,
        title: str,
        description: str | None = None,
        status: Literal["upcoming", "live", "ended", "cancelled"] | None = None,
        category: str | None = None,
        sport_league: str | None | Unset = UNSET,
        sport_teams: Sequence[str] | None | Unset = UNSET,
        image_url: str | None | Unset = UNSET,
        start_time: datetime | str | None = None,
        external_event_id: str | None = None,
        external_platform: str | None = None,
        external_event_subtitle: str | None | Unset = UNSET,
        external_event_mutually_exclusive: bool | None = None,
        home_player_full_name: str | None | Unset = UNSET,
        away_player_full_name: str | None | Unset = UNSET,
        slug: str | None = None,
    ) -> Steps[MarketEvent]:
        """Makes an event; without a slug it gets one from its title."""
        return self._do(
            MarketEvent,
            "POST",
            "/admin/events",
            body={
                **given(
                    title=title,
                    description=description,
                    status=status,
                    category=category,
                    start_time=as_time(start_time),
                    external_event_id=external_event_id,
                    external_platform=external_platform,
                    external_event_mutually_exclusive=external_event_mutually_exclusive,
                    slug=slug,
                ),
                **set_or_null(
                    sport_league=sport_league,
                    sport_teams=as_list(sport_teams),
                    image_url=image_url,
                    external_event_subtitle=external_event_subtitle,
                    home_player_full_name=home_player_full_name,
                    away_player_full_name=away_player_full_name,
                ),
            },
        )

    def change_event(
        self,
        id: str,
        *,
        title: str | None = None,
        description: str | None = None,
        status: Literal["upcoming", "live", "ended", "cancelled"] | None = None,
        category: str | None = None,
        sport_league: str | None | Unset = UNSET,
        sport_teams: Sequence[str] | None | Unset = UNSET,
        image_url: str | None | Unset = UNSET,
        start_time: datetime | str | None = None,
        external_event_id: str | None = None,
        external_platform: str | None = None,
        external_event_subtitle: str | None | Unset = UNSET,
        external_event_mutually_exclusive: bool | None = None,
        home_player_full_name: str | None | Unset = UNSET,
        away_player_full_name: str | None | Unset = UNSET,
    ) -> Steps[MarketEvent]:
        """Changes the description of an event. ApprovalNeededError where another operator has to approve it."""
        return self._do_or_ask(
            MarketEvent,
            "PATCH",
            f"/admin/events/{segment(id)}",
            body={
                **given(
                    title=title,
                    description=description,
                    status=status,
                    category=category,
                    start_time=as_time(start_time),
                    external_event_id=external_event_id,
                    external_platform=external_platform,
                    external_event_mutually_exclusive=external_event_mutually_exclusive,
                ),
                **set_or_null(
                    sport_league=sport_league,
                    sport_teams=as_list(sport_teams),
                    image_url=image_url,
                    external_event_subtitle=external_event_subtitle,
                    home_player_full_name=home_player_full_name,
                    away_player_full_name=away_player_full_name,
                ),
            },
        )

    def create_market(
        self,
        *,
        title: str,
        description: str,
        category: str,
        trading_ends_at: datetime | str,
        subtitle: str | None = None,
        outcomes: Sequence[str] | None = None,
        outcome_probabilities: Sequence[int] | None | Unset = UNSET,
        previous_outcome_probabilities: Sequence[int] | None | Unset = UNSET,
        subcategories: Sequence[str] | None | Unset = UNSET,
        external_source: str | None = None,
        external_event_id: str | None | Unset = UNSET,
        external_market_type: Literal["player_prop", "moneyline", "spread", "total", "other"] | None | Unset = UNSET,
        series_ticker: str | None | Unset = UNSET,
        player_name: str | None | Unset = UNSET,
        player_team_abbrev: str | None | Unset = UNSET,
        stat_category: str | None | Unset = UNSET,
        period: str | None | Unset = UNSET,
        line: Decimal | int | None | Unset = UNSET,
        resolution_source: str | None | Unset = UNSET,
        settlement_sources: Sequence[Mapping[str, Any]] | None | Unset = UNSET,
        open_interest: int | None | Unset = UNSET,
        volume_24h: int | None | Unset = UNSET,
        condition_id: str | None | Unset = UNSET,
        question_id: str | None | Unset = UNSET,
        event_id: str | None | Unset = UNSET,
        trading_starts_at: datetime | str | None = None,
        fee_bps: int | None = None,
        status: Literal["draft", "pending", "active"] | None = None,
        ticks_per_unit: Literal[
            10,
            16,
            20,
            25,
            40,
            50,
            80,
            100,
            125,
            200,
            250,
            400,
            500,
            625,
            1000,
            1250,
            2000,
            2500,
            5000,
            10000,
        ] | None = None,
        min_order_size_atomic: int | None = None,
        yes_token_id: int | None = None,
        no_token_id: int | None = None,
    ) -> Steps[Market]:
        """Makes a market.

        `open_interest`: Unit: whole contracts.
        `fee_bps`: Unit: basis points.
        `ticks_per_unit`: Unit: ticks per USDC.
        `min_order_size_atomic`: Unit: atomic tokens (10^-6).
        """
        return self._do(
            Market,
            "POST",
            "/admin/markets",
            body={
                **given(
                    title=title,
                    subtitle=subtitle,
                    description=description,
                    outcomes=as_list(outcomes),
                    category=category,
                    external_source=external_source,
                    trading_starts_at=as_time(trading_starts_at),
                    trading_ends_at=as_time(trading_ends_at),
                    fee_bps=fee_bps,
                    status=status,
                    ticks_per_unit=ticks_per_unit,
                    min_order_size_atomic=as_units(min_order_size_atomic),
                    yes_token_id=as_units(yes_token_id),
                    no_token_id=as_units(no_token_id),
                ),
                **set_or_null(
                    outcome_probabilities=as_list(outcome_probabilities),
                    previous_outcome_probabilities=as_list(previous_outcome_probabilities),
                    subcategories=as_list(subcategories),
                    external_event_id=external_event_id,
                    external_market_type=external_market_type,
                    series_ticker=series_ticker,
                    player_name=player_name,
                    player_team_abbrev=player_team_abbrev,
                    stat_category=stat_category,
                    period=period,
                    line=as_number(line),
                    resolution_source=resolution_source,
                    settlement_sources=as_list(settlement_sources),
                    open_interest=open_interest,
                    volume_24h=volume_24h,
                    condition_id=condition_id,
                    question_id=question_id,
                    event_id=event_id,
                ),
            },
        )

    def change_market(
        self,
        id: str,
        *,
        title: str | None = None,
        subtitle: str | None = None,
        description: str | None = None,
        outcomes: Sequence[str] | None = None,
        outcome_probabilities: Sequence[int] | None | Unset = UNSET,
        previous_outcome_probabilities: Sequence[int] | None | Unset = UNSET,
        category: str | None = None,
        subcategories: Sequence[str] | None | Unset = UNSET,
        external_source: str | None = None,
        external_event_id: str | None | Unset = UNSET,
        external_market_type: Literal["player_prop", "moneyline", "spread", "total", "other"] | None | Unset = UNSET,
        series_ticker: str | None | Unset = UNSET,
        player_name: str | None | Unset = UNSET,
        player_team_abbrev: str | None | Unset = UNSET,
        stat_category: str | None | Unset = UNSET,
        period: str | None | Unset = UNSET,
        line: Decimal | int | None | Unset = UNSET,
        resolution_source: str | None | Unset = UNSET,
        settlement_sources: Sequence[Mapping[str, Any]] | None | Unset = UNSET,
        open_interest: int | None | Unset = UNSET,
        volume_24h: int | None | Unset = UNSET,
        condition_id: str | None | Unset = UNSET,
        question_id: str | None | Unset = UNSET,
        event_id: str | None | Unset = UNSET,
        trading_starts_at: datetime | str | None = None,
        trading_ends_at: datetime | str | None = None,
        fee_bps: int | None = None,
        status: Literal[
            "draft",
            "pending",
            "active",
            "locked",
            "resolving",
            "resolved",
            "settled",
            "cancelled",
        ] | None = None,
    ) -> Steps[Market]:
        """Changes the description, the terms or the status of a market. ApprovalNeededError where another operator has
        to approve it.

        `open_interest`: Unit: whole contracts.
        `fee_bps`: Unit: basis points.
        """
        return self._do_or_ask(
            Market,
            "PATCH",
            f"/admin/markets/{segment(id)}",
            body={
                **given(
                    title=title,
                    subtitle=subtitle,
                    description=description,
                    outcomes=as_list(outcomes),
                    category=category,
                    external_source=external_source,
                    trading_starts_at=as_time(trading_starts_at),
                    trading_ends_at=as_time(trading_ends_at),
                    fee_bps=fee_bps,
                    status=status,
                ),
                **set_or_null(
                    outcome_probabilities=as_list(outcome_probabilities),
                    previous_outcome_probabilities=as_list(previous_outcome_probabilities),
                    subcategories=as_list(subcategories),
                    external_event_id=external_event_id,
                    external_market_type=external_market_type,
                    series_ticker=series_ticker,
                    player_name=player_name,
                    player_team_abbrev=player_team_abbrev,
                    stat_category=stat_category,
                    period=period,
                    line=as_number(line),
                    resolution_source=resolution_source,
                    settlement_sources=as_list(settlement_sources),
                    open_interest=open_interest,
                    volume_24h=volume_24h,
                    condition_id=condition_id,
                    question_id=question_id,
                    event_id=event_id,
                ),
            },
        )

    def create_event_set(
        self,
        *,
        event: Mapping[str, Any],
        winners: Literal[1],
        trading_ends_at: datetime | str,
        markets: Sequence[Mapping[str, Any]],
        trading_starts_at: datetime | str | None = None,
        fee_bps: int | None = None,
        ticks_per_unit: Literal[
            10,
            16,
            20,
            25,
            40,
            50,
            80,
            100,
            125,
            200,
            250,
            400,
            500,
            625,
            1000,
            1250,
            2000,
            2500,
            5000,
            10000,
        ] | None = None,
        min_order_size_atomic: int | None = None,
    ) -> Steps[EventSet]:
        """Makes an event set with its markets, of which exactly one outcome will win.

        `fee_bps`: Unit: basis points.
        `ticks_per_unit`: Unit: ticks per USDC.
        `min_order_size_atomic`: Unit: atomic tokens (10^-6).
        """
        return self._do(
            EventSet,
            "POST",
            "/admin/event-sets",
            body=given(
                event=event,
                winners=winners,
                trading_starts_at=as_time(trading_starts_at),
                trading_ends_at=as_time(trading_ends_at),
                fee_bps=fee_bps,
                ticks_per_unit=ticks_per_unit,
                min_order_size_atomic=as_units(min_order_size_atomic),
                markets=as_list(markets),
            ),
        )

    def resolve_event_set(
        self,
        id: str,
        *,
        winner: str | None = None,
        payouts: Sequence[Mapping[str, Any]] | None = None,
    ) -> Steps[EventSet]:
        """Decides all markets of a set at once: the winner, or parts that add up to one USDC. ApprovalNeededError where
        another operator has to approve it.

        `payouts`: What each Yes pays, together 1,000,000; that of every other market pays nothing.
        """
        return self._do_or_ask(
            EventSet,
            "POST",
            f"/admin/event-sets/{segment(id)}/resolve",
            body=given(winner=winner, payouts=as_list(payouts)),
        )

    def cancel_event_set(self, id: str, *, payouts: Sequence[Mapping[str, Any]] | None = None) -> Steps[EventSet]:
        """Decides a set without an answer: every Yes pays an equal part, unless the body says otherwise.
        ApprovalNeededError where another operator has to approve it.

        `payouts`: What each Yes pays, together 1,000,000; that of every other market pays nothing.
        """
        return self._do_or_ask(
            EventSet, "POST", f"/admin/event-sets/{segment(id)}/cancel", body=given(payouts=as_list(payouts))
        )
