/** The reference of the stream: every message of the AsyncAPI document. */
import { codeBlock, escaped, sentence, table } from './docsHtml.ts';
import type { ReferencePage } from './docsReference.ts';
import { type Json, schemaTable } from './docsSchema.ts';

export function streamPage(document: Json): ReferencePage {
  const { info, channels, operations, components } = document;
  const { address, 'x-limits': limits } = channels.stream;
  const rows = Object.entries(limits).map(([name, value]) => [escaped(name.replaceAll('_', ' ')), String(value)]);
  const chapters = [
    chapter('You send', operations.request, components),
    chapter('The exchange sends', operations.follow, components),
  ];
  const html = `<h1>Stream reference</h1><p><code>${escaped(address)}</code>. ${sentence(info.description)}</p>
<p>For programs: <a href="/asyncapi.json">/asyncapi.json</a> (AsyncAPI 3.0).</p>
<h2 id="limits"><a href="#limits">Limits</a></h2>${table(['Limit', 'Value'], rows)}
${chapters.join('\n')}`;
  const parts = Object.keys(components.messages).map((name) => ({ anchor: name, text: name }));
  return { path: 'api/stream', title: 'Stream reference', html, parts };
}

function chapter(title: string, operation: Json, { messages }: Json): string {
  const names: string[] = operation.messages.map(({ $ref }: Json) => $ref.split('/').at(-1));
  return `<h2>${title}</h2>${names.map((name) => message(name, messages[name])).join('\n')}`;
}

function message(name: string, { summary, payload, examples }: Json): string {
  const example = codeBlock(JSON.stringify(examples[0].payload, null, 2));
  return `<section class="operation"><h3 id="${name}"><a href="#${name}"><code>${name}</code></a></h3>
<p>${escaped(summary)}</p>${schemaTable(payload, {})}
<details><summary>Example</summary>${example}</details></section>`;
}
