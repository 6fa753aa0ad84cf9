/** A folder as one host sees it: what is free there, on what kind of file system, and whether it can be written to. */
import { constants } from 'node:fs';
import { access, stat, statfs } from 'node:fs/promises';
import type { FolderFacts } from '../../core/cluster.js';

/** Magic numbers of statfs(2) that tell a disk of this machine from one that several may share. */
const FILE_SYSTEMS: Readonly<Record<number, string>> = {
  61267: 'ext4',
  1481003842: 'xfs',
  2435016766: 'btrfs',
  16914836: 'tmpfs',
  2035054128: 'overlay',
  26985: 'nfs',
  198183888: 'lustre',
  1196443219: 'gpfs',
  1702057286: 'fuse',
  12805120: 'ceph',
};

/** Never throws: `problem` says why the folder cannot be used. */
export async function folderFacts(folder: string): Promise<FolderFacts> {
  try {
    if (!(await stat(folder)).isDirectory()) return unusable('a file, not a folder');
    const { bavail, bsize, type } = await statfs(folder);
    const facts = { freeBytes: bavail * bsize, fileSystem: FILE_SYSTEMS[type] ?? `type ${type}` };
    const writable = await access(folder, constants.W_OK).then(
      () => true,
      () => false,
    );
    return { ...facts, problem: writable ? null : 'a folder that this worker may not write to' };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return unusable(code === 'ENOENT' || code === 'ENOTDIR' ? 'no such folder' : message);
  }
}

function unusable(problem: string): FolderFacts {
  return { freeBytes: 0, fileSystem: 'unknown', problem };
}
