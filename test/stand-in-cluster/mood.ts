/** How a stand-in for a GPU host behaves. All that is not said is as it is on a healthy host. */

export interface Mood {
  readonly host: string;
  /** Where folders of the run file lie on this host: `/shared/checkpoints/q38` → a real folder. */
  readonly places: Readonly<Record<string, string>>;
  readonly gpus: readonly number[];
  readonly packages: Readonly<Record<string, string>>;
  /** SHA-256 of installed files. */
  readonly files: Readonly<Record<string, string>>;
  /** How far its clock is ahead, ms. */
  readonly clockAheadMs?: number;
  readonly freeBytes?: number;
  readonly proxies?: Readonly<Record<string, string>>;
  /** A setting that its Verl does not have. */
  readonly unknownSetting?: string;
  /** Takes a question up and is never heard of again; absent: it answers. */
  readonly dies?: true;
}
