// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {Orders} from "./Orders.sol";
import {Sets} from "./Sets.sol";

/// @title The floor under the nonces of a maker's orders: what is signed with a lower one is worthless.
/// @notice Only the maker raises its floor, by a transaction or a signature of its own. A raise is in force `exitDelay`
/// later: one that acted at once would let a trader see the price move and void a trade that is matched already.
/// @dev NONCE-1  A floor never sinks, and no raise changes when an earlier one comes into force.
///      NONCE-2  The last three raises of a maker fit one word, so that an order costs one read of the storage. A
///               fourth is refused until the second of them is in force: the first one says nothing more then.
abstract contract NonceFloors is Sets {
    uint256 private constant MOST_FLOOR = 2 ** 53 - 1;
    uint256 private constant MOST_RISE = 2 ** 32;
    /// @dev A raise is its floor in the high 53 bits, and since when it is in force in the low 32.
    uint256 private constant TIME_BITS = 32;
    uint256 private constant RAISE_BITS = 85;
    uint256 private constant NEWEST = 170;
    uint256 private constant RAISE = 2 ** 85 - 1;
    uint256 private constant TIME = 2 ** 32 - 1;
    bytes32 private constant RAISE_TYPE_HASH = keccak256("NonceFloor(address maker,uint256 floor,uint256 deadline)");

    /// @dev The newest raise is in the highest bits, and pushes the oldest one out.
    mapping(address maker => uint256) private _raises;

    event NonceFloorRaised(address indexed maker, uint256 floor, uint256 from);

    error NonceBelowFloor();
    error NonceFloorNotAbove(uint256 announced);
    error NonceFloorTooHigh(uint256 most);
    error NonceFloorsPending(uint256 until);
    error NonceFloorNotSigned();
    error NonceFloorExpired(uint256 deadline);

    /// @notice Orders of the caller with a lower nonce are worthless from `exitDelay` on.
    function raiseNonceFloorTo(uint256 floor) external {
        _raise(msg.sender, floor);
    }

    /// @notice The same for the maker that has signed it (EIP-712, or EIP-1271). Anybody may send it, until `deadline`.
    function raiseNonceFloorFor(address maker, uint256 floor, uint256 deadline, bytes calldata signature) external {
        if (block.timestamp > deadline) revert NonceFloorExpired(deadline);
        bytes32 digest = _hashTypedDataV4(keccak256(abi.encode(RAISE_TYPE_HASH, maker, floor, deadline)));
        if (!Orders.isSignedBy(maker, digest, signature)) revert NonceFloorNotSigned();
        _raise(maker, floor);
    }

    /// @notice The floor that is in force now, and the highest one that will be.
    function nonceFloorOf(address maker) external view returns (uint256 inForce, uint256 announced) {
        uint256 raises = _raises[maker];
        announced = raises >> NEWEST + TIME_BITS;
        uint256 shift = NEWEST;
        while (shift != 0 && block.timestamp < (raises >> shift) & TIME) shift -= RAISE_BITS;
        uint256 raise = (raises >> shift) & RAISE;
        if (block.timestamp >= raise & TIME) inForce = raise >> TIME_BITS;
    }

    /// @dev The lowest floor above the nonce decides, because it is in force first.
    function _isBelowFloor(address maker, uint256 nonce) internal view returns (bool) {
        uint256 raises = _raises[maker];
        if (nonce >= raises >> NEWEST + TIME_BITS) return false;
        if (nonce < (raises & RAISE) >> TIME_BITS) return block.timestamp >= raises & TIME;
        raises >>= RAISE_BITS;
        if (nonce >= (raises & RAISE) >> TIME_BITS) raises >>= RAISE_BITS;
        return block.timestamp >= raises & TIME;
    }

    function _raise(address maker, uint256 floor) private {
        uint256 raises = _raises[maker];
        uint256 announced = raises >> NEWEST + TIME_BITS;
        if (floor <= announced) revert NonceFloorNotAbove(announced);
        uint256 most = announced + MOST_RISE;
        if (most > MOST_FLOOR) most = MOST_FLOOR;
        if (floor > most) revert NonceFloorTooHigh(most);
        uint256 until = (raises >> RAISE_BITS) & TIME;
        if (raises & RAISE != 0 && block.timestamp < until) revert NonceFloorsPending(until);
        uint256 from = SafeCast.toUint32(block.timestamp + exitDelay);
        _raises[maker] = (floor << TIME_BITS | from) << NEWEST | raises >> RAISE_BITS;
        emit NonceFloorRaised(maker, floor, from);
    }
}
