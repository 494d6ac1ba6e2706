"""Mail messages and archives: headers, bodies, quotes and signatures."""
