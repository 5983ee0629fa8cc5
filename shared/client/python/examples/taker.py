"""taker.py MARKET SIZE: buys up to SIZE tokens of Yes at the best price or a tick worse, and says what it cost.

EXCHANGE_URL, API_KEY, API_SECRET, API_PASSPHRASE and PRIVATE_KEY are those of an account.
"""
import os
import sys
from decimal import Decimal

from open_prediction_exchange import ApiError, ApiKey, Client, Intent, format_units


def main(market_id: str, size: str) -> int:
    key = ApiKey(os.environ["API_KEY"], os.environ["API_SECRET"], os.environ["API_PASSPHRASE"])
    with Client(os.environ["EXCHANGE_URL"], api_key=key, wallet=os.environ["PRIVATE_KEY"]) as client:
        with client.open_stream() as stream:
            # The whole book, verified: what is seen is what is there.
            book = stream.open_book(market_id, verify="every")
            book.ready(timeout_sec=30)
            _, ask = book.best()
            if ask is None:
                print("there is no one who sells")
                return 1
            wanted = int(Decimal(size) * 1_000_000)
            there, costs = book.levels().depth("BUY", wanted)
            print(f"of {size} there are {format_units(there)}, for {format_units(costs)} USDC")
        tick = client.tick_size(market_id).tick_size
        limit = min(ask.price + tick, 1 - tick)
        intent = Intent(market_id=market_id, outcome_index=0, side="BUY", price=limit, size=size, time_in_force="FAK")
        try:
            order = client.place(intent)
        except ApiError as refusal:
            # FAK_NO_FILL: others were faster. Every code is a class as well (error_codes.py).
            print("refused:", refusal.code)
            return 1
        record = order.wait()
        assert record is not None, "it was answered"
        tokens = format_units(record.filled_token_quantity_atomic)
        print(f"bought {tokens} at {record.average_fill_price}")
        return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
