// walls: realm
// reopen: stack
// origin: seed 1 body 28

try { Error.stackTraceLimit = (1); keep((Object.assign(new (TypeError)("x"), { name: ({ [Symbol.toPrimitive]: 1 }) })).stack) } catch (e) { keep(e) }

return out();
