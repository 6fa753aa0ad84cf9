/** A Hugging Face tokenizer (`tokenizer.json`), with text that only looks like control tokens kept plain. */
import { Tokenizer } from '@huggingface/tokenizers';
import { UsageError } from '../faults.js';
import type { JsonObject } from '../message.js';
import { ControlText } from './control-text.js';

const OPTIONS = { add_special_tokens: false } as const;

interface AddedToken {
  readonly id: number;
  readonly content: string;
}

export class Tokens {
  readonly control: ControlText;
  private readonly tokenizer: Tokenizer;
  private readonly controlIds: ReadonlySet<number>;
  private withoutControl: Tokenizer | undefined;

  /** Throws `UsageError` for files that are no tokenizer. Loading takes 0.7 s for Qwen's vocabulary. */
  constructor(
    private readonly file: JsonObject,
    private readonly config: JsonObject,
  ) {
    this.tokenizer = load(file, config);
    const added = (file.added_tokens ?? []) as unknown as readonly AddedToken[];
    this.control = new ControlText(added.map((token) => token.content));
    this.controlIds = new Set(added.map((token) => token.id));
  }

  /** Id of one token as written, or undefined. */
  id(token: string): number | undefined {
    return this.tokenizer.token_to_id(token);
  }

  /** Ids of text in which control tokens mean what they say. */
  encode(text: string): number[] {
    return text === '' ? [] : this.tokenizer.encode(text, OPTIONS).ids;
  }

  /** Ids of rendered text with the marks of `ControlText.guard`; what was marked is encoded as plain text. */
  encodeMarked(rendered: string, marked: readonly string[]): number[] {
    if (marked.length === 0) return this.encode(rendered);
    return this.control
      .pieces(rendered, marked)
      .flatMap(({ text, plain }) => (plain ? this.plain(text) : this.encode(text)));
  }

  /** Text of sampled ids, control tokens shown. */
  decode(ids: readonly number[]): string {
    return this.tokenizer.decode([...ids], {
      skip_special_tokens: false,
      clean_up_tokenization_spaces: false,
    });
  }

  private plain(text: string): number[] {
    if (!this.control.occursIn(text)) return this.encode(text);
    this.withoutControl ??= load({ ...this.file, added_tokens: [] }, this.config);
    const ids: number[] = this.withoutControl.encode(text, OPTIONS).ids;
    if (!ids.some((id) => this.controlIds.has(id))) return ids;
    // The vocabulary itself holds the control tokens: cut each occurrence after its first character.
    const cut = text.replaceAll(/[<[|]/g, '$&\uE000').split('\uE000');
    return cut.flatMap((piece) => this.encode(piece));
  }
}

function load(file: JsonObject, config: JsonObject): Tokenizer {
  try {
    return new Tokenizer(file, config);
  } catch (error) {
    const found = error instanceof Error ? error.message : String(error);
    throw new UsageError('tokenizer.json', 'a Hugging Face tokenizer', found);
  }
}
