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
