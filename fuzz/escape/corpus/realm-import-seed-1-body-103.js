// walls: realm
// reopen: import
// origin: seed 1 body 103

try { keep(await (import
("node:fs"))) } catch (e) { keep(e) }

return out();
