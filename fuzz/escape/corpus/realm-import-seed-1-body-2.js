// walls: realm
// reopen: import
// origin: seed 1 body 2

{ const down = () => { try { down() } catch (a) { keep(a); try { wait((1 / import("x:y") / 1)) } catch (b) { keep(b) } } }; try { down() } catch (e) { keep(e) } }

return out();
