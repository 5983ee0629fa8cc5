"""The errors with which a request may end. `error_codes` has an exception for each code of the exchange."""

from __future__ import annotations

from typing import Any


class ExchangeError(Exception):
    """Every error of this package, except ValueError and TypeError for requests that were never sent."""


class ApiError(ExchangeError):
    """A refusal by the exchange. Its class follows from the code: `InsufficientBalanceError` and so on."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        details: Any = None,
        retry_after: int | None = None,
        request_id: str | None = None,
    ) -> None:
        super().__init__(f"{status} {code}: {message}")
        self.status = status
        self.code = code
        self.message = message
        self.details = details
        """The field and the rule, or the numbers; what it has depends on the code."""
        self.retry_after = retry_after
        """Seconds to wait before a retry, if the answer says."""
        self.request_id = request_id
        """The exchange's name for the request, by which its operator finds it in the logs."""


class ProxyError(ExchangeError):
    """A proxy, a firewall or a network in front of the exchange has answered, not the exchange, whatever the status
    says.
    """

    def __init__(self, status: int, text: str, retry_after: int | None = None) -> None:
        super().__init__(f"{text} (HTTP {status})")
        self.status = status
        self.retry_after = retry_after


class RedirectError(ProxyError):
    """A redirect, which is not followed, because its target would see the account's credentials."""


class NoAnswerError(ExchangeError):
    """The request was not answered in time, or the connection was lost: it may still have been carried out."""


class NotConnectedError(NoAnswerError):
    """There was no connection: the request was not sent, and nothing was done."""


class UnexpectedAnswerError(ExchangeError):
    """The exchange has answered in a form that this version of the client does not know. If the request was a change,
    it was carried out.
    """


class StreamError(ExchangeError):
    """The server has refused a subscription, or the connection for good."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


class SlowReaderError(ExchangeError):
    """Events arrived faster than they were read."""


class UnknownOutcomeError(ExchangeError):
    """The answer to a change was lost, also after retries: it may have been carried out, or may still be.

    Of a placement by `place` it has the order: `order.record()` looks, `order.wait()` waits, `order.cancel()` makes
    sure that it is not in the book, and `client.place_order(order.body)` sends it again. The cause is the last failure.
    """

    def __init__(self, failure: BaseException, order: Any = None, request: str = "the request") -> None:
        cause = failure.__cause__ if isinstance(failure, UnknownOutcomeError) else failure
        what, end = (
            (request, "it may have been carried out")
            if order is None
            else (f"order {order.hash}", "it may have been placed")
        )
        by = (
            f" by the exchange, but by a proxy before it (HTTP {cause.status})" if isinstance(cause, ProxyError) else ""
        )
        super().__init__(f"{what} was sent and not answered{by}: {end}")
        self.order = order
        self.__cause__ = cause


class ApprovalNeededError(ExchangeError):
    """Nothing was changed yet: another operator has to approve `approval` first (`admin.approve(approval.id)`)."""

    def __init__(self, approval: Any) -> None:
        super().__init__(f"another operator has to approve {approval.id} before this is done")
        self.approval = approval
        """An `Approval`, with its id and until when it waits."""
