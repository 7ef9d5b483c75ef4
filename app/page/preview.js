import { part, post } from "./api.js";

const FLOORS = [0.2, 0.5, 0.8];

// Exact counts of every threshold; null where the key may not ask for them or the preview cannot know them.
export async function preview(collection, phrases, mode, options = {}) {
  for (const floor of FLOORS) {
    try {
      return await post(`/admin/collections/${part(collection)}/thresholds/preview`,
        { phrases, mode, threshold: Math.max(0.8, floor), floor, examples: 0, ...options.body }, { signal: options.signal });
    } catch (error) {
      if (error.name === "AbortError" || error.status === 401) throw error;
      if (error.status !== 422 && error.status !== 504) return null;
    }
  }
  return null;
}
