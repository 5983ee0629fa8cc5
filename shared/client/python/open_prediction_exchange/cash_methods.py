"""Cashing in and out: sessions at a provider, whose amounts are decimals of the currency that they name."""

# Made from /openapi.json by `npm run docs`: a change here is lost.
from .drivers import AsyncRuns, Runs, awaited, blocking
from .logic.cash import CashLogic


class CashMethods(Runs[CashLogic]):
    """Cashing in and out: sessions at a provider, whose amounts are decimals of the currency that they name."""

    sessions = blocking(CashLogic.sessions)
    session = blocking(CashLogic.session)
    create_onramp = blocking(CashLogic.create_onramp)
    create_offramp = blocking(CashLogic.create_offramp)
    complete_onramp = blocking(CashLogic.complete_onramp)
    launch_onramp = blocking(CashLogic.launch_onramp)
    launch_offramp = blocking(CashLogic.launch_offramp)
    cancel_offramp = blocking(CashLogic.cancel_offramp)
    get_offramp_transfer = blocking(CashLogic.get_offramp_transfer)
    get_offramp_transaction = blocking(CashLogic.get_offramp_transaction)
    authorize_offramp_transfer = blocking(CashLogic.authorize_offramp_transfer)
    submit_offramp_transfer = blocking(CashLogic.submit_offramp_transfer)
    sign_and_authorize = blocking(CashLogic.sign_and_authorize)


class AsyncCashMethods(AsyncRuns[CashLogic]):
    """Cashing in and out: sessions at a provider, whose amounts are decimals of the currency that they name."""

    sessions = awaited(CashLogic.sessions)
    session = awaited(CashLogic.session)
    create_onramp = awaited(CashLogic.create_onramp)
    create_offramp = awaited(CashLogic.create_offramp)
    complete_onramp = awaited(CashLogic.complete_onramp)
    launch_onramp = awaited(CashLogic.launch_onramp)
    launch_offramp = awaited(CashLogic.launch_offramp)
    cancel_offramp = awaited(CashLogic.cancel_offramp)
    get_offramp_transfer = awaited(CashLogic.get_offramp_transfer)
    get_offramp_transaction = awaited(CashLogic.get_offramp_transaction)
    authorize_offramp_transfer = awaited(CashLogic.authorize_offramp_transfer)
    submit_offramp_transfer = awaited(CashLogic.submit_offramp_transfer)
    sign_and_authorize = awaited(CashLogic.sign_and_authorize)
