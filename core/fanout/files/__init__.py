"""Files and tools: confined reading and writing, strangers' tools, outputs."""
