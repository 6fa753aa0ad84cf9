/** The Pareto front: evaluations that no other one beats on both cost and score. */

export interface CostPoint {
  /** Dollars, or tokens where nothing is priced; less is better. */
  readonly cost: number;
  /** Share in [0, 1]; more is better. */
  readonly score: number;
}

/** The points on the front, cheapest first. Points that are equal in both are on it together, or not at all. */
export function paretoFront<P extends CostPoint>(points: readonly P[]): readonly P[] {
  return points
    .filter((point) => !points.some((other) => beats(other, point)))
    .sort((a, b) => a.cost - b.cost || b.score - a.score);
}

function beats(other: CostPoint, point: CostPoint): boolean {
  const noWorse = other.cost <= point.cost && other.score >= point.score;
  return noWorse && (other.cost < point.cost || other.score > point.score);
}
