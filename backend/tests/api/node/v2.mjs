// The second TypeScript SDK over Streamable HTTP or stdio, choosing the protocol era itself.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const options = process.env.MCP_ERA === "auto" ? { versionNegotiation: { mode: "auto" } } : {};
const client = new Client({ name: "typescript-v2", version: "1" }, options);
if (process.env.MCP_COMMAND) {
  const [command, ...args] = JSON.parse(process.env.MCP_COMMAND);
  await client.connect(new StdioClientTransport({ command, args }));
} else {
  await client.connect(new StreamableHTTPClientTransport(new URL(process.env.MCP_URL)));
}
const { tools } = await client.listTools();
const found = await client.callTool({ name: "search_documentation", arguments: { query: "tokens", max_results: 3 } });
const wrong = await client.callTool({ name: "search_documentation", arguments: { querry: "tokens" } });
console.log(JSON.stringify({ tools: tools.map((tool) => tool.name), found, wrong }));
await client.close();
