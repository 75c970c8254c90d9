// walls: barren
// reopen: none
// origin: seed 104 body 451

try { adopt((Uint8Array.prototype), (new Proxy(((() => { const e = new (AggregateError)("x"); e.toString = (new Proxy(function () {}, {})); return e })()), { get(t, k, r) { keep(t); return Reflect.get(t, k, t) }, getPrototypeOf(t) { return keep(Error.prototype) } }))) ; keep((/(?<x>.)/[Symbol.replace](({ [Symbol.asyncIterator]: (async function (...a) { keep(this); keep(a); return ((new Proxy({}, {}))) }) }), (function (...a) { keep(this); for (const x of a) keep(x); return a[0] })))) } catch (e) { keep(e) }

return out();
