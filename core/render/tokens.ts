/** A Hugging Face tokenizer (`tokenizer.json`), with text that only looks like control tokens kept plain. */
import { Tokenizer } from '@huggingface/tokenizers';
import { UsageError } from '../faults.js';
import { isObject, type Json, type JsonObject } from '../message.js';
import { ControlText, type ControlToken, isGuarded } from './control-text.js';

/** Vocabularies are padded to a multiple of 64, 128 or 256, and split over at most as many GPUs as make this. */
const PADDED_TO = 1_024;

const OPTIONS = { add_special_tokens: false } as const;

interface AddedToken extends ControlToken {
  readonly id: number;
}

export class Tokens {
  readonly control: ControlText;
  private readonly tokenizer: Tokenizer;
  private readonly controlIds: ReadonlySet<number>;
  /** Tokens, and rows that weights may have beyond them. */
  private readonly rows: number;
  private withoutControl: Tokenizer | undefined;

  /** Throws `UsageError` for files that are no tokenizer. Loading takes about a second for Qwen's vocabulary. */
  constructor(
    private readonly file: JsonObject,
    private readonly config: JsonObject,
  ) {
    const added = addedTokens(file);
    this.tokenizer = load(file, config);
    this.control = new ControlText(added);
    this.controlIds = new Set(added.map((token) => token.id));
    this.rows = Math.ceil(idCount(file, added) / PADDED_TO) * PADDED_TO;
  }

  /** Id of one token as written, or undefined. */
  id(token: string): number | undefined {
    return this.tokenizer.token_to_id(token);
  }

  /**
   * True for ids that a model of this tokenizer can sample: its tokens, and the padding after them. Weights have more
   * rows than there are tokens (Qwen 3: 151,936 for 151,669), and such a row can be sampled; it stands for no text,
   * as in vLLM.
   */
  canSample(id: number): boolean {
    return id >= 0 && id < this.rows;
  }

  private isToken(id: number): boolean {
    return this.tokenizer.id_to_token(id) !== undefined;
  }

  /** Ids of text in which control tokens mean what they say. */
  encode(text: string): number[] {
    return text === '' ? [] : this.tokenizer.encode(text, OPTIONS).ids;
  }

  /** Ids of rendered text with the marks of `ControlText.guard`; what was guarded is encoded as plain text. */
  encodeGuarded(rendered: string): number[] {
    if (!isGuarded(rendered)) return this.encode(rendered);
    return this.control
      .pieces(rendered)
      .flatMap(({ text, plain }) => (plain ? this.plain(text) : this.encode(text)));
  }

  /** Text of sampled ids, control tokens shown, padding left out. */
  decode(ids: readonly number[]): string {
    const known = ids.filter((id) => this.isToken(id));
    if (known.length === 0) return '';
    return this.tokenizer.decode(known, {
      skip_special_tokens: false,
      clean_up_tokenization_spaces: false,
    });
  }

  private plain(text: string): number[] {
    if (!this.control.occursIn(text)) return this.encode(text);
    this.withoutControl ??= this.makeWithoutControl();
    const ids: number[] = this.withoutControl.encode(text, OPTIONS).ids;
    if (!ids.some((id) => this.controlIds.has(id))) return ids;
    // The vocabulary itself holds the control token.
    return this.control.cut(text).flatMap((piece) => this.encode(piece));
  }

  /** A byte-pair model is shared, since it looks at no added token; others are small enough to be loaded again. */
  private makeWithoutControl(): Tokenizer {
    const { model } = this.file;
    if (!isObject(model) || model.type !== 'BPE')
      return load({ ...this.file, added_tokens: [] }, this.config);
    const empty = { ...model, vocab: {}, merges: [] };
    const plain = load({ ...this.file, added_tokens: [], model: empty }, this.config);
    plain.model = this.tokenizer.model;
    return plain;
  }
}

/** One more than the highest id. */
function idCount({ model }: JsonObject, added: readonly AddedToken[]): number {
  const vocab = isObject(model) ? model.vocab : undefined;
  let most = Array.isArray(vocab) ? vocab.length - 1 : -1;
  if (isObject(vocab))
    for (const id of Object.values(vocab)) if (typeof id === 'number' && id > most) most = id;
  for (const { id } of added) if (id > most) most = id;
  return most + 1;
}

function addedTokens(file: JsonObject): readonly AddedToken[] {
  const { added_tokens: added } = file;
  const place = 'tokenizer.json: added_tokens';
  if (!Array.isArray(added)) throw new UsageError(place, 'a list of tokens', kindOf(added));
  for (const [index, token] of added.entries()) {
    if (!isObject(token) || typeof token.content !== 'string' || token.content === '' || !isId(token.id))
      throw new UsageError(`${place}[${index}]`, 'a token with id and content', JSON.stringify(token));
  }
  return added as unknown as readonly AddedToken[];
}

const MODEL_KINDS: readonly string[] = ['BPE', 'WordPiece', 'Unigram'];

/** Fields of `tokenizer.json` by what the library calls their parts. */
const FIELDS: Readonly<Record<string, string>> = {
  Normalizer: 'normalizer.type',
  PreTokenizer: 'pre_tokenizer.type',
  PostProcessor: 'post_processor.type',
  Decoder: 'decoder.type',
};

function load(file: JsonObject, config: JsonObject): Tokenizer {
  const { model } = file;
  if (!isObject(model)) throw new UsageError('tokenizer.json: model', 'a model', kindOf(model));
  // Any other kind would be read as a list of words.
  if (typeof model.type !== 'string' || !MODEL_KINDS.includes(model.type))
    throw new UsageError('tokenizer.json: model.type', MODEL_KINDS.join(' or '), String(model.type));
  if (!isObject(model.vocab) && !Array.isArray(model.vocab))
    throw new UsageError('tokenizer.json: model.vocab', 'a vocabulary', kindOf(model.vocab));
  checkPatterns(file.pre_tokenizer);
  try {
    return new Tokenizer(file, config);
  } catch (error) {
    const found = error instanceof Error ? error.message : String(error);
    const [, part = '', kind = found] = /^Unknown (\w+) type: (.*)/.exec(found) ?? [];
    const field = FIELDS[part];
    throw field === undefined
      ? new UsageError('tokenizer.json', 'a Hugging Face tokenizer', found)
      : new UsageError(`tokenizer.json: ${field}`, 'a kind that @huggingface/tokenizers knows', kind);
  }
}

/** The library passes over a pattern of an unknown kind: everything would be one word. */
function checkPatterns(part: Json | undefined): void {
  if (!isObject(part)) return;
  const { pattern, pretokenizers } = part;
  if (pattern !== undefined && !(isObject(pattern) && ('Regex' in pattern || 'String' in pattern)))
    throw new UsageError('tokenizer.json: pre_tokenizer.pattern', 'Regex or String', JSON.stringify(pattern));
  if (Array.isArray(pretokenizers)) pretokenizers.forEach(checkPatterns);
}

function isId(value: Json | undefined): boolean {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0;
}

function kindOf(value: Json | undefined): string {
  if (value === undefined) return 'nothing';
  return Array.isArray(value) ? 'a list' : value === null ? 'null' : typeof value;
}
