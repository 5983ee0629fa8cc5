/** Answers and frames of an exchange, as a client got them, and an exchange that has nothing but those. */
import type { OpenSocket } from '../../shared/client/index.ts';

export type Recording = {
  readonly marketId: string;
  /** The answers to requests of the same method and path, in their order. */
  readonly answers: Record<string, { readonly status: number; readonly body: string }[]>;
  /** Each with the number of messages that the client had sent. */
  readonly frames: { readonly sent: number; readonly text: string }[];
};
type Transport = { readonly fetch: typeof fetch; readonly openSocket: OpenSocket };

const nameOf = (input: unknown, init?: RequestInit): string => {
  const { pathname, search } = new URL(String(input));
  return `${init?.method ?? 'GET'} ${pathname}${search}`;
};

/** Passes everything on, and adds it to the recording. */
export function recordingInto({ answers, frames }: Recording): Transport {
  return {
    fetch: async (input, init) => {
      const response = await fetch(input, init);
      const body = await response.clone().text();
      const name = nameOf(input, init);
      answers[name] ??= [];
      answers[name].push({ status: response.status, body });
      return response;
    },
    openSocket: (url, headers) => {
      const socket = new WebSocket(url, { headers } as never);
      let sent = 0;
      socket.addEventListener('message', ({ data }) => frames.push({ sent, text: String(data) }));
      const { send } = socket;
      socket.send = (message) => {
        sent++;
        send.call(socket, message);
      };
      return socket as ReturnType<OpenSocket>;
    },
  };
}

/** Replays the recorded answers. A request that was not recorded is an error that names it. */
export function playing({ answers, frames }: Recording): Transport {
  const left = structuredClone(answers);
  return {
    fetch: async (input, init) => {
      const name = nameOf(input, init);
      const answer = left[name]?.shift();
      if (answer === undefined) throw new Error(`${name} was not recorded`);
      return new Response(answer.body, { status: answer.status, headers: { 'content-type': 'application/json' } });
    },
    openSocket: () => {
      let sent = 0;
      const socket: ReturnType<OpenSocket> = {
        onopen: null,
        onmessage: null,
        onclose: null,
        onerror: null,
        close: () => {},
        send: () => deliver(++sent),
      };
      const deliver = (number: number): void => {
        const due = frames.filter((frame) => frame.sent === number);
        setImmediate(() => due.forEach(({ text }) => void socket.onmessage?.({ data: text } as never)));
      };
      setImmediate(() => {
        socket.onopen?.({} as never);
        deliver(0);
      });
      return socket;
    },
  };
}
