// Find a tool in ordinary words, look at what it wants, call it for three cities at once.
const [tool] = await openclaw.tools.search("weather forecast for a city", { limit: 3 });
if (!tool) throw new Error("no weather tool in this catalog");
const { signature } = await openclaw.tools.describe(tool.id);
console.log(`${tool.id} ${signature}`);
const cities = ["Oslo", "Lagos", "Lima"];
const answers = await Promise.all(cities.map((city) => openclaw.tools.call(tool.id, { city })));
return cities.map((city, at) => ({ city, answer: answers[at] }));
