// walls: realm
// reopen: stack
// origin: seed 1 body 124

try { define(Error.prototype, ("cause"), { get: (class { constructor(...a) { for (const x of a) keep(x); if (typeof a[0] === "function") try { a[0](keep, keep) } catch (e) { keep(e) } } }), set: (function (...a) { keep(this); for (const x of a) keep(x); return a[0] }), configurable: true }); keep((Object.assign(new (Error)("x"), { name: ({ toString() { keep(this); return {} }, valueOf() { return {} } }) })).stack) } catch (e) { keep(e) }

return out();
