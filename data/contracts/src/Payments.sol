// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {AccessControl} from "@openzeppelin/contracts/access/AccessControl.sol";
import {NotEnoughGas} from "./Orders.sol";

/// @notice The part of an exchange that pays. It is granted `OPERATOR_ROLE` there.
interface IPayingExchange {
    function withdrawFor(bytes32 operationId, address account, uint256 assetId, uint256 amount) external;
    function release(bytes32 operationId, address account, uint256 assetId, uint256 amount) external;
}

/// @notice USDC of an account: to its wallet, or into its own part of the escrow.
struct Payment {
    bytes32 operationId;
    address account;
    uint256 amount;
    bool isRelease;
}

/// @title Payments of USDC out of the escrow, many in one transaction, by a key that can do nothing else.
/// @dev PAY-1  A payment that fails changes nothing, and does not keep the others of its transaction from being made.
///      PAY-2  The key pays an account of an exchange to the account itself, as that exchange does it: it can
///         neither trade nor split, merge, claim or migrate.
contract Payments is AccessControl {
    bytes32 public constant PAYER_ROLE = keccak256("PAYER_ROLE");
    uint256 private constant USDC = 0;
    /// @dev The most that one payment can take, three times what it does with the USDC of today. With less than this
    /// and a bit left the transaction reverts as a whole: running out of gas must not be taken for a failure.
    uint256 private constant PAYMENT_GAS = 300_000;

    /// @notice `reason` is the error with its arguments, as a revert would have it.
    event PaymentFailed(bytes32 indexed operationId, bytes reason);

    error NotAnExchange(address exchange);

    constructor(address admin, address payer) {
        _grantRole(DEFAULT_ADMIN_ROLE, admin);
        _grantRole(PAYER_ROLE, payer);
    }

    /// @notice Makes payments in the order given. The exchange carries each operation out once, whoever sends it.
    function pay(IPayingExchange exchange, Payment[] calldata payments) external onlyRole(PAYER_ROLE) {
        // A call of an address without code succeeds.
        if (address(exchange).code.length == 0) revert NotAnExchange(address(exchange));
        for (uint256 i = 0; i < payments.length; i++) {
            Payment calldata each = payments[i];
            if (gasleft() < PAYMENT_GAS + PAYMENT_GAS / 32) revert NotEnoughGas();
            bytes memory data = each.isRelease
                ? abi.encodeCall(exchange.release, (each.operationId, each.account, USDC, each.amount))
                : abi.encodeCall(exchange.withdrawFor, (each.operationId, each.account, USDC, each.amount));
            (bool isMade, bytes memory reason) = address(exchange).call{gas: PAYMENT_GAS}(data);
            if (!isMade) emit PaymentFailed(each.operationId, reason);
        }
    }
}
