/** The account and its protection: responsible gaming, wallets, delegates and sessions. */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { GamingSettings } from './gamingSettings.ts';
import { useTitle } from './router.ts';
import { useVisitor } from './session.ts';
import { SessionsPanel } from './sessionsPanel.ts';
import { SignInFirst } from './waiting.ts';
import { WalletsPanel } from './walletsPanel.ts';

export function AccountPage(): VNode {
  useTitle('Account');
  const visitor = useVisitor();
  if (visitor.kind !== 'user') return html`<${SignInFirst} title="Account" isKnown=${visitor.kind !== 'unknown'} />`;
  return html`
    <h1>Account</h1>
    <div class="halves" key=${visitor.user.id}>
      <${GamingSettings} />
      <div><${WalletsPanel} /><${SessionsPanel} /></div>
    </div>
  `;
}
