/**
 * Process entry of the streaming bench: the subscribers of one market, each with its own connection. Records when each
 * subscriber received each delta, and compares that with the times at which the orders were sent and acknowledged.
 */
import WebSocket from 'ws';
import { Histogram } from './histogram.ts';

type SubscribeOptions = { readonly baseUrl: string; readonly marketId: string; readonly subscribers: number };
/** Announces this many deltas, one for each order. */
type ExpectMessage = { readonly deltas: number };
/**
 * Times in nanoseconds of the monotonic clock, which all processes of a machine share; one for each order, in their
 * sequence.
 */
type TimesMessage = { readonly sentNs: readonly number[]; readonly acknowledgedNs: readonly number[] };

export type Delivered = { readonly frames: number; readonly seconds: number };
type Delay = { readonly p50Us: number; readonly p99Us: number; readonly p999Us: number; readonly maxUs: number };
export type Delays = { readonly afterSending: Delay; readonly afterAnswer: Delay };

const DELTA = '{"channel":"book_delta"';
const SEQUENCE = '"sequence":';
/** Anonymous connections that one address may have; on Linux a whole network of addresses is this machine. */
const PER_ADDRESS = 20;

let firstSequence = 1;
let deltas = 0;
let subscribers = 0;
let missing = 0;
let frames = 0;
let startNs = 0;
let receivedNs = new Float64Array(0);
let done: () => void = () => {};

function received(subscriber: number, data: Buffer): void {
  const nowNs = Number(process.hrtime.bigint());
  frames++;
  const text = data.toString('latin1');
  if (!text.startsWith(DELTA)) return;
  const sequence = Number.parseInt(text.slice(text.indexOf(SEQUENCE) + SEQUENCE.length), 10);
  const order = sequence - firstSequence;
  if (order < 0 || order >= deltas) throw new Error(`a delta with the sequence ${sequence} was not expected`);
  receivedNs[subscriber * deltas + order] = nowNs;
  if (--missing === 0) done();
}

async function subscribe({ baseUrl, marketId }: SubscribeOptions, index: number): Promise<void> {
  const localAddress = `127.0.0.${1 + Math.floor(index / PER_ADDRESS)}`;
  const socket = new WebSocket(`${baseUrl.replace('http', 'ws')}/v1/ws`, { localAddress, perMessageDeflate: false });
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
  socket.on('close', (code) => process.exit(code === 1000 ? 0 : 1));
  const answered = new Promise((resolve) => socket.once('message', resolve));
  socket.send(JSON.stringify({ channel: 'subscribe', data: { markets: [marketId] } }));
  await answered;
  socket.on('message', (data) => received(index, data as Buffer));
}

async function expect(count: number): Promise<void> {
  firstSequence += deltas;
  deltas = count;
  missing = count * subscribers;
  frames = 0;
  receivedNs = new Float64Array(missing);
  const finished = new Promise<void>((resolve) => {
    done = resolve;
  });
  startNs = Number(process.hrtime.bigint());
  process.send?.('ready');
  await finished;
  const seconds = (Number(process.hrtime.bigint()) - startNs) / 1e9;
  process.send?.({ frames, seconds } satisfies Delivered);
}

function delays({ sentNs, acknowledgedNs }: TimesMessage): Delays {
  const since = (times: readonly number[]): Delay => {
    const histogram = new Histogram();
    for (const [index, nowNs] of receivedNs.entries()) histogram.record(nowNs - times[index % deltas]);
    return {
      p50Us: histogram.quantileUs(0.5),
      p99Us: histogram.quantileUs(0.99),
      p999Us: histogram.quantileUs(0.999),
      maxUs: histogram.maxNs / 1000,
    };
  };
  return { afterSending: since(sentNs), afterAnswer: since(acknowledgedNs) };
}

process.once('message', async (options: SubscribeOptions) => {
  subscribers = options.subscribers;
  for (let first = 0; first < subscribers; first += PER_ADDRESS) {
    const count = Math.min(PER_ADDRESS, subscribers - first);
    await Promise.all(Array.from({ length: count }, (_, at) => subscribe(options, first + at)));
  }
  process.on('message', (message: ExpectMessage | TimesMessage) => {
    if ('deltas' in message) void expect(message.deltas);
    else process.send?.(delays(message));
  });
  process.send?.('subscribed');
});
process.once('disconnect', () => process.exit(0));
