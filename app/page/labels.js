// Precision and recall of a threshold, estimated from labels with probabilities (weights 1 / probability).
const Z = 1.96;

// Wilson's interval of a weighted share, for the effective number of its labels (Kish): (sum w)^2 / sum w^2.
export function share(labels) {
  const weights = labels.map((label) => 1 / label.probability);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  if (!total) return null;
  const n = total ** 2 / weights.reduce((sum, weight) => sum + weight ** 2, 0);
  const value = labels.reduce((sum, label, index) => sum + (label.hit ? weights[index] : 0), 0) / total;
  const middle = (value + Z ** 2 / (2 * n)) / (1 + Z ** 2 / n);
  const half = (Z / (1 + Z ** 2 / n)) * Math.sqrt((value * (1 - value)) / n + Z ** 2 / (4 * n ** 2));
  return { value, low: Math.max(0, middle - half), high: Math.min(1, middle + half) };
}

export const precision = (labels, threshold) =>
  share(labels.filter((label) => label.score >= threshold).map((label) => ({ ...label, hit: label.match })));

export const recall = (labels, threshold) =>
  share(labels.filter((label) => label.match).map((label) => ({ ...label, hit: label.score >= threshold })));

// The lowest score of a label from which on the estimated precision reaches the target; null if none does.
export function suggested(labels, target = 0.9) {
  const scores = [...new Set(labels.map((label) => label.score))].sort((a, b) => a - b);
  const score = scores.find((one) => precision(labels, one).value >= target);
  return score === undefined ? null : Math.floor(score * 100) / 100;
}

const placeOf = ({ span }) => JSON.stringify(span);

// The labels of a phrase, as this browser keeps them: without the texts, and with the threshold around which they were drawn.
export class LabelStore {
  constructor(collection, phrase) {
    this.place = `labels ${collection} ${phrase}`;
    ({ labels: this.labels, drawnAt: this.drawnAt } = this.read());
    this.known = new Set(this.labels.map(placeOf));
  }

  read() { return JSON.parse(localStorage.getItem(this.place)) || { labels: [], drawnAt: null }; }

  // Another tab may have labelled meanwhile: what it has added comes first, and what it has taken back is gone here, too.
  merge() {
    const stored = new Map(this.read().labels.map((one) => [placeOf(one), one]));
    const own = this.labels.filter((one) => stored.has(placeOf(one)) || !this.known.has(placeOf(one)));
    for (const key of [...this.known, ...own.map(placeOf)]) stored.delete(key);
    this.labels.splice(0, this.labels.length, ...stored.values(), ...own);
    this.known = new Set(this.labels.map(placeOf));
  }

  keep() {
    this.merge();
    const labels = this.labels.map(({ context, context_start, says, ...label }) => label);
    if (labels.length) localStorage.setItem(this.place, JSON.stringify({ labels, drawnAt: this.drawnAt }));
    else localStorage.removeItem(this.place);
  }

  // Of a new draw what has no label. Labels get the text and the score that their examples have now.
  take(candidates, drawnAt) {
    this.drawnAt = drawnAt;
    const drawn = new Map(candidates.map((one) => [placeOf(one), one]));
    this.labels.forEach((label, at) => { this.labels[at] = { ...label, ...drawn.get(placeOf(label)) }; });
    const known = new Set(this.labels.map(placeOf));
    return candidates.filter((one) => !known.has(placeOf(one)));
  }
}
