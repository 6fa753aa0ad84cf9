/**
 * A template: a kind of request, with the start states it meets, the rules that say what must change,
 * and the script of an agent that follows them.
 */
import type { Draw } from '../draw.js';
import type { Chooser, Script, Slots } from '../script.js';
import type { DomainName, Write } from '../world/domains.js';
import type { Tables } from '../world/tables.js';

/** Label → value: what only the user knows. */
export type Facts = Readonly<Record<string, string>>;

/** One drawn situation. */
export interface Scene {
  readonly start: Tables;
  readonly slots: Slots;
  readonly facts: Facts;
  /** Amount (`$80`) that the agent's message must tell when everything goes by the rules; the request asks for it. */
  readonly tell?: string;
}

export interface Template {
  readonly name: string;
  readonly domain: DomainName;
  /** Situations the template meets, in turn. */
  readonly branches: readonly string[];
  /** Requests with `{slot}` placeholders. A template without training wordings is never trained on. */
  readonly wordings: { readonly train: readonly string[]; readonly benchmark: readonly string[] };
  scene(draw: Draw, branch: string): Scene;
  /** The desk's rules: the changes that are wanted, from start state, request and private facts alone. */
  writes(scene: Scene): readonly Write[];
  /** An agent at work. It sees the slots that the request names, never the scene. */
  script(slots: Slots, agent: Chooser): Script;
}

/** Sentence that asks for the amount; wordings end in `{tell}`, filled with this or with nothing. */
export const TELL_SENTENCE = ' tell me the amount .';

/** Slot `tell` for a scene that wants to hear the amount, or not. */
export function tellSlot(wanted: boolean): { readonly tell: string } {
  return { tell: wanted ? TELL_SENTENCE : '' };
}

/** Fills placeholders. Throws when the wording names a slot that the scene lacks: the template is wrong. */
export function fill(wording: string, slots: Slots): string {
  return wording.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = slots[name];
    if (value === undefined) throw new Error(`no slot "${name}" for the wording "${wording}"`);
    return value;
  });
}
