/** The settings of an exchange on the chain of a rig: keys with the rights that they need, and gas to pay with. */
import { type Hex, parseEther, toHex } from 'viem';
import { privateKeyToAddress } from 'viem/accounts';
import { send } from './deploy.ts';
import { CHAIN_ID, type ChainRig, CONTRACT_OF, ROLES } from './rig.ts';

const KEYS = {
  OPERATOR: 0x0b1,
  DEPLOYER: 0x0b2,
  RELAYER: 0x0b3,
  PERMIT: 0x0b4,
  PAYER: 0x0b5,
  RESOLVER: 0x0b6,
} as const;
const RIGHTS = [
  ['OPERATOR', 'exchange', 'OPERATOR_ROLE'],
  ['PERMIT', 'exchange', 'PERMIT_ROLE'],
  ['DEPLOYER', 'marketFactory', 'DEPLOYER_ROLE'],
  ['RESOLVER', 'resolutions', 'PROPOSER_ROLE'],
  ['PAYER', 'payments', 'PAYER_ROLE'],
] as const;

const keyOf = (job: keyof typeof KEYS): Hex => toHex(KEYS[job], { size: 32 });
const addressOf = (job: keyof typeof KEYS): Hex => privateKeyToAddress(keyOf(job));

export const relayerAddress = (): Hex => addressOf('RELAYER');
export const resolverAddress = (): Hex => addressOf('RESOLVER');

/** Grants the rights. @returns the environment of an exchange on this chain. */
export async function chainSettings(rig: ChainRig): Promise<Record<string, string>> {
  const { client, contracts } = rig;
  for (const job of Object.keys(KEYS) as (keyof typeof KEYS)[]) {
    await client.setBalance({ address: addressOf(job), value: parseEther('1000') });
  }
  for (const [job, contract, role] of RIGHTS) {
    const grant = [await rig.call(contract, role, []), addressOf(job)];
    await send(client, ROLES.admin, contracts[contract], CONTRACT_OF[contract], 'grantRole', grant);
  }
  return {
    RPC_URL: client.chain.rpcUrls.default.http[0],
    CHAIN_ID: String(CHAIN_ID),
    EXCHANGE_ADDRESS: contracts.exchange,
    MARKET_FACTORY_ADDRESS: contracts.marketFactory,
    USDC_ADDRESS: contracts.usdc,
    CTF_ADDRESS: contracts.conditionalTokens,
    FEE_SWEEPER_ADDRESS: ROLES.feeRecipient,
    OPERATOR_KEY: keyOf('OPERATOR'),
    RESOLVER_KEY: keyOf('RESOLVER'),
    DEPLOYER_KEY: keyOf('DEPLOYER'),
    RELAYER_KEY: keyOf('RELAYER'),
    PERMIT_KEY: keyOf('PERMIT'),
    PAYER_KEY: keyOf('PAYER'),
    PAYMENTS_ADDRESS: contracts.payments,
    // Makes balances as the tests expect; tests of fees set one.
    CHAIN_MOVEMENT_FEE_MICRO: '0',
    RESOLUTIONS_ADDRESS: contracts.resolutions,
  };
}
