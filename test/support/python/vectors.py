"""vectors.py FOLDER: runs the vectors of other libraries against the Python client, and what it has to refuse."""
import binascii
import json
import sys
from decimal import Decimal
from pathlib import Path

from open_prediction_exchange import amounts, signing
from open_prediction_exchange.keys import PrivateKey, keccak256
from open_prediction_exchange.logic.cash_signing import transfer_digest
from open_prediction_exchange.market_order import MarketTerms, market_preview
from open_prediction_exchange.orders import Intent, OrderMarket, OrderSigner, draft_order
from open_prediction_exchange.stream import Level, Levels

FOLDER = Path(sys.argv[1])


def read(name):
    return json.loads((FOLDER / name).read_text())


def hexed(data):
    return "0x" + data.hex()


orders = read("eip712.json")["vectors"]
guide = read("guide.json")["order"]
assert hexed(signing.type_hash()) == guide["typeHash"]
for vector in [*orders, {**guide, "order": guide["message"]}]:
    given, order = vector["domain"], vector["order"]
    domain = signing.Domain(given["name"], given["version"], given["chainId"], given["verifyingContract"])
    assert hexed(domain.separator) == vector["domainSeparator"], vector
    assert hexed(signing.struct_hash(order)) == vector["structHash"], vector
    digest = signing.order_digest(order, domain)
    key = PrivateKey(vector["privateKey"])
    assert hexed(digest) == vector["digest"] and key.address == order["signer"], vector
    assert hexed(key.sign_digest(digest)) == vector["signature"], vector
    assert vector["privateKey"][2:] not in repr(key) + str(vars(key).keys())

requests = read("hmac.json")["vectors"]
for vector in requests:
    method, path, body = vector["method"], vector["path"], vector["body"].encode()
    text = signing.string_to_sign(vector["timestamp"], vector["nonce"], method, path, body)
    assert text == vector["v2"]["stringToSign"], vector
    assert signing.hmac_signature(signing.decode_secret(vector["secret"]), text) == vector["v2"]["signature"], vector
api_key = signing.ApiKey("id", "c2VjcmV0", "a passphrase")
assert "c2VjcmV0" not in repr(api_key) and "passphrase" not in repr(api_key).replace("passphrase=", "")

# An order of each side on each grid: both amounts follow from ticks and lots alone.
MARKET = OrderMarket("m", 11, 12, 1000)
buy = draft_order(Intent(market_id="m", outcome_index=0, side="BUY", price="0.055", size="2.5"), MARKET, 50, 7)
assert (buy["maker_amount"], buy["taker_amount"], buy["token_id"], buy["nonce"]) == ("137500", "2500000", "11", 7)
exact = Intent(market_id="m", outcome_index=1, side="SELL", price_ticks=55, quantity_lots=2500)
sell = draft_order(exact, MARKET, 50, 0)
assert (sell["maker_amount"], sell["taker_amount"], sell["token_id"]) == ("2500000", "137500", "12")
signer = OrderSigner(guide["privateKey"], signing.Domain("n", "1", 1, "0x" + "ab" * 20))
first, again, other = signer.sign(buy, salt=5), signer.sign(buy, salt=5), signer.sign(buy)
assert first == again and other.order_hash != first.order_hash

assert amounts.parse_units(Decimal("1.25")) == 1_250_000 and amounts.parse_units(3) == 3_000_000
assert amounts.format_units(-12_500_000) == "-12.5" and amounts.floor_size("1.23456", 100) == "1.2345"
assert amounts.parse_price("0.65", 100) == 65 and amounts.format_price(65, 100) == "0.65"
# 28 digits are where the context of decimals begins to round.
assert amounts.parse_units("1234567890123456789012345678901.000001") == 1234567890123456789012345678901000001

books = read("bookChecksum.json")["vectors"]
for vector in books:
    text = "|".join(f"{price}:{quantity}" for price, quantity in vector["bids"] + vector["asks"])
    assert text == vector["text"] and binascii.crc32(text.encode()) == vector["checksum"], vector

sales = read("marketOrder.json")["vectors"]
for vector in sales:
    rows = {
        side: [
            Level(price=Decimal(row["price"]), token_quantity_atomic=int(row["token_quantity_atomic"]), num_orders=1)
            for row in vector[side]
        ]
        for side in ("bids", "asks")
    }
    levels = Levels(bids=tuple(rows["bids"]), asks=tuple(rows["asks"]))
    terms = MarketTerms(max_slippage=vector["max_slippage"], usd=vector.get("usd"), size=vector.get("size"))
    market = OrderMarket("m", 1, 2, vector["ticks_per_unit"])
    try:
        preview = market_preview(vector["side"], market, vector["fee_rate_bps"], levels, terms)
    except ValueError as error:
        assert str(error) == vector["refused"], vector
        continue
    gives = vector["gives"]
    average = gives["average_price"]
    assert preview.limit_price == Decimal(gives["limit_price"]), vector
    assert preview.average_price == (None if average is None else Decimal(average)), vector
    exact = (preview.intent.price_ticks, preview.intent.quantity_lots)
    assert exact == (int(gives["price_ticks"]), int(gives["quantity_lots"])), vector
    for name in ("size_atomic", "limit_micro", "filled_atomic", "notional_micro", "fee", "received"):
        assert getattr(preview, name) == int(gives[name]), (name, vector)

# The typed data of an off-ramp's transfer, as a wallet of viem hashes it.
transfer = read("transferDigest.json")
domain = signing.Domain(*[transfer["domain"][name] for name in ("name", "version", "chainId", "verifyingContract")])
fields = [transfer["message"][name] for name in ("from", "to", "value", "validAfter", "validBefore", "nonce")]
assert hexed(transfer_digest(domain, *fields)) == transfer["digest"]

BUY_ALL = MarketTerms(max_slippage="0", usd="1", size="1")
REFUSED = [
    (TypeError, lambda: market_preview("BUY", MARKET, 0, Levels(bids=(), asks=()), BUY_ALL)),
    (TypeError, lambda: market_preview("SELL", MARKET, 0, levels, MarketTerms(max_slippage="0", usd="1"))),
    (TypeError, lambda: market_preview("BUY", MARKET, 0, levels, MarketTerms(max_slippage=0.1, usd="1"))),
    (ValueError, lambda: market_preview("BUY", MARKET, 0, levels, MarketTerms(max_slippage="-1", usd="1"))),
    (TypeError, lambda: amounts.parse_price(0.65, 100)),
    (TypeError, lambda: amounts.parse_units(True)),
    (TypeError, lambda: amounts.checked_lots(1.0, 100)),
    (ValueError, lambda: amounts.parse_price("0.655", 100)),
    (ValueError, lambda: amounts.parse_price("1", 100)),
    (ValueError, lambda: amounts.parse_price("1e-2", 100)),
    (ValueError, lambda: amounts.parse_units("-1")),
    (ValueError, lambda: amounts.parse_units("1.2345678")),
    (ValueError, lambda: amounts.parse_units("NaN")),
    (ValueError, lambda: amounts.parse_units(Decimal("Infinity"))),
    (ValueError, lambda: amounts.parse_units("١")),
    (ValueError, lambda: amounts.parse_units("1_0")),
    (ValueError, lambda: amounts.parse_lots("0.00001", 100)),
    (ValueError, lambda: amounts.parse_lots("1000000001", 100)),
    (ValueError, lambda: PrivateKey("0x" + "0" * 64)),
    (ValueError, lambda: PrivateKey("0x" + "f" * 64)),
    (ValueError, lambda: PrivateKey("11" * 31)),
    (ValueError, lambda: PrivateKey("0x" + "1 " * 64)),
    (TypeError, lambda: draft_order(Intent(market_id="m", outcome_index=0, side="BUY", price="0.5"), MARKET, 50, 0)),
    (ValueError, lambda: signing.decode_secret("a")),
]
for kind, call in REFUSED:
    try:
        call()
    except kind as error:
        assert "f" * 64 not in str(error) and "11" * 31 not in str(error)
    else:
        raise AssertionError(f"{call} was not refused")
assert keccak256(b"").hex().startswith("c5d2460186f7")
counted = f"{len(orders) + 1} orders, {len(requests)} requests, {len(books)} books, {len(sales)} at the market"
print(f"{counted}, {len(REFUSED)} refusals")
