"""market_maker.py MARKET VALUE: keeps a bid for Yes and one for No around what a Yes is worth to it.

Buying No at p is offering Yes at 1 - p, so both sides need only USDC, and when both are filled the pair is merged into
one USDC. The more Yes it has, the lower it quotes. If it dies, heartbeats stop and the exchange cancels its orders; if
it is started again, what it left behind is cancelled first. It has its account to itself.

EXCHANGE_URL, API_KEY, API_SECRET, API_PASSPHRASE and PRIVATE_KEY are those of the account.
"""
from __future__ import annotations

import asyncio
import os
import signal
import sys
from decimal import Decimal

from open_prediction_exchange import ApiError, ApiKey, AsyncClient, AsyncPlacedOrder, ExchangeError, Intent
from open_prediction_exchange.error_codes import OrderNotCancellableError, PostOnlyWouldCrossError
from open_prediction_exchange.orders import Outcome

HALF_SPREAD_TICKS = 2
SIZE = Decimal(10)
"""Tokens of each quote."""
TOKENS_PER_TICK = 20
"""The quotes move by one tick for each of so many tokens of inventory."""
MOST_INVENTORY = 200
"""Beyond this it quotes the side that reduces it, and no other."""
REQUOTE_SEC = 0.5


class Maker:
    """The quotes of one market."""

    def __init__(self, client: AsyncClient, market_id: str, value: Decimal) -> None:
        self.client = client
        self.market_id = market_id
        self.value = value
        self.quotes: dict[Outcome, tuple[int, AsyncPlacedOrder]] = {}

    async def run(self, stopped: asyncio.Event) -> None:
        """Quotes until it is stopped, and takes everything back at the end."""
        await self.client.cancel_market(self.market_id)
        heartbeats = await self.client.start_heartbeats(on_lapse=self.lapsed)
        try:
            while not stopped.is_set():
                try:
                    await self.requote()
                except ApiError as error:
                    if error.status in (401, 403, 404):
                        raise
                    print("refused:", error.code)
                    await self.begin_anew()
                except ExchangeError as error:
                    # No answer: an order may stand that is not among the quotes.
                    print("not answered:", error)
                    await self.begin_anew()
                try:
                    await asyncio.wait_for(stopped.wait(), REQUOTE_SEC)
                except asyncio.TimeoutError:
                    pass
        finally:
            heartbeats.close()
            await self.client.cancel_market(self.market_id)

    def lapsed(self, error: BaseException, is_over: bool) -> None:
        """The exchange has cancelled the quotes, or will."""
        print("heartbeats fail:", error)
        self.quotes.clear()

    async def begin_anew(self) -> None:
        """Nothing is left in the book that is not known."""
        self.quotes.clear()
        try:
            await self.client.cancel_market(self.market_id)
        except ExchangeError as error:
            print("not yet:", error)

    async def inventory(self) -> tuple[int, int]:
        """Atomic tokens of Yes and of No, after pairs of them were merged."""
        held = [0, 0]
        for row in (await self.client.balances()).tokens:
            if row.market_id == self.market_id:
                held[row.outcome_index] = row.available
        grid = (await self.client.order_market(self.market_id)).ticks_per_unit
        pairs = min(held) // grid * grid
        if pairs > 0:
            await self.client.merge(self.market_id, pairs)
        return held[0] - pairs, held[1] - pairs

    async def requote(self) -> None:
        """Moves the quotes to where they belong now."""
        grid = (await self.client.order_market(self.market_id)).ticks_per_unit
        yes, no = await self.inventory()
        tokens = Decimal(yes - no) / 1_000_000
        middle = int(self.value * grid - tokens / TOKENS_PER_TICK)
        await self.quote(0, middle - HALF_SPREAD_TICKS, grid, wanted=tokens < MOST_INVENTORY)
        await self.quote(1, grid - middle - HALF_SPREAD_TICKS, grid, wanted=tokens > -MOST_INVENTORY)

    async def quote(self, outcome: Outcome, ticks: int, grid: int, wanted: bool) -> None:
        """One bid of its own for this outcome, at this price."""
        ticks = min(max(ticks, 1), grid - 1)
        before, order = self.quotes.get(outcome, (None, None))
        if order is not None:
            record = await order.record()
            is_open = record.status in ("open", "partially_filled")
            if is_open and wanted and before == ticks and record.filled_token_quantity_atomic == 0:
                return
            del self.quotes[outcome]
            if is_open:
                await order.cancel()
        if not wanted:
            return
        lots = int(SIZE * 1_000_000) // grid
        intent = Intent(
            market_id=self.market_id,
            outcome_index=outcome,
            side="BUY",
            price_ticks=ticks,
            quantity_lots=lots,
            post_only=True,
        )
        try:
            self.quotes[outcome] = ticks, await self.client.place(intent)
        except (PostOnlyWouldCrossError, OrderNotCancellableError):
            # The market has come to it: the next round looks anew.
            pass


async def main(market_id: str, value: str) -> None:
    stopped = asyncio.Event()
    for each in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(each, stopped.set)
    key = ApiKey(os.environ["API_KEY"], os.environ["API_SECRET"], os.environ["API_PASSPHRASE"])
    async with AsyncClient(os.environ["EXCHANGE_URL"], api_key=key, wallet=os.environ["PRIVATE_KEY"]) as client:
        await Maker(client, market_id, Decimal(value)).run(stopped)
        print("no order is left")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
