// The official JavaScript clients against the scripted model: what each makes of an answer, a stream, a call, an error.
import assert from "node:assert/strict";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";

const QUESTION = "Compare orders 1042 and 1043";
const BOTH = "Let me look both of them up, one moment please.";
const DUE = "1042 costs 5990. 1043 costs 100. ";
const FOUND = { 1042: { total_cents: 5990 }, 1043: { total_cents: 100 } };
const ORDERS = [{ order_id: "1042" }, { order_id: "1043" }];
const schema = { type: "object", properties: { order_id: { type: "string" } }, required: ["order_id"] };
const model = "test-model";

const openai = new OpenAI({ apiKey: "none", baseURL: process.env.OPENAI_BASE_URL });
const anthropic = new Anthropic({ apiKey: "none", baseURL: process.env.ANTHROPIC_BASE_URL });

async function chat(stream) {
  const tools = [{ type: "function", function: { name: "get_order", parameters: schema } }];
  const ask = (messages) =>
    stream
      ? openai.chat.completions.stream({ model, messages, tools, stream_options: { include_usage: true } }).finalChatCompletion()
      : openai.chat.completions.create({ model, messages, tools });
  const messages = [{ role: "user", content: QUESTION }];
  let done = await ask(messages);
  const said = done.choices[0].message;
  assert.deepEqual([said.content, done.choices[0].finish_reason, done.usage.total_tokens], [BOTH, "tool_calls", 19]);
  assert.deepEqual(said.tool_calls.map((call) => JSON.parse(call.function.arguments)), ORDERS);
  messages.push({ role: "assistant", content: said.content, tool_calls: said.tool_calls });
  for (const call of said.tool_calls) {
    const found = FOUND[JSON.parse(call.function.arguments).order_id];
    messages.push({ role: "tool", tool_call_id: call.id, content: JSON.stringify(found) });
  }
  done = await ask(messages);
  assert.deepEqual([done.choices[0].message.content, done.choices[0].finish_reason], [DUE, "stop"]);
  return async (text) => {
    const done = await openai.chat.completions.create({ model, messages: [{ role: "user", content: text }] });
    return done.choices[0].message.content;
  };
}

async function responses(stream) {
  const tools = [{ type: "function", name: "get_order", parameters: schema, strict: false }];
  const ask = (input) =>
    stream
      ? openai.responses.stream({ model, input, tools }).finalResponse()
      : openai.responses.create({ model, input, tools });
  const input = [{ role: "user", content: QUESTION }];
  const done = await ask(input);
  assert.deepEqual([done.output_text, done.status, done.usage.total_tokens], [BOTH, "completed", 19]);
  const calls = done.output.filter((item) => item.type === "function_call");
  assert.deepEqual(calls.map((call) => JSON.parse(call.arguments)), ORDERS);
  input.push(...calls.map(({ call_id, name, arguments: args }) => ({ type: "function_call", call_id, name, arguments: args })));
  for (const call of calls) {
    const found = FOUND[JSON.parse(call.arguments).order_id];
    input.push({ type: "function_call_output", call_id: call.call_id, output: JSON.stringify(found) });
  }
  assert.equal((await ask(input)).output_text, DUE);
  return async (text) => (await openai.responses.create({ model, input: text })).output_text;
}

async function claude(stream) {
  const tools = [{ name: "get_order", input_schema: schema }];
  const ask = (messages) => {
    const asked = { model, max_tokens: 99, messages, tools };
    return stream ? anthropic.messages.stream(asked).finalMessage() : anthropic.messages.create(asked);
  };
  const messages = [{ role: "user", content: QUESTION }];
  let done = await ask(messages);
  assert.deepEqual([done.content[0].text, done.stop_reason, done.usage.output_tokens], [BOTH, "tool_use", 7]);
  const calls = done.content.filter((block) => block.type === "tool_use");
  assert.deepEqual(calls.map((call) => call.input), ORDERS);
  messages.push({ role: "assistant", content: done.content });
  messages.push({
    role: "user",
    content: calls.map(({ id, input }) => ({
      type: "tool_result", tool_use_id: id, content: JSON.stringify(FOUND[input.order_id]),
    })),
  });
  done = await ask(messages);
  assert.deepEqual([done.content[0].text, done.stop_reason], [DUE, "end_turn"]);
  return async (text) => {
    const done = await anthropic.messages.create({ model, max_tokens: 9, messages: [{ role: "user", content: text }] });
    return done.content[0].text;
  };
}

for (const api of [chat, responses, claude]) {
  await api(false);
  const say = await api(true);
  assert.equal(await say("Hello"), "Hello, this is the scripted model speaking, at your service.");
  assert.equal(await say("busy"), "Now I have time.");
  await assert.rejects(say("down"), { status: api === claude ? 529 : 503 });
  await assert.rejects(say("nobody wrote this"), (error) => error.status === 400 && error.message.includes("nearest is"));
  await assert.rejects(say("broken"));
}
const ids = async (page) => (await page).data.map(({ id }) => id).sort();
assert.deepEqual(await ids(openai.models.list()), ["other-model", "test-model"]);
assert.deepEqual(await ids(anthropic.models.list()), ["other-model", "test-model"]);
