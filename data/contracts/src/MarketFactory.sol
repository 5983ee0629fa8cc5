// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {AccessControl} from "@openzeppelin/contracts/access/AccessControl.sol";
import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";
import {IConditionalTokens} from "./IConditionalTokens.sol";
import {IDecidedFactory, Resolutions, ResolutionTerms} from "./Resolutions.sol";
import {Sets} from "./Sets.sol";

/// @title Makes markets on the conditional tokens, and reports how they were decided: it is the oracle of them all.
/// @notice The question of a market is the hash of its id, so that everything about it can be computed beforehand.
/// @dev FACTORY-1  Only `resolutions` decides, for ever: `RESOLVER_ROLE` is its own to give, and it gives it to nobody.
contract MarketFactory is AccessControl, Pausable {
    bytes32 public constant DEPLOYER_ROLE = keccak256("DEPLOYER_ROLE");
    bytes32 public constant RESOLVER_ROLE = keccak256("RESOLVER_ROLE");
    uint256 private constant OUTCOMES = 2;
    uint256 private constant ONE_PPM = 1_000_000;

    IConditionalTokens public immutable conditionalTokens;
    address public immutable usdc;
    /// @notice By which markets are decided: after a delay, in which another key can veto.
    Resolutions public immutable resolutions;
    /// @notice The exchange that new markets are registered with.
    Sets public exchange;

    mapping(bytes32 questionId => bool) public isCreated;

    event ExchangeSet(address indexed exchange);
    event MarketCreated(
        bytes16 indexed marketId,
        bytes32 indexed questionId,
        bytes32 indexed conditionId,
        uint256 yesTokenId,
        uint256 noTokenId
    );
    event MarketResolved(bytes16 indexed marketId, uint256 yesPayout, uint256 noPayout);

    error MarketNotCreated(bytes16 marketId);
    error PayoutsNotWhole(uint256 yesPayout, uint256 noPayout);

    constructor(
        IConditionalTokens conditionalTokens_,
        address usdc_,
        address admin,
        address deployer,
        ResolutionTerms memory terms
    ) {
        conditionalTokens = conditionalTokens_;
        usdc = usdc_;
        _grantRole(DEFAULT_ADMIN_ROLE, admin);
        _grantRole(DEPLOYER_ROLE, deployer);
        resolutions = new Resolutions(IDecidedFactory(address(this)), admin, terms);
        _setRoleAdmin(RESOLVER_ROLE, RESOLVER_ROLE);
        _grantRole(RESOLVER_ROLE, address(resolutions));
    }

    function pause() external onlyRole(DEFAULT_ADMIN_ROLE) {
        _pause();
    }

    function unpause() external onlyRole(DEFAULT_ADMIN_ROLE) {
        _unpause();
    }

    /// @notice Names the exchange; after a rotation `register` tells the new one about earlier markets.
    function setExchange(Sets exchange_) external onlyRole(DEFAULT_ADMIN_ROLE) {
        exchange = exchange_;
        emit ExchangeSet(address(exchange_));
    }

    /// @notice Prepares the condition of a market and registers its tokens. A repeat changes nothing.
    function createMarket(bytes16 marketId)
        external
        onlyRole(DEPLOYER_ROLE)
        whenNotPaused
        returns (bytes32 conditionId)
    {
        bytes32 questionId = questionOf(marketId);
        conditionId = conditionOf(questionId);
        if (isCreated[questionId]) return conditionId;
        isCreated[questionId] = true;
        // Anybody may have prepared it before: a condition belongs to its oracle, not to who prepared it.
        if (conditionalTokens.getOutcomeSlotCount(conditionId) == 0) {
            conditionalTokens.prepareCondition(address(this), questionId, OUTCOMES);
        }
        (uint256 yesTokenId, uint256 noTokenId) = tokensOf(conditionId);
        emit MarketCreated(marketId, questionId, conditionId, yesTokenId, noTokenId);
        if (address(exchange) != address(0)) exchange.registerMarket(conditionId, yesTokenId, noTokenId);
    }

    /// @notice Registers a market that was created before with the exchange of today.
    function register(bytes16 marketId) external {
        bytes32 questionId = questionOf(marketId);
        if (!isCreated[questionId]) revert MarketNotCreated(marketId);
        bytes32 conditionId = conditionOf(questionId);
        (uint256 yesTokenId, uint256 noTokenId) = tokensOf(conditionId);
        exchange.registerMarket(conditionId, yesTokenId, noTokenId);
    }

    /// @notice Decides a market, once: what a token of each outcome pays, in millionths. Both together are a million: a
    /// slip here could not be taken back, and huge numbers would make the tokens worthless.
    function resolve(bytes16 marketId, uint256 yesPayout, uint256 noPayout) external onlyRole(RESOLVER_ROLE) {
        bytes32 questionId = questionOf(marketId);
        if (!isCreated[questionId]) revert MarketNotCreated(marketId);
        if (yesPayout > ONE_PPM || noPayout != ONE_PPM - yesPayout) revert PayoutsNotWhole(yesPayout, noPayout);
        uint256[] memory payouts = new uint256[](OUTCOMES);
        payouts[0] = yesPayout;
        payouts[1] = noPayout;
        emit MarketResolved(marketId, yesPayout, noPayout);
        conditionalTokens.reportPayouts(questionId, payouts);
    }

    function questionOf(bytes16 marketId) public pure returns (bytes32) {
        return keccak256(abi.encodePacked(marketId));
    }

    function conditionOf(bytes32 questionId) public view returns (bytes32) {
        return keccak256(abi.encodePacked(address(this), questionId, OUTCOMES));
    }

    function tokensOf(bytes32 conditionId) public view returns (uint256 yesTokenId, uint256 noTokenId) {
        yesTokenId = _tokenOf(conditionId, 1);
        noTokenId = _tokenOf(conditionId, 2);
    }

    function _tokenOf(bytes32 conditionId, uint256 indexSet) private view returns (uint256) {
        return conditionalTokens.getPositionId(usdc, conditionalTokens.getCollectionId(0, conditionId, indexSet));
    }
}
