// walls: barren
// reopen: none
// origin: seed 104 body 511

try { adopt((Uint8Array.prototype), null); keep((new Date((Object.create(null))).toLocaleString(((RangeError)), ({ [Symbol.asyncIterator]: (function (a, b) { "use strict"; keep(this); keep(a); keep(b) }) })))) } catch (e) { keep(e) }

return out();
