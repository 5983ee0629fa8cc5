/** Notes about the errors of orders, of funds and of the state of markets. */
import { note } from './errorNote.ts';

export const ORDER_ERROR_NOTES = {
  DUPLICATE_ORDER: note(
    'finds',
    'An order with this hash was accepted before: the first attempt has arrived.',
    'Take it as success: read the order with `GET /v1/orders/:hash`. For a second order use another `salt`.',
  ),
  ORDER_TOMBSTONED: note(
    'changed',
    'The order was cancelled with `tombstone=1` before it arrived.',
    'Sign a new order if you still want it.',
  ),
  DEADLINE_PASSED: note(
    'changed',
    'The matching engine reached the order after its `X-SVC-DEADLINE`.',
    'Decide again at the price of now. Until it arrives under another deadline the order is unknown.',
  ),
  DUPLICATE_CLIENT_ORDER_ID: note(
    'later',
    'An open order of the account has this `client_order_id`.',
    'Use another, or close that order first.',
  ),
  MARKET_NOT_ACTIVE: note(
    'later',
    'The market is not `active`: not open yet, locked, or decided.',
    'Read `status`, `trading_starts_at` and `trading_ends_at` of the market. With ' +
      '`may_have_been_accepted` in `details` read the order too: an earlier attempt may have arrived.',
  ),
  CANCEL_ONLY_PHASE: note(
    'same',
    'After a halt the market takes cancels, and amends that keep their place in the queue, and no other order.',
    'Wait for `Retry-After`, and read the `stage` of the market: with `post_only` orders that do not cross are taken.',
  ),
  ORDER_EXPIRED: note(
    'changed',
    '`expiration` is the present second or earlier.',
    'Sign again with a later one. It is in seconds. With `may_have_been_accepted` in `details` read the order ' +
      'first: an earlier attempt may have arrived.',
  ),
  INVALID_TICK: note(
    'changed',
    'The two amounts do not make a price on the grid of the market.',
    'Read `ticks_per_unit` at `GET /v1/market-data/:market_id/tick-size`. See [Money and units](money.md).',
  ),
  INVALID_LOT: note(
    'changed',
    'The token amount is not a whole number of lots.',
    'Round it to `lot_size_atomic` of `GET /v1/market-data/:market_id/tick-size`.',
  ),
  BELOW_MIN_SIZE: note(
    'changed',
    'The order is for fewer tokens than the market takes, and does not sell a whole holding.',
    'Read `min_order_size_atomic` of `GET /v1/market-data/:market_id/tick-size`. A SELL may be smaller if it is for ' +
      'all whole lots that the account holds of the outcome and none of them are in another order.',
  ),
  INVALID_SIGNATURE: note(
    'changed',
    'The signature of the order is not one of `signer` over these fields in the domain of the exchange.',
    'Read `eip712_domain` of `GET /v1/platform/config` again, because the contract may have changed; then compare ' +
      'with the vectors in [Signing](signing.md). After 20 wrong ones in 10 seconds orders are refused for a while.',
  ),
  FORBIDDEN: note(
    'changed',
    '`maker` is no wallet of the account, or `signer` may not sign for it.',
    'Use a linked wallet, or add the delegate.',
  ),
  NONCE_BELOW_FLOOR: note(
    'changed',
    'The order is signed with a nonce below the floor of its maker: whoever owns the wallet has raised that.',
    'Sign it again with the `nonce_floor` of the details as `nonce`, or a higher one. See [Nonces](signing.md#nonces).',
  ),
  FEE_RATE_MISMATCH: note(
    'changed',
    'The order is signed with another fee than that of the market.',
    'Sign again with the fee that ends the message, `maker_fee_bps` of the market.',
  ),
  REPLACES_ANOTHER_MARKET: note(
    'changed',
    'The new order is for another market than the one it replaces; for an amend also another outcome or side.',
    'Cancel the old order and place the new one.',
  ),

  ORDER_NOT_FOUND: note(
    'later',
    'The account has no order with this hash, or it has not arrived yet; or no open order with this client order id.',
    'If it may still be on its way, cancel with `?tombstone=1`: it is then refused when it arrives. ' +
      'A client order id belongs to open orders only: that of a closed one is 404, its hash 409.',
  ),
  ORDER_NOT_CANCELLABLE: note(
    'changed',
    'The order is already filled, cancelled or expired, or is not in the book.',
    'Read the order: its `status` is final.',
  ),
  REMAINING_CHANGED: note(
    'changed',
    'The order was filled since its `remaining` was read: what is left is another amount than `expected_remaining`, ' +
      'and nothing was changed.',
    'Work out the new order from `remaining` in the details, and sign it again.',
  ),
  ORDER_GROUP_TRIGGERED: note(
    'later',
    'The fills of the order group have reached its maximum.',
    'Check why, then reset the group with `POST /v1/user/order-groups/:name/reset`.',
  ),
  TOO_MANY_OPEN_ORDERS: note(
    'later',
    'The account has as many open orders as it may, in the market or in all.',
    'Cancel some. Orders that are not answered yet count too.',
  ),
  ORDER_CAPACITY_REACHED: note(
    'later',
    'The exchange has no room for more orders of the account. Cancels work.',
    'Ask the operator.',
  ),
  TIMEOUT_ALREADY_ACTIVE: note('later', 'A trading timeout is under way.', 'Wait until it ends, or cancel it.'),
  NO_ACTIVE_TIMEOUT: note('later', 'No trading timeout is under way.', 'There is nothing to do.'),
  INSUFFICIENT_BALANCE: note(
    'later',
    'The order or change needs more USDC or tokens than are available.',
    '`details` says the asset, what is required, available and reserved. Cancel orders, or deposit.',
  ),
  INVALID_TRANSITION: note(
    'later',
    'The market is in a status that does not allow this.',
    'Read the `status` of the market.',
  ),
  NOT_A_SET: note(
    'changed',
    'The event is no event set: its markets are not of the kind of which exactly one wins.',
    'Read `winners` of the event: 1 for a set.',
  ),
  SETS_UNAVAILABLE: note(
    'later',
    'This exchange makes no event sets: its markets are on a chain, or a member of its cluster has an older version.',
    'Make an event whose markets are decided one by one.',
  ),
  MEMBER_OF_SET: note(
    'changed',
    'The market belongs to an event set: fee, times, decision and settlement are those of all its markets.',
    'Decide and settle the event set; a single market can only be resolved as No, which eliminates it.',
  ),
  TOO_FEW_MEMBERS: note(
    'changed',
    'The set has two undecided markets left: eliminating one of them would be its decision.',
    'Resolve the event set.',
  ),
  OTHER_STAGE: note(
    'later',
    'The market, or the platform, is in another stage than the one in `expected`: another operator was faster.',
    'Read the `stage` and decide again.',
  ),
  SECOND_OPERATOR_REQUIRED: note(
    'later',
    'A change that needs two operators cannot be approved by the one who asked for it.',
    'Have an independent operator decide it.',
  ),
  NOTHING_TO_CLAIM: note(
    'changed',
    'The account holds no winning token of the market, or has claimed them.',
    'There is nothing to do.',
  ),

  POST_ONLY_PHASE: note(
    'same',
    'After a halt or a restart only orders that do not cross are taken for a while.',
    'Wait for `Retry-After`, or send it post-only.',
  ),
  POST_ONLY_WOULD_CROSS: note(
    'later',
    'A post-only order would have been filled at once.',
    'Sign it again at a price that does not cross.',
  ),
  FOK_NOT_FILLED: note(
    'later',
    'The book cannot fill the whole order at once at its price.',
    'Take a smaller quantity, a worse price or FAK.',
  ),
  FAK_NO_FILL: note(
    'later',
    'Nothing in the book meets the price of the order.',
    'Take a worse price, or let the order rest as GTC.',
  ),
  MIN_NET_NOT_MET: note(
    'later',
    'After its fee the order would have received less than `min_taker_net`.',
    'Take a lower minimum or a worse price.',
  ),
} as const;
