// walls: realm
// reopen: import
// origin: seed 1 body 90

try { wait((import/**/("node:fs"))) } catch (e) { keep(e) }

return out();
