/** `npm run chain` gives a chain that one can work on. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type Address, createWalletClient, type Hex, http, publicActions } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { polygon } from 'viem/chains';
import { freePort } from '../support/freePort.ts';
import { NO_ANVIL } from './anvil.ts';
import { abiOf } from './deploy.ts';

const MAIN = fileURLToPath(new URL('./main.ts', import.meta.url));

test('a wallet signs and sends a transaction on the local chain', { skip: NO_ANVIL }, async () => {
  const args = ['--port', String(await freePort()), '--block-time', '1'];
  const child = spawn(process.execPath, [...process.execArgv, MAIN, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const settings: Record<string, string> = {};
    let key: string | undefined;
    for await (const line of createInterface({ input: child.stdout })) {
      const [, name, value] = /^([A-Z_]+)=(\S+)$/.exec(line) ?? [];
      if (name !== undefined) settings[name] = value;
      key = /^# wallet 2: 0x\w{40} key (0x\w{64})/.exec(line)?.[1];
      if (key !== undefined) break;
    }
    const account = privateKeyToAccount(key as Hex);
    const client = createWalletClient({ account, chain: polygon, transport: http(settings['RPC_URL']) }).extend(
      publicActions,
    );
    const usdc = { address: settings['USDC_ADDRESS'] as Address, abi: abiOf('DemoUsdc') };
    const balance = () => client.readContract({ ...usdc, functionName: 'balanceOf', args: [account.address] });
    assert.equal(await balance(), 10_000_000_000n);
    const to = settings['FEE_SWEEPER_ADDRESS'];
    const hash = await client.writeContract({ ...usdc, functionName: 'transfer', args: [to, 1_000_000n] });
    const { status, effectiveGasPrice } = await client.waitForTransactionReceipt({ hash, pollingInterval: 100 });
    assert.equal(status, 'success');
    assert.ok(effectiveGasPrice > 0n, 'gas costs money');
    assert.equal(await balance(), 9_999_000_000n);
    const operator = privateKeyToAccount(settings['OPERATOR_KEY'] as Hex).address;
    const exchange = { address: settings['EXCHANGE_ADDRESS'] as Address, abi: abiOf('Exchange') };
    const role = await client.readContract({ ...exchange, functionName: 'OPERATOR_ROLE' });
    assert.equal(await client.readContract({ ...exchange, functionName: 'hasRole', args: [role, operator] }), true);
  } finally {
    child.kill('SIGTERM');
    await once(child, 'exit');
  }
});

test('a local chain with wrong settings says what is wrong, and leaves nothing behind', {
  skip: NO_ANVIL,
}, async () => {
  for (const [name, value] of [
    ['--port', 'abc'],
    ['--block-time', 'x'],
    ['--chain-id', '0'],
  ]) {
    const child = spawn(process.execPath, [...process.execArgv, MAIN, name, value], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    // A chain that went on would keep these open.
    const closed = once(child, 'close');
    const [output, error] = await Promise.all([text(child.stdout), text(child.stderr)]);
    assert.deepEqual(await closed, [1, null]);
    assert.equal(output, '');
    assert.match(
      error,
      new RegExp(`^There is no local chain: ${name} is a whole number from .*, and not '${value}'\n$`),
    );
  }
});
