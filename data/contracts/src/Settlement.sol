// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {NonceFloors} from "./NonceFloors.sol";
import {NotEnoughGas, Order, Orders, SignedOrder} from "./Orders.sol";

/// @notice One trade of the exchange: a fragment of two orders at the resting one's price.
/// @dev `taker` and `maker` are indices into the orders of the batch.
struct Match {
    uint256 tradeId;
    uint256 taker;
    uint256 maker;
    /// Outcome tokens, atomic, before fees.
    uint256 tokens;
    /// What they cost on the maker's side, micro-USDC, before fees.
    uint256 makerMicro;
}

/// @dev What a batch knows of an order after checking it once. `refusal` is the selector of an error, or 0.
struct CheckedOrder {
    bytes32 hash;
    address maker;
    uint256 tokenId;
    uint256 makerAmount;
    uint256 takerAmount;
    uint256 feeRateBps;
    uint256 minTakerNet;
    uint8 side;
    bytes4 refusal;
}

/// @title Settlement of matched trades between accounts.
/// @notice Every order is verified here: who signed it, its price, its quantity, its fee. What the operator can choose
/// is which orders meet, within what their owners signed.
/// @dev SETTLEMENT-1  A trade is settled at most once, whatever batches it is part of.
///      SETTLEMENT-2  The fills of an order never exceed its signed quantity, and each honours its signed price.
///      SETTLEMENT-3  The fee of an order so far is floor(feeRateBps * received so far / 10,000).
///      SETTLEMENT-4  A match that fails changes nothing, and does not keep the others of its batch from settling.
///      SETTLEMENT-5  No order settles whose nonce is below a floor of its maker that is in force.
abstract contract Settlement is NonceFloors {
    /// @dev Of one order; with all amounts at most 1e15 it fits a slot.
    struct Fill {
        uint128 tokens;
        uint128 usdcMicro;
    }

    /// @dev The most that one match can take. With less than this and a bit left, the batch reverts as a whole: a match
    /// that runs out of gas must not be taken for one that failed.
    uint256 private constant MATCH_GAS = 400_000;
    /// @dev A match and two checked orders.
    uint256 private constant MATCH_BYTES = 0xa0 + 2 * 0x120;
    /// @notice How long after its expiration an order that was matched in time may be settled.
    uint256 public immutable settlementGrace;

    mapping(bytes32 batchId => bool) public batchDone;
    mapping(bytes32 orderHash => Fill) public fills;
    mapping(uint256 tradeWord => uint256) private _settledTrades;
    /// @notice Until when a signer may sign orders of a maker, in seconds; 0: it may not.
    mapping(address maker => mapping(address signer => uint256)) public delegateUntil;

    event BatchSettled(bytes32 indexed batchId, uint256 matches, uint256 failed);
    event MatchSettled(
        uint256 indexed tradeId,
        bytes32 indexed takerHash,
        bytes32 indexed makerHash,
        uint256 tokens,
        uint256 makerMicro,
        uint256 takerFee,
        uint256 makerFee
    );
    /// @notice `reason` is the error with its arguments, as a revert would have it.
    event MatchFailed(bytes32 indexed batchId, uint256 index, bytes reason);
    event DelegateSet(address indexed maker, address indexed signer, uint256 until);

    error OnlySelf();
    error NoSuchOrder();
    error OrderMalformed();
    error OrderNotSigned();
    error SignerNotDelegate();
    error OrderExpired();
    error TradeAlreadySettled(uint256 tradeId);
    error UnknownToken(uint256 tokenId);
    error OrdersDoNotMeet();
    error PriceOutOfRange(uint256 tokens, uint256 micro);
    error PriceWorseThanSigned(bytes32 orderHash);
    error Overfilled(bytes32 orderHash, uint256 filled, uint256 signed);
    error MinTakerNetNotMet(bytes32 orderHash, uint256 net, uint256 required);

    constructor(uint256 settlementGrace_) {
        settlementGrace = settlementGrace_;
    }

    /// @notice Lets `signer` sign orders of the caller. Without it only the maker itself may.
    function addDelegate(address signer) external {
        delegateUntil[msg.sender][signer] = type(uint256).max;
        emit DelegateSet(msg.sender, signer, type(uint256).max);
    }

    /// @notice Ends that after `exitDelay`: until then trades that were matched before are settled.
    function removeDelegate(address signer) external {
        uint256 until = block.timestamp + exitDelay;
        if (delegateUntil[msg.sender][signer] <= until) return;
        delegateUntil[msg.sender][signer] = until;
        emit DelegateSet(msg.sender, signer, until);
    }

    /// @notice Settles trades in the order given. A repeat of a batch does nothing.
    /// @param orders each order of the batch once, however many matches it has.
    function settleBatch(
        bytes32 batchId,
        SignedOrder[] calldata orders,
        Match[] calldata matches
    ) external onlyRole(OPERATOR_ROLE) whenNotPaused nonReentrant {
        if (batchDone[batchId]) return;
        batchDone[batchId] = true;
        CheckedOrder[] memory checked = new CheckedOrder[](orders.length);
        for (uint256 i = 0; i < orders.length; i++) _check(orders[i], checked[i]);

        bytes32[] memory conditions = new bytes32[](matches.length);
        int256[] memory sets = new int256[](matches.length);
        bytes memory room = abi.encodePacked(this.settleMatchOf.selector, new bytes(MATCH_BYTES));
        uint256 count;
        uint256 failed;
        for (uint256 i = 0; i < matches.length; i++) {
            (bytes32 conditionId, int256 delta, bytes memory reason) = _trySettle(room, checked, matches[i]);
            if (reason.length != 0) {
                failed++;
                emit MatchFailed(batchId, i, reason);
            } else if (delta != 0) {
                count = _addSets(conditions, sets, count, conditionId, delta);
            }
        }
        _moveSets(conditions, sets, count);
        emit BatchSettled(batchId, matches.length, failed);
    }

    /// @notice Whether the trade has been settled.
    function tradeSettled(uint256 tradeId) external view returns (bool) {
        return _settledTrades[tradeId >> 8] & (1 << (tradeId & 0xff)) != 0;
    }

    /// @notice The digest that is signed, which is also the order's hash.
    function hashOrder(Order calldata order) public view returns (bytes32) {
        return _hashTypedDataV4(Orders.structHash(order));
    }

    /// @notice The selector of the error for which matches of this order would fail now, or 0 if it is in order.
    function refusalOf(SignedOrder calldata signed) external view returns (bytes4) {
        return _refusal(signed.order, hashOrder(signed.order), signed.signature);
    }

    /// @notice One match, as a call of its own so that it fails alone. Only this contract calls it.
    /// @dev The functions of a contract are compared one by one, in order of their selectors. This name has a low one,
    /// which saves 1,300 gas of each match.
    /// @return conditionId of the market
    /// @return sets full sets that have to be made, or dissolved if negative
    function settleMatchOf(
        Match calldata trade,
        CheckedOrder calldata taker,
        CheckedOrder calldata maker
    ) external returns (bytes32 conditionId, int256 sets) {
        if (msg.sender != address(this)) revert OnlySelf();
        _markSettled(trade.tradeId);
        uint256 tokens = trade.tokens;
        uint256 makerMicro = trade.makerMicro;
        if (makerMicro == 0 || makerMicro >= tokens || tokens > Orders.MAX_AMOUNT) {
            revert PriceOutOfRange(tokens, makerMicro);
        }
        conditionId = conditionOf[maker.tokenId];
        if (conditionId == 0) revert UnknownToken(maker.tokenId);
        uint256 takerMicro = makerMicro;
        if (taker.side != maker.side) {
            if (taker.tokenId != maker.tokenId) revert OrdersDoNotMeet();
        } else {
            if (taker.tokenId == maker.tokenId || conditionOf[taker.tokenId] != conditionId) revert OrdersDoNotMeet();
            takerMicro = tokens - makerMicro;
            sets = maker.side == Orders.BUY ? int256(tokens) : -int256(tokens);
        }
        uint256 makerFee = _fill(maker, tokens, makerMicro);
        uint256 takerFee = _fill(taker, tokens, takerMicro);
        emit MatchSettled(trade.tradeId, taker.hash, maker.hash, tokens, makerMicro, takerFee, makerFee);
    }

    /// @param room for the call of a match, which is written here: its arguments are words, in memory as in a call.
    function _trySettle(bytes memory room, CheckedOrder[] memory checked, Match calldata trade)
        private
        returns (bytes32 conditionId, int256 sets, bytes memory reason)
    {
        if (trade.taker >= checked.length || trade.maker >= checked.length) {
            return (0, 0, abi.encodePacked(NoSuchOrder.selector));
        }
        CheckedOrder memory taker = checked[trade.taker];
        CheckedOrder memory maker = checked[trade.maker];
        bytes4 refusal = taker.refusal != 0 ? taker.refusal : maker.refusal;
        if (refusal != 0) return (0, 0, abi.encodePacked(refusal));
        if (gasleft() < MATCH_GAS + MATCH_GAS / 32) revert NotEnoughGas();
        bool isSettled;
        assembly ("memory-safe") {
            let arguments := add(room, 0x24)
            calldatacopy(arguments, trade, 0xa0)
            mcopy(add(arguments, 0xa0), taker, 0x120)
            mcopy(add(arguments, 0x1c0), maker, 0x120)
            isSettled := call(gas(), address(), 0, add(room, 0x20), mload(room), 0, 0x40)
            if isSettled {
                conditionId := mload(0)
                sets := mload(0x20)
            }
        }
        if (!isSettled) reason = _revertReason();
    }

    /// @dev Never empty, as an empty one would pass for success.
    function _revertReason() private pure returns (bytes memory reason) {
        uint256 length;
        assembly ("memory-safe") {
            length := returndatasize()
        }
        if (length == 0) return "?";
        reason = new bytes(length);
        assembly ("memory-safe") {
            returndatacopy(add(reason, 0x20), 0, length)
        }
    }

    /// @dev Verifies an order by itself.
    function _check(SignedOrder calldata signed, CheckedOrder memory checked) private view {
        Order calldata order = signed.order;
        checked.hash = hashOrder(order);
        checked.maker = order.maker;
        checked.tokenId = order.tokenId;
        checked.makerAmount = order.makerAmount;
        checked.takerAmount = order.takerAmount;
        checked.feeRateBps = order.feeRateBps;
        checked.minTakerNet = order.minTakerNet;
        checked.side = order.side;
        checked.refusal = _refusal(order, checked.hash, signed.signature);
    }

    function _refusal(Order calldata order, bytes32 hash, bytes calldata signature) private view returns (bytes4) {
        address maker = order.maker;
        if (!Orders.isWellFormed(order) || maker == feeAccount) return OrderMalformed.selector;
        if (order.expiration != 0 && _isLongExpired(order.expiration)) return OrderExpired.selector;
        address signer = order.signer;
        if (signer != maker && block.timestamp > delegateUntil[maker][signer]) {
            return SignerNotDelegate.selector;
        }
        if (_isBelowFloor(maker, order.nonce)) return NonceBelowFloor.selector;
        return Orders.isSignedBy(signer, hash, signature) ? bytes4(0) : OrderNotSigned.selector;
    }

    function _isLongExpired(uint256 expiration) private view returns (bool) {
        return block.timestamp > settlementGrace && expiration < block.timestamp - settlementGrace;
    }

    /// @dev SETTLEMENT-1. The trades of a shard have consecutive ids, so a batch writes few words.
    function _markSettled(uint256 tradeId) private {
        uint256 bit = 1 << (tradeId & 0xff);
        uint256 word = _settledTrades[tradeId >> 8];
        if (word & bit != 0) revert TradeAlreadySettled(tradeId);
        _settledTrades[tradeId >> 8] = word | bit;
    }

    /// @dev One party of a trade: checks what it signed, moves what it gives and receives, keeps its fee.
    function _fill(CheckedOrder calldata order, uint256 tokens, uint256 micro) private returns (uint256 fee) {
        Fill memory before = fills[order.hash];
        bool isBuy = order.side == Orders.BUY;
        (uint256 signedTokens, uint256 signedMicro) =
            isBuy ? (order.takerAmount, order.makerAmount) : (order.makerAmount, order.takerAmount);
        uint256 filled;
        // All amounts, and so all sums of one order, are at most 1e15, and a rate is at most 1e4: nothing overflows.
        unchecked {
            filled = before.tokens + tokens;
            if (filled > signedTokens) revert Overfilled(order.hash, filled, signedTokens);
            (uint256 price, uint256 limit) = (micro * signedTokens, signedMicro * tokens);
            if (isBuy ? price > limit : price < limit) revert PriceWorseThanSigned(order.hash);

            uint256 received = isBuy ? filled : before.usdcMicro + micro;
            uint256 feeSoFar = order.feeRateBps * received / Orders.BPS;
            if (order.minTakerNet != 0) {
                uint256 required = order.minTakerNet * filled / signedTokens;
                if (received - feeSoFar < required) revert MinTakerNetNotMet(order.hash, received - feeSoFar, required);
            }
            fee = feeSoFar - order.feeRateBps * (isBuy ? before.tokens : before.usdcMicro) / Orders.BPS;
            fills[order.hash] = Fill(uint128(filled), uint128(before.usdcMicro + micro));
        }
        (uint256 assetGiven, uint256 assetReceived) = isBuy ? (USDC, order.tokenId) : (order.tokenId, USDC);
        _debit(order.maker, assetGiven, isBuy ? micro : tokens);
        _credit(order.maker, assetReceived, (isBuy ? tokens : micro) - fee);
        if (fee != 0) _credit(feeAccount, assetReceived, fee);
    }

    /// @dev Adds to the condition's sum; a batch has few conditions.
    function _addSets(
        bytes32[] memory conditions,
        int256[] memory sets,
        uint256 count,
        bytes32 conditionId,
        int256 delta
    ) private pure returns (uint256) {
        uint256 i = 0;
        while (i < count && conditions[i] != conditionId) i++;
        conditions[i] = conditionId;
        sets[i] += delta;
        return i == count ? count + 1 : count;
    }

    /// @dev Makes and dissolves the sets of the whole batch. Dissolving comes first: its USDC may pay for making.
    function _moveSets(bytes32[] memory conditions, int256[] memory sets, uint256 count) private {
        for (uint256 i = 0; i < count; i++) {
            if (sets[i] < 0) _merge(conditions[i], uint256(-sets[i]));
        }
        for (uint256 i = 0; i < count; i++) {
            if (sets[i] > 0) _split(conditions[i], uint256(sets[i]));
        }
    }
}
