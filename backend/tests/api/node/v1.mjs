// The first TypeScript SDK over Streamable HTTP, SSE or stdio: prints what it lists and finds as JSON.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

function chosen() {
  if (process.env.MCP_COMMAND) {
    const [command, ...args] = JSON.parse(process.env.MCP_COMMAND);
    return new StdioClientTransport({ command, args });
  }
  const address = new URL(process.env.MCP_URL);
  return address.pathname === "/sse" ? new SSEClientTransport(address) : new StreamableHTTPClientTransport(address);
}

const transport = chosen();
const client = new Client({ name: "typescript-v1", version: "1" });
await client.connect(transport);
const { tools } = await client.listTools();
const found = await client.callTool({ name: "search_documentation", arguments: { query: "tokens", max_results: 3 } });
const wrong = await client.callTool({ name: "search_documentation", arguments: { querry: "tokens" } });
console.log(JSON.stringify({ tools: tools.map((tool) => tool.name), found, wrong }));
await client.close();
