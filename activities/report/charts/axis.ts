/** Ticks: whole steps along the bottom, and value labels with just the decimals that tell them apart. */

const STRIDES = [1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000, 2000, 5000];
const MOST_STRIDES = 4;

/** First and last step, and multiples of a round stride between them that stand clear of both. */
export function stepTicks(first: number, last: number): readonly number[] {
  if (last <= first) return [first];
  const span = last - first;
  const stride = STRIDES.find((each) => span / each <= MOST_STRIDES) ?? Math.ceil(span / MOST_STRIDES);
  const ticks: number[] = [first];
  for (let tick = Math.ceil((first + 1) / stride) * stride; tick < last; tick += stride) {
    if (tick - first >= stride * 0.6 && last - tick >= stride * 0.6) ticks.push(tick);
  }
  return [...ticks, last];
}

/** Decimals that tell neighbouring ticks apart: 0 for a stride of 5, 2 for 0.05. */
export function decimalsOf(ticks: readonly number[], scale = 1): number {
  const [first, second] = ticks;
  if (first === undefined || second === undefined) return 0;
  const stride = Math.abs(second - first) * scale;
  return stride > 0 ? Math.max(0, Math.min(8, -Math.floor(Math.log10(stride) + 1e-9))) : 0;
}
