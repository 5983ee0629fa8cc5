"""Books, private events and orders over a WebSocket that reconnects by itself."""

from .blocking import Book, Stream, UserEvents
from .book import AsyncBook
from .connection import ConnectionTimes
from .events import BestPrices, BookEvent, BookLive, BookReplaced, BookStale, Delta, Fill, Gap, Level, Levels
from .events import OrderStatus, Trade, UserEvent, UserLive, UserStale
from .orders import AsyncOrderSocket, OrderSocket
from .stream import AsyncStream
from .user import AsyncUserEvents

__all__ = [
    "AsyncBook",
    "AsyncOrderSocket",
    "AsyncStream",
    "AsyncUserEvents",
    "BestPrices",
    "Book",
    "BookEvent",
    "BookLive",
    "BookReplaced",
    "BookStale",
    "ConnectionTimes",
    "Delta",
    "Fill",
    "Gap",
    "Level",
    "Levels",
    "OrderSocket",
    "OrderStatus",
    "Stream",
    "Trade",
    "UserEvent",
    "UserEvents",
    "UserLive",
    "UserStale",
]
