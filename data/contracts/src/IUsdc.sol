// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

/// @title What the exchange calls of USDC (FiatToken 2.2): an ERC-20 with transfers that the owner signs (EIP-3009).
interface IUsdc is IERC20 {
    /// @notice Moves `value` from the signer to the caller, which has to be `to`.
    function receiveWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes memory signature
    ) external;
}
