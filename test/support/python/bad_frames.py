"""bad_frames.py SEED ROUNDS: the streams of both clients before a server that spoils frames of every kind.

However a frame is spoiled, in the end the book is the server's. Each private event came once, or a Gap stands for it.
"""
import asyncio
import json
import random
import sys
import threading

import websockets

from open_prediction_exchange import ApiKey, AsyncClient, Client
from open_prediction_exchange.stream import ConnectionTimes, Fill, Gap, OrderStatus
from open_prediction_exchange.stream.replica import BookReplica

SEED, ROUNDS = int(sys.argv[1]), int(sys.argv[2])
KEY = ApiKey("key", "c2VjcmV0c2VjcmV0", "a passphrase")
TIMES = ConnectionTimes(5, 0.001, 0.01)
LIMIT_SEC = 60
VALUES = [None, True, -1, 10**400, 1.5, "", "x", "9" * 5000, "1E+999999", "NaN", [], {}, [[]], {"code": 5}]
TEXTS = ["", "{", "null", "[]", '"x"', "5", "NaN", "[" * 100_000, '{"channel": "book"', '{"channel": {}}', "{}", "\0"]


class Exchange:
    """One market and one account. It spoils `bad` frames, and is well then."""

    def __init__(self, seed, bad):
        self.random, self.bad, self.spoiled = random.Random(seed), bad, 0
        self.levels, self.deltas, self.user = {}, [], []

    def trade(self):
        """A change of the book, and a private frame."""
        price = f"0.{self.random.randrange(1, 50):02}"
        quantity = self.random.randrange(3) * 100
        if quantity == 0 and price not in self.levels:
            quantity = 100
        row = {"price": price, "token_quantity_atomic": str(quantity), "num_orders": int(quantity > 0)}
        self.levels.pop(price, None)
        if quantity > 0:
            self.levels[price] = row
        data = dict(event="open", order_id="o", outcome_index=0, side="BUY", price=price, token_quantity_atomic="1")
        data.update(remaining_token_quantity_atomic="1", level={**row, "side": "BUY", "outcome_index": 0})
        self.deltas.append(self.frame("book_delta", data))
        order = dict(order_id="o", order_hash="h", market_id="m", status="open", remaining="1", filled_amount="0")
        sequence = len(self.user) + 1
        head = {"channel": "order_status", "user_sequence": sequence, "timestamp": sequence}
        self.user.append({**head, "data": {**order, "reason": f"{sequence}"}})

    def frame(self, channel, data):
        sequence = len(self.deltas) + (channel == "book_delta")
        return {"channel": channel, "market_id": "m", "sequence": sequence, "timestamp": 1, "data": data}

    def book(self):
        data = {"outcome_0": {"bids": list(self.levels.values()), "asks": []}, "checksum": 0}
        frame = self.frame("book", data)
        replica = BookReplica()
        replica.apply(frame)
        data["checksum"] = replica.checksum()
        return frame

    def heartbeat(self):
        data = {"sequences": {"m": len(self.deltas)}, "user_sequence": len(self.user)}
        return {"channel": "heartbeat", "data": data}

    async def serve(self, socket, path=None):
        tasks = [asyncio.create_task(self.live(socket))]
        try:
            async for text in socket:
                message = json.loads(text)
                if message["channel"] == "ping":
                    await self.send(socket, {"channel": "pong", "id": message.get("id")})
                elif message["channel"] == "subscribe":
                    await self.subscribe(socket, message["id"], message["data"])
        except (OSError, websockets.exceptions.WebSocketException):
            pass
        finally:
            tasks[0].cancel()

    async def subscribe(self, socket, key, data):
        answer = {"id": key, "channel": "subscribed", "data": {}}
        if data.get("user"):
            since = data.get("user_since", len(self.user))
            # A number that was never given is that of another exchange.
            since = since if since <= len(self.user) else 0
            await self.send(socket, {**answer, "data": {"user_sequence": since}})
            for frame in self.user[since:]:
                await self.send(socket, frame)
            return
        await self.send(socket, answer)
        since = data["from_sequence"].get("m")
        frames = [self.book()] if since is None or since > len(self.deltas) else self.deltas[since:]
        for frame in frames:
            await self.send(socket, frame)

    async def live(self, socket):
        try:
            while True:
                await asyncio.sleep(0.002)
                if self.spoiled < self.bad:
                    self.trade()
                    for frame in (self.deltas[-1], self.user[-1]):
                        await self.send(socket, frame)
                await self.send(socket, self.heartbeat())
        except (OSError, websockets.exceptions.WebSocketException):
            pass

    async def send(self, socket, frame):
        text = json.dumps(frame)
        if self.spoiled >= self.bad or self.random.randrange(4) > 0:
            await socket.send(text)
            return
        self.spoiled += 1
        kind = self.random.randrange(9)
        if kind == 0:
            await socket.send(self.random.choice(TEXTS))
        elif kind == 1:
            await socket.send(bytes(self.random.randrange(256) for _ in range(self.random.randrange(40))))
        elif kind == 2:
            await socket.send(text[: self.random.randrange(len(text))])
        elif kind == 3 and not socket.transport.is_closing():
            # The head of a longer frame, and the end of the connection.
            socket.transport.write(b"\x81\x7e\x10\x00" + text.encode())
            socket.transport.close()
        elif kind == 4:
            await socket.send('{"channel": "trade", "x": "' + "y" * 2_000_000 + '"}')
        else:
            await socket.send(json.dumps(self.spoil(frame)))

    def spoil(self, frame):
        """Another value, or none, for one member at any depth; or another number."""
        copy = json.loads(json.dumps(frame))
        at = copy
        while True:
            name = self.random.choice(list(at) if isinstance(at, dict) else range(len(at)))
            if isinstance(at[name], (dict, list)) and at[name] and self.random.randrange(4) > 0:
                at = at[name]
                continue
            if isinstance(at, dict) and self.random.randrange(3) == 0:
                del at[name]
            elif name in ("sequence", "user_sequence") and self.random.randrange(2) == 0:
                at[name] = at[name] + self.random.choice([-1, 1, 5])
            else:
                at[name] = self.random.choice(VALUES)
            return copy


class Reader:
    """What came of the private events since the server last numbered them anew."""

    def __init__(self):
        self.seen = set()

    def take(self, event):
        if isinstance(event, (Fill, OrderStatus)):
            assert event.user_sequence not in self.seen, f"event {event.user_sequence} came twice"
            self.seen.add(event.user_sequence)
        elif isinstance(event, Gap):
            if event.cause == "restarted":
                self.seen = set()
            else:
                self.seen.update(range(event.first, min(event.last, 100_000) + 1))


def is_right(exchange, book):
    ours = {f"{level.price}": level.token_quantity_atomic for level in book.levels(0).bids}
    theirs = {price.rstrip("0"): int(row["token_quantity_atomic"]) for price, row in exchange.levels.items()}
    return book.state == "live" and book.sequence == len(exchange.deltas) and ours == theirs


def is_over(exchange, book, user, reader):
    if exchange.spoiled < exchange.bad or not is_right(exchange, book) or user.user_sequence != len(exchange.user):
        return False
    return set(range(1, len(exchange.user) + 1)) <= reader.seen


async def awaited(exchange, url):
    reader = Reader()
    async with AsyncClient(url, api_key=KEY, retry=None).open_stream(TIMES) as stream:
        book, user = stream.open_book("m"), stream.open_user(since=0)
        while not is_over(exchange, book, user, reader):
            try:
                reader.take(await user.next_event(0.02))
            except TimeoutError:
                pass


def blocked(exchange, url):
    reader = Reader()
    with Client(url, api_key=KEY, retry=None).open_stream(TIMES) as stream:
        book, user = stream.open_book("m"), stream.open_user(since=0)
        while not is_over(exchange, book, user, reader):
            try:
                reader.take(user.next_event(0.02))
            except TimeoutError:
                pass


async def play(number):
    exchange = Exchange(SEED * 1000 + number, 40)
    async with websockets.serve(exchange.serve, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        # What a callback of the loop raises is no error of anybody, but a hang.
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: faults.append(context))
        kind = awaited(exchange, url) if number % 2 == 0 else asyncio.to_thread(blocked, exchange, url)
        try:
            await asyncio.wait_for(kind, LIMIT_SEC)
        except BaseException as error:
            print(f"round {number} of seed {SEED}: {type(error).__name__} {error}", file=sys.stderr, flush=True)
            raise


faults = []
for number in range(ROUNDS):
    asyncio.run(play(number))
    assert faults == [], f"round {number} of seed {SEED}: {faults}"
assert threading.active_count() == 1, "a thread is left"
print("every frame is met")
