// walls: barren
// reopen: none
// origin: seed 104 body 409

try { adopt((Uint8Array.prototype), (new Proxy({}, { get(t, k, r) { keep(r); return (({ __proto__: (Math) })) } }))) ; keep((wait((new Promise((ok, no) => { keep(ok); keep(no); ok(({ *[Symbol.iterator]() { try { keep(yield (({}))); yield ((new Uint8Array(8))) } finally { keep((([]))) } } })) }))))) } catch (e) { keep(e) }

return out();
