/**
 * The clients of all languages play one scenario against a real exchange, which is killed in the middle, and each step
 * gives the same: so that they cannot drift.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { generatePrivateKey } from 'viem/accounts';
import { fileScope } from '../support/fileScope.ts';
import { freePort } from '../support/freePort.ts';
import { type ScenarioAccount, ScenarioPlayer, type ScenarioStep } from '../support/playScenario.ts';
import { NO_PYTHON, PYTHON_TESTS, pythonCommand } from '../support/pythonPrograms.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';

const PATH = fileURLToPath(new URL('../vectors/clientScenario.json', import.meta.url));
const { steps } = JSON.parse(readFileSync(PATH, 'utf8')) as { steps: ScenarioStep[] };

async function accountOf(server: TestServer): Promise<ScenarioAccount> {
  const privateKey = generatePrivateKey();
  const scopes = ['read:account', 'trade:orders', 'trade:bulk', 'stream:market', 'stream:user'] as const;
  const { credentials } = await makeTrader(server, { privateKey, scopes: [...scopes] });
  return { ...credentials, privateKey };
}

/** It comes back at its address. */
const env = { PORT: String(await freePort()), SHARDS: '1' };
const server = await startServer(fileScope, env);

/** Two accounts, and a market of theirs alone. */
async function stage() {
  const accounts = { maker: await accountOf(server), taker: await accountOf(server) };
  const { id: market } = await makeMarket(server);
  const kill = async (): Promise<void> => {
    await server.kill();
    await server.start(env);
  };
  return { given: { baseUrl: server.baseUrl, market, accounts, adminToken: server.adminToken }, kill };
}

function check(index: number, result: unknown): void {
  const { gives, ...step } = steps[index]!;
  assert.deepEqual(result, gives, `step ${index}, ${JSON.stringify(step)}, gave ${JSON.stringify(result)}`);
}

test('the client for TypeScript gives what the scenario says, over a kill of the exchange', async (t) => {
  const { given, kill } = await stage();
  const player = new ScenarioPlayer(given);
  t.after(() => player.close());
  for (const [index, step] of steps.entries()) {
    if (step.do === 'kill') await kill();
    else check(index, await player.play(step));
  }
});

for (const mode of ['blocking', 'asyncio']) {
  test(`the Python client (${mode}) gives the same at each step`, { skip: NO_PYTHON }, async (t) => {
    const { given, kill } = await stage();
    const [python, options] = pythonCommand();
    const child = spawn(python, [join(PYTHON_TESTS, 'play_scenario.py'), mode, PATH], options);
    t.after(() => child.kill('SIGKILL'));
    let said = '';
    child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
    child.stdin!.write(`${JSON.stringify(given)}\n`);
    let index = 0;
    for await (const line of createInterface({ input: child.stdout! })) {
      const result = JSON.parse(line);
      if (result === 'kill') {
        await kill();
        child.stdin!.write('\n');
      } else {
        check(index, result);
      }
      index++;
    }
    assert.equal(index, steps.length, said);
  });
}
