// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {IERC1271} from "@openzeppelin/contracts/interfaces/IERC1271.sol";

/// @notice What a trader signs (EIP-712). The order of the fields is part of the type.
struct Order {
    uint256 salt;
    address maker;
    address signer;
    address taker;
    uint256 tokenId;
    uint256 makerAmount;
    uint256 takerAmount;
    uint256 expiration;
    uint256 nonce;
    uint256 feeRateBps;
    uint256 minTakerNet;
    uint8 side;
}

/// @notice The transaction has too little gas to tell a failure from an end of the gas: send it with more.
error NotEnoughGas();

struct SignedOrder {
    Order order;
    bytes signature;
}

/// @title Hashes and signatures of orders.
library Orders {
    uint8 internal constant BUY = 0;
    uint8 internal constant SELL = 1;
    uint256 internal constant BPS = 10_000;
    /// @dev A billion units, as off the chain: every product below fits 256 bits many times over.
    uint256 internal constant MAX_AMOUNT = 1e15;
    /// @dev A signer that is a contract cannot take more gas than this from the batch.
    uint256 internal constant ERC1271_GAS = 150_000;

    bytes32 internal constant TYPE_HASH = keccak256(
        "Order(uint256 salt,address maker,address signer,address taker,uint256 tokenId,uint256 makerAmount,"
        "uint256 takerAmount,uint256 expiration,uint256 nonce,uint256 feeRateBps,uint256 minTakerNet,uint8 side)"
    );

    /// @dev A struct of words in calldata is encoded as it is signed: the type's hash goes before it.
    function structHash(Order calldata order) internal pure returns (bytes32 hash) {
        bytes32 typeHash = TYPE_HASH;
        assembly ("memory-safe") {
            let words := mload(0x40)
            mstore(words, typeHash)
            calldatacopy(add(words, 0x20), order, 0x180)
            hash := keccak256(words, 0x1a0)
        }
    }

    /// @notice True if the fields are ones that the exchange accepts off the chain. Settlement relies on their bounds.
    function isWellFormed(Order calldata order) internal pure returns (bool) {
        return order.maker != address(0) && order.taker == address(0) && order.side <= SELL
            && order.feeRateBps <= BPS && order.makerAmount != 0 && order.makerAmount <= MAX_AMOUNT
            && order.takerAmount != 0 && order.takerAmount <= MAX_AMOUNT && order.minTakerNet <= MAX_AMOUNT;
    }

    /// @notice True if `signer` signed the digest, with a key (v 27/28 or 0/1, low s only) or as a contract (ERC-1271).
    /// A wallet that has both code and a key (EIP-7702) may use its key: the exchange has verified that one.
    function isSignedBy(address signer, bytes32 digest, bytes calldata signature) internal view returns (bool) {
        if (signature.length == 65 && _recovered(digest, signature) == signer && signer != address(0)) return true;
        return signer.code.length != 0 && _isSignedByContract(signer, digest, signature);
    }

    function _recovered(bytes32 digest, bytes calldata signature) private pure returns (address recovered) {
        bytes32 r;
        bytes32 s;
        uint8 v;
        assembly ("memory-safe") {
            r := calldataload(signature.offset)
            s := calldataload(add(signature.offset, 0x20))
            v := byte(0, calldataload(add(signature.offset, 0x40)))
        }
        unchecked {
            if (v < 27) v += 27;
        }
        (recovered,,) = ECDSA.tryRecover(digest, v, r, s);
    }

    /// @dev Reads one word of the answer and no more, however long it is. A call that ran out of the batch's gas, and
    /// not of its own, reverts the batch: it says nothing about the signature.
    function _isSignedByContract(
        address signer,
        bytes32 digest,
        bytes calldata signature
    ) private view returns (bool isValid) {
        bytes memory data = abi.encodeCall(IERC1271.isValidSignature, (digest, signature));
        if (gasleft() < ERC1271_GAS + ERC1271_GAS / 32) revert NotEnoughGas();
        bytes32 magic = bytes32(IERC1271.isValidSignature.selector);
        assembly ("memory-safe") {
            mstore(0, 0)
            let success := staticcall(ERC1271_GAS, signer, add(data, 0x20), mload(data), 0, 0x20)
            isValid := and(success, and(gt(returndatasize(), 0x1f), eq(mload(0), magic)))
        }
    }
}
