// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {Escrow} from "./Escrow.sol";
import {IConditionalTokens} from "./IConditionalTokens.sol";
import {IUsdc} from "./IUsdc.sol";
import {Sets} from "./Sets.sol";
import {Settlement} from "./Settlement.sol";

/// @notice What an exchange is deployed with.
struct ExchangeSettings {
    IUsdc usdc;
    IConditionalTokens conditionalTokens;
    address marketFactory;
    address admin;
    address operator;
    address permitSigner;
    /// Where fees can be swept to; 0: nowhere.
    address feeRecipient;
    /// The exchange whose accounts may be taken over; 0: none.
    address predecessor;
    uint256 exitDelay;
    uint256 settlementGrace;
}

/// @title The exchange: an escrow of USDC and outcome tokens, and the settlement of trades that were matched off chain.
contract Exchange is Settlement {
    using SafeERC20 for IUsdc;

    bytes32 public constant SWEEPER_ROLE = keccak256("SWEEPER_ROLE");

    address public immutable feeRecipient;
    address public immutable predecessor;
    /// @notice The exchange that takes over the accounts, and from when on it can; announced twice `exitDelay` before.
    address public successor;
    uint256 public successorFrom;

    event FeesSwept(uint256 indexed assetId, uint256 amount);
    event SuccessorAnnounced(address indexed successor, uint256 from);
    event Migrated(address indexed account, uint256 indexed assetId, uint256 amount);

    error NoFeeRecipient();
    error SuccessorNotDue(uint256 from);
    error NotThePredecessor(address caller);
    error LengthsDiffer();

    constructor(ExchangeSettings memory settings)
        EIP712("Prediction Market Exchange", "1")
        Escrow(settings.usdc, settings.conditionalTokens, settings.exitDelay)
        Sets(settings.marketFactory)
        Settlement(settings.settlementGrace)
    {
        if (settings.admin == address(0)) revert InvalidAddress();
        feeRecipient = settings.feeRecipient;
        predecessor = settings.predecessor;
        _grantRole(DEFAULT_ADMIN_ROLE, settings.admin);
        _grantRole(PAUSER_ROLE, settings.admin);
        _grantRole(OPERATOR_ROLE, settings.operator);
        _grantRole(SWEEPER_ROLE, settings.operator);
        _grantRole(PERMIT_ROLE, settings.permitSigner);
    }

    /// @notice Stops deposits and settlement. Wallets can still withdraw, merge, claim and leave.
    function pause() external onlyRole(PAUSER_ROLE) {
        _pause();
    }

    function unpause() external onlyRole(DEFAULT_ADMIN_ROLE) {
        _unpause();
    }

    /// @notice Pays fees to the one recipient that was fixed at the deployment.
    function sweepFees(uint256 assetId, uint256 amount) external onlyRole(SWEEPER_ROLE) nonReentrant {
        if (feeRecipient == address(0)) revert NoFeeRecipient();
        _debit(feeAccount, assetId, amount);
        emit FeesSwept(assetId, amount);
        _pay(feeRecipient, assetId, amount);
    }

    /// @notice Announces the exchange that takes over the held funds. A wallet that does not agree has `exitDelay` to
    /// see it, and as long again for its exit.
    function announceSuccessor(address successor_) external onlyRole(DEFAULT_ADMIN_ROLE) {
        successor = successor_;
        successorFrom = block.timestamp + 2 * exitDelay;
        emit SuccessorAnnounced(successor_, successorFrom);
    }

    /// @notice Moves held funds to the same accounts of the successor; unheld ones stay with their wallets.
    function migrate(address[] calldata accounts, uint256[] calldata assetIds)
        external
        onlyRole(OPERATOR_ROLE)
        nonReentrant
    {
        if (successor == address(0) || block.timestamp < successorFrom) revert SuccessorNotDue(successorFrom);
        if (accounts.length != assetIds.length) revert LengthsDiffer();
        for (uint256 i = 0; i < accounts.length; i++) {
            (uint256 amount,) = balanceOf(accounts[i], assetIds[i]);
            if (amount == 0) continue;
            _debit(accounts[i], assetIds[i], amount);
            emit Migrated(accounts[i], assetIds[i], amount);
            address account = accounts[i] == feeAccount ? successor : accounts[i];
            if (assetIds[i] == USDC) {
                // The successor may take this amount, and nothing afterwards.
                usdc.forceApprove(successor, amount);
                Exchange(successor).receiveMigrated(account, amount);
                usdc.forceApprove(successor, 0);
            } else {
                // Sent, not approved: an approval would be for all tokens of all accounts.
                bytes memory owner = abi.encode(account);
                conditionalTokens.safeTransferFrom(address(this), successor, assetIds[i], amount, owner);
            }
        }
    }

    /// @notice Takes over an account's USDC from the predecessor, by pulling it.
    function receiveMigrated(address account, uint256 amount) external nonReentrant {
        if (msg.sender != predecessor) revert NotThePredecessor(msg.sender);
        _credit(account, USDC, amount);
        emit Migrated(account, USDC, amount);
        usdc.safeTransferFrom(msg.sender, address(this), amount);
    }

    /// @dev Tokens that the predecessor hands over name their account. Those of a market that is redeemed here, or not
    /// known, are refused: they would have no part in its pool. The predecessor redeems them.
    function _takeOver(address sender, uint256 assetId, uint256 amount, bytes calldata data) internal override {
        if (sender != predecessor || data.length != 32) revert DirectTransferRefused();
        if (conditionOf[assetId] == 0) revert UnknownToken(assetId);
        address account = abi.decode(data, (address));
        _credit(account, assetId, amount);
        emit Migrated(account, assetId, amount);
    }
}
