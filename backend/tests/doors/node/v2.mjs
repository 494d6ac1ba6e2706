// The second TypeScript SDK over Streamable HTTP, choosing the protocol era itself.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const options = process.env.MCP_ERA === "auto" ? { versionNegotiation: { mode: "auto" } } : {};
const client = new Client({ name: "typescript-v2", version: "1" }, options);
await client.connect(new StreamableHTTPClientTransport(new URL(process.env.MCP_URL)));
const { tools } = await client.listTools();
const found = await client.callTool({ name: "search_documentation", arguments: { query: "tokens", max_results: 3 } });
const wrong = await client.callTool({ name: "search_documentation", arguments: { querry: "tokens" } });
console.log(JSON.stringify({ tools: tools.map((tool) => tool.name), found, wrong }));
await client.close();
