/** The part of the exchange contract that settlement calls and reads; a test compares it with data/contracts. */
import { type ContractFunctionArgs, parseAbi } from 'viem';
import { ORDER_STRUCT } from '../base/orderFields.ts';

// One literal in one piece, so that the compiler knows the types of its fields.
const OPERATION_ON_SETS =
  'bytes32 indexed operationId, address indexed account, bytes32 indexed conditionId, uint256 amount';
const PROPOSED = 'uint256 number; address proposer; uint256 from; uint256 yesPayout';
const DECIDED = 'bool isOpen; bool isDecided; uint256 decidedYes';
const AMOUNTS = 'uint256 tokens, uint256 makerMicro, uint256 takerFee, uint256 makerFee';

export const EXCHANGE_ABI = parseAbi([
  ORDER_STRUCT,
  'struct SignedOrder { Order order; bytes signature; }',
  'struct Match { uint256 tradeId; uint256 taker; uint256 maker; uint256 tokens; uint256 makerMicro; }',
  'function settleBatch(bytes32 batchId, SignedOrder[] orders, Match[] matches)',
  'function splitFor(bytes32 operationId, address account, bytes32 conditionId, uint256 amountAndFee)',
  'function mergeFor(bytes32 operationId, address account, bytes32 conditionId, uint256 amountAndFee)',
  'function withdrawFor(bytes32 operationId, address account, uint256 assetId, uint256 amountAndFee)',
  'function supportsInterface(bytes4 interfaceId) view returns (bool)',
  'function claim(address account, bytes32 conditionId)',
  'function markets(bytes32 conditionId) view returns (uint256 yesTokenId, uint256 noTokenId)',
  'function balanceOf(address account, uint256 assetId) view returns (uint256 held, uint256 unheld)',
  'struct DepositPermit { address account; uint256 amount; bytes32 nonce; uint256 deadline }',
  'struct Authorization { address from; uint256 validAfter; uint256 validBefore; bytes signature }',
  'function depositWithAuthorization(DepositPermit permit, bytes permitSignature, Authorization authorization)',
  'function release(bytes32 operationId, address account, uint256 assetId, uint256 amountAndFee)',
  'function predecessor() view returns (address)',
  'function successor() view returns (address)',
  'function successorFrom() view returns (uint256)',
  'function migrate(address[] accounts, uint256[] assetIds)',
  'function exitableAt(address account) view returns (uint256)',
  'function paused() view returns (bool)',
  'function hasRole(bytes32 role, address account) view returns (bool)',
  'function delegateUntil(address maker, address signer) view returns (uint256)',
  'function nonceFloorOf(address maker) view returns (uint256 inForce, uint256 announced)',
  'function batchDone(bytes32) view returns (bool)',
  'function operationDone(bytes32 operationId) view returns (bool)',
  'function tradeSettled(uint256 tradeId) view returns (bool)',
  'function usdc() view returns (address)',
  'function conditionalTokens() view returns (address)',
  'function marketFactory() view returns (address)',
  'event BatchSettled(bytes32 indexed batchId, uint256 matches, uint256 failed)',
  `event MatchSettled(uint256 indexed tradeId, bytes32 indexed takerHash, bytes32 indexed makerHash, ${AMOUNTS})`,
  'event MatchFailed(bytes32 indexed batchId, uint256 index, bytes reason)',
  'event MarketRegistered(bytes32 indexed conditionId, uint256 yesTokenId, uint256 noTokenId)',
  'event Deposited(address indexed account, address indexed from, bytes32 indexed permitNonce, uint256 amount)',
  'event Held(address indexed account, uint256 indexed assetId, uint256 amount)',
  'event PaidOut(bytes32 indexed operationId, address indexed account, uint256 indexed assetId, uint256 amount)',
  'event MovementCharged(bytes32 indexed operationId, address indexed account, uint256 fee)',
  'event Released(bytes32 indexed operationId, address indexed account, uint256 indexed assetId, uint256 amount)',
  `event SplitFor(${OPERATION_ON_SETS})`,
  `event MergedFor(${OPERATION_ON_SETS})`,
  'event EscrowSplit(address indexed account, bytes32 indexed conditionId, uint256 amount)',
  'event DelegateSet(address indexed maker, address indexed signer, uint256 until)',
  'event NonceFloorRaised(address indexed maker, uint256 floor, uint256 from)',
  'event ExitRequested(address indexed account, uint256 exitableAt)',
  'event ExitCancelled(address indexed account)',
  'event Exited(address indexed account, uint256 indexed assetId, uint256 amount)',
  'event Claimed(address indexed account, bytes32 indexed conditionId, uint256 heldMicro, uint256 unheldMicro)',
  'event FeesSwept(uint256 indexed assetId, uint256 amount)',
  'error EnforcedPause()',
  'error ExitPending(address account)',
  'error PermitNotSigned(address recovered)',
  'error InsufficientHeld(address account, uint256 assetId, uint256 held, uint256 required)',
  'error MinTakerNetNotMet(bytes32 orderHash, uint256 net, uint256 required)',
  'error NonceBelowFloor()',
  'error NoSuchOrder()',
  'error OrderExpired()',
  'error OrderMalformed()',
  'error OrderNotSigned()',
  'error OrdersDoNotMeet()',
  'error Overfilled(bytes32 orderHash, uint256 filled, uint256 signed)',
  'error PriceOutOfRange(uint256 tokens, uint256 micro)',
  'error PriceWorseThanSigned(bytes32 orderHash)',
  'error SignerNotDelegate()',
  'error TradeAlreadySettled(uint256 tradeId)',
  'error UnknownToken(uint256 tokenId)',
]);

type BatchArgs = ContractFunctionArgs<typeof EXCHANGE_ABI, 'nonpayable', 'settleBatch'>;
/** A signed order as the contract takes it. */
export type ChainOrder = BatchArgs[1][number];

/** The part of the market factory that settlement calls. */
export const FACTORY_ABI = parseAbi([
  'function createMarket(bytes16 marketId) returns (bytes32 conditionId)',
  'function register(bytes16 marketId)',
  'function exchange() view returns (address)',
  'function isCreated(bytes32 questionId) view returns (bool)',
  'function hasRole(bytes32 role, address account) view returns (bool)',
]);

/** The contract that decides markets, after a delay in which another key can veto. */
export const RESOLUTIONS_ABI = parseAbi([
  `struct Standing { ${PROPOSED}; ${DECIDED}; }`,
  'function propose(bytes16 marketId, uint256 yesPayout, uint256 noPayout) returns (uint256 number)',
  'function carryOut(uint256 number)',
  'function veto(uint256 number)',
  'function standingsOf(bytes16[] marketIds) view returns (Standing[])',
  'function marketsFrom(uint256 first, uint256 most) view returns (bytes16[])',
  'function hasRole(bytes32 role, address account) view returns (bool)',
  'function isVetoer(address caller) view returns (bool)',
  'function factory() view returns (address)',
  'function delay() view returns (uint256)',
  'function leastDelay() view returns (uint256)',
  'function marketOf(uint256 number) view returns (bytes16)',
]);

/** The contract that makes payments, many in one transaction. */
export const PAYMENTS_ABI = parseAbi([
  'struct Payment { bytes32 operationId; address account; uint256 amount; bool isRelease }',
  'function pay(address exchange, Payment[] payments)',
  'event PaymentFailed(bytes32 indexed operationId, bytes reason)',
]);

/** The part of the conditional tokens that settlement reads. */
export const TOKENS_ABI = parseAbi([
  'function payoutDenominator(bytes32 conditionId) view returns (uint256)',
  'function payoutNumerators(bytes32 conditionId, uint256 outcome) view returns (uint256)',
]);
