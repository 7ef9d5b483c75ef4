// What the page shows is in its address, so that it can be shared and the browser's Back works.
export const state = Object.fromEntries(new URLSearchParams(location.search));

export function update(changes = {}, push = false) {
  Object.assign(state, changes);
  const query = new URLSearchParams(Object.entries(state).filter(([, value]) => value));
  history[push ? "pushState" : "replaceState"](null, "", query.size ? `?${query}` : "./");
}

export function reload() {
  for (const name of Object.keys(state)) delete state[name];
  Object.assign(state, Object.fromEntries(new URLSearchParams(location.search)));
}
