/** The refusal of a call for which a front thread has no room: the one that it decides by itself (FRONT-3). */
import type { HttpResponse } from 'uWebSockets.js';
import { ERRORS } from '../../shared/base/errors.ts';
import { Call, type CallHost } from '../http/call.ts';
import { HttpTransport } from '../http/httpTransport.ts';
import { requestIds } from '../http/requestIds.ts';
import { refuse } from '../http/respond.ts';
import type { FrontRole } from './frontRole.ts';

export class BusyRefusals {
  readonly #host: CallHost;

  /** @param role null without a cluster */
  constructor(role: FrontRole | null) {
    this.#host = {
      onAnswered: () => {},
      abort: () => {},
      role: role ?? undefined,
      changes: null,
      nextRequestId: requestIds(),
      longAnswers: { admits: () => false, continue: () => {} },
    };
  }

  refuse(response: HttpResponse, method: string, path: string): void {
    const call = new Call(new HttpTransport(response), method, path, null, Date.now(), this.#host);
    // Its answer is sent in a later turn, and a request that has come with it closes the connection before (CALL-3).
    response.onAborted(() => {
      call.aborted = true;
    });
    call.closesConnection = true;
    refuse(call, { row: ERRORS.ENGINE_BUSY });
  }
}
