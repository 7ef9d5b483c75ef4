// What the page shows is in its address, so that it can be shared and the browser's Back works.
export const state = Object.fromEntries(new URLSearchParams(location.search));

// `push` makes a new entry of the browser's history; a name instead of true is kept with it.
export function update(changes = {}, push = false) {
  Object.assign(state, changes);
  const query = new URLSearchParams(Object.entries(state).filter(([, value]) => value));
  const address = query.size ? `?${query}` : "./";
  if (push) history.pushState(push, "", address); else history.replaceState(history.state, "", address);
}

export function reload() {
  for (const name of Object.keys(state)) delete state[name];
  Object.assign(state, Object.fromEntries(new URLSearchParams(location.search)));
}
