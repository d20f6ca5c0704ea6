"""The official Python clients against the scripted model: what each makes of an answer, a stream, a call and an error."""
import json
import os

import anthropic
import openai
from google import genai
from google.genai import errors, types

QUESTION = "Compare orders 1042 and 1043"
BOTH = "Let me look both of them up, one moment please."
DUE = "1042 costs 5990. 1043 costs 100. "
FOUND = {"1042": {"total_cents": 5990}, "1043": {"total_cents": 100}}
SCHEMA = {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]}


def same(seen, due):
    assert seen == due, f"{seen!r} is not {due!r}"


def fails(kind, call, *parts):
    try:
        call()
    except kind as error:
        for part in parts:
            assert part in str(error), f"{part!r} is not in {error}"
        return error
    raise AssertionError(f"no {kind} came")


def chat(stream):
    client = openai.OpenAI(api_key="none", base_url=os.environ["OPENAI_BASE_URL"])
    tools = [{"type": "function", "function": {"name": "get_order", "parameters": SCHEMA}}]

    def ask(messages, **more):
        if not stream:
            done = client.chat.completions.create(model="test-model", messages=messages, tools=tools, **more)
            return done.choices[0].message, done.choices[0].finish_reason, done.usage
        with client.chat.completions.stream(
            model="test-model", messages=messages, stream_options={"include_usage": True}, tools=tools, **more
        ) as events:
            done = events.get_final_completion()
        return done.choices[0].message, done.choices[0].finish_reason, done.usage

    messages = [{"role": "user", "content": QUESTION}]
    said, finish, usage = ask(messages)
    same((said.content, finish), (BOTH, "tool_calls"))
    same((usage.prompt_tokens, usage.completion_tokens, usage.total_tokens), (12, 7, 19))
    calls = [(call.id, json.loads(call.function.arguments)) for call in said.tool_calls]
    same([arguments for _, arguments in calls], [{"order_id": "1042"}, {"order_id": "1043"}])
    messages.append(said.model_dump(exclude_none=True, include={"role", "content", "tool_calls"}))
    for id, arguments in calls:
        messages.append({"role": "tool", "tool_call_id": id, "content": json.dumps(FOUND[arguments["order_id"]])})
    said, finish, usage = ask(messages)
    same((said.content, finish, said.tool_calls or None, usage.total_tokens), (DUE, "stop", None, 49))
    return client, lambda text: client.chat.completions.create(
        model="test-model", messages=[{"role": "user", "content": text}]
    ).choices[0].message.content


def responses(stream):
    client = openai.OpenAI(api_key="none", base_url=os.environ["OPENAI_BASE_URL"])
    tools = [{"type": "function", "name": "get_order", "parameters": SCHEMA, "strict": False}]

    def ask(items):
        if not stream:
            return client.responses.create(model="test-model", input=items, tools=tools)
        with client.responses.stream(model="test-model", input=items, tools=tools) as events:
            return events.get_final_response()

    items = [{"role": "user", "content": QUESTION}]
    done = ask(items)
    same((done.output_text, done.status, done.usage.input_tokens, done.usage.output_tokens), (BOTH, "completed", 12, 7))
    calls = [item for item in done.output if item.type == "function_call"]
    same([json.loads(call.arguments) for call in calls], [{"order_id": "1042"}, {"order_id": "1043"}])
    items.append({"role": "assistant", "content": done.output_text})
    items += [
        {"type": "function_call", "call_id": call.call_id, "name": call.name, "arguments": call.arguments} for call in calls
    ]
    for call in calls:
        found = FOUND[json.loads(call.arguments)["order_id"]]
        items.append({"type": "function_call_output", "call_id": call.call_id, "output": json.dumps(found)})
    same(ask(items).output_text, DUE)
    return client, lambda text: client.responses.create(model="test-model", input=text).output_text


def messages(stream):
    client = anthropic.Anthropic(api_key="none", base_url=os.environ["ANTHROPIC_BASE_URL"])
    tools = [{"name": "get_order", "input_schema": SCHEMA}]

    def ask(messages):
        asked = dict(model="test-model", max_tokens=99, messages=messages, tools=tools)
        if not stream:
            return client.messages.create(**asked)
        with client.messages.stream(**asked) as events:
            return events.get_final_message()

    heard = [{"role": "user", "content": QUESTION}]
    done = ask(heard)
    same((done.content[0].text, done.stop_reason, done.usage.input_tokens, done.usage.output_tokens), (BOTH, "tool_use", 12, 7))
    calls = [block for block in done.content if block.type == "tool_use"]
    same([call.input for call in calls], [{"order_id": "1042"}, {"order_id": "1043"}])
    heard.append({"role": "assistant", "content": [
        {"type": "text", "text": done.content[0].text},
        *({"type": "tool_use", "id": call.id, "name": call.name, "input": call.input} for call in calls),
    ]})
    heard.append({"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": call.id, "content": json.dumps(FOUND[call.input["order_id"]])} for call in calls
    ]})
    done = ask(heard)
    same((done.content[0].text, done.stop_reason, done.usage.output_tokens), (DUE, "end_turn", 9))
    return client, lambda text: client.messages.create(
        model="test-model", max_tokens=9, messages=[{"role": "user", "content": text}]
    ).content[0].text


def gemini(stream):
    client = genai.Client(api_key="none", http_options=types.HttpOptions(base_url=os.environ["GEMINI_BASE_URL"]))
    declared = types.FunctionDeclaration(name="get_order", parameters_json_schema=SCHEMA)
    config = types.GenerateContentConfig(tools=[types.Tool(function_declarations=[declared])])

    def ask(contents):
        if not stream:
            done = client.models.generate_content(model="test-model", contents=contents, config=config)
            return done.candidates[0].content.parts, done.usage_metadata, done.candidates[0].finish_reason
        parts, usage, finish = [], None, None
        for chunk in client.models.generate_content_stream(model="test-model", contents=contents, config=config):
            parts += chunk.candidates[0].content.parts
            usage, finish = chunk.usage_metadata, chunk.candidates[0].finish_reason
        return parts, usage, finish

    def text(parts):
        return "".join(part.text or "" for part in parts)

    contents = [types.Content(role="user", parts=[types.Part(text=QUESTION)])]
    parts, usage, finish = ask(contents)
    same((text(parts), finish.name), (BOTH, "STOP"))
    same((usage.prompt_token_count, usage.candidates_token_count, usage.total_token_count), (12, 7, 19))
    calls = [part.function_call for part in parts if part.function_call]
    same([dict(call.args) for call in calls], [{"order_id": "1042"}, {"order_id": "1043"}])
    contents.append(types.Content(role="model", parts=parts))
    contents.append(types.Content(role="user", parts=[
        types.Part.from_function_response(name=call.name, response={"result": FOUND[call.args["order_id"]]}) for call in calls
    ]))
    same(text(ask(contents)[0]), DUE)
    return client, lambda said: client.models.generate_content(model="test-model", contents=said).text


for api in [chat, responses, messages, gemini]:
    api(stream=False)
    client, say = api(stream=True)
    same(say("Hello"), "Hello, this is the scripted model speaking, at your service.")
    same(say("slow"), "This one takes its time with every single piece of it.")
    if api is gemini:
        # This client counts no tries and makes none of its own: one failure is told, the next try is answered.
        fails(errors.ClientError, lambda: say("busy"), "429", "Too many requests.")
        same(say("busy"), "Now I have time.")
        fails(errors.ServerError, lambda: say("down"), "503")
        fails(errors.ClientError, lambda: say("nobody wrote this"), "nearest is")
        same(sorted(model.name for model in client.models.list()), ["models/other-model", "models/test-model"])
    else:
        same(say("busy"), "Now I have time.")
        sdk = anthropic if api is messages else openai
        status = 529 if api is messages else 503
        same(fails(sdk.APIStatusError, lambda: say("down")).status_code, status)
        fails(sdk.BadRequestError, lambda: say("nobody wrote this"), "nearest is")
        same(sorted(model.id for model in client.models.list()), ["other-model", "test-model"])
    fails(Exception, lambda: say("broken"))

client = openai.OpenAI(api_key="none", base_url=os.environ["OPENAI_BASE_URL"])
asked = dict(model="test-model", messages=[{"role": "user", "content": "cut"}])
heard = []


def listen():
    for chunk in client.chat.completions.create(stream=True, **asked):
        heard.append(chunk.choices[0].delta.content)


fails(Exception, listen)
assert "".join(part or "" for part in heard).startswith("This is a long answer"), heard
long = client.chat.completions.create(model="test-model", messages=[{"role": "user", "content": "long"}])
same(long.choices[0].finish_reason, "length")
