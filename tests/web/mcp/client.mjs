// The official TypeScript client, of today's protocol (MODE auto), of the one before (legacy), and its package before (sdk).
const {URL: at, TOKEN, MODE, QUESTION, KNOWS, TASK, ASKS} = process.env;
const old = MODE === "sdk";
const at_home = old ? "@modelcontextprotocol/sdk/client" : "@modelcontextprotocol/client";
const {Client} = await import(old ? `${at_home}/index.js` : at_home);
const {StreamableHTTPClientTransport} = await import(old ? `${at_home}/streamableHttp.js` : at_home);
const asking = old ? (await import("@modelcontextprotocol/sdk/types.js")).ElicitRequestSchema : "elicitation/create";
const told = {asked: [], progress: []};

const options = {capabilities: {elicitation: {form: {}}}, ...(old ? {} : {versionNegotiation: {mode: MODE}})};
const client = new Client({name: "test", version: "1"}, options);
client.setRequestHandler(asking, request => {
  told.asked.push(request.params.message);
  return {action: "accept", content: {answer: "stop"}};
});
const requestInit = {headers: {Authorization: `Bearer ${TOKEN}`}};
await client.connect(new StreamableHTTPClientTransport(new URL(`${at}/mcp`), {requestInit}));
const ask = async (args, more) => {
  const call = {name: "ask", arguments: args};
  return (old ? await client.callTool(call, undefined, more) : await client.callTool(call, more)).structuredContent;
};

told.prompts = (await client.listPrompts()).prompts;
const prompt = await client.getPrompt({name: "consensus", arguments: {question: QUESTION}});
told.prompt = prompt.messages[0].content.text;
told.verdict = await ask({question: QUESTION, protocol: "consensus", context: KNOWS});
told.task = await ask({question: TASK, protocol: "madp", settings: JSON.parse(ASKS)});

const leaving = new AbortController();
setTimeout(() => MODE === "auto" ? client.close() : leaving.abort("enough"), 12_000);
const waits = {timeout: 9_000, resetTimeoutOnProgress: true, signal: leaving.signal};
await ask({question: "Tea or coffee?", protocol: "slow"}, {...waits, onprogress: p => told.progress.push(p.message)})
  .catch(error => { told.ended = String(error); });
console.log(JSON.stringify(told));
process.stdin.on("end", () => client.close()).resume();
