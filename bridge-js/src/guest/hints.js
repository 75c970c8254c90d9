// What reading the body and running it have shown, for the advice of its end.

export const hints = {
  __proto__: null,
  /** What to say when a body ends without a value, or ''. */
  idle: '',
  /** Names of parameters that a function got nothing for; a pattern is `{`. */
  parameters: [],
  /** The query of the last search that found nothing, or null. */
  emptySearch: null,
};

export const setHints = (idle, parameters) => {
  hints.idle = idle;
  hints.parameters = parameters;
  hints.emptySearch = null;
};
