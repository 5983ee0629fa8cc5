"""play_scenario.py blocking|asyncio SCENARIO: plays a scenario of test/vectors, and prints what each step gives.

Standard input has a line with the accounts, and then one for each time that the exchange was killed and started again.
"""
import asyncio
import json
import sys

from open_prediction_exchange import AdminClient, ApiError, ApiKey, AsyncAdminClient, AsyncClient, Client, Intent
from open_prediction_exchange import sign_in, sign_in_async
from open_prediction_exchange.stream import Fill, Gap, OrderStatus

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
orders, owners, follows, sockets = {}, {}, {}, []
ADMIN = (AsyncAdminClient if IS_ASYNC else AdminClient)(given["baseUrl"], given["adminToken"])


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


def follow(step):
    stream = CLIENTS["maker"].open_stream() if not IS_ASYNC else do(opened())
    options = dict(market_id=MARKET, verify="every")
    follows["book"] = do(in_loop(lambda: stream.open_book(**options)))
    follows["user"] = do(in_loop(stream.open_user))
    follows["stream"] = stream
    do(follows["book"].ready())
    do(follows["user"].ready())
    return follows["book"].state


async def opened():
    return CLIENTS["maker"].open_stream()


def in_loop(call):
    """A call that needs the running loop, where there is one."""

    async def called():
        return call()

    return called() if IS_ASYNC else call()


def events(step):
    found = []
    while len(found) < len(step["gives"]):
        event = do(follows["user"].next_event(60))
        if isinstance(event, OrderStatus):
            found.append(["order_status", event.status, event.reason, str(event.remaining)])
        elif isinstance(event, Fill):
            price, quantity = str(event.price), str(event.token_quantity_atomic)
            found.append(["fill", event.status, price, quantity, str(event.remaining), event.role])
        elif isinstance(event, Gap):
            found.append(["gap", event.cause])
    return found


def followed_book(step):
    """The book of the stream, once it has come as far as the one that is read."""
    followed, target = follows["book"], do(CLIENTS["maker"].book(MARKET)).sequence
    while followed.state != "live" or followed.sequence < target:
        do(followed.next_event(60))
    levels = followed.levels(0)
    mirrored = followed.levels(1)
    assert [x.price for x in mirrored.asks] == [1 - x.price for x in levels.bids]
    assert followed.best(0)[0] == (levels.bids[0] if levels.bids else None)
    sides = {"bids": levels.bids, "asks": levels.asks}
    return {
        side: [[str(x.price), str(x.token_quantity_atomic), x.num_orders] for x in of] for side, of in sides.items()
    }


def preview(step):
    asked = CLIENTS[step["as"]].preview_market(step["side"], MARKET, **step["at"])
    p = do(asked)
    exact = {"most": p.limit_micro, "filled": p.filled_atomic, "notional": p.notional_micro, "fee": p.fee}
    texts = {name: str(value) for name, value in {**exact, "received": p.received, "size": p.size_atomic}.items()}
    return {**texts, "limit": str(p.limit_price), "average": None if p.average_price is None else str(p.average_price)}


def buy(step):
    client = CLIENTS[step["as"]]
    order = do(client.buy(MARKET, **step["at"]))
    orders[step["order"]], owners[step["order"]] = order, client
    return placed(order.answer)


def socket(step):
    sockets.append(do(CLIENTS[step["as"]].open_order_socket()))
    assert sockets[-1].is_open
    return "open"


def signed_in(step):
    """The client is one of a session from now on."""
    name = step["as"]
    wallet, base_url = given["accounts"][name]["privateKey"], given["baseUrl"]
    before = do(CLIENTS[name].profile()).id
    session = do((sign_in_async if IS_ASYNC else sign_in)(base_url, wallet))
    do(CLIENTS[name].close())
    CLIENTS[name] = (AsyncClient if IS_ASYNC else Client)(base_url, session=session, wallet=wallet)
    assert session.tokens.access_token not in repr(session) + repr(session.tokens)
    return {"same": session.user.id == before, "sessions": len(do(CLIENTS[name].sessions()).sessions)}


def signed_out(step):
    do(CLIENTS[step["as"]].sign_out())
    return rows(CLIENTS[step["as"]].all_user_orders())


def deposit(step):
    user = do(CLIENTS[step["to"]].profile()).id
    before = do(ADMIN.get_user(user)).usdc.available
    amount = do(ADMIN.deposit(user, amount_usdc_micro=int(step["amount"]))).amount_usdc_micro
    return {"amount": str(amount), "user": str(do(ADMIN.get_user(user)).usdc.available - before)}


def catalogue(step):
    report = do(ADMIN.import_catalogue(do(ADMIN.export_catalogue())))
    return {"created": report.created, "unchanged": report.unchanged > 0}


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
    "preview": preview,
    "buy": buy,
    "socket": socket,
    "sign in": signed_in,
    "sign out": signed_out,
    "cash": lambda step: len(do(CLIENTS[step["as"]].cash.sessions()).sessions),
    "deposit": deposit,
    "admin": lambda step: do(ADMIN.get_user("0190a0b0-c0d0-7000-8000-0000000000af")),
    "rebate": lambda step: do(ADMIN.set_rebate(MARKET, rebate_bps=step["bps"])).rebate_bps,
    "catalogue": catalogue,
    "follow": follow,
    "events": events,
    "followed book": followed_book,
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
        except ValueError as error:
            # An order that this machine refuses was not sent.
            result = {"refused": str(error)}
        if step["do"] != "kill":
            print(json.dumps(result), flush=True)
do(follows["stream"].close())
for each in sockets:
    do(each.close())
do(ADMIN.close())
for client in CLIENTS.values():
    do(client.close())
