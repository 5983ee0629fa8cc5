"""play_scenario.py blocking|asyncio SCENARIO: plays a scenario of test/vectors, and prints what each step gives.

Standard input has a line with the accounts, and then one for each time that the exchange was killed and started again.
"""
import asyncio
import json
import sys

from open_prediction_exchange import ApiError, ApiKey, AsyncClient, Client, Intent

IS_ASYNC = sys.argv[1] == "asyncio"
LOOP = asyncio.new_event_loop()
given = json.loads(sys.stdin.readline())
replayed = []


def do(work):
    """The result of a method of either client."""
    if not IS_ASYNC:
        return work
    return LOOP.run_until_complete(work)


def rows(iterator):
    async def collected():
        return [row async for row in iterator]

    return do(collected()) if IS_ASYNC else list(iterator)


def client_of(account):
    key = ApiKey(account["keyId"], account["secret"], account["passphrase"])
    options = dict(api_key=key, wallet=account["privateKey"], on_answer=lambda info: replayed.append(info.is_replayed))
    return (AsyncClient if IS_ASYNC else Client)(given["baseUrl"], **options)


CLIENTS = {name: client_of(account) for name, account in given["accounts"].items()}
MARKET = given["market"]
orders, owners = {}, {}


def placed(answer):
    fills = [[str(f.price), str(f.token_quantity_atomic), str(f.notional_usdc_micro)] for f in answer.fills]
    return {"status": answer.status, "remaining": str(answer.remaining), "fills": fills}


def place(step):
    client = CLIENTS[step["as"]]
    order = do(client.place(Intent(market_id=MARKET, **step["intent"])))
    orders[step["order"]], owners[step["order"]] = order, client
    return placed(order.answer)


def amend(step):
    orders[step["order"]] = do(orders[step["order"]].amend(**step["to"]))
    return placed(orders[step["order"]].answer)


def record(step):
    row = do(orders[step["order"]].record())
    average = None if row.average_fill_price is None else str(row.average_fill_price)
    filled = str(row.filled_token_quantity_atomic)
    return {"status": row.status, "remaining": str(row.remaining), "filled": filled, "average": average}


def cancel(step):
    order = orders[step["order"]]
    do(order.cancel())
    # What is closed already stays as it is.
    do(order.cancel())
    return {"status": do(order.wait(60)).status}


def book(step):
    levels = do(CLIENTS["maker"].book(MARKET))
    sides = {"bids": levels.bids, "asks": levels.asks}
    return {
        side: [[str(x.price), str(x.token_quantity_atomic), x.num_orders] for x in of] for side, of in sides.items()
    }


def again(step):
    order = orders[step["order"]]
    answer = do(owners[step["order"]].place_order(order.body))
    return {"same": answer == order.answer, "replayed": replayed[-1]}


def balances(step):
    held = do(CLIENTS[step["as"]].balances())
    tokens = [[str(row.outcome_index), str(row.available)] for row in held.tokens if row.market_id == MARKET]
    return {"available": str(held.usdc.available), "reserved": str(held.usdc.reserved), "tokens": tokens}


def kill(step):
    print(json.dumps("kill"), flush=True)
    sys.stdin.readline()
    return None


STEPS = {
    "place": place,
    "amend": amend,
    "record": record,
    "cancel": cancel,
    "book": book,
    "again": again,
    "kill": kill,
    "balances": balances,
    "orders": lambda step: [row.status for row in rows(CLIENTS[step["as"]].all_user_orders())],
    "trades": lambda step: [
        [row.role, row.party_side, str(row.token_quantity_atomic)]
        for row in rows(CLIENTS[step["as"]].all_user_trades(market_id=MARKET))
    ],
    "cancelled all": lambda step: do(CLIENTS[step["as"]].cancel_all()).cancelled,
}
with open(sys.argv[2]) as scenario:
    for step in json.load(scenario)["steps"]:
        try:
            result = STEPS[step["do"]](step)
        except ApiError as error:
            result = {"code": error.code, "status": error.status}
        if step["do"] != "kill":
            print(json.dumps(result), flush=True)
for client in CLIENTS.values():
    do(client.close())
