"""faults.py: what the Python client does when answers are lost, late, of a proxy, or refusals for a moment."""
import asyncio
import dataclasses
import importlib.util
import json
import time
import types
from datetime import datetime
from decimal import Decimal
from typing import Literal, get_args, get_origin, get_type_hints

import httpx

from open_prediction_exchange import ApiKey, AsyncClient, Client, Intent, PrivateKey, RetryPolicy, to_frame
from open_prediction_exchange import error_codes, errors, models
from open_prediction_exchange.decoding import decode
from open_prediction_exchange.models import Balances, BatchPlaceResponse, PlacementResponse

MARKET = "0190a0b0-c0d0-7000-8000-0000000000af"
OTHER = "http://other:1"
WALLET = PrivateKey("0x" + "11" * 32)
KEY = ApiKey("key", "c2VjcmV0c2VjcmV0", "a passphrase")
DOMAIN = {"name": "Prediction Market Exchange", "version": "1", "chainId": 1, "verifyingContract": "0x" + "ab" * 20}
READS = ("/v1/platform/config",)
FAST = RetryPolicy(first_pause_sec=0.001, most_pause_sec=0.002, longest_wait_sec=1)


def refusal(status, code, **more):
    headers = {"retry-after": str(more.pop("retry_after"))} if "retry_after" in more else {}
    return httpx.Response(status, headers=headers, json={"error": "refused", "code": code, **more})


def sample(kind, **given):
    """An answer of that form, as JSON."""
    hints = get_type_hints(kind)
    needed = [field for field in dataclasses.fields(kind) if field.default is dataclasses.MISSING]
    return {**{field.name: sample_of(hints[field.name]) for field in needed}, **given}


def sample_of(kind):
    if get_origin(kind) is Literal:
        return get_args(kind)[0]
    if get_origin(kind) is types.UnionType:
        return sample_of(get_args(kind)[0])
    if dataclasses.is_dataclass(kind):
        return sample(kind)
    simple = {int: "1", Decimal: "0.5", str: "0x" + "ab" * 20, bool: True, datetime: "2026-10-01T12:00:00.000Z"}
    return simple.get(kind, [] if get_origin(kind) is tuple else {})


class Exchange:
    """Answers of its own to reads; what is said to changes is given."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.requests = []
        self.fee = 50

    def __call__(self, request):
        path = request.url.path
        if path in READS or path.endswith(("tick-size", "fee-rate", "nonce-floor")) or path == "/v1/markets/" + MARKET:
            return httpx.Response(200, json=self.read(path))
        self.requests.append(request)
        answer = self.answers.pop(0) if self.answers else httpx.Response(200, json=sample(PlacementResponse))
        if callable(answer):
            answer = answer(request)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def read(self, path):
        fee = dict(maker_fee_bps=self.fee, taker_fee_bps=self.fee)
        if path.endswith("tick-size"):
            return sample(models.TickSize, ticks_per_unit=100)
        if path.endswith("fee-rate"):
            return sample(models.FeeRate, **fee)
        if path.endswith("nonce-floor"):
            return sample(models.NonceFloor, nonce_floor=0)
        if path in READS:
            return sample(models.PlatformConfig, eip712_domain=DOMAIN)
        return sample(models.Market, id=MARKET, yes_token_id="11", no_token_id="12")

    def client(self, url="http://exchange", **options):
        http = httpx.Client(transport=httpx.MockTransport(self))
        return Client(url, api_key=KEY, wallet=WALLET, http=http, **{"retry": FAST, **options})


BUY = Intent(market_id=MARKET, outcome_index=0, side="BUY", price="0.40", size="10")


def raises(kind, call):
    try:
        call()
    except kind as error:
        return error
    raise AssertionError(f"{call} did not raise {kind}")


def keys(exchange):
    return {request.headers["idempotency-key"] for request in exchange.requests}


# Whatever is lost on the way, a placement is sent again with its key, and each time under a signature of its own.
lost, page = httpx.ReadTimeout("late"), httpx.Response(502, text="<html>")
exchange = Exchange(lost, page, refusal(503, "ENGINE_BUSY", retry_after=0))
assert exchange.client().place(BUY).answer.status == "open"
assert len(exchange.requests) == 4 and len(keys(exchange)) == 1
assert len({request.headers["x-svc-nonce"] for request in exchange.requests}) == 4
assert len({request.content for request in exchange.requests}) == 1

# Doubt is not forgotten over a later answer that says nothing of it, and the order is in the error.
exchange = Exchange(lost, *[refusal(503, "ENGINE_BUSY")] * 3)
unknown = raises(errors.UnknownOutcomeError, lambda: exchange.client().place(BUY))
assert unknown.order.answer is None and unknown.order.body["signature"].startswith("0x")
assert isinstance(unknown.__cause__, errors.NoAnswerError)
# A page of a proxy is no refusal, whatever its status and its code are.
for foreign in (httpx.Response(403, text="no"), httpx.Response(200, text="<html>"), refusal(418, "NOT_FOUND")):
    assert isinstance(
        raises(errors.UnknownOutcomeError, lambda: Exchange(*[foreign] * 4).client().place(BUY)).order.hash, str
    )
exchange = Exchange(httpx.Response(307, headers={"location": OTHER}))
raises(errors.UnknownOutcomeError, lambda: exchange.client().cancel_all())
assert len(exchange.requests) == 1


# An answer that comes byte by byte ends at the time-out of the attempt.
def dripping(request):
    def parts():
        while True:
            time.sleep(0.01)
            yield b" "

    return httpx.Response(200, content=parts())


slow = Exchange(*[dripping] * 2)
raises(errors.NoAnswerError, lambda: slow.client(timeout_sec=0.05, retry=None).claim(MARKET))

# A refusal is of the class of its code, and is not repeated; a wait that is too long is the caller's.
exchange = Exchange(refusal(400, "INSUFFICIENT_BALANCE", details={"required": "4000000"}))
poor = raises(error_codes.InsufficientBalanceError, lambda: exchange.client().place(BUY))
assert poor.details == {"required": "4000000"} and len(exchange.requests) == 1 and isinstance(poor, errors.ApiError)
exchange = Exchange(refusal(429, "RATE_LIMITED", retry_after=60))
assert raises(error_codes.RateLimitedError, lambda: exchange.client().cancel_all()).retry_after == 60

# A claim has no key: an open end is not repeated. A split has one of its own in each call.
exchange = Exchange(lost)
raises(errors.NoAnswerError, lambda: exchange.client().claim(MARKET))
assert len(exchange.requests) == 1
exchange = Exchange(lost, lost, lost, lost)
raises(errors.NoAnswerError, lambda: exchange.client().split(MARKET, 100))
assert len(exchange.requests) == 4 and len(keys(exchange)) == 1

# An order is replaced by one of its own terms, under its own hash; what was lost on the way is in the error.
exchange = Exchange()
order = exchange.client().place(BUY)
exchange.answers = [httpx.Response(200, json=sample(models.CancelReplaceResponse, order=sample(PlacementResponse)))]
replaced = order.replace(price="0.41", size="9")
sent = json.loads(exchange.requests[-1].content)
assert sent["cancel_hash"] == order.hash and sent["new_order"] == replaced.body and replaced.hash != order.hash
assert (replaced.body["maker_amount"], replaced.body["taker_amount"]) == ("3690000", "9000000")
exchange.answers = [lost] * 4
assert raises(errors.UnknownOutcomeError, lambda: order.amend(price="0.42", size="9")).order.hash != order.hash

# A fee that has changed since it was read is signed anew, once; one that the caller has named is not.
exchange = Exchange()


def fee_moved(request):
    exchange.fee = 60
    return refusal(422, "FEE_RATE_MISMATCH")


exchange.answers = [fee_moved]
assert exchange.client().place(BUY).body["fee_rate_bps"] == 60
# A floor that was raised is in the refusal.
exchange = Exchange(refusal(400, "NONCE_BELOW_FLOOR", details={"nonce_floor": 7}))
assert exchange.client().place(BUY).body["nonce"] == 7

# A clock that is wrong is learnt from the refusal, and the request is signed again.
exchange = Exchange(refusal(401, "UNAUTHORIZED", details={"step": "timestamp", "server_time": int(time.time()) + 500}))
client = exchange.client()
client.place(BUY)
first, second = (int(request.headers["x-svc-timestamp"]) for request in exchange.requests)
assert 495 < second - first < 505 and 495 < client.clock_offset_sec < 505

# Of a cluster the one that leads gets the request, and an address that nobody has given gets none.
exchange = Exchange(refusal(503, "NOT_MATCHING_LEADER", details={"leader": "http://evil"}))
exchange.client(["http://one", "http://two"]).place(BUY)
assert [request.url.host for request in exchange.requests] == ["one", "two"]

# Answers: what is added later is left out, what is missing or a float where units belong is an error of words.
FUNDS = {"usdc": {"available": "1", "reserved": "2", "new": 1}, "tokens": [], "newer": True}
assert decode(Balances, FUNDS).usdc.reserved == 2
raises(errors.UnexpectedAnswerError, lambda: decode(Balances, {**FUNDS, "usdc": {"available": 1.5, "reserved": "2"}}))
raises(errors.UnexpectedAnswerError, lambda: decode(Balances, {"usdc": FUNDS["usdc"]}))
# An order whose answer has another form was placed all the same: it is in the error.
exchange = Exchange(httpx.Response(200, json={"order_id": "i"}))
assert raises(errors.UnknownOutcomeError, lambda: exchange.client().place(BUY)).order.hash.startswith("0x")
ROW = {"index": 0, "status": "failed", "error": "no", "code": "X"}
batch = decode(BatchPlaceResponse, {"results": [ROW], "succeeded": 0, "failed": 1, "total": 1})
assert type(batch.results[0]).__name__ == "BatchPlaceRefusal"
# Nothing that is printed has a secret in it.
seen = repr(KEY) + repr(vars(client)) + repr(poor) + repr(unknown) + repr(unknown.order)
assert "c2VjcmV0" not in seen and "a passphrase" not in seen and "11" * 16 not in seen

# A frame is exact, or says what it needs.
ROWS = [decode(models.BookLevel, sample(models.BookLevel, token_quantity_atomic=str(10**30)))]
if importlib.util.find_spec("pandas") is None:
    assert "pandas" in str(raises(ImportError, lambda: to_frame(ROWS)))
else:
    frame = to_frame(ROWS, index="price")
    assert frame.loc[Decimal("0.5")].token_quantity_atomic == 10**30 and to_frame([]).empty


async def together():
    """Two at once, and one that is cancelled: the others go on."""
    exchange = Exchange(lost)
    http = httpx.AsyncClient(transport=httpx.MockTransport(exchange))
    async with AsyncClient("http://exchange", api_key=KEY, wallet=WALLET, http=http, retry=FAST) as client:
        gone = asyncio.create_task(client.place(BUY))
        await asyncio.sleep(0)
        gone.cancel()
        orders = await asyncio.gather(*[client.place(BUY) for _ in range(5)])
        assert len({order.hash for order in orders}) == 5


asyncio.run(together())
print("every fault is met")
