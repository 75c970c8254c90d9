// The guest realm: a context whose global is V8's own (no object of ours behind it, no interceptors), without code from strings.

export const makeRealm = (take, script, host) => {
  const { vm } = take;
  const context = vm.createContext(vm.constants.DONT_CONTEXTIFY, { name: 'body', codeGeneration: { strings: false, wasm: false } });
  // The same compiled script, run a second time in the other context: its functions there are of that realm, and one code cache serves both.
  const guest = script.runInContext(context)('guest')(host);
  return { context, guest };
};

/**
 * A function of the guest realm, made from the wrapped text of a body. It must be the whole text: a body that ends the wrapper early would leave a rest,
 * and the parser has already said that it does not.
 */
export const compile = (take, context, code) => {
  const body = new take.vm.Script(code, { filename: 'body.js' }).runInContext(context);
  if (typeof body !== 'function' || take.functionText(body) !== code.slice(1, -1)) throw new SyntaxError('the body ends its wrapper');
  return body;
};
