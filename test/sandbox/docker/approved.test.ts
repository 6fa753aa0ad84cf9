/** What an operator may approve as an endpoint, and what is said of anything else. */
import { describe, expect, test } from 'vitest';
import {
  addressOf,
  approvedEndpoints,
  hostsOf,
  insideAddress,
  isMetadata,
  requireApproved,
} from '../../../activities/sandbox/docker/endpoints.js';

describe('STEADFAST_ENDPOINTS', () => {
  test('a list of addresses; nothing is none', () => {
    expect(approvedEndpoints(undefined)).toEqual([]);
    expect(approvedEndpoints('')).toEqual([]);
    expect(approvedEndpoints(' Search.Example:8108, 10.0.0.5:443,[fd00::1]:80 ')).toEqual([
      'search.example:8108',
      '10.0.0.5:443',
      '[fd00::1]:80',
    ]);
  });

  test.each([
    'search',
    'search:',
    'search:0',
    'search:65536',
    '*.example:80',
    'http://search:80',
    'a b:80',
    '10.0.0.0/8:80',
    'fd00::1:80',
    '[search]:80',
    '-a:80',
    'a..b:80',
  ])('"%s" is none', (entry) => {
    expect(addressOf(entry)).toBeUndefined();
    expect(() => approvedEndpoints(`ok:1,${entry}`)).toThrow(/STEADFAST_ENDPOINTS: expected host:port/);
  });

  test.each(['169.254.169.254:80', '[fe80::1]:80', '[fd00:ec2::254]:80', '[::ffff:169.254.169.254]:80'])(
    'a metadata service cannot be approved: %s',
    (entry) => {
      expect(() => approvedEndpoints(entry)).toThrow(/no metadata service/);
    },
  );

  test('what is missing is named, with the setting that would approve it', () => {
    requireApproved([], []);
    requireApproved(['Search:8108'], ['search:8108']);
    expect(() => requireApproved(['search:8108', 'other:1'], ['other:1'])).toThrow(
      /STEADFAST_ENDPOINTS: expected search:8108, .*found other:1\. .*STEADFAST_ENDPOINTS=other:1,search:8108/,
    );
  });
});

test('names, and addresses of every form', () => {
  expect(['169.254.0.1', '::ffff:a9fe:a9fe', 'fe80::1'].map(isMetadata)).toEqual([true, true, true]);
  expect(['10.0.0.1', '127.0.0.1', '::1', 'localhost'].map(isMetadata)).toEqual([false, false, false, false]);
});

test('inside, each name is a loopback address of its own, with all its ports', () => {
  const endpoint = (name: string, port: number) => ({ name, port, address: `elsewhere:${port}` });
  const endpoints = [endpoint('search', 8108), endpoint('store', 5432), endpoint('search', 443)];
  expect(endpoints.map((one) => insideAddress(one, endpoints))).toEqual([
    '127.77.0.1',
    '127.77.0.2',
    '127.77.0.1',
  ]);
  expect(hostsOf(endpoints)).toEqual(['search:127.77.0.1', 'store:127.77.0.2']);
});
