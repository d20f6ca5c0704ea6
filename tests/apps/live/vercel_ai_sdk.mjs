// The desk on the Vercel AI SDK with its own telemetry: each worker a generateText that a tool of the coordinator runs.
// Tools, script and door are those of desk.py.

import { appendFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";

// Installed elsewhere, below the folder that the environment names.
const installed = createRequire(`${process.env.ENVS}/vercel_ai_sdk/`);
const { generateText, jsonSchema, stepCountIs, tool } = installed("ai");
const { OTLPTraceExporter } = installed("@opentelemetry/exporter-trace-otlp-proto");
const { BatchSpanProcessor, NodeTracerProvider } = installed("@opentelemetry/sdk-trace-node");

const provider = new NodeTracerProvider({ spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())] });
provider.register();
let turn = 0;

async function call(worker, name, args, method, path, body) {
  const address = process.env[`${worker.toUpperCase()}_URL`].replace(/\/$/, "") + path;
  const headers = { "content-type": "application/json" };
  const answer = await fetch(address, { method, headers, body: body && JSON.stringify(body) });
  const text = await answer.text();
  const done = { worker, tool: name, arguments: args, status: answer.status };
  appendFileSync(process.env.TOOLS_LOG, JSON.stringify(done) + "\n");
  return text;
}

function says(agent, asked, answered) {
  if (agent === "coordinator") {
    if (turn === 1) {
      const both = [["order_lookup", { request: "Find order 1042" }], ["refund", { request: "Check order 1042" }]];
      return answered ? "Order 1042 was delivered. Shall I pay it back?" : both;
    }
    return answered ? "Your refund is on its way." : [["refund", { request: "Pay back order 1042" }]];
  }
  if (answered) return "Done.";
  if (agent === "refund" && asked.includes("Pay")) return [["issue_refund", { order_id: "1042", amount_cents: 5990 }]];
  return [["get_order", { order_id: "1042" }]];
}

function model(agent) {
  const doGenerate = async ({ prompt }) => {
    const asked = JSON.stringify(prompt.filter(({ role }) => role === "user"));
    const said = says(agent, asked, prompt.at(-1).role === "tool");
    const text = typeof said === "string";
    const content = text
      ? [{ type: "text", text: said }]
      : said.map(([toolName, args], n) => {
          const toolCallId = `${toolName}-${prompt.length}-${n}`;
          return { type: "tool-call", toolCallId, toolName, input: JSON.stringify(args) };
        });
    const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
    return { content, finishReason: { unified: text ? "stop" : "tool-calls" }, usage, warnings: [] };
  };
  return { specificationVersion: "v3", provider: "scripted", modelId: "scripted", supportedUrls: {}, doGenerate };
}

async function run(agent, prompt, tools) {
  const telemetry = { isEnabled: true, functionId: agent };
  const settings = { model: model(agent), prompt, tools, stopWhen: stepCountIs(4), experimental_telemetry: telemetry };
  return (await generateText(settings)).text;
}

const object = (properties) => jsonSchema({ type: "object", properties });

function tools(worker) {
  const get_order = tool({
    description: "Look up one order.",
    inputSchema: object({ order_id: { type: "string" } }),
    execute: (args) => call(worker, "get_order", args, "GET", `/orders/${args.order_id}`),
  });
  const issue_refund = tool({
    description: "Pay one order back.",
    inputSchema: object({ order_id: { type: "string" }, amount_cents: { type: "integer" } }),
    execute: (args) => call(worker, "issue_refund", args, "POST", "/refunds", args),
  });
  return worker === "refund" ? { get_order, issue_refund } : { get_order };
}

function ask(worker) {
  return tool({
    description: `Ask ${worker}`,
    inputSchema: object({ request: { type: "string" } }),
    execute: ({ request }) => run(worker, request, tools(worker)),
  });
}

createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  if (request.method === "GET") return response.end("{}");
  turn += 1;
  const { message } = JSON.parse(Buffer.concat(chunks));
  const reply = await run("coordinator", message, { order_lookup: ask("order_lookup"), refund: ask("refund") });
  await provider.forceFlush(); // the contract says `on_reply`
  response.end(JSON.stringify({ reply }));
}).listen(Number(process.env.PORT), "127.0.0.1");
