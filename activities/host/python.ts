/** What a Python has installed: versions and files of packages, looked up without importing any of them. */
import type { FileDigests } from '../../core/cluster.js';
import { captured } from './captured.js';

/** Arguments: packages as JSON, files as JSON. */
const SCRIPT = `
import hashlib, importlib.metadata, importlib.util, json, pathlib, sys
packages, files = json.loads(sys.argv[1]), json.loads(sys.argv[2])
def version(name):
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
def digest(name):
    spec = importlib.util.find_spec(name.split("/")[0])
    for place in (spec.submodule_search_locations or []) if spec else []:
        file = pathlib.Path(place).parent / name
        if file.is_file():
            return hashlib.sha256(file.read_bytes()).hexdigest()
    return None
print(json.dumps({"packages": {n: version(n) for n in packages}, "files": {n: digest(n) for n in files}}))
`;

export interface Installed {
  readonly packages: Readonly<Record<string, string | null>>;
  readonly files: FileDigests;
}

/** Throws where the Python is not there or fails. */
export async function installedIn(
  python: string,
  packages: readonly string[],
  files: readonly string[],
  signal: AbortSignal,
): Promise<Installed> {
  const args = ['-I', '-c', SCRIPT, JSON.stringify(packages), JSON.stringify(files)];
  return JSON.parse(await captured(python, args, signal)) as Installed;
}
