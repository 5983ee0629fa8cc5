/** The sandbox provider's pages in a real browser: narrow, accessible, without scripts (RULES.md 16.74). */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { openSandbox } from '../../gateway/fiat/sandbox.ts';
import { NO_CHROMIUM } from '../support/browser.ts';
import { CUSTOMER, REFERENCE, startRamp } from '../support/rampRig.ts';
import { assertAccessible, openPage } from '../support/visitor.ts';

const skip = NO_CHROMIUM;
const WIDTH = 360;

test('16.74: a customer buys and sells on a narrow screen, and every page is accessible', { skip }, async () => {
  const { url, apiKey, webhookSecret } = await startRamp({ after });
  const sandbox = openSandbox({ URL: url, API_KEY: apiKey, WEBHOOK_SECRETS: webhookSecret });
  assert.ok(typeof sandbox !== 'string');
  const { page, complaints } = await openPage({ viewport: { width: WIDTH, height: 740 }, bypassCSP: true });
  const look = async (title: string): Promise<void> => {
    assert.equal(await page.textContent('h1'), title);
    await assertAccessible(page);
    assert.ok((await page.evaluate<number>('document.documentElement.scrollWidth')) <= WIDTH, `${title} fits`);
  };
  for (const kind of ['onramp', 'offramp'] as const) {
    const { launchUrl } = await sandbox.createLaunch(
      {
        sessionId: '7d6c0d0e-0000-4000-8000-000000000001',
        kind,
        partnerReference: REFERENCE,
        walletAddress: CUSTOMER,
        amount: null,
        fiatCurrency: 'USD',
        paymentMethod: null,
        redirectUrl: `${url}/customer`,
        clientIp: '127.0.0.1',
      },
      AbortSignal.timeout(600_000),
    );
    const isBuy = kind === 'onramp';
    await page.goto(launchUrl);
    await look(isBuy ? 'Buy USDC' : 'Sell USDC');
    await page.fill('#amount', '0.5');
    await page.click(isBuy ? 'text=Pay now' : 'text=Cash out now');
    assert.match((await page.textContent('[role=alert]'))!, /from 1 to 1000000/);
    await look(isBuy ? 'Buy USDC' : 'Sell USDC');
    await page.fill('#amount', '12.5');
    await page.keyboard.press('Enter');
    await page.waitForSelector('[role=status]');
    await look(isBuy ? 'Your purchase' : 'Your sale');
    assert.match((await page.textContent('dd'))!, /^12\.5 USDC for 12\.5 USD$/);
    await page.goto(launchUrl);
    await look('This link was used');
  }
  await page.goto(`${url}/switches`);
  await look('Make it misbehave');
  await page.check('[name=hooksContradict]');
  await page.click('text=Set');
  assert.equal(await page.isChecked('[name=hooksContradict]'), true);
  assert.deepEqual(
    complaints.filter((text) => !/status of 4\d\d/.test(text)),
    [],
  );
});
