// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {AccessControl} from "@openzeppelin/contracts/access/AccessControl.sol";
import {IERC1155Receiver} from "@openzeppelin/contracts/token/ERC1155/IERC1155Receiver.sol";
import {IERC165} from "@openzeppelin/contracts/utils/introspection/IERC165.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {IConditionalTokens} from "./IConditionalTokens.sol";
import {IUsdc} from "./IUsdc.sol";

/// @notice An operator's consent that `amount` is deposited for `account`, once and until `deadline`.
struct DepositPermit {
    address account;
    uint256 amount;
    bytes32 nonce;
    uint256 deadline;
}

/// @notice What the owner of USDC signs beside (EIP-3009). Its nonce is the digest of the permit, which binds the two:
/// nobody can use it for another account.
struct Authorization {
    address from;
    uint256 validAfter;
    uint256 validBefore;
    bytes signature;
}

/// @title Accounts: USDC and outcome tokens of each wallet, as two balances per asset.
/// @notice `held` is what the exchange's ledger has: it backs orders and matched trades, and leaves only by trades, or
/// when the operator releases it after it has debited the ledger. `unheld` is the wallet's own: it may split, merge,
/// withdraw or hold it at any time. So nothing that a wallet does leaves a matched trade without funds. A wallet that
/// the operator does not serve asks for its exit, and after `exitDelay`, in which every matched trade is settled, its
/// held funds are unheld.
/// @dev ESCROW-1  USDC of this contract >= sum of held + unheld of asset USDC, plus the pools of resolved markets.
///      ESCROW-2  tokens of an id of this contract >= sum of held + unheld of it, until its market is redeemed.
///      Both are equal unless somebody sends USDC here without a deposit.
abstract contract Escrow is AccessControl, EIP712, Pausable, ReentrancyGuardTransient, IERC1155Receiver {
    using SafeERC20 for IUsdc;

    bytes32 public constant OPERATOR_ROLE = keccak256("OPERATOR_ROLE");
    bytes32 public constant PERMIT_ROLE = keccak256("PERMIT_ROLE");
    bytes32 public constant PAUSER_ROLE = keccak256("PAUSER_ROLE");
    /// @notice The asset id of USDC; every other asset id is that of an outcome token.
    uint256 public constant USDC = 0;
    uint256 private constant MOST = type(uint128).max;
    /// @dev The most that the operator may keep from an account for carrying a movement out.
    uint256 private constant MOST_FEE = 1_000_000;
    /// @dev Of ERC-165: operations may have a fee. A function that says so would make each match dearer.
    bytes4 private constant TAKES_FEES = bytes4(keccak256("takesMovementFees"));
    bytes32 private constant PERMIT_TYPE_HASH =
        keccak256("DepositPermit(address account,uint256 amount,bytes32 nonce,uint256 deadline)");

    IUsdc public immutable usdc;
    IConditionalTokens public immutable conditionalTokens;
    /// @notice Seconds between the request of an exit and the moment from which it can be carried out.
    uint256 public immutable exitDelay;

    /// @dev Held in the low 128 bits, unheld in the high ones: both change with one read and one write.
    mapping(address account => mapping(uint256 assetId => uint256)) private _balances;
    mapping(bytes32 permitNonce => bool) public permitUsed;
    mapping(bytes32 operationId => bool) public operationDone;
    /// @notice From this time on the account may take its held funds; 0 without a request.
    mapping(address account => uint256) public exitableAt;

    event Deposited(address indexed account, address indexed from, bytes32 indexed permitNonce, uint256 amount);
    event Held(address indexed account, uint256 indexed assetId, uint256 amount);
    event Released(bytes32 indexed operationId, address indexed account, uint256 indexed assetId, uint256 amount);
    event PaidOut(bytes32 indexed operationId, address indexed account, uint256 indexed assetId, uint256 amount);
    event MovementCharged(bytes32 indexed operationId, address indexed account, uint256 fee);
    event Withdrawn(address indexed account, uint256 indexed assetId, address to, uint256 amount);
    event ExitRequested(address indexed account, uint256 exitableAt);
    event ExitCancelled(address indexed account);
    event Exited(address indexed account, uint256 indexed assetId, uint256 amount);

    /// @notice Deposits need an authorization of the operator: `depositWithAuthorization`.
    error DepositAuthorizationRequired();
    error PermitExpired(uint256 deadline);
    error PermitAlreadyUsed(bytes32 nonce);
    error PermitNotSigned(address recovered);
    error ZeroAmount();
    error AmountTooLarge(uint256 amount);
    error FeeTooLarge(uint256 fee);
    error InvalidAddress();
    error InsufficientHeld(address account, uint256 assetId, uint256 held, uint256 required);
    error InsufficientUnheld(address account, uint256 assetId, uint256 unheld, uint256 required);
    error ExitPending(address account);
    error ExitNotDue(address account, uint256 exitableAt);
    error DirectTransferRefused();

    constructor(IUsdc usdc_, IConditionalTokens conditionalTokens_, uint256 exitDelay_) {
        if (address(usdc_) == address(0) || address(conditionalTokens_) == address(0)) revert InvalidAddress();
        usdc = usdc_;
        conditionalTokens = conditionalTokens_;
        exitDelay = exitDelay_;
        usdc_.forceApprove(address(conditionalTokens_), type(uint256).max);
    }

    function balanceOf(address account, uint256 assetId) public view returns (uint256 held, uint256 unheld) {
        uint256 both = _balances[account][assetId];
        return (both & MOST, both >> 128);
    }

    // Into the escrow

    /// @notice Takes `permit.amount` USDC of `authorization.from` for `permit.account`. Anybody may send it.
    function depositWithAuthorization(
        DepositPermit calldata permit,
        bytes calldata permitSignature,
        Authorization calldata authorization
    ) external whenNotPaused nonReentrant {
        if (permit.amount == 0) revert ZeroAmount();
        if (permit.account == address(0)) revert InvalidAddress();
        if (block.timestamp > permit.deadline) revert PermitExpired(permit.deadline);
        if (permitUsed[permit.nonce]) revert PermitAlreadyUsed(permit.nonce);
        _requireNoExit(permit.account);
        bytes32 digest = depositPermitDigest(permit);
        (address recovered,,) = ECDSA.tryRecoverCalldata(digest, permitSignature);
        if (recovered == address(0) || !hasRole(PERMIT_ROLE, recovered)) revert PermitNotSigned(recovered);

        permitUsed[permit.nonce] = true;
        _credit(permit.account, USDC, permit.amount);
        emit Deposited(permit.account, authorization.from, permit.nonce, permit.amount);
        usdc.receiveWithAuthorization(
            authorization.from,
            address(this),
            permit.amount,
            authorization.validAfter,
            authorization.validBefore,
            digest,
            authorization.signature
        );
    }

    /// @notice The digest that the operator signs; also the nonce of the EIP-3009 authorization.
    function depositPermitDigest(DepositPermit calldata permit) public view returns (bytes32) {
        return _hashTypedDataV4(keccak256(abi.encode(PERMIT_TYPE_HASH, permit)));
    }

    /// @notice Deposits of earlier contracts, which anybody could make, are refused by name.
    function deposit(uint256) external pure {
        revert DepositAuthorizationRequired();
    }

    /// @notice See `deposit`.
    function depositFor(address, uint256) external pure {
        revert DepositAuthorizationRequired();
    }

    /// @notice See `deposit`.
    function depositWithPermit(uint256, uint256, uint8, bytes32, bytes32) external pure {
        revert DepositAuthorizationRequired();
    }

    /// @notice Gives unheld funds to the exchange, whose ledger then credits them.
    function hold(uint256 assetId, uint256 amount) external whenNotPaused nonReentrant {
        _requireNoExit(msg.sender);
        _takeUnheld(msg.sender, assetId, amount);
        _credit(msg.sender, assetId, amount);
        emit Held(msg.sender, assetId, amount);
    }

    // Out of the escrow

    // An operation of the ledger has one word for its amount and, in the high 128 bits, its fee. `Payments` passes that
    // word on, so accounts pay for their movements by whichever key those are sent.

    /// @notice Makes funds unheld that the ledger has debited. A repeat of the operation does nothing.
    function release(
        bytes32 operationId,
        address account,
        uint256 assetId,
        uint256 amountAndFee
    ) external onlyRole(OPERATOR_ROLE) nonReentrant {
        // The fee account has no key: what is unheld there would be lost.
        if (account == address(this)) revert InvalidAddress();
        if (!_begin(operationId)) return;
        uint256 amount = _charge(operationId, account, amountAndFee);
        _debit(account, assetId, amount);
        _creditUnheld(account, assetId, amount);
        emit Released(operationId, account, assetId, amount);
    }

    /// @notice Pays funds that the ledger has debited to the wallet they belong to, and to nobody else.
    function withdrawFor(
        bytes32 operationId,
        address account,
        uint256 assetId,
        uint256 amountAndFee
    ) external onlyRole(OPERATOR_ROLE) nonReentrant {
        if (!_begin(operationId)) return;
        uint256 amount = _charge(operationId, account, amountAndFee);
        _debit(account, assetId, amount);
        emit PaidOut(operationId, account, assetId, amount);
        _pay(account, assetId, amount);
    }

    /// @notice Pays unheld funds of the caller to any address. Also while the exchange is paused.
    function withdraw(uint256 assetId, uint256 amount, address to) external nonReentrant {
        _takeUnheld(msg.sender, assetId, amount);
        emit Withdrawn(msg.sender, assetId, to, amount);
        _pay(to, assetId, amount);
    }

    /// @notice Announces that the caller leaves. The exchange stops trading for it and settles what is matched.
    function requestExit() external {
        _requireNoExit(msg.sender);
        uint256 due = block.timestamp + exitDelay;
        exitableAt[msg.sender] = due;
        emit ExitRequested(msg.sender, due);
    }

    /// @notice The caller stays.
    function cancelExit() external {
        if (exitableAt[msg.sender] == 0) revert ExitNotDue(msg.sender, 0);
        exitableAt[msg.sender] = 0;
        emit ExitCancelled(msg.sender);
    }

    /// @notice Makes all held funds of these assets unheld, once the delay is over. Also while the exchange is paused.
    function exit(uint256[] calldata assetIds) external nonReentrant {
        uint256 due = exitableAt[msg.sender];
        if (due == 0 || block.timestamp < due) revert ExitNotDue(msg.sender, due);
        for (uint256 i = 0; i < assetIds.length; i++) {
            uint256 amount = _balances[msg.sender][assetIds[i]] & MOST;
            _debit(msg.sender, assetIds[i], amount);
            _creditUnheld(msg.sender, assetIds[i], amount);
            emit Exited(msg.sender, assetIds[i], amount);
        }
    }

    // Tokens arrive only when this contract itself splits, or when its predecessor hands an account over.

    function onERC1155Received(address operator, address, uint256 assetId, uint256 amount, bytes calldata data)
        external
        returns (bytes4)
    {
        if (msg.sender != address(conditionalTokens)) revert DirectTransferRefused();
        if (operator != address(this)) _takeOver(operator, assetId, amount, data);
        return IERC1155Receiver.onERC1155Received.selector;
    }

    function onERC1155BatchReceived(address operator, address, uint256[] calldata, uint256[] calldata, bytes calldata)
        external
        view
        returns (bytes4)
    {
        if (msg.sender != address(conditionalTokens) || operator != address(this)) revert DirectTransferRefused();
        return IERC1155Receiver.onERC1155BatchReceived.selector;
    }

    /// @notice ERC-165.
    function supportsInterface(bytes4 interfaceId) public view virtual override(AccessControl, IERC165) returns (bool) {
        if (interfaceId == type(IERC1155Receiver).interfaceId || interfaceId == TAKES_FEES) return true;
        return super.supportsInterface(interfaceId);
    }

    /// @dev Tokens that another contract sent here: credits them, or refuses them.
    function _takeOver(address sender, uint256 assetId, uint256 amount, bytes calldata data) internal virtual;

    // Balances

    function _credit(address account, uint256 assetId, uint256 amount) internal {
        uint256 both = _balances[account][assetId];
        if (amount > MOST - (both & MOST)) revert AmountTooLarge(amount);
        unchecked {
            _balances[account][assetId] = both + amount;
        }
    }

    function _debit(address account, uint256 assetId, uint256 amount) internal {
        uint256 both = _balances[account][assetId];
        if (amount > both & MOST) revert InsufficientHeld(account, assetId, both & MOST, amount);
        unchecked {
            _balances[account][assetId] = both - amount;
        }
    }

    function _creditUnheld(address account, uint256 assetId, uint256 amount) internal {
        uint256 both = _balances[account][assetId];
        if (amount > MOST - (both >> 128)) revert AmountTooLarge(amount);
        unchecked {
            _balances[account][assetId] = both + (amount << 128);
        }
    }

    function _takeUnheld(address account, uint256 assetId, uint256 amount) internal {
        if (amount == 0) revert ZeroAmount();
        uint256 both = _balances[account][assetId];
        if (amount > both >> 128) revert InsufficientUnheld(account, assetId, both >> 128, amount);
        unchecked {
            _balances[account][assetId] = both - (amount << 128);
        }
    }

    /// @dev Empties both balances of an asset.
    function _takeAll(address account, uint256 assetId) internal returns (uint256 held, uint256 unheld) {
        (held, unheld) = balanceOf(account, assetId);
        _balances[account][assetId] = 0;
    }

    function _pay(address to, uint256 assetId, uint256 amount) internal {
        if (to == address(0) || to == address(this)) revert InvalidAddress();
        if (assetId == USDC) usdc.safeTransfer(to, amount);
        else conditionalTokens.safeTransferFrom(address(this), to, assetId, amount, "");
    }

    /// @return isNew false if the operation was carried out before.
    function _begin(bytes32 operationId) internal returns (bool isNew) {
        if (operationDone[operationId]) return false;
        operationDone[operationId] = true;
        return true;
    }

    /// @dev Takes the fee of an operation from the USDC of its account.
    /// @return amount of the operation, without the fee.
    function _charge(bytes32 operationId, address account, uint256 amountAndFee) internal returns (uint256 amount) {
        uint256 fee = amountAndFee >> 128;
        if (fee == 0) return amountAndFee;
        if (fee > MOST_FEE) revert FeeTooLarge(fee);
        _debit(account, USDC, fee);
        _credit(address(this), USDC, fee);
        emit MovementCharged(operationId, account, fee);
        return amountAndFee & MOST;
    }

    function _requireNoExit(address account) internal view {
        if (exitableAt[account] != 0) revert ExitPending(account);
    }
}
