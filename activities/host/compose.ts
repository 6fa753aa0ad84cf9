/**
 * Verl's configuration as the installed Verl makes it of our settings: composed by Hydra from Verl's own files, without
 * importing Verl, starting Ray or touching a GPU. A setting that this version does not have is found here.
 */
import { gunzipSync, gzipSync } from 'node:zlib';
import type { ComposedVerl } from '../../core/cluster.js';
import { captured } from './captured.js';

/** Argument: settings as JSON. Refused are those that Verl's files do not have, and what Hydra cannot compose. */
const SCRIPT = `
import hashlib, importlib.util, json, os, sys
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf
settings = json.loads(sys.argv[1])
spec = importlib.util.find_spec("verl")
if spec is None:
    sys.exit("no package verl")
folder = os.path.join(list(spec.submodule_search_locations)[0], "trainer", "config")
def known(base, name):
    parent, _, leaf = name.rpartition(".")
    node = OmegaConf.select(base, parent) if parent else base
    return OmegaConf.is_dict(node) and leaf in node.keys()
with initialize_config_dir(folder, version_base=None):
    base = compose("ppo_trainer")
    names = {setting: setting.split("=")[0] for setting in settings}
    refused = {n: "no such setting" for n in names.values() if not n.startswith("+") and not known(base, n)}
    text = None
    try:
        config = compose("ppo_trainer", overrides=[s for s in settings if names[s] not in refused])
        text = OmegaConf.to_yaml(config, sort_keys=True)
    except Exception as error:
        refused[""] = str(error.__cause__ or error).strip().splitlines()[0]
print(json.dumps({
    "digest": None if refused else "sha256:" + hashlib.sha256(text.encode()).hexdigest(),
    "refused": refused,
}))
`;

/** Few, with short words: a reply crosses Temporal. */
const MOST_REFUSED = 8;
const MOST_WORDS = 200;

/** Throws where the Python is not there, or has no Hydra or Verl. `packed`: `packSettings`. */
export async function composeVerl(
  python: string,
  packed: string,
  signal: AbortSignal,
): Promise<ComposedVerl> {
  const settings = gunzipSync(Buffer.from(packed, 'base64')).toString('utf8');
  const composed = JSON.parse(await captured(python, ['-I', '-c', SCRIPT, settings], signal)) as ComposedVerl;
  const refused = Object.entries(composed.refused).slice(0, MOST_REFUSED);
  return {
    digest: composed.digest,
    refused: Object.fromEntries(refused.map(([name, why]) => [name, why.slice(0, MOST_WORDS)])),
  };
}

/** Arguments of Verl's command line, small enough for a question. */
export function packSettings(settings: readonly string[]): string {
  return gzipSync(JSON.stringify(settings)).toString('base64');
}
