// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {AccessControl} from "@openzeppelin/contracts/access/AccessControl.sol";
import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {IConditionalTokens} from "./IConditionalTokens.sol";

/// @notice The part of a market factory that is asked here. It has given `RESOLVER_ROLE` to this contract.
interface IDecidedFactory {
    function conditionalTokens() external view returns (IConditionalTokens);
    function isCreated(bytes32 questionId) external view returns (bool);
    function questionOf(bytes16 marketId) external pure returns (bytes32);
    function conditionOf(bytes32 questionId) external view returns (bytes32);
    function resolve(bytes16 marketId, uint256 yesPayout, uint256 noPayout) external;
}

/// @notice Who may propose and who may veto at first, and how long a proposal waits, in seconds.
struct ResolutionTerms {
    address proposer;
    address vetoer;
    uint256 delay;
    /// No later delay is shorter.
    uint256 leastDelay;
}

/// @title Decisions of markets that wait, and that another key can veto until they are carried out.
/// @dev RESOLVE-1  A market is decided by what was proposed for it, at least the delay of that moment later, and only
///                 while who proposed it has had `PROPOSER_ROLE` without a break since then.
///      RESOLVE-2  A veto takes that role away, and with it everything that its key has proposed: a thief does not
///                 propose again. The administrator gives the role to a key that nobody else has, and the market gets
///                 another proposal.
///      RESOLVE-3  No delay is longer than `NOTICE`, and another delay and the end of a vetoer are in force no sooner:
///                 neither takes time to veto from what was proposed before.
contract Resolutions is AccessControl {
    bytes32 public constant PROPOSER_ROLE = keccak256("PROPOSER_ROLE");
    uint256 public constant NOTICE = 7 days;
    uint256 private constant ONE_PPM = 1_000_000;

    struct Proposal {
        address proposer;
        uint48 from;
        uint32 yesPayout;
        uint64 number;
        /// How often the proposer had lost its role by then.
        uint64 losses;
    }

    struct Standing {
        uint256 number;
        address proposer;
        uint256 from;
        uint256 yesPayout;
        bool isOpen;
        bool isDecided;
        /// In millionths.
        uint256 decidedYes;
    }

    IDecidedFactory public immutable factory;
    uint256 public immutable leastDelay;

    /// @notice How many proposals there were; they are numbered from 1 on.
    uint256 public count;
    mapping(uint256 number => bytes16) public marketOf;
    mapping(address proposer => uint256) public losses;
    /// @notice Until when a key may veto: the end of time, until the administrator takes it away.
    mapping(address vetoer => uint256) public vetoerUntil;

    mapping(bytes16 marketId => Proposal) private _proposals;
    uint256 private _vetoers;
    uint256 private _delay;
    uint256 private _nextDelay;
    uint256 private _nextDelayFrom;

    event Proposed(
        bytes16 indexed marketId, uint256 indexed number, address indexed proposer, uint256 yesPayout, uint256 from
    );
    event Vetoed(bytes16 indexed marketId, uint256 indexed number, address indexed proposer, address vetoer);
    event CarriedOut(bytes16 indexed marketId, uint256 indexed number, uint256 yesPayout);
    event DelayAnnounced(uint256 delay, uint256 from);
    event VetoerSet(address indexed vetoer, uint256 until);

    error MarketNotCreated(bytes16 marketId);
    error MarketDecided(bytes16 marketId);
    error PayoutsNotWhole(uint256 yesPayout, uint256 noPayout);
    error AlreadyProposed(uint256 number);
    error NotOpen(uint256 number);
    error NotDue(uint256 from);
    error NotAVetoer(address caller);
    error VetoerNeeded();
    error DelayOutOfBounds(uint256 least, uint256 most);

    constructor(IDecidedFactory factory_, address admin, ResolutionTerms memory terms) {
        if (terms.leastDelay == 0) revert DelayOutOfBounds(1, NOTICE);
        if (terms.vetoer == address(0) || terms.vetoer == terms.proposer) revert VetoerNeeded();
        factory = factory_;
        leastDelay = terms.leastDelay;
        _nextDelay = _bounded(terms.delay);
        _grantRole(DEFAULT_ADMIN_ROLE, admin);
        _grantRole(PROPOSER_ROLE, terms.proposer);
        _addVetoer(terms.vetoer);
    }

    /// @notice Proposes what a token of each outcome pays, in millionths. Of a market one proposal is open at a time.
    function propose(bytes16 marketId, uint256 yesPayout, uint256 noPayout)
        external
        onlyRole(PROPOSER_ROLE)
        returns (uint256 number)
    {
        if (!factory.isCreated(factory.questionOf(marketId))) revert MarketNotCreated(marketId);
        if (yesPayout > ONE_PPM || noPayout != ONE_PPM - yesPayout) revert PayoutsNotWhole(yesPayout, noPayout);
        if (_isDecided(marketId)) revert MarketDecided(marketId);
        Proposal storage proposal = _proposals[marketId];
        if (_isStanding(proposal)) revert AlreadyProposed(proposal.number);
        number = ++count;
        marketOf[number] = marketId;
        uint256 from = block.timestamp + delay();
        _proposals[marketId] = Proposal({
            proposer: msg.sender,
            from: SafeCast.toUint48(from),
            yesPayout: uint32(yesPayout),
            number: SafeCast.toUint64(number),
            losses: SafeCast.toUint64(losses[msg.sender])
        });
        emit Proposed(marketId, number, msg.sender, yesPayout, from);
    }

    /// @notice Ends a proposal that is not carried out, and everything else that its key has proposed (RESOLVE-2). It
    /// names the number, so that one which is late does not end a right proposal in the place of a wrong one.
    function veto(uint256 number) external {
        if (!isVetoer(msg.sender)) revert NotAVetoer(msg.sender);
        bytes16 marketId = marketOf[number];
        Proposal memory proposal = _proposals[marketId];
        if (!_isOpen(marketId, number)) revert NotOpen(number);
        _revokeRole(PROPOSER_ROLE, proposal.proposer);
        emit Vetoed(marketId, number, proposal.proposer, msg.sender);
    }

    /// @notice Decides the market as was proposed. Anybody may send it once it is due.
    function carryOut(uint256 number) external {
        bytes16 marketId = marketOf[number];
        if (!_isOpen(marketId, number)) revert NotOpen(number);
        Proposal memory proposal = _proposals[marketId];
        if (block.timestamp < proposal.from) revert NotDue(proposal.from);
        emit CarriedOut(marketId, number, proposal.yesPayout);
        factory.resolve(marketId, proposal.yesPayout, ONE_PPM - proposal.yesPayout);
    }

    /// @notice The delay of `NOTICE` from now on; another announcement takes the place of one that is not in force.
    function announceDelay(uint256 delay_) external onlyRole(DEFAULT_ADMIN_ROLE) {
        _delay = delay();
        _nextDelay = _bounded(delay_);
        _nextDelayFrom = block.timestamp + NOTICE;
        emit DelayAnnounced(delay_, _nextDelayFrom);
    }

    function addVetoer(address vetoer) external onlyRole(DEFAULT_ADMIN_ROLE) {
        _addVetoer(vetoer);
    }

    /// @notice It may veto for `NOTICE` still. One always stays.
    function removeVetoer(address vetoer) external onlyRole(DEFAULT_ADMIN_ROLE) {
        if (vetoerUntil[vetoer] != type(uint256).max) revert NotAVetoer(vetoer);
        if (--_vetoers == 0) revert VetoerNeeded();
        vetoerUntil[vetoer] = block.timestamp + NOTICE;
        emit VetoerSet(vetoer, vetoerUntil[vetoer]);
    }

    /// @notice In seconds, of what is proposed now.
    function delay() public view returns (uint256) {
        return block.timestamp < _nextDelayFrom ? _delay : _nextDelay;
    }

    function isVetoer(address caller) public view returns (bool) {
        return block.timestamp < vetoerUntil[caller];
    }

    /// @notice The newest proposal of each market, and what it was decided as. One that is open can be vetoed, and
    /// carried out from `from` on; without any its number is 0.
    function standingsOf(bytes16[] calldata marketIds) external view returns (Standing[] memory standings) {
        standings = new Standing[](marketIds.length);
        IConditionalTokens tokens = factory.conditionalTokens();
        for (uint256 i = 0; i < marketIds.length; i++) {
            Proposal memory proposal = _proposals[marketIds[i]];
            bytes32 conditionId = factory.conditionOf(factory.questionOf(marketIds[i]));
            uint256 whole = tokens.payoutDenominator(conditionId);
            standings[i] = Standing({
                number: proposal.number,
                proposer: proposal.proposer,
                from: proposal.from,
                yesPayout: proposal.yesPayout,
                isOpen: _isOpen(marketIds[i], proposal.number),
                isDecided: whole != 0,
                decidedYes: whole == 0 ? 0 : tokens.payoutNumerators(conditionId, 0) * ONE_PPM / whole
            });
        }
    }

    /// @notice The markets of the proposals from this number on, `most` at most.
    function marketsFrom(uint256 first, uint256 most) external view returns (bytes16[] memory marketIds) {
        uint256 left = first > count ? 0 : count - first + 1;
        marketIds = new bytes16[](left < most ? left : most);
        for (uint256 i = 0; i < marketIds.length; i++) marketIds[i] = marketOf[first + i];
    }

    function _addVetoer(address vetoer) private {
        if (vetoer == address(0)) revert VetoerNeeded();
        if (vetoerUntil[vetoer] == type(uint256).max) return;
        _vetoers++;
        vetoerUntil[vetoer] = type(uint256).max;
        emit VetoerSet(vetoer, type(uint256).max);
    }

    /// @dev Whoever takes the role away, the administrator too, ends what was proposed with it (RESOLVE-1).
    function _revokeRole(bytes32 role, address account) internal override returns (bool isRevoked) {
        isRevoked = super._revokeRole(role, account);
        if (isRevoked && role == PROPOSER_ROLE) losses[account]++;
    }

    function _bounded(uint256 delay_) private view returns (uint256) {
        if (delay_ < leastDelay || delay_ > NOTICE) revert DelayOutOfBounds(leastDelay, NOTICE);
        return delay_;
    }

    function _isOpen(bytes16 marketId, uint256 number) private view returns (bool) {
        Proposal storage proposal = _proposals[marketId];
        return proposal.number == number && _isStanding(proposal) && !_isDecided(marketId);
    }

    function _isStanding(Proposal storage proposal) private view returns (bool) {
        return proposal.number != 0 && proposal.losses == losses[proposal.proposer];
    }

    function _isDecided(bytes16 marketId) private view returns (bool) {
        bytes32 conditionId = factory.conditionOf(factory.questionOf(marketId));
        return factory.conditionalTokens().payoutDenominator(conditionId) != 0;
    }
}
