// walls: realm
// reopen: import
// origin: seed 1 body 88

try { class I extends Promise { static get [Symbol.species]() { return (function (a, b) { keep(a); keep(b); keep(arguments.callee.caller); return this }) } } Promise.prototype.then = (keep); keep((`${wait(import("x:y"))}`)) } catch (e) { keep(e) }

return out();
