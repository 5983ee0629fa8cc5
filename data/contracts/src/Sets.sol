// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {Escrow} from "./Escrow.sol";

/// @title Full sets: USDC into one token of each outcome and back, and what tokens pay once the market is decided.
/// @dev SETS-1  A market is redeemed at most once, and nothing of it is split, merged or traded afterwards: its tokens
///              in the accounts are then claims to its pool.
///      SETS-2  A pool is empty once all its tokens are claimed.
abstract contract Sets is Escrow {
    using SafeCast for uint256;

    struct Market {
        uint256 yesTokenId;
        uint256 noTokenId;
    }

    /// @dev The USDC that the tokens of a redeemed market got, and the tokens whose holders have not claimed yet.
    struct Pool {
        bool isRedeemed;
        uint128 usdcMicro;
        uint128 yesLeft;
        uint128 noLeft;
    }

    /// @notice The account that collects fees; nobody has its key.
    address public immutable feeAccount = address(this);
    /// @notice The factory whose markets are traded here.
    address public immutable marketFactory;

    mapping(bytes32 conditionId => Market) public markets;
    mapping(bytes32 conditionId => Pool) public pools;
    /// @dev The condition of a token that can be traded, else 0.
    mapping(uint256 tokenId => bytes32 conditionId) public conditionOf;

    event MarketRegistered(bytes32 indexed conditionId, uint256 yesTokenId, uint256 noTokenId);
    event EscrowSplit(address indexed account, bytes32 indexed conditionId, uint256 amount);
    event EscrowMerged(address indexed account, bytes32 indexed conditionId, uint256 amount);
    event SplitFor(
        bytes32 indexed operationId, address indexed account, bytes32 indexed conditionId, uint256 amount
    );
    event MergedFor(
        bytes32 indexed operationId, address indexed account, bytes32 indexed conditionId, uint256 amount
    );
    event Redeemed(bytes32 indexed conditionId, uint256 usdcMicro);
    event Claimed(address indexed account, bytes32 indexed conditionId, uint256 heldMicro, uint256 unheldMicro);

    error UnknownMarket(bytes32 conditionId);
    error NotTheFactory(address caller);
    error MarketNotDecided(bytes32 conditionId);
    error NotTheAccount(address caller);

    constructor(address marketFactory_) {
        if (marketFactory_ == address(0)) revert InvalidAddress();
        marketFactory = marketFactory_;
    }

    /// @notice The factory names the tokens of a market, which can be traded from then on. A repeat does nothing.
    function registerMarket(bytes32 conditionId, uint256 yesTokenId, uint256 noTokenId) external {
        if (msg.sender != marketFactory) revert NotTheFactory(msg.sender);
        if (markets[conditionId].yesTokenId != 0) return;
        markets[conditionId] = Market(yesTokenId, noTokenId);
        conditionOf[yesTokenId] = conditionId;
        conditionOf[noTokenId] = conditionId;
        emit MarketRegistered(conditionId, yesTokenId, noTokenId);
    }

    /// @notice Turns unheld USDC of the caller into full sets, which the exchange's ledger then credits for trading.
    function splitFromEscrow(bytes32 conditionId, uint256 amount) external whenNotPaused nonReentrant {
        _requireNoExit(msg.sender);
        Market storage market = _tradable(conditionId);
        _takeUnheld(msg.sender, USDC, amount);
        _credit(msg.sender, market.yesTokenId, amount);
        _credit(msg.sender, market.noTokenId, amount);
        emit EscrowSplit(msg.sender, conditionId, amount);
        _split(conditionId, amount);
    }

    /// @notice Turns unheld full sets of the caller into unheld USDC. Also while the exchange is paused.
    function mergeToEscrow(bytes32 conditionId, uint256 amount) external nonReentrant {
        Market storage market = _tradable(conditionId);
        _takeUnheld(msg.sender, market.yesTokenId, amount);
        _takeUnheld(msg.sender, market.noTokenId, amount);
        _creditUnheld(msg.sender, USDC, amount);
        emit EscrowMerged(msg.sender, conditionId, amount);
        _merge(conditionId, amount);
    }

    /// @notice A split that the ledger has made. A repeat of the operation does nothing.
    function splitFor(
        bytes32 operationId,
        address account,
        bytes32 conditionId,
        uint256 amountAndFee
    ) external onlyRole(OPERATOR_ROLE) whenNotPaused nonReentrant {
        if (!_begin(operationId)) return;
        Market storage market = _tradable(conditionId);
        uint256 amount = _charge(operationId, account, amountAndFee);
        _debit(account, USDC, amount);
        _credit(account, market.yesTokenId, amount);
        _credit(account, market.noTokenId, amount);
        emit SplitFor(operationId, account, conditionId, amount);
        _split(conditionId, amount);
    }

    /// @notice A merge that the ledger has made. A repeat of the operation does nothing.
    function mergeFor(
        bytes32 operationId,
        address account,
        bytes32 conditionId,
        uint256 amountAndFee
    ) external onlyRole(OPERATOR_ROLE) whenNotPaused nonReentrant {
        if (!_begin(operationId)) return;
        Market storage market = _tradable(conditionId);
        // What the sets pay may be all that there is for the fee.
        uint256 amount = amountAndFee & type(uint128).max;
        _debit(account, market.yesTokenId, amount);
        _debit(account, market.noTokenId, amount);
        _credit(account, USDC, amount);
        _charge(operationId, account, amountAndFee);
        emit MergedFor(operationId, account, conditionId, amount);
        _merge(conditionId, amount);
    }

    /// @notice Pays the tokens of a decided market into the account's own escrow, held for held and unheld for unheld.
    /// For the operator or the account; a repeat pays nothing. Each payout is rounded down once, and what rounding kept
    /// back is the fee account's after the last claim, as in the ledger.
    function claim(address account, bytes32 conditionId) external nonReentrant {
        if (msg.sender != account && !hasRole(OPERATOR_ROLE, msg.sender)) revert NotTheAccount(msg.sender);
        _redeem(conditionId);
        Market storage market = markets[conditionId];
        (uint256 heldYes, uint256 unheldYes) = _takeAll(account, market.yesTokenId);
        (uint256 heldNo, uint256 unheldNo) = _takeAll(account, market.noTokenId);
        uint256 heldMicro = _payout(conditionId, heldYes, heldNo);
        uint256 unheldMicro = _payout(conditionId, unheldYes, unheldNo);

        Pool storage pool = pools[conditionId];
        pool.yesLeft -= (heldYes + unheldYes).toUint128();
        pool.noLeft -= (heldNo + unheldNo).toUint128();
        pool.usdcMicro -= (heldMicro + unheldMicro).toUint128();
        _credit(account, USDC, heldMicro);
        _creditUnheld(account, USDC, unheldMicro);
        emit Claimed(account, conditionId, heldMicro, unheldMicro);
        if (pool.yesLeft == 0 && pool.noLeft == 0 && pool.usdcMicro > 0) {
            uint256 rounding = pool.usdcMicro;
            pool.usdcMicro = 0;
            _credit(feeAccount, USDC, rounding);
            emit Claimed(feeAccount, conditionId, rounding, 0);
        }
    }

    /// @dev Takes the USDC of all tokens that are here, once. Full sets are merged first, which is exact, so the pool
    /// covers every payout however the tokens are divided.
    function _redeem(bytes32 conditionId) private {
        Pool storage pool = pools[conditionId];
        if (pool.isRedeemed) return;
        Market memory market = markets[conditionId];
        if (market.yesTokenId == 0) revert UnknownMarket(conditionId);
        if (conditionalTokens.payoutDenominator(conditionId) == 0) revert MarketNotDecided(conditionId);
        uint256 yes = conditionalTokens.balanceOf(address(this), market.yesTokenId);
        uint256 no = conditionalTokens.balanceOf(address(this), market.noTokenId);
        pool.isRedeemed = true;
        pool.yesLeft = yes.toUint128();
        pool.noLeft = no.toUint128();
        delete conditionOf[market.yesTokenId];
        delete conditionOf[market.noTokenId];
        uint256 before = usdc.balanceOf(address(this));
        uint256 sets = yes < no ? yes : no;
        if (sets > 0) _merge(conditionId, sets);
        if (yes != no) conditionalTokens.redeemPositions(address(usdc), bytes32(0), conditionId, _bothOutcomes());
        uint256 received = usdc.balanceOf(address(this)) - before;
        pool.usdcMicro = received.toUint128();
        emit Redeemed(conditionId, received);
    }

    function _payout(bytes32 conditionId, uint256 yes, uint256 no) private view returns (uint256) {
        if (yes + no == 0) return 0;
        uint256 yesWorth = yes * conditionalTokens.payoutNumerators(conditionId, 0);
        uint256 noWorth = no * conditionalTokens.payoutNumerators(conditionId, 1);
        return (yesWorth + noWorth) / conditionalTokens.payoutDenominator(conditionId);
    }

    function _tradable(bytes32 conditionId) private view returns (Market storage market) {
        market = markets[conditionId];
        if (conditionOf[market.yesTokenId] != conditionId || conditionId == 0) revert UnknownMarket(conditionId);
    }

    function _split(bytes32 conditionId, uint256 amount) internal {
        conditionalTokens.splitPosition(address(usdc), bytes32(0), conditionId, _bothOutcomes(), amount);
    }

    function _merge(bytes32 conditionId, uint256 amount) internal {
        conditionalTokens.mergePositions(address(usdc), bytes32(0), conditionId, _bothOutcomes(), amount);
    }

    function _bothOutcomes() private pure returns (uint256[] memory indexSets) {
        indexSets = new uint256[](2);
        indexSets[0] = 1;
        indexSets[1] = 2;
    }
}
