"""hostile.py SEED CALLS: the clients before a server that answers anything, and before a clumsy caller.

Every failure of a call is an ExchangeError with a text that can be read; what a caller does wrong is a TypeError or a
ValueError before anything is sent.
"""
import http.server
import json
import random
import socketserver
import sys
import threading

from open_prediction_exchange import AdminClient, ApiKey, Client, ExchangeError, Intent, sign_in

SEED = int(sys.argv[1])
RANDOM = random.Random(SEED)
VALUES = [None, True, 0, -1, 10**400, 1.5, "", "x", "9" * 5000, [], {}, [[]], {"code": 5}, "2026-13-45T99:99:99Z"]
NAMES = ["id", "status", "usdc", "tokens", "orders", "next_cursor", "code", "error", "details", "markets", "bids"]
STATUSES = [200, 200, 200, 201, 400, 401, 404, 409, 429, 500, 503, 302]
MARKET, KEY = "0190a0b0-c0d0-7000-8000-0000000000af", "0x" + "11" * 32


def value(depth=0):
    kind = RANDOM.randrange(6)
    if kind < 4 or depth > 3:
        return RANDOM.choice(VALUES)
    if kind == 4:
        return [value(depth + 1) for _ in range(RANDOM.randrange(3))]
    return {RANDOM.choice(NAMES): value(depth + 1) for _ in range(RANDOM.randrange(6))}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def answer(self):
        self.rfile.read(int(self.headers.get("content-length") or 0))
        kind, body = RANDOM.randrange(8), json.dumps(value()).encode()
        if kind == 0:
            self.close_connection = True
            return
        bodies = {1: body[: len(body) // 2], 2: b"\xff\xfe\x00" + body, 3: b"[" * 100_000}
        body = bodies.get(kind, body)
        self.send_response(RANDOM.choice(STATUSES))
        if kind == 4:
            self.send_header("retry-after", RANDOM.choice(["-1", "1e9", "x", "9" * 30]))
        if kind == 6:
            self.send_header("content-encoding", "gzip")
        # More than comes: the answer ends in the middle.
        self.send_header("content-length", str(len(body) + (5 if kind == 5 else 0)))
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = self.close_connection or kind == 5

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = answer


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True

    def handle_error(self, *args):
        pass


server = Server(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}"
client = Client(url, api_key=ApiKey("k", "c2VjcmV0", "p"), wallet=KEY, retry=None, timeout_sec=5)
admin = AdminClient(url, "token", retry=None, timeout_sec=5)
bid = Intent(market_id=MARKET, outcome_index=0, side="BUY", price="0.5", size="1")
CALLS = [
    lambda: client.time(),
    lambda: client.market(MARKET),
    lambda: list(client.all_markets()),
    lambda: client.book(MARKET),
    lambda: client.balances(),
    lambda: client.statement(),
    lambda: client.place(bid),
    lambda: client.cancel_all(),
    lambda: client.buy(MARKET, usd="2", max_slippage="0.1"),
    lambda: client.cash.sessions(),
    lambda: list(client.all_user_orders()),
    lambda: client.measure_clock(),
    lambda: admin.get_operations(),
    lambda: admin.list_users(),
    lambda: admin.metrics(),
    lambda: admin.deposit(MARKET, amount_usdc_micro=5),
    lambda: sign_in(url, KEY),
]
failures = 0
for _ in range(int(sys.argv[2])):
    number = RANDOM.randrange(len(CALLS))
    try:
        CALLS[number]()
    except ExchangeError as error:
        failures += 1
        assert 0 < len(str(error)) < 1000, (SEED, number)
    except Exception as error:
        raise AssertionError(f"call {number} of seed {SEED} ended with no ExchangeError") from error
assert failures > 0

CLUMSY = [
    lambda: client.buy(MARKET, max_slippage="0.1"),
    lambda: client.buy(MARKET, usd="2", size="1", max_slippage="0.1"),
    lambda: client.market(".."),
    lambda: client.sign_out(),
    lambda: Client(url + "/path"),
    lambda: Client([]),
    lambda: Client(url).balances(),
    lambda: AdminClient(url, "two\nlines"),
    lambda: admin.deposit(MARKET, amount_usdc_micro=1.5),
    lambda: admin.deposit(MARKET, amount_usdc_micro=True),
    lambda: admin.create_event(title="Who wins?", sport_teams="one text"),
    lambda: sign_in(url, "no key"),
]
for number, call in enumerate(CLUMSY):
    try:
        call()
    except (TypeError, ValueError, ExchangeError) as error:
        # A market's grid is read before what is wrong with the amount is seen.
        assert not isinstance(error, ExchangeError) or number < 2, number
        assert "no key" not in str(error)
    else:
        raise AssertionError(f"what a caller does wrong, {number}, was taken")
print("every answer is met")
