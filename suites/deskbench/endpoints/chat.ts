/** One rule as an OpenAI-compatible chat endpoint: `/chat/completions` and `/models` under its base path. */
import { Hono } from 'hono';
import { z } from 'zod';
import { UsageError } from '../../../core/faults.js';
import type { Prompt } from '../../../core/prompts.js';

const requestSchema = z.object({
  model: z.string(),
  messages: z.array(z.object({ role: z.enum(['system', 'user', 'assistant']), content: z.string() })).min(1),
  stream: z.literal(false).optional(),
});

function refusal(message: string) {
  return { error: { message, type: 'invalid_request_error', code: 'bad_request' } };
}

/** Routes of one model. A request that the rule cannot read is a 400 with OpenAI's error shape. */
export function chatRoutes(model: string, rule: (prompt: Prompt) => string): Hono {
  const routes = new Hono();
  const card = { id: model, object: 'model', created: 0, owned_by: 'steadfast' };
  let answered = 0;
  routes.get('/models', (context) => context.json({ object: 'list', data: [card] }));
  routes.post('/chat/completions', async (context) => {
    const body: unknown = await context.req.json().catch(() => undefined);
    const request = requestSchema.safeParse(body);
    if (!request.success) return context.json(refusal(z.prettifyError(request.error)), 400);
    const join = (role: string) =>
      request.data.messages
        .filter((message) => message.role === role)
        .map((message) => message.content)
        .join('\n');
    let content: string;
    try {
      content = rule({ system: join('system'), user: join('user') });
    } catch (error) {
      if (error instanceof UsageError) return context.json(refusal(error.message), 400);
      throw error;
    }
    const words = (text: string) => text.split(/\s+/).filter((word) => word !== '').length;
    const prompt_tokens = request.data.messages.reduce((sum, message) => sum + words(message.content), 0);
    const completion_tokens = words(content);
    return context.json({
      id: `chatcmpl-${++answered}`,
      object: 'chat.completion',
      created: Math.floor(Date.now() / 1000),
      model,
      choices: [
        {
          index: 0,
          finish_reason: 'stop',
          logprobs: null,
          message: { role: 'assistant', content, refusal: null },
        },
      ],
      usage: { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens },
    });
  });
  return routes;
}
