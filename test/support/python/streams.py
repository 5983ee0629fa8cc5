"""streams.py FOLDER: books, private events and heartbeats of the Python client, when frames and time go wrong."""
import asyncio
import json
import sys
import threading
import time
from pathlib import Path

import httpx
import websockets

from open_prediction_exchange import ApiKey, AsyncClient, Client, heartbeats
from open_prediction_exchange.errors import ApiError, SlowReaderError
from open_prediction_exchange.stream import BookReplaced, BookStale, ConnectionTimes, Fill, Gap, OrderStatus, UserLive
from open_prediction_exchange.stream.book import AsyncBook
from open_prediction_exchange.stream.replica import BookReplica
from open_prediction_exchange.stream.user import AsyncUserEvents

KEY = ApiKey("key", "c2VjcmV0c2VjcmV0", "a passphrase")


class Host:
    """Counts what is asked for."""

    def __init__(self):
        self.asked = []

    def subscribe_book(self, book, failures):
        self.asked.append(failures)
        book.subscribing()

    def subscribe_user(self, user):
        self.asked.append(user.subscribing())

    def leave_book(self, book):
        self.asked.append("left")

    leave_user = leave_book


def level(price, quantity, num_orders=1, **more):
    return {"price": price, "token_quantity_atomic": str(quantity), "num_orders": num_orders, **more}


def book_frame(sequence, bids, asks):
    replica = BookReplica()
    data = {"outcome_0": {"bids": bids, "asks": asks}, "checksum": 0}
    frame = {"channel": "book", "market_id": "m", "sequence": sequence, "timestamp": 1, "data": data}
    replica.apply(frame)
    data["checksum"] = replica.checksum()
    return frame


def delta_frame(sequence, side, price, quantity, num_orders, **more):
    data = dict(event="open", order_id="o", outcome_index=0, side=side, price=price, token_quantity_atomic="1")
    row = level(price, quantity, num_orders, side=side, outcome_index=0)
    head = {"channel": "book_delta", "market_id": "m", "sequence": sequence, "timestamp": 2}
    return {**head, "data": {**data, "remaining_token_quantity_atomic": "1", "level": row, **more}}


def replicas():
    for vector in json.loads((Path(sys.argv[1]) / "bookChecksum.json").read_text())["vectors"]:
        sides = [[level(price, quantity) for price, quantity in vector[side]] for side in ("bids", "asks")]
        replica = BookReplica()
        replica.apply(book_frame(1, *sides))
        assert replica.checksum() == vector["checksum"], vector
        assert [str(each.price) for each in replica.levels(0).bids] == [price for price, _ in vector["bids"]]
    replica = BookReplica()
    assert replica.apply(delta_frame(1, "BUY", "0.5", 1, 1)) == "unready"
    assert replica.apply(book_frame(5, [level("0.5", 100)], [level("0.6", 200), level("0.7", 300)])) == "applied"
    assert replica.apply(delta_frame(5, "BUY", "0.5", 1, 1)) == "repeated"
    assert replica.apply(delta_frame(7, "BUY", "0.5", 1, 1)) == "gap" and replica.sequence == 5
    assert replica.apply(delta_frame(6, "SELL", "0.6", 0, 0)) == "applied"
    bid, ask = replica.best(1)
    assert (str(bid.price), str(ask.price)) == ("0.3", "0.5") and bid.token_quantity_atomic == 300
    assert replica.levels(0).depth("BUY", 1000) == (300, 210) and replica.levels(1).depth("SELL", 100) == (100, 30)
    assert replica.apply(delta_frame(7, "SELL", "0.65", 0, 0)) == "mismatch" and replica.sequence is None
    assert replica.apply(delta_frame(8, "BUY", "0.5", 1, 1)) == "unready"
    replica.apply(book_frame(9, [], []))
    assert replica.apply(delta_frame(10, "BUY", "0.5", 100, 1, checksum=1)) == "mismatch"
    # Half a frame leaves no book that looks right.
    replica.apply(book_frame(11, [], []))
    try:
        replica.apply({**delta_frame(12, "BUY", "0.5", 1, 1), "data": {}})
        raise AssertionError("there is no level")
    except KeyError:
        assert replica.sequence is None


async def books():
    host = Host()
    book = AsyncBook("M", host, "every", 3, "resync")
    book.subscribing()
    book.subscribed()
    book.received(book_frame(1, [level("0.5", 100)], []))
    await book.ready()
    assert book.state == "live" and type(await book.next_event()) is BookReplaced
    book.received(delta_frame(3, "BUY", "0.5", 1, 1))
    stale = await book.next_event()
    assert isinstance(stale, BookStale) and stale.cause == "gap" and host.asked == [0]
    book.received(delta_frame(2, "BUY", "0.4", 1, 1))
    book.caught_up()
    assert book.state == "stale"
    book.subscribed()
    book.heartbeat({"m": 2})
    assert book.state == "live"
    for sequence in range(3, 30):
        book.received(delta_frame(sequence, "BUY", "0.5", sequence, 1))
    # A slow reader gets the whole book in place of what it has missed.
    first = await book.next_event()
    assert isinstance(first, BookReplaced) and first.cause == "slow_reader" and book.sequence == 29
    strict = AsyncBook("m", Host(), "every", 1, "error")
    strict.__aiter__()
    strict.received(book_frame(1, [], []))
    try:
        async for _ in strict:
            pass
        raise AssertionError("the reader was too slow")
    except SlowReaderError:
        assert strict.state == "closed"


def status_frame(sequence, reason="placed"):
    data = dict(order_id="o", order_hash="h", market_id="m", status="open", remaining="1", filled_amount="0")
    return {"channel": "order_status", "user_sequence": sequence, "timestamp": 7, "data": {**data, "reason": reason}}


async def privates():
    host = Host()
    user = AsyncUserEvents(host, None, False, 100)
    user.subscribing()
    user.subscribed(10)
    assert host.asked == [9], "the last frame is asked for, to know it again"
    user.received(status_frame(10))
    user.subscribed(10)
    for sequence in (11, 11, 12, 11):
        user.received(status_frame(sequence))
    found = [await user.next_event(1), await user.next_event(1)]
    assert [event.user_sequence for event in found] == [11, 12] and all(isinstance(e, OrderStatus) for e in found)
    user.caught_up()
    assert isinstance(await user.next_event(1), UserLive) and user.is_live
    # Frames that the server cannot send any more are a gap, after it was asked for them.
    for _ in range(3):
        user.subscribed(20)
        user.received(status_frame(20))
    kinds = [await user.next_event(1) for _ in range(3)]
    gap = next(event for event in kinds if isinstance(event, Gap))
    assert (gap.cause, gap.first, gap.last, gap.since_ms) == ("expired", 13, 19, 7) and user.user_sequence == 20
    # The same number with another content is a server that numbers anew.
    user.subscribed(20)
    user.received(status_frame(20, "another"))
    gap = await user.next_event(1)
    assert isinstance(gap, Gap) and gap.cause == "restarted" and host.asked[-1] == 0
    try:
        await user.next_event(0.01)
        raise AssertionError("nothing was to come")
    except TimeoutError:
        pass


async def connections():
    """A silent server is left, one that refuses the key ends the stream, and a market that is unknown only its book."""
    opened = []

    async def silent(socket, path=None):
        opened.append(socket)
        await socket.wait_closed()

    async with websockets.serve(silent, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        stream = AsyncClient(f"http://127.0.0.1:{port}").open_stream(ConnectionTimes(0.2, 0.01, 0.01))
        stream.open_book("m")
        while len(opened) < 3:
            await asyncio.sleep(0.01)
        await stream.close()

    async def refuse(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        body = json.dumps({"error": "invalid API key", "code": "API_KEY_UNAUTHORIZED"}).encode()
        writer.write(b"HTTP/1.1 401 Unauthorized\r\ncontent-length: %d\r\nconnection: close\r\n\r\n" % len(body) + body)
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        stream = AsyncClient(f"http://127.0.0.1:{port}", api_key=KEY).open_stream()
        try:
            await stream.open_user().ready()
            raise AssertionError("the key is refused for good")
        except ApiError as error:
            assert error.code == "API_KEY_UNAUTHORIZED" and stream.is_closed

    async def unknown(socket, path=None):
        async for text in socket:
            message = json.loads(text)
            if message["channel"] != "subscribe":
                continue
            head = {"id": message["id"], "channel": "error"}
            if "bad" in message["data"]["markets"]:
                await socket.send(json.dumps({**head, "data": {"code": "NOT_FOUND", "error": "not found"}}))
            else:
                await socket.send(json.dumps({**head, "channel": "subscribed", "data": {}}))
                await socket.send(json.dumps(book_frame(1, [], [])))

    async with websockets.serve(unknown, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with AsyncClient(f"http://127.0.0.1:{port}").open_stream() as stream:
            good, bad = stream.open_book("m"), stream.open_book("bad")
            await good.ready()
            try:
                await bad.ready()
                raise AssertionError("the market is unknown")
            except Exception as error:
                assert getattr(error, "code", None) == "NOT_FOUND" and good.state == "live"


def blocked():
    """A stream on its thread: a wait that is given up loses nothing, and the end is the end everywhere."""
    client = Client("http://127.0.0.1:1", api_key=KEY, retry=None)
    stream = client.open_stream()
    book, found = stream.open_book("m"), []
    for wait in (lambda: book.ready(timeout_sec=0.05), lambda: book.next_event(0.05)):
        try:
            wait()
            raise AssertionError("nothing was to come")
        except TimeoutError as error:
            assert "0.05" in str(error)
    reader = threading.Thread(target=lambda: found.extend(book))
    reader.start()
    stream.close()
    stream.close()
    reader.join()
    assert book.state == "closed" and book.levels().bids == () and found == []


def beats():
    heartbeats._LEAST_SEC, heartbeats._WINDOW_SEC = 0.01, 0.05
    fails, lapses, lapsed = threading.Event(), [], threading.Event()
    status = {"code": 503, "name": "ENGINE_BUSY"}

    def answer(request):
        if fails.is_set():
            return httpx.Response(status["code"], json={"error": "no", "code": status["name"]})
        return httpx.Response(200, json={})

    def on_lapse(error, is_over):
        lapses.append((error.code, is_over))
        lapsed.set()

    client = Client("http://exchange", api_key=KEY, http=httpx.Client(transport=httpx.MockTransport(answer)))
    switch = client.start_heartbeats(0.02, on_lapse)
    assert switch.is_armed
    fails.set()
    assert lapsed.wait(60) and not switch.is_armed
    fails.clear()
    while not switch.is_armed:
        time.sleep(0.01)
    lapsed.clear()
    status.update(code=403, name="INSUFFICIENT_SCOPE")
    fails.set()
    assert lapsed.wait(60) and lapses == [("ENGINE_BUSY", False), ("INSUFFICIENT_SCOPE", True)]
    assert not switch.is_armed


replicas()
for work in (books, privates, connections):
    asyncio.run(asyncio.wait_for(work(), 120))
blocked()
beats()
print("every stream heals")
