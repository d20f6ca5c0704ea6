// The official client in JavaScript, both of its generations.
// usage: client.mjs URL|COMMAND-AS-JSON legacy|auto|first|VERSION CALLS-AS-JSON   (first: the SDK before its split)
const [target, mode, calls] = process.argv.slice(2);
const first = mode === 'first';
const base = first ? '@modelcontextprotocol/sdk/client' : '@modelcontextprotocol/client';
const { Client } = await import(first ? `${base}/index.js` : base);
const { StreamableHTTPClientTransport } = await import(first ? `${base}/streamableHttp.js` : base);
const { StdioClientTransport } = await import(`${base}/stdio${first ? '.js' : ''}`);

const said = { asked: [], progress: [], calls: [] };
const options = { capabilities: { elicitation: {} } };
if (!first) options.versionNegotiation = { mode: ['legacy', 'auto'].includes(mode) ? mode : { pin: mode } };
const client = new Client({ name: 'test', version: '0' }, options);
const elicited = async request => {
  said.asked.push(request.params.message);
  return { action: 'accept', content: { sure: true } };
};
if (first) {
  const { ElicitRequestSchema } = await import('@modelcontextprotocol/sdk/types.js');
  client.setRequestHandler(ElicitRequestSchema, elicited);
} else {
  client.setRequestHandler('elicitation/create', elicited);
}

let transport;
if (target.startsWith('[')) {
  const [command, ...args] = JSON.parse(target);
  transport = new StdioClientTransport({ command, args });
} else {
  transport = new StreamableHTTPClientTransport(new URL(target));
}
await client.connect(transport);
said.tools = (await client.listTools()).tools.map(tool => tool.name);
for (const [name, args] of JSON.parse(calls)) {
  try {
    const onprogress = ({ progress, total, message }) => said.progress.push([progress, total, message]);
    const params = { name, arguments: args };
    const result = await (first
      ? client.callTool(params, undefined, { onprogress })
      : client.callTool(params, { onprogress }));
    said.calls.push({
      text: result.content.map(block => block.text),
      structure: result.structuredContent ?? null,
      failed: result.isError ?? false,
      meta: result._meta ?? null,
    });
  } catch (error) {
    said.calls.push({ raised: `${error.name}: ${error.message}` });
  }
}
console.log(JSON.stringify(said));
await client.close();
process.exit(0);
