/** The refusal of a call for which a front thread has no room: the one that it decides by itself (FRONT-3). */
import type { HttpResponse } from 'uWebSockets.js';
import { ERRORS } from '../../shared/base/errors.ts';
import { Call, type CallHost } from '../http/call.ts';
import type { Cors } from '../http/cors.ts';
import { HttpTransport } from '../http/httpTransport.ts';
import { requestIds } from '../http/requestIds.ts';
import { refuse } from '../http/respond.ts';
import type { FrontRole } from './frontRole.ts';

export class BusyRefusals {
  readonly #host: CallHost;
  readonly #cors: Cors | null;

  /**
   * @param role null without a cluster
   * @param cors null: no page may read answers
   */
  constructor(role: FrontRole | null, isHttps: boolean, cors: Cors | null) {
    this.#cors = cors;
    this.#host = {
      onAnswered: () => {},
      abort: () => {},
      role: role ?? undefined,
      isHttps,
      changes: null,
      nextRequestId: requestIds(),
      longAnswers: { admits: () => false, continue: () => {}, collect: () => {} },
    };
  }

  /** @param origin of the page that asks; empty: it is no page */
  refuse(response: HttpResponse, method: string, path: string, origin: string): void {
    const call = new Call(new HttpTransport(response), method, path, null, Date.now(), this.#host);
    // Its answer is sent in a later turn, and a request that has come with it closes the connection before (CALL-3).
    response.onAborted(() => {
      call.aborted = true;
    });
    call.transport.closesConnection = true;
    if (this.#cors !== null) call.transport.corsLines = this.#cors.linesFor(origin, path);
    refuse(call, { row: ERRORS.ENGINE_BUSY });
  }
}
