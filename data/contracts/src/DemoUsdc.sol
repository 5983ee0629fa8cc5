// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC3009} from "@openzeppelin/contracts/token/ERC20/extensions/draft-ERC3009.sol";
import {IERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Permit.sol";
import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {SignatureChecker} from "@openzeppelin/contracts/utils/cryptography/SignatureChecker.sol";
import {Nonces} from "@openzeppelin/contracts/utils/Nonces.sol";
import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";

/// @title Play money for local chains, which behaves as USDC does: six decimals, EIP-2612, EIP-3009 with the signatures
/// of keys and of contracts, a pause and a blacklist. Its owner makes as much as it likes: never deploy it elsewhere.
contract DemoUsdc is ERC3009, IERC20Permit, Nonces, Ownable, Pausable {
    string private constant NAME = "USD Coin";
    string private constant VERSION = "2";
    bytes32 private constant PERMIT_TYPE_HASH =
        keccak256("Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)");

    mapping(address account => bool) public isBlacklisted;

    error Blacklisted(address account);
    error PermitExpired(uint256 deadline);
    error PermitNotSigned();

    constructor(address owner) ERC20(NAME, "USDC") EIP712(NAME, VERSION) Ownable(owner) {}

    function mint(address to, uint256 amount) external onlyOwner {
        _mint(to, amount);
    }

    function setBlacklisted(address account, bool isBlacklisted_) external onlyOwner {
        isBlacklisted[account] = isBlacklisted_;
    }

    function pause() external onlyOwner {
        _pause();
    }

    function unpause() external onlyOwner {
        _unpause();
    }

    /// @notice As with v, r, s; the signature may also be that of a contract (ERC-1271).
    function transferWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes memory signature
    ) external {
        bytes32 typeHash = TRANSFER_WITH_AUTHORIZATION_TYPEHASH;
        bytes32 structHash = keccak256(abi.encode(typeHash, from, to, value, validAfter, validBefore, nonce));
        _requireSigned(from, structHash, signature);
        _transferWithAuthorization(from, to, value, validAfter, validBefore, nonce);
    }

    /// @notice As with v, r, s; the signature may also be that of a contract (ERC-1271).
    function receiveWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes memory signature
    ) external {
        bytes32 typeHash = RECEIVE_WITH_AUTHORIZATION_TYPEHASH;
        bytes32 structHash = keccak256(abi.encode(typeHash, from, to, value, validAfter, validBefore, nonce));
        _requireSigned(from, structHash, signature);
        if (to != msg.sender) revert ERC20InvalidReceiver(to);
        _transferWithAuthorization(from, to, value, validAfter, validBefore, nonce);
    }

    /// @notice As with v, r, s; the signature may also be that of a contract (ERC-1271).
    function cancelAuthorization(address authorizer, bytes32 nonce, bytes memory signature) external {
        _requireSigned(authorizer, keccak256(abi.encode(CANCEL_AUTHORIZATION_TYPEHASH, authorizer, nonce)), signature);
        _cancelAuthorization(authorizer, nonce);
    }

    /// @notice EIP-2612.
    function permit(
        address owner,
        address spender,
        uint256 value,
        uint256 deadline,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external {
        if (block.timestamp > deadline) revert PermitExpired(deadline);
        bytes32 structHash = keccak256(abi.encode(PERMIT_TYPE_HASH, owner, spender, value, _useNonce(owner), deadline));
        (address recovered,,) = ECDSA.tryRecover(_hashTypedDataV4(structHash), v, r, s);
        if (recovered != owner || owner == address(0)) revert PermitNotSigned();
        _approve(owner, spender, value);
    }

    /// @notice EIP-2612.
    function DOMAIN_SEPARATOR() external view returns (bytes32) {
        return _domainSeparatorV4();
    }

    function nonces(address owner) public view override(IERC20Permit, Nonces) returns (uint256) {
        return super.nonces(owner);
    }

    function version() external pure returns (string memory) {
        return VERSION;
    }

    function decimals() public pure override returns (uint8) {
        return 6;
    }

    function _requireSigned(address signer, bytes32 structHash, bytes memory signature) private view {
        if (!SignatureChecker.isValidSignatureNow(signer, _hashTypedDataV4(structHash), signature)) {
            revert ERC3009InvalidSignature();
        }
    }

    /// @dev Seconds only, both ends strict, as USDC has it.
    function _checkValidity(uint256 validAfter, uint256 validBefore) internal view override {
        if (block.timestamp <= validAfter || block.timestamp >= validBefore) {
            revert ERC3009InvalidAuthorizationTime(validAfter, validBefore);
        }
    }

    function _update(address from, address to, uint256 value) internal override whenNotPaused {
        if (isBlacklisted[from]) revert Blacklisted(from);
        if (isBlacklisted[to]) revert Blacklisted(to);
        super._update(from, to, value);
    }
}
