import { part, post } from "./api.js";

const FLOORS = [0.2, 0.5, 0.8];

// Exact counts of every threshold; of spans from the lowest floor on that the server can count. Throws where there are none.
export async function preview(collection, phrases, mode, { body, signal } = {}) {
  let refused;
  for (const floor of FLOORS) {
    try {
      return await post(`/admin/collections/${part(collection)}/thresholds/preview`,
        { phrases, mode, threshold: Math.max(0.8, floor), floor, examples: 0, ...body }, { signal });
    } catch (error) {
      if (error.status !== 422 && error.status !== 504) throw error;
      refused = error;
    }
  }
  throw refused;
}

const FEW = 10;

// Where a slider starts that nobody has set: the lowest threshold that a few documents for each phrase reach.
export function start(counts) {
  const index = counts[0].documents_above.findIndex((_, at) => counts.reduce((sum, one) => sum + one.documents_above[at], 0) <= FEW * counts.length);
  return index < 0 ? 1 : index / 100;
}
