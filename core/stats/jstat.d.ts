/** The part of jstat that we use. It ships no types. */
declare module 'jstat' {
  interface ContinuousDistribution {
    cdf(x: number, ...parameters: number[]): number;
    inv(probability: number, ...parameters: number[]): number;
  }
  const jstat: {
    readonly beta: ContinuousDistribution;
    readonly normal: ContinuousDistribution;
    readonly studentt: ContinuousDistribution;
  };
  export default jstat;
}
