// Gives `{path: line}`: every property that can be reached from the globals and from the syntax, with its flags (w, e, c) and what it is. An object has the
// name of the first path that leads to it. The names that are known to differ are listed and not entered.
const lines = Object.create(null);
const names = new Map();
const todo = [];
const SKIP = new Set(['WebAssembly', 'SharedArrayBuffer', 'Atomics', 'FinalizationRegistry', 'WeakRef', 'console', 'openclaw']);
const text = Function.prototype.toString;
const key = (k) => (typeof k === 'symbol' ? `[${String(k)}]` : k);
const ref = (value, path) => {
  if (value === null || (typeof value !== 'object' && typeof value !== 'function')) {
    return typeof value === 'bigint' || typeof value === 'symbol' ? `${typeof value} ${String(value)}` : `${typeof value} ${Object.is(value, -0) ? '-0' : String(value)}`;
  }
  if (!names.has(value)) {
    names.set(value, path);
    todo.push(value);
  }
  return `-> ${names.get(value)}`;
};
const kind = (object) => {
  if (typeof object !== 'function') return Array.isArray(object) ? 'array' : 'object';
  let constructs = true;
  try {
    Reflect.construct(Object, [], object);
  } catch {
    constructs = false;
  }
  return `${text.call(object).includes('[native code]') ? 'native' : 'written'} function${constructs ? ', constructs' : ''}`;
};
const roots = {
  globalThis,
  generator: (function* () {})(),
  asyncGenerator: (async function* () {})(),
  asyncFunction: async () => {},
  arrayIterator: [][Symbol.iterator](),
  mapIterator: new Map().entries(),
  setIterator: new Set().values(),
  stringIterator: ''[Symbol.iterator](),
  matches: 'x'.matchAll(/x/g),
  segments: new Intl.Segmenter('en').segment('a')[Symbol.iterator](),
  error: Object.getPrototypeOf(new TypeError('x')),
  sloppyArguments: (function () { return Object.getOwnPropertyNames(arguments) })(),
  template: ((strings) => strings)`a${1}b`,
  regexp: /(?<a>b)/dg,
  promise: Promise.resolve(1),
  boundFunction: Object.getOwnPropertyNames((() => {}).bind()),
  listFormat: typeof Intl.ListFormat,
  iteratorHelper: typeof Iterator === 'function' ? Object.getPrototypeOf(Iterator.from([]).map((x) => x)) : null,
};
for (const name of Object.keys(roots)) lines[`(root) ${name}`] = ref(roots[name], name);
for (const object of todo) {
  const path = names.get(object);
  lines[`${path} (kind)`] = `${kind(object)}${Object.isExtensible(object) ? '' : ', not extensible'}`;
  lines[`${path} (prototype)`] = ref(Object.getPrototypeOf(object), `${path}.__proto__`);
  for (const k of Reflect.ownKeys(object)) {
    const d = Reflect.getOwnPropertyDescriptor(object, k);
    const at = `${path}.${key(k)}`;
    const flags = `${d.writable ? 'w' : '-'}${d.enumerable ? 'e' : '-'}${d.configurable ? 'c' : '-'}`;
    if (object === globalThis && SKIP.has(k)) lines[at] = flags;
    else if ('value' in d) lines[at] = `${flags} ${ref(d.value, at)}`;
    else lines[at] = `${flags} get ${ref(d.get, `${at} (get)`)} set ${ref(d.set, `${at} (set)`)}`;
  }
}
const from = { eval, Function, AsyncFunction: roots.asyncFunction.constructor, GeneratorFunction: (function* () {}).constructor, AsyncGeneratorFunction: (async function* () {}).constructor };
for (const name of Object.keys(from)) {
  try {
    from[name]('1');
    lines[`(code) ${name}`] = 'made';
  } catch (error) {
    lines[`(code) ${name}`] = error.name;
  }
}
return lines;
