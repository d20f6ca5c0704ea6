// A server of the official SDK in JavaScript, on its standard streams.
import { McpServer, acceptedContent, inputRequired } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

const text = said => ({ content: [{ type: 'text', text: said }] });
serveStdio(() => {
  const server = new McpServer({ name: 'orders', version: '1.0.0' }, { capabilities: { tools: {} } });
  const order = z.object({ order_id: z.string() });
  server.registerTool('get_order', { inputSchema: order }, async ({ order_id }) => ({
    ...text(JSON.stringify({ id: order_id, cents: 1250 })),
    structuredContent: { id: order_id, cents: 1250 },
  }));
  server.registerTool('deny', { inputSchema: order }, async () => {
    throw new Error('outside the return window');
  });
  const sure = z.object({ sure: z.boolean() });
  server.registerTool('refund', { inputSchema: order }, async ({ order_id }, ctx) => {
    const confirmed = acceptedContent(ctx.mcpReq.inputResponses, 'confirm', sure);
    if (!confirmed) {
      const confirm = inputRequired.elicit({ message: `Really refund ${order_id}?`, requestedSchema: sure });
      return inputRequired({ inputRequests: { confirm }, requestState: `asked ${order_id}` });
    }
    return text(`refunded ${order_id} sure=${confirmed.sure}`);
  });
  return server;
});
