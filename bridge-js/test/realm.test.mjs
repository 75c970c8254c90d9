// Attacks of our own on the seams of the guest realm. Each body tells foreign objects by identity: an object whose prototype chain does not end at this
// realm's Object.prototype is an escape whatever one could do with it.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { runBody } from './harness.mjs';

const IDENTITY = `
const foreign = [];
const see = (x, where) => {
  if (x === null || (typeof x !== 'object' && typeof x !== 'function')) return;
  let top = x; for (let n; (n = Object.getPrototypeOf(top)) !== null;) top = n;
  if (top !== Object.prototype && top !== x) foreign.push(where + ' ' + typeof x);
};
`;

const attacks = {
  'errors thrown at the stack limit by the API': `
    function down() { try { down() } catch (e) { see(e, 'own');
      try { console.log('x') } catch (e) { see(e, 'log') }
      try { openclaw.tools.call('noop', {}).catch((e) => see(e, 'call')) } catch (e) { see(e, 'call') }
      try { openclaw.tools.search('noop').catch((e) => see(e, 'search')) } catch (e) { see(e, 'search') }
      try { new Error('q').stack } catch (e) { see(e, 'stack') } } }
    for (let i = 0; i < 3; i++) { try { down() } catch (e) { see(e, 'top') } ((a, b, c) => { try { down() } catch (e) { see(e, 'top') } })(1, 2, 3) }`,
  'the rejection hook at the stack limit': `
    function down() { try { down() } catch (e) { try { Promise.reject(1).catch(() => {}) } catch (e) { see(e, 'reject') } } }
    for (let i = 0; i < 3; i++) down();`,
  'accessors and functions of an error': `
    const d = Object.getOwnPropertyDescriptor(new Error('x'), 'stack'); see(d.get, 'get'); see(d.set, 'set');
    const o = {}; Error.captureStackTrace(o); const e = Object.getOwnPropertyDescriptor(o, 'stack'); see(e.get, 'get2'); see(e.set, 'set2');`,
  'a formatter of the body never sees call sites': `
    let seen = 0; Error.prepareStackTrace = (e, sites) => { seen++; see(sites, 'sites') }; globalThis.prepareStackTrace = Error.prepareStackTrace;
    new Error('x').stack; await openclaw.tools.call('noop', {}); new Error('y').stack; if (seen) foreign.push('formatter called')`,
  'a failed call': `
    try { await openclaw.tools.call('boom', {}) } catch (e) { for (let o = e; o; o = Object.getPrototypeOf(o)) for (const k of Reflect.ownKeys(o)) {
      const d = Object.getOwnPropertyDescriptor(o, k); see(d.value, String(k)); see(d.get, String(k)); see(d.set, String(k)) } }`,
  'what calls return, on every object and promise': `
    const p = openclaw.tools.call('echo', { a: [{ b: {} }] }); see(p, 'promise'); const v = await p; see(v, 'value'); see(v.a, 'array'); see(v.a[0].b, 'deep');
    const s = await openclaw.tools.search('echo'); see(s, 'rows'); see(s[0], 'row')`,
  'setters on Object.prototype and Array.prototype': `
    for (const proto of [Object.prototype, Array.prototype]) for (const key of ['0', '1', 'value', 'get', 'next', 'resolve', 'reject', 'error', 'code', 'result', 'open', 'then'])
      Object.defineProperty(proto, key, { __proto__: null, configurable: true, set(x) { see(x, key); see(this, 'this of ' + key); foreign.push('setter ' + key) } });
    const r = await openclaw.tools.call('echo', { a: 1 }); console.log({ a: [1, r] }, 'x');
    for (const proto of [Object.prototype, Array.prototype]) for (const key of Reflect.ownKeys(proto)) if (Object.getOwnPropertyDescriptor(proto, key).set && key !== '__proto__') delete proto[key];`,
  'replaced iteration': `
    const bad = function () { foreign.push('iterated'); see(this, 'iterated'); return { next: () => ({ done: true }) } };
    const keep = [Array.prototype[Symbol.iterator], Map.prototype[Symbol.iterator], String.prototype[Symbol.iterator]];
    Array.prototype[Symbol.iterator] = bad; Map.prototype[Symbol.iterator] = bad; String.prototype[Symbol.iterator] = bad;
    const r = await openclaw.tools.call('echo', { a: new Array(3).fill({ x: 1 }) }); console.log(r, '%s', new Error('e'));
    try { await openclaw.tools.call('boom') } catch {}
    Array.prototype[Symbol.iterator] = keep[0]; Map.prototype[Symbol.iterator] = keep[1]; String.prototype[Symbol.iterator] = keep[2];`,
  'an exception that leaves a micro-task': `
    class Odd { constructor(ex) { ex(() => { throw new Error('resolve') }, () => { throw new Error('reject') }) } }
    const p = Promise.resolve(1); p.constructor = { [Symbol.species]: Odd }; try { p.then(() => 1) } catch (e) { see(e, 'then') } await 0; await 0;`,
  'asm.js warnings': `
    function M() { 'use asm'; function f(x) { return x + 'a' } return f } see(M()(1), 'asm'); function N(s) { 'use asm'; var i = s.Math.imul; return {} } try { N({}) } catch (e) { see(e, 'asm') }`,
  'functions on the stack above the body': `
    function f() { return f.caller } let c; try { c = f() } catch (e) { see(e, 'caller') } see(c, 'caller');
    const g = { get x() { try { return arguments.callee.caller } catch (e) { see(e, 'callee'); return null } } };
    const h = Object.getOwnPropertyDescriptor(g, 'x').get; const viaLog = { toJSON() { try { const k = (function q() { return q.caller })(); see(k, 'toJSON caller') } catch (e) { see(e, 'x') } return 1 } };
    console.log(viaLog); see(h(), 'getter')`,
  'proxied promises and prototypes asked by the host': `
    const p = Promise.reject(new Error('x')); Object.setPrototypeOf(p, new Proxy({}, { get(t, k, r) { see(t, 'target'); if (r !== p) see(r, 'receiver'); see(k, 'key'); return undefined }, has(t) { see(t, 'has') }, getPrototypeOf(t) { return null } }));
    Reflect.apply(Promise.prototype.catch, Promise.reject(1), [() => 0]); Reflect.apply(Promise.prototype.then, p, [undefined, () => 0]);`,
  'dynamic import kept out of every spelling': `
    for (const t of ['import("x")', 'import /**/ ("x")']) { try { see((0, eval)(t), 'eval'); foreign.push('eval ran') } catch (e) { see(e, 'eval') } }`,
};

for (const [name, code] of Object.entries(attacks)) {
  test(name, async () => {
    const { how, result, error, stderr, ended } = await runBody(`${IDENTITY}\n${code}\nreturn foreign;`);
    assert.equal(how, 'answered', `${stderr} ${JSON.stringify(ended)}`);
    if (name.startsWith('an exception')) {
      assert.equal(error.data.code, 'unhandled_rejection');
      assert.deepEqual(error.data.value, []);
      return;
    }
    assert.deepEqual(result?.value, [], error?.message);
    // Node prints a line when the rejection hook itself overflows; that is all that comes of it.
    if (!name.startsWith('the rejection hook')) assert.equal(stderr, '');
  });
}

test('the rig can fail: the same identity check finds a main-realm object where there is one', async () => {
  const { result } = await runBody(`${IDENTITY}\nsee(require('vm').runInNewContext('({})'), 'other'); return foreign.length;`, { danger: true, magic: 'CMBUNDLM' });
  assert.equal(result.value, 1);
});

test('globals are those of ECMAScript without five, plus two that are fixed', async () => {
  const { result } = await runBody(`
    const gone = ['WebAssembly', 'SharedArrayBuffer', 'Atomics', 'FinalizationRegistry', 'WeakRef', 'process', 'require', 'fetch', 'setTimeout', 'queueMicrotask', 'structuredClone', 'global', 'performance'];
    const fixed = ['openclaw', 'console'].map((k) => Object.getOwnPropertyDescriptor(globalThis, k)).every((d) => !d.writable && !d.configurable && Object.isFrozen(d.value));
    return [gone.filter((k) => k in globalThis), fixed, Object.keys(console), Object.keys(openclaw.tools), Object.isFrozen(openclaw.tools), Object.isFrozen(openclaw.tools.call)];`);
  assert.deepEqual(result.value, [[], true, ['log', 'warn', 'error'], ['search', 'describe', 'call'], true, true]);
});

test('Math.random is a function of the seed, different for different seeds', async () => {
  const body = 'return [Math.random(), Math.random(), Array.from({ length: 2000 }, Math.random).reduce((a, b) => a + b) / 2000]';
  const [a, b, c] = await Promise.all([runBody(body), runBody(body), runBody(body, { seed: 'f'.repeat(32) })]);
  assert.deepEqual(a.result, b.result);
  assert.notDeepEqual(a.result, c.result);
  for (const { result } of [a, c]) assert.ok(Math.abs(result.value[2] - 0.5) < 0.05);
});
