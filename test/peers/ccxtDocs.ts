/** The comments of unified methods as CCXT's documents are made of them: what each does, takes and returns. */
const PARAMS: Readonly<Record<string, string>> = {
  outcome: '{string} outcome unified outcome handle or outcome id',
  outcomes: '{string[]} outcomes unified outcome handles or outcome ids',
  id: '{string} id the id, or of an event its slug',
  ids: '{string[]} ids order ids',
  orders: '{object[]} orders the arguments of createOrder, by their names',
  type: "{string} type 'limit' or 'market'",
  side: "{string} side 'buy' or 'sell'",
  amount: '{float} amount how many tokens',
  price: '{float} price USDC for a token; of a market order the worst one',
  timeframe: '{string} timeframe the length of a candle',
  since: '{int} since timestamp in ms of the earliest entry',
  limit: '{int} limit the maximum number of entries',
  params: '{object} params extra parameters specific to the exchange API endpoint',
};
/** By the end of a method's name; the first that fits. */
const RETURNS: readonly (readonly [RegExp, string])[] = [
  [/Time$/, '{int} the time of the exchange in ms'],
  [/OHLCV$/, '{int[][]} a list of candles ordered as timestamp, open, high, low, close, volume'],
  [/(?:OrderBooks|Tickers)$/, '{object} structures by the handle of their outcome'],
  [/OrderBook$/, '{object} an order book structure'],
  [/s$(?<!Status)/, '{object[]} a list of structures'],
  [/$/, '{object} a structure'],
];
const VERBS: Readonly<Record<string, string>> = { fetch: 'fetches', watch: 'watches' };

/** @param own our sentences about it, or an empty text */
function docOf(name: string, params: readonly string[], own: string): string {
  const [verb = '', ...words] = name
    .replaceAll(/[A-Z]+(?![a-z])|[A-Z]/g, ' $&')
    .toLowerCase()
    .split(' ');
  const does = [VERBS[verb] ?? `${verb}s`, ...words.filter((word) => word !== '')].join(' ');
  const described = own === '' ? does : `${does}: ${own}`;
  const taken = params.map((param) => {
    const text = PARAMS[param.replace(/[?:=].*/, '').trim()];
    if (text === undefined) throw new Error(`${name} takes ${param}, which no sentence describes`);
    const isOptional = / = /.test(param);
    return `@param ${isOptional ? text.replace(/ (\w+) /, ' [$1] ') : text}`;
  });
  const returns = RETURNS.find(([end]) => end.test(name))![1];
  const lines = ['@method', `@name pmx#${name}`, `@description ${described}`, ...taken, `@returns ${returns}`];
  return `    /**\n${lines.map((line) => `     * ${line}\n`).join('')}     */\n`;
}

/** @param text the class in CCXT's layout. @param unified the names of the methods that programs call */
export function withDocs(text: string, unified: ReadonlySet<string>): string {
  const method = /(?<=\n)(?: {4}\/\*\* ([^\n]*) \*\/\n)?( {4}(?:override )?(?:async )?(\w+) \(([^)\n]*)\)[^\n]*\{\n)/g;
  return text.replaceAll(method, (whole, own: string | undefined, head: string, name: string, params: string) => {
    if (!unified.has(name)) return whole;
    return docOf(name, params === '' ? [] : params.split(', '), own ?? '') + head;
  });
}
