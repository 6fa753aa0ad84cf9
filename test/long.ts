/**
 * Tests that cost a minute and more beside shorter ones of their kind. `npm run test:long` runs them too, CI does not: it
 * has 20 minutes for everything.
 */
export const LONG = process.env.STEADFAST_LONG_TESTS === '1';

/** For what skips itself otherwise. */
export const notLong = LONG ? undefined : 'only npm run test:long runs them';
